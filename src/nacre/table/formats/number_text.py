"""Numbers from texts and back, whole arrays at a time. What a text is read as depends on it and on the format alone."""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.formats.numbers import MAX_DECIMALS, SPACES, NumberFormat
from nacre.table.values import casting, labels

_SIGN = r"[-\x{2212}]"
_SPACE = r"[ \x{00a0}\x{202f}]"
_LARGEST = float(2**62)
_LONGEST = 400


def read(array: pa.Array, format: NumberFormat, integer: bool) -> casting.Parts:
    """(values, null, bad): int64 with `integer`, else float64."""
    text = pc.utf8_trim_whitespace(array)
    empty = casting.mask(pc.equal(text, "")) | labels.nulls(text)
    positive, negative = _patterns(format)
    below = casting.mask(pc.match_substring_regex(text, negative))
    fits = below | casting.mask(pc.match_substring_regex(text, positive))
    fits &= casting.mask(pc.less_equal(pc.utf8_length(text), _LONGEST))
    # Affixes hold no digits: what lies between the first and the last digit is the number.
    digits = pc.replace_substring_regex(text, r"^[^0-9]+|[^0-9]+$", "")
    for mark in SPACES if format.thousands in SPACES else (format.thousands,):
        if mark:
            digits = pc.replace_substring(digits, mark, "")
    plain = pc.replace_substring(digits, ",", ".") if format.decimal == "," else digits
    minus, none = (pa.scalar(word, plain.type) for word in ("-", ""))
    signed = pc.if_else(pa.array(below), pc.binary_join_element_wise(minus, plain, none), plain)
    numbers = pc.if_else(pa.array(fits), signed, pa.scalar(None, signed.type))
    values, null, bad = casting.integers(numbers) if integer else casting.floats(numbers)
    return values, null, (bad & fits) | (~fits & ~empty)


@functools.lru_cache(256)
def _patterns(format: NumberFormat) -> tuple[str, str]:
    """Regular expressions of the numbers that are not negative, and of those that are."""
    mark = re.escape(format.decimal)
    body = "[0-9]+"
    if format.thousands:
        between = _SPACE if format.thousands in SPACES else re.escape(format.thousands)
        body = f"(?:[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|{body})"
    body += f"(?:{mark}[0-9]*)?(?:[eE][+-]?[0-9]{{1,3}})?"
    before, after = (_affix(a) for a in (format.prefix, format.suffix))
    negatives = [rf"{_SIGN}{before}{body}{after}", rf"{before}{_SIGN}{body}{after}"]
    if format.negative == "$1-":
        negatives.append(rf"{before}{body}{_SIGN}{after}")
    elif format.negative == "($1)":
        negatives += [rf"\({before}{body}{after}\)", rf"{before}\({body}\){after}"]
    return rf"^(?:\+?{before}|{before}\+){body}{after}$", f"^(?:{'|'.join(negatives)})$"


def _affix(text: str) -> str:
    """The affix, with or without spaces between it and the number."""
    core = text.strip()
    return f"{_SPACE}*{re.escape(core)}{_SPACE}*" if core else ""


def write(values: np.ndarray, null: np.ndarray | None, format: NumberFormat, decimals: int | None = None) -> pa.Array:
    """The texts, null where `null` says so. Digits beyond those of a float, and of 2**62, are not kept."""
    values = np.asarray(values)
    if null is not None and null.any():
        values = np.where(null, values.dtype.type(0), values)
    fixed = decimals if format.decimals is None else format.decimals
    whole, part, places = _split(np.abs(values), fixed)
    if places < format.least:
        part, places = part * 10 ** (format.least - places), format.least
    digits = pa.array(whole).cast(pa.string())
    if format.width:
        digits = pc.utf8_lpad(digits, format.width, "0")
    if format.thousands:
        digits = _grouped(digits, format.thousands)
    text = _joined(digits, part, places, format)
    below = (values < 0) & ((whole != 0) | (part != 0))  # no minus before a zero
    text = _signed(text, below, format)
    return text if null is None or not null.any() else pc.if_else(pa.array(null), pa.scalar(None, text.type), text)


def _split(size: np.ndarray, decimals: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """(whole part, digits behind the mark as a whole number, how many those are)."""
    if size.dtype.kind in "iu":
        return size.astype(np.int64), np.zeros(len(size), np.int64), decimals or 0
    size = np.clip(np.nan_to_num(size), 0.0, _LARGEST)
    whole = np.floor(size)
    rest = size - whole  # exact, so that no digit of a large number is lost
    if decimals is None:
        return whole.astype(np.int64), *_shortest(size, whole, rest)
    part = np.rint(rest * 10.0**decimals)
    carry = part >= 10.0**decimals
    return (whole + carry).astype(np.int64), np.where(carry, 0, part).astype(np.int64), decimals


def _shortest(size: np.ndarray, whole: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, int]:
    """The fewest digits that give the same float back, at most `MAX_DECIMALS`."""
    part, open_ = np.zeros(len(size), np.int64), rest > 0
    places = 0
    for places in range(1, MAX_DECIMALS + 1):
        if not open_.any():
            places -= 1
            break
        scale = 10.0**places
        digits = np.rint(rest * scale)
        total = whole * scale + digits
        # Beyond 2**53 a float has no further digits of its own.
        done = open_ & ((total / scale == size) | (total >= 2.0**53) | (places == MAX_DECIMALS))
        part = np.where(done, np.minimum(digits, scale - 1).astype(np.int64), part * 10)
        part = np.where(open_ & ~done, 0, part)
        open_ = open_ & ~done
    return part, places


def _joined(digits: pa.Array, part: np.ndarray, places: int, format: NumberFormat) -> pa.Array:
    if places == 0:
        return digits
    behind = pc.utf8_lpad(pa.array(part).cast(pa.string()), places, "0")
    if format.decimals is not None:
        return pc.binary_join_element_wise(digits, behind, format.decimal)
    fixed, free = pc.utf8_slice_codeunits(behind, 0, format.least), pc.utf8_slice_codeunits(behind, format.least)
    behind = pc.binary_join_element_wise(fixed, pc.utf8_rtrim(free, "0"), "")
    marked = pc.binary_join_element_wise(digits, behind, format.decimal)
    return marked if format.least else pc.if_else(pa.array(part == 0), digits, marked)


def _grouped(digits: pa.Array, mark: str) -> pa.Array:
    found = pc.utf8_slice_codeunits(digits, -3)
    for end in range(-3, -19, -3):
        piece = pc.utf8_slice_codeunits(digits, end - 3, end)
        more = pc.not_equal(piece, "")
        if not pc.any(more).as_py():
            break
        found = pc.if_else(more, pc.binary_join_element_wise(piece, found, mark), found)
    return found


def _signed(text: pa.Array, below: np.ndarray, format: NumberFormat) -> pa.Array:
    def around(prefix: str, suffix: str) -> pa.Array:
        return pc.binary_join_element_wise(prefix, text, suffix, "") if prefix or suffix else text

    written = around(format.prefix, format.suffix)
    if not below.any():
        return written
    open_, close = {
        "-$1": (f"-{format.prefix}", format.suffix),
        "$-1": (f"{format.prefix}-", format.suffix),
        "$1-": (format.prefix, f"-{format.suffix}"),
        "($1)": (f"({format.prefix}", f"{format.suffix})"),
    }[format.negative]
    return pc.if_else(pa.array(below), around(open_, close), written)
