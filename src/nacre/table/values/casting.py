"""Arrow arrays of any physical type to numpy arrays of the declared kind, row by row independent.

Every function here is a row-local map: what becomes of a value depends on that value, its physical type
and the schema, never on its neighbours. Nothing raises on account of a value: what cannot be read is flagged.
Each returns (values, null, bad); `bad` marks values that were there but could not be read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.checking import INTEGER_LIMIT
from nacre.table.values.labels import is_text, nulls

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]

_NUMBER = r"(?i)^[+-]?(?:(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:e[+-]?[0-9]{1,9})?|nan|inf|infinity)$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
_DATE = r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?)?"
_OFFSET = r"(?:Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
_TRUE = pa.array(["true", "t", "yes", "y", "1", "1.0"])
_FALSE = pa.array(["false", "f", "no", "n", "0", "0.0"])


def mask(array: pa.Array) -> np.ndarray:
    """A boolean array as numpy, null counted as false."""
    return pc.fill_null(array, False).to_numpy(zero_copy_only=False)


def _plain(array: pa.Array, fill: object) -> np.ndarray:
    if array.null_count:
        array = pc.fill_null(array, fill)
    return array.to_numpy(zero_copy_only=False)


def floats(array: pa.Array) -> Parts:
    """Numbers as float64. NaN is null; infinities stay, to be clamped; zero has no sign: which of two equal zeros is
    kept by a library that lists distinct values is for other rows to say."""
    kind = array.type
    if is_text(kind):
        return _text_floats(array)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return unreadable(array, np.float64)
    numbers = _plain(array.cast(pa.float64(), safe=False), np.nan) + 0.0
    if array.null_count == 0 and not pa.types.is_floating(kind):
        return numbers, np.zeros(len(numbers), bool), np.zeros(len(numbers), bool)
    return numbers, np.isnan(numbers), np.zeros(len(numbers), bool)


def _text_floats(array: pa.Array) -> Parts:
    text = pc.ascii_trim_whitespace(array)
    readable = pc.match_substring_regex(text, _NUMBER)
    numbers = _plain(pc.if_else(readable, pc.ascii_ltrim(text, "+"), None).cast(pa.float64()), np.nan) + 0.0
    empty = mask(pc.equal(text, "")) | nulls(array)
    return numbers, np.isnan(numbers), ~empty & ~mask(readable)


def integers(array: pa.Array) -> Parts:
    """Numbers as int64, exact where the file is exact. A fraction is rounded and flagged as bad, not null."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
        kind = array.type
    if pa.types.is_unsigned_integer(kind):
        values = _plain(array.cast(pa.uint64()), 0)
        return (
            np.minimum(values, np.uint64(2**63 - 1)).astype(np.int64),
            nulls(array),
            np.zeros(len(array), bool),
        )
    if pa.types.is_integer(kind):
        return _plain(array, 0).astype(np.int64, copy=False), nulls(array), np.zeros(len(array), bool)
    if is_text(kind):
        return _text_integers(array)
    return _rounded(*floats(array))


def _rounded(numbers: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Parts:
    limit = float(INTEGER_LIMIT)
    whole = np.clip(np.rint(np.where(null, 0.0, numbers)), -2 * limit, 2 * limit - 1024)
    fraction = ~null & (whole != numbers)
    return whole.astype(np.int64), null, bad | fraction


def _text_integers(array: pa.Array) -> Parts:
    text = pc.ascii_trim_whitespace(array)
    simple = pc.match_substring_regex(text, _WHOLE)
    exact = pc.if_else(simple, pc.ascii_ltrim(text, "+"), None).cast(pa.int64())
    values, is_simple = _plain(exact, 0), mask(simple)
    if is_simple.all():
        return values, np.zeros(len(values), bool), np.zeros(len(values), bool)
    rest, null, bad = _rounded(*_text_floats(pc.if_else(pa.array(is_simple), pa.scalar(None, array.type), array)))
    return np.where(is_simple, values, rest), null & ~is_simple, bad & ~is_simple


def booleans(array: pa.Array) -> Parts:
    """Truth values as 0 and 1: true/false, t/f, yes/no, y/n, 1/0 in any case, or the numbers 1 and 0."""
    kind = array.type
    if pa.types.is_boolean(kind):
        values = _plain(array.cast(pa.int8()), 0).astype(np.int32)
        return values, nulls(array), np.zeros(len(values), bool)
    if not is_text(kind):
        numbers, null, bad = floats(array)
        fine = ~null & ((numbers == 0) | (numbers == 1))
        return np.where(fine, numbers, 0).astype(np.int32), ~fine, bad | (~null & ~fine)
    word = pc.ascii_lower(pc.ascii_trim_whitespace(array))
    true, false = mask(pc.is_in(word, _TRUE)), mask(pc.is_in(word, _FALSE))
    empty = mask(pc.equal(word, "")) | nulls(array)
    return true.astype(np.int32), ~(true | false), ~(true | false | empty)


def instants(array: pa.Array, tz: str | None) -> Parts:
    """Microseconds since the epoch, UTC, as int64. Without an offset, values are local times of `tz`."""
    kind = array.type
    if is_text(kind):
        return _text_instants(array, tz)
    if pa.types.is_date64(kind):
        array = array.view(pa.timestamp("ms"))
    elif pa.types.is_date32(kind):
        array = array.cast(pa.timestamp("s"))
    elif not pa.types.is_timestamp(kind):
        return unreadable(array, np.int64)
    stamps = _microseconds(array)
    if array.type.tz is None and tz is not None:
        stamps = local_instants(stamps, tz)
    return _plain(stamps.cast(pa.int64()), 0), nulls(stamps), np.zeros(len(array), bool)


def _microseconds(array: pa.Array) -> pa.Array:
    """Timestamps of any unit as naive microseconds, saturating where they would overflow."""
    counts = array.cast(pa.int64())
    unit = array.type.unit
    if unit == "ns":
        # floor, so that a moment before 1970 does not jump to the next microsecond
        whole = np.floor_divide(_plain(counts, 0), 1_000)
    else:
        factor = {"s": 1_000_000, "ms": 1_000, "us": 1}[unit]
        whole = np.clip(_plain(counts, 0), -(INTEGER_LIMIT // factor), INTEGER_LIMIT // factor) * factor
    missing = nulls(array)
    return pa.array(whole, pa.timestamp("us"), mask=missing if missing.any() else None)


def local_instants(stamps: pa.Array, tz: str, repeated: str = "earliest", skipped: str = "earliest") -> pa.Array:
    """Local times of `tz` to UTC; a time that a clock change repeats or skips is read as the "earliest" instant, or
    the "latest"."""
    # Beyond these years zone arithmetic may fail; no zone rule is known there either.
    safe = pc.and_(pc.greater(stamps, _stamp(-(2**55))), pc.less(stamps, _stamp(2**57)))
    zoned = pc.assume_timezone(pc.if_else(safe, stamps, _stamp(0)), tz, ambiguous=repeated, nonexistent=skipped)
    return pc.if_else(safe, zoned.cast(pa.int64()).cast(pa.timestamp("us")), stamps)


def _stamp(us: int) -> pa.Scalar:
    return pa.scalar(us, pa.int64()).cast(pa.timestamp("us"))


def _text_instants(array: pa.Array, tz: str | None) -> Parts:
    text = pc.ascii_trim_whitespace(array)
    empty = mask(pc.equal(text, "")) | nulls(array)
    text = pc.replace_substring_regex(text, r"(\.[0-9]{6})[0-9]{1,3}", r"\1")  # microseconds are the finest
    naive = pc.and_(pc.match_substring_regex(text, _DATE + _CLOCK + "$"), _real_day(text))
    offset = pc.and_(pc.match_substring_regex(text, _DATE + _CLOCK[:-1] + _OFFSET + "$"), _real_day(text))
    local = pc.if_else(naive, text, None).cast(pa.timestamp("us"))
    if tz is not None:
        local = local_instants(local, tz)
    zoned = pc.if_else(offset, text, None).cast(pa.timestamp("us", "UTC"))
    stamps = pc.coalesce(local.cast(pa.int64()), zoned.cast(pa.int64()))
    missing = nulls(stamps)
    return _plain(stamps, 0), missing, missing & ~empty


def _real_day(text: pa.Array) -> pa.Array:
    """Whether a text of the shape yyyy-mm-dd names a day that exists."""
    shaped = pc.if_else(pc.match_substring_regex(text, _DATE), text, "2000-01-01")
    year, month, day = (
        _plain(pc.utf8_slice_codeunits(shaped, a, b).cast(pa.int32()), 1) for a, b in ((0, 4), (5, 7), (8, 10))
    )
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])[month] + (leap & (month == 2))
    return pa.array((day <= days) & (year >= 1))


def absent(array: pa.Array) -> np.ndarray:
    """Where a value of an array that is no dictionary is missing: null, the empty text or NaN."""
    if is_text(array.type):
        return nulls(array) | mask(pc.equal(array, ""))
    if pa.types.is_floating(array.type):
        return nulls(array) | mask(pc.is_nan(array))
    return nulls(array)


def unreadable(array: pa.Array, dtype: type) -> Parts:
    """The answer for a physical type that the declared kind cannot be read from."""
    return np.zeros(len(array), dtype), np.ones(len(array), bool), ~absent(array)
