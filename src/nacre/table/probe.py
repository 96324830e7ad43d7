"""Public grids for columns nothing is known about: what kind of value, of which magnitude, in which month.

Each code is a function of one value alone. The grids are constants of this file, so a histogram over them can be
bought before any schema exists; the functions below turn a noisy histogram into facts (post-processing).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table import casting, labels

KINDS = ("null", "integer", "decimal", "boolean", "date", "datetime", "text")

# Magnitudes: 8 steps per factor of two from 2⁻²⁰ to 2⁵⁰ on each side of zero, and zero itself.
_PER_OCTAVE, _LOWEST, _HIGHEST = 8, -20, 50
_POSITIVE = np.concatenate(
    [2.0**e * (1 + np.arange(_PER_OCTAVE) / _PER_OCTAVE) for e in range(_LOWEST, _HIGHEST)] + [[2.0**_HIGHEST]]
)
# Ends of the cells, in increasing order; the cell around zero holds what is smaller than 2⁻²⁰.
MAGNITUDE_EDGES = np.concatenate([-_POSITIVE[::-1], _POSITIVE])

# Months from January 1800 to December 2199.
_FIRST_YEAR, _MONTHS = 1800, 4800
_MONTH_EDGES = (
    (np.datetime64(f"{_FIRST_YEAR}-01", "M") + np.arange(_MONTHS + 1)).astype("datetime64[us]").astype(np.int64)
)

CELLS = {"kind": len(KINDS), "magnitude": len(MAGNITUDE_EDGES) - 1, "month": _MONTHS}


def codes(array: pa.Array, probe: str) -> np.ndarray:
    """The cell of each value on the grid named `probe`; −1 where the value is null or of another kind."""
    array = labels.unpack(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return {"kind": _kinds, "magnitude": _magnitudes, "month": _months}[probe](array)


def _kinds(array: pa.Array) -> np.ndarray:
    kind = array.type
    if labels.is_text(kind):
        return _text_kinds(array)
    missing = labels.nulls(array)
    if pa.types.is_boolean(kind):
        found = np.full(len(array), KINDS.index("boolean"))
    elif pa.types.is_time(kind):
        found = np.full(len(array), KINDS.index("text"))  # a time of day is no moment: a label
    elif pa.types.is_temporal(kind):
        found = np.full(len(array), KINDS.index("date" if pa.types.is_date(kind) else "datetime"))
    else:
        numbers, missing, bad = casting.floats(array)
        whole = np.isfinite(numbers) & (np.rint(numbers) == numbers)
        found = np.where(bad, KINDS.index("text"), np.where(whole, KINDS.index("integer"), KINDS.index("decimal")))
        missing = missing & ~bad
    return np.where(missing, 0, found).astype(np.int32)


def _text_kinds(array: pa.Array) -> np.ndarray:
    text = pc.ascii_trim_whitespace(array)
    empty = casting.mask(pc.equal(text, "")) | labels.nulls(array)
    numbers, not_number, _ = casting.floats(array)
    found = np.full(len(array), KINDS.index("text"))
    _, not_moment, _ = casting.instants(array, None)
    short = casting.mask(pc.less_equal(pc.utf8_length(text), 10))
    found[~not_moment] = np.where(short, KINDS.index("date"), KINDS.index("datetime"))[~not_moment]
    words = casting.mask(pc.is_in(pc.ascii_lower(text), pa.array(["true", "false", "yes", "no"], text.type)))
    found[words] = KINDS.index("boolean")
    whole = ~not_number & np.isfinite(numbers) & (np.rint(numbers) == numbers)
    found[~not_number] = np.where(whole, KINDS.index("integer"), KINDS.index("decimal"))[~not_number]
    found[empty] = 0
    return found.astype(np.int32)


def _magnitudes(array: pa.Array) -> np.ndarray:
    numbers, null, bad = casting.floats(array)
    cell = np.searchsorted(MAGNITUDE_EDGES, np.where(null, 0.0, numbers), side="right") - 1
    cell = np.clip(cell, 0, CELLS["magnitude"] - 1)
    return np.where(null | bad, -1, cell).astype(np.int32)


def _months(array: pa.Array) -> np.ndarray:
    moments, null, bad = casting.instants(array, None)
    cell = np.clip(np.searchsorted(_MONTH_EDGES, moments, side="right") - 1, 0, _MONTHS - 1)
    return np.where(null | bad, -1, cell).astype(np.int32)


def text_counts(array: pa.Array) -> tuple[list[bytes], np.ndarray]:
    """The different texts (labels) as bytes, and how often each occurs; null and the empty text are no labels."""
    array = labels.unpack(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = pc.value_counts(labels.as_text(array).drop_null())
    return labels.text_bytes(found.field("values")), found.field("counts").to_numpy(zero_copy_only=False)


def numeric_bounds(histogram: np.ndarray, sigma: float, integer: bool) -> tuple[float, float]:
    """The ends of the outermost cells that stand out of the noise; (0, 1) when none does."""
    first, last = standing_out(histogram, sigma)
    if first is None:
        return (0, 1) if integer else (0.0, 1.0)
    low, high = MAGNITUDE_EDGES[first], MAGNITUDE_EDGES[last + 1]
    middle = CELLS["magnitude"] // 2  # the cell around zero stands for zero itself
    low = 0.0 if first == middle else float(low)
    high = 0.0 if last == middle else float(high)
    if integer:
        # Cells are half open: the last whole number in [a, b) is below b.
        low, high = int(np.ceil(low)), int(np.ceil(high)) - (0 if last == middle else 1)
        return low, max(low, high)
    return low, max(low, high)


def month_bounds(histogram: np.ndarray, sigma: float) -> tuple[str, str]:
    """First day of the first month and last day of the last month that stand out of the noise."""
    first, last = standing_out(histogram, sigma)
    first, last = (0, _MONTHS - 1) if first is None else (first, last)
    months = np.array(_MONTH_EDGES[[first, last + 1]], "datetime64[us]").astype("datetime64[D]")
    return str(months[0]), str(months[1] - 1)


def standing_out(histogram: np.ndarray, sigma: float) -> tuple[int | None, int]:
    """First and last cell of the part that stands out of the noise; (None, −1) when nothing does."""
    left, right = _outermost(histogram, sigma), _outermost(histogram[::-1], sigma)
    if left is None or right is None:
        return None, -1
    # With little signal the two searches can settle on each other's side: keep what lies between.
    first, last = sorted((left, len(histogram) - 1 - right))
    return first, last


def _outermost(histogram: np.ndarray, sigma: float) -> int | None:
    """Where the mass begins: the outermost window, of any power of two cells, that stands out of the noise.

    A long thin tail shows only in a wide window, a spike only in a narrow one. Some 2·cells windows are compared with
    4.5 standard errors each, so that pure noise rarely widens the range.
    """
    sums = np.concatenate([[0], np.cumsum(histogram)])
    found = []
    size = 1
    while size <= len(histogram):
        hits = np.flatnonzero(sums[size:] - sums[:-size] > 4.5 * sigma * np.sqrt(size))
        if len(hits):
            found.append(_trimmed(sums, int(hits[0]), size, sigma))
        size *= 2
    return min(found, default=None)


def _trimmed(sums: np.ndarray, start: int, size: int, sigma: float) -> int:
    """Where the mass begins inside a window that stands out: the outer half if that does, else the inner one."""
    while size > 1:
        size //= 2
        outer, inner = np.diff(sums[[start, start + size, start + 2 * size]])
        level = 3.5 * sigma * np.sqrt(size)
        # Where neither half stands out by itself, the heavier one is the better guess.
        if outer <= level and (inner > level or inner > outer):
            start += size
    return start
