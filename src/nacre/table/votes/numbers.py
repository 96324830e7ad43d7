"""Classes of texts that may be numbers: affix, sign and the shape of the digits."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np

from nacre.table.formats import NumberFormat

Shape = tuple[object, ...]

# Prefix and suffix; the first is none.
AFFIXES = (
    ("", ""), ("$", ""), ("$ ", ""), ("€", ""), ("€ ", ""), ("£", ""), ("¥", ""), ("₹", ""), ("CHF ", ""), ("USD ", ""),
    ("EUR ", ""), ("", "%"), ("", " %"), ("", "€"), ("", " €"), ("", " EUR"), ("", " kr"),
)  # fmt: skip
SIGNS = ("", "-$1", "$-1", "($1)", "$1-")  # by place in AFFIXES 0 the second and third are one
GROUPS = (",", ".", " ", "\u00a0", "\u202f", "'", "\u2019")
_MOST_DIGITS = 18  # more are no number but a name


def _shapes() -> Iterator[tuple[Shape, str]]:
    """Every class of unsigned digits with a sample. `zero`: the last digit is one, as only fixed decimals have it."""
    yield ("whole", False), "57"
    yield ("whole", True), "5731"  # long enough for a thousands mark that is not there
    yield ("zeros",), "0057"
    yield ("odd",), ".57"  # any program reads it, none writes it
    yield ("power",), "5.7e-31"
    for mark in GROUPS:
        for zero in (False, True) if mark in ".," else (False,):
            yield ("grouped", mark, False, zero), f"5{mark}73{0 if zero else 1}"  # or three decimals
        yield ("grouped", mark, True, False), f"5{mark}731{mark}246"
    for mark in ".,":
        for zero in (False, True):
            for head, digits in (("0", "0"), ("short", "57"), ("long", "5731")):
                for d in range(1, 8):
                    if (head, d) != ("short", 3):
                        yield ("decimal", mark, head, d, zero), f"{digits}{mark}{_decimals(d + (d == 7), zero)}"
            for group in GROUPS:
                for d in range(1, 4):
                    if group != mark:
                        yield ("both", group, mark, d, zero), f"5{group}731{mark}{_decimals(d, zero)}"


def _decimals(d: int, zero: bool) -> str:
    return "12345678"[: d - 1] + ("0" if zero else "9")


SHAPES = dict(_shapes())
_PLACE = {shape: i for i, shape in enumerate(SHAPES)}
WHOLE, ZEROS = (_PLACE[("whole", False)], _PLACE[("whole", True)]), _PLACE[("zeros",)]
# Without an affix the shape is told with and without a minus, with one only without; other signs have one class each.
_FULL = len(AFFIXES) + 1
CELLS = _FULL * len(SHAPES) + len(AFFIXES) * (len(SIGNS) - 1)


def cell(affix: int, sign: int, shape: int) -> int:
    """The class of an affix, a sign and a shape, all by place."""
    if sign == 0:
        return affix * len(SHAPES) + shape
    if affix == 0 and sign <= 2:
        return len(AFFIXES) * len(SHAPES) + shape
    return _FULL * len(SHAPES) + affix * (len(SIGNS) - 1) + sign - 1


_BETWEEN = "(?:" + "|".join(re.escape(g) for g in GROUPS) + ")"
_CORE = rf"\+?\.?9(?:(?:9|{_BETWEEN})*9)?\.?(?:[eE][+-]?9+)?"
_AFFIXED = [
    (i, re.compile(rf"(\()?(-)?{re.escape(before)}(-)?({_CORE})(-)?{re.escape(after)}(\))?"))
    for i, (before, after) in enumerate(AFFIXES)
]
_GROUPED = re.compile(rf"(9{{1,3}})(?P<mark>{_BETWEEN})999((?:(?P=mark)999)*)(?:([.,])(9+))?")


def of_pattern(pattern: str) -> list[tuple[int, int, str]]:
    """(affix, sign, digits) of a text in which every digit has become a 9; at most one."""
    for affix, expression in _AFFIXED:
        hit = expression.fullmatch(pattern)
        if hit is None or "9" not in hit.group(4):
            continue
        open_, before, inside, digits, behind, close = hit.groups()
        signs = [bool(before), bool(inside), bool(open_ and close), bool(behind)]
        if sum(signs) > 1 or bool(open_) != bool(close):
            return []
        return [(affix, signs.index(True) + 1 if any(signs) else 0, digits)]
    return []


def shape_of(digits: str, first: bool, last: bool) -> int | None:
    """The shape of digits (as 9s), where the first and the last may be a zero; None for what is no number."""
    shape = _shape(digits, first, last)
    return None if shape is None else _PLACE[shape]


def _shape(digits: str, first: bool, last: bool) -> Shape | None:
    if digits.count("9") > _MOST_DIGITS + 15 or len(re.split("[^9]", digits)[0]) > _MOST_DIGITS:
        return None
    if hit := re.fullmatch("9+", digits):
        return ("zeros",) if first and len(digits) > 1 else ("whole", len(digits) > 3)
    if hit := _GROUPED.fullmatch(digits):
        head, group, more, mark, behind = hit.groups()
        if first:
            alone = head == "9" and not more and mark is None and group in ".,"
            return ("decimal", group, "0", 3, last) if alone else ("zeros",)
        if mark == group:
            return None
        if mark is not None:
            return ("both", group, mark, min(len(behind), 3), last)
        return ("grouped", group, bool(more), last and not more and group in ".,")
    if hit := re.fullmatch("(9+)([.,])(9+)", digits):
        head, mark, behind = hit.groups()
        if first and len(head) > 1:
            return ("zeros",)
        size = "0" if first else "short" if len(head) < 4 else "long"
        return ("decimal", mark, size, min(len(behind), 7), last)
    if re.fullmatch(r"\+?(?:9+(?:\.9*)?|\.9+)", digits):
        return ("odd",)
    return ("power",) if re.fullmatch(r"\+?(?:9+(?:\.9*)?|\.9+)[eE][+-]?9{1,3}", digits) else None


Candidate = tuple[NumberFormat, int | None]  # the format, and how many decimals a number has at most


@functools.cache
def candidates() -> tuple[Candidate, ...]:
    """Every way to write unsigned digits that a vote can be cast for, the plain ones first."""
    marks = [(".", ""), (",", "")] + [(m, g) for m in ".," for g in GROUPS if g != m]
    found: dict[tuple, Candidate] = {}
    for mark, group in marks:
        whole = NumberFormat(mark, group)
        found.setdefault((group, 0), (_whole(whole), 0))
        ways = [(NumberFormat(mark, group, decimals=d), d) for d in range(1, 7)]
        ways += [(NumberFormat(mark, group), d) for d in (*range(1, 7), None)]
        ways += [(NumberFormat(mark, group, least=1), d) for d in (*range(2, 7), None)]
        found.update({(mark, group, *way): way for way in ways})
    return tuple(found.values())


def _whole(format: NumberFormat) -> NumberFormat:
    """Whole numbers have no decimal mark: the one that the thousands mark leaves."""
    return NumberFormat("," if format.thousands == "." else ".", format.thousands)


@functools.cache
def plain() -> np.ndarray:
    """Which candidates any program reads as numbers."""
    return np.array([format.plain for format, _ in candidates()])


@functools.cache
def against(decimal: str | None) -> np.ndarray:
    """Which candidates have another decimal mark than the declared one, or that one between thousands."""
    marks = [(format.decimal if decimals != 0 else decimal, format.thousands) for format, decimals in candidates()]
    return np.array([decimal is not None and (mark != decimal or group == decimal) for mark, group in marks])


@functools.cache
def shortest() -> np.ndarray:
    """Which candidates write as few digits as they can, with a point: what typed numbers are written as."""
    return np.array([format == NumberFormat() or decimals == 0 for format, decimals in candidates()]) & plain()


@functools.cache
def tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(which candidate writes which shape as it stands, which one reads it whole, which one only if it rounds): zeros
    and ones [candidates, shapes]."""
    import pyarrow as pa

    samples = pa.array(list(SHAPES.values()))
    texts = np.array(list(SHAPES.values()), object)
    found = {}
    for format, _ in candidates():
        marks = (format.decimal, format.thousands)
        if marks not in found:
            found[marks] = format.read(samples)
    writes, reads, rounds = [], [], []
    for format, decimals in candidates():
        values, null, bad = found[(format.decimal, format.thousands)]
        exact = np.ones(len(texts), bool) if decimals is None else np.round(values, decimals) == values
        reads.append(~null & ~bad & exact)
        rounds.append(~null & ~bad & ~exact)
        writes.append(reads[-1] & (np.array(format.write(values, null, decimals).to_pylist(), object) == texts))
    told, seen, lost = (np.array(t, float) for t in (writes, reads, rounds))
    # Without marks of their own numbers are read in every plain spelling; powers of ten have any number of decimals.
    free = np.array([decimals is None for _, decimals in candidates()])
    for shape, who in ((("odd",), shortest()), (("power",), shortest() & free)):
        told[who, _PLACE[shape]] = seen[who, _PLACE[shape]] = 1.0
        lost[who, _PLACE[shape]] = 0.0
    return told, seen, lost
