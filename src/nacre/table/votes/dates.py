"""Classes of texts that may be dates: the day with its order, padding and marks, and the clock."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator

import numpy as np

from nacre.table.formats import DateFormat
from nacre.table.formats.dates import MONTHS

Key = tuple[str, ...]
PADS = ("padded", "bare", "either")  # some part below ten has a zero before it, some has none, no part is below ten


def _days() -> Iterator[tuple[Key, str]]:
    """Every class of days with a sample."""
    for mark, pad in itertools.product("-/.", PADS):
        yield ("year", mark, pad), f"2020{mark}" + {"padded": "04", "bare": "4"}.get(pad, "11") + f"{mark}25"
    first = {"padded": ("04", "05"), "bare": ("4", "5"), "either": ("11", "10")}
    for mark, year, pad in itertools.product("/.-", ("2020", "20"), PADS):
        month, day = first[pad]
        for order, a, b in (("day", "25", month), ("month", month, "25"), ("open", month, day)):
            yield (order, mark, f"%{'Y' if len(year) == 4 else 'y'}", pad), f"{a}{mark}{b}{mark}{year}"


def _clocks() -> Iterator[tuple[Key, str]]:
    """Every class of clocks, with the mark before it, and a sample."""
    yield ("none",), ""
    for join, end in ((" ", ""), ("T", ""), ("T", "Z")):
        for seconds in ("", ":45"):
            yield ("midnight", join, end, seconds), f"{join}00:00{seconds.replace('45', '00')}{end}"
            for pad, hour in (("padded", "07"), ("bare", "7"), ("either", "17")):
                yield ("24", join, end, seconds, pad), f"{join}{hour}:30{seconds}{end}"
    for seconds, half in itertools.product(("", ":45"), (" PM", " pm")):
        midnight = f" 12:00{seconds.replace('45', '00')}{half.replace('P', 'A').replace('p', 'a')}"
        yield ("12 midnight", seconds, half), midnight
        for pad, hour in (("padded", "07"), ("bare", "7"), ("either", "11")):
            yield ("12", seconds, half, pad), f" {hour}:30{seconds}{half}"
    for join in " T":
        yield ("fraction", join), f"{join}17:30:45.125"
        yield ("offset", join), f"{join}17:30:45+02:00"


_SHORT = tuple(m[:3] for m in MONTHS)
_NAMED_FORMS = (("-", "%Y"), (" ", "%Y"), ("", "%Y"), ("/", "%Y"), ("-", "%y"), (",", "%Y"))  # the comma: Dec 31, 2024


def _named() -> Iterator[tuple[Key, str]]:
    """Every class of days with the name of a month; May is both its short and its long name."""
    for (mark, year), pad in itertools.product(_NAMED_FORMS, PADS):
        for length, name in (("short", "Apr"), ("long", "April"), ("both", "May")):
            for case, text in (("title", name), ("capitals", name.upper())):
                day = {"padded": "05", "bare": "5"}.get(pad, "25")
                digits = "2020" if year == "%Y" else "20"
                sample = f"{text} {day}, {digits}" if mark == "," else f"{day}{mark}{text}{mark}{digits}"
                yield ("named", mark, year, pad, length, case), sample


DAYS, CLOCKS, NAMED = dict(_days()), dict(_clocks()), dict(_named())
_DAY, _CLOCK, _NAME = ({key: i for i, key in enumerate(keys)} for keys in (DAYS, CLOCKS, NAMED))
COMPACT = len(DAYS) * len(CLOCKS) + len(NAMED)  # eight digits that are a day from 1900 to 2099
CELLS = COMPACT + 1

_NUMERIC = re.compile(r"9{1,4}([/.-])9{1,2}\1(?:9{4}|9{1,2})(?:[ T].*)?")
_TIME = re.compile(r"([ T])(9{1,2}):99(:99(\.9{1,9})?)?(?: ([AaPp])([Mm]))?(Z|[+-]99:?99)?")


def clock_of(pattern: str) -> Key | None:
    """The class of a clock by its pattern (digits as 9s), with `?` for the hour; None for what is no clock."""
    if not pattern:
        return ("none",)
    hit = _TIME.fullmatch(pattern)
    if hit is None:
        return None
    join, hour, seconds, fraction, a, m, zone = hit.groups()
    if zone not in (None, "Z") or fraction:
        if a or len(hour) == 1 or not seconds:
            return None
        return ("offset" if zone not in (None, "Z") else "fraction", join)
    if a:
        if zone or join == "T" or a.isupper() != m.isupper():
            return None
        return ("12", ":45" if seconds else "", " PM" if a.isupper() else " pm", "?")
    if zone and join == " ":
        return None
    return ("24", join, zone or "", ":45" if seconds else "", "?")


def split(pattern: str) -> tuple[str, str] | None:
    """The day and the clock of a pattern of digits as 9s."""
    if _NUMERIC.fullmatch(pattern) is None:
        return None
    day = re.split("[ T]", pattern, maxsplit=1)[0]
    first, _, last = (len(part) for part in re.split("[/.-]", day))
    fits = (first == 4 and last <= 2) or (first <= 2 and last in (2, 4))
    return (day, pattern[len(day) :]) if fits else None


def day_cell(day: str, numbers: tuple[int, int, int]) -> int | None:
    """The class of a day by its pattern and its three numbers; None for numbers that are no day."""
    mark = next(c for c in day if c != "9")
    lengths = [len(part) for part in day.split(mark)]
    if lengths[0] == 4:
        _, month, date = numbers
        small, key = [(month, lengths[1]), (date, lengths[2])], ("year", mark)
        fits = 1 <= month <= 12 and 1 <= date <= 31
    else:
        a, b, _ = numbers
        small = [(a, lengths[0]), (b, lengths[1])]
        fits = 1 <= min(a, b) <= 12 and max(a, b) <= 31
        order = "day" if a > 12 else "month" if b > 12 else "open"
        key = (order, mark, "%Y" if lengths[2] == 4 else "%y")
    pad = pad_of(small)
    return _DAY[(*key, pad)] if fits and pad is not None else None


def pad_of(parts: list[tuple[int, int]]) -> str | None:
    """Whether parts (number, digits) below ten have a zero before them; None where some have and some have not."""
    digits = {n for number, n in parts if number < 10}
    if len(digits) == 2:
        return None
    return {1: "bare", 2: "padded"}[digits.pop()] if digits else "either"


def clock_cell(key: Key, hour: tuple[int, int], zero: bool) -> int | None:
    """The class of a clock whose hour is (number, digits); `zero`: minutes and seconds are."""
    if key[-1] != "?":
        return _CLOCK[key]
    number, digits = hour
    pad = pad_of([hour]) or ""
    if key[0] == "24":
        if number == 0 and zero and digits == 2:
            return _CLOCK[("midnight", *key[1:4])]
        return _CLOCK[(*key[:-1], pad)] if number < 24 else None
    if number == 12 and zero:
        return _CLOCK[("12 midnight", *key[1:3])]
    return _CLOCK[(*key[:-1], pad)] if 1 <= number <= 12 else None


def cell(day: int, clock: int) -> int:
    return day * len(CLOCKS) + clock


_NAMES = "|".join(dict.fromkeys((*(m.lower() for m in MONTHS), *(m.lower() for m in _SHORT))))
NAMED_TEXT = re.compile(
    rf"(?i)([0-9]{{1,2}})([-/ ]?)({_NAMES})\2([0-9]{{4}}|[0-9]{{2}})|({_NAMES}) ([0-9]{{1,2}}), ([0-9]{{4}})"
)
LIKELY_NAMED = rf"(?i)^(?:[0-9]{{1,2}}[-/ ]?(?:{_NAMES})[-/ ]?[0-9]{{2,4}}|(?:{_NAMES}) [0-9]{{1,2}}, [0-9]{{4}})$"


def named_cell(text: str) -> int | None:
    """The class of a day with the name of a month."""
    hit = NAMED_TEXT.fullmatch(text)
    if hit is None:
        return None
    day, mark, name, year = hit.groups()[:4]
    if day is None:
        name, day, year = hit.groups()[4:]
        mark = ","
    case = "capitals" if name.isupper() else "title" if name == name.capitalize() else ""
    length = "both" if name.lower() == "may" else "short" if len(name) == 3 else "long"
    pad = pad_of([(int(day), len(day))]) or ""
    key = ("named", mark, "%Y" if len(year) == 4 else "%y", pad, length, case)
    return len(DAYS) * len(CLOCKS) + _NAME[key] if key in _NAME and 1 <= int(day) <= 31 else None


@functools.cache
def day_patterns() -> tuple[str, ...]:
    """Every way to write days in digits."""
    found = [f"%Y{m}%{z}m{m}%{z}d" for m in "-/." for z in ("", "-")]
    for m, y, z in itertools.product("/.-", "Yy", ("", "-")):
        found += [f"%{z}d{m}%{z}m{m}%{y}", f"%{z}m{m}%{z}d{m}%{y}"]
    return tuple(found)


@functools.cache
def clock_patterns() -> tuple[str, ...]:
    found = [""]
    for join, end in ((" ", ""), ("T", ""), ("T", "Z")):
        for seconds in ("", ":%S"):
            found += [f"{join}%H:%M{seconds}{end}", f"{join}%-H:%M{seconds}{end}"]
            found.append(f"{join}00:00{seconds.replace('%S', '00')}{end}")
    for seconds, half in itertools.product(("", ":%S"), (" %p", " %P")):
        found += [f" %I:%M{seconds}{half}", f" %-I:%M{seconds}{half}"]
        found.append(f" 12:00{seconds.replace('%S', '00')}{half.replace('%p', 'AM').replace('%P', 'am')}")
    return tuple(found)


@functools.cache
def named_patterns() -> tuple[str, ...]:
    """Every way to write days with the name of a month."""
    found = []
    for (mark, year), z, name in itertools.product(_NAMED_FORMS, ("", "-"), ("%b", "%B", "%^b", "%^B")):
        found.append(f"{name} %{z}d, {year}" if mark == "," else f"%{z}d{mark}{name}{mark}{year}")
    return tuple(found)


def _writes(patterns: tuple[str, ...], samples: list[str], before: str = "", prefix: str = "") -> np.ndarray:
    """Which pattern writes which sample as it stands, zeros and ones [patterns, samples]."""
    import pyarrow as pa

    texts = [before + s for s in samples]
    found = []
    for pattern in patterns:
        format = DateFormat(prefix + pattern)
        values, null, _ = format.read(pa.array(texts))
        found.append([w == t for w, t in zip(format.write(values, null).to_pylist(), texts)])
    return np.array(found, float)


@functools.cache
def tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `day_patterns` write of DAYS, `clock_patterns` of CLOCKS, `named_patterns` of NAMED."""
    return (
        _writes(day_patterns(), list(DAYS.values())),
        _writes(clock_patterns(), list(CLOCKS.values()), "2020-11-25", "%Y-%m-%d"),
        _writes(named_patterns(), list(NAMED.values())),
    )


PLAIN_CLOCKS = [i for key, i in _CLOCK.items() if key[0] in ("fraction", "offset")]
