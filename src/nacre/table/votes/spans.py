"""The public grids of magnitudes and of months, and what stands out of a noisy histogram over one of them."""

from __future__ import annotations

import numpy as np

# Magnitudes: 8 steps per factor of two from 2⁻²⁰ to 2⁵⁰ on each side of zero, and zero itself.
_PER_OCTAVE, _LOWEST, _HIGHEST = 8, -20, 50
_POSITIVE = np.concatenate(
    [2.0**e * (1 + np.arange(_PER_OCTAVE) / _PER_OCTAVE) for e in range(_LOWEST, _HIGHEST)] + [[2.0**_HIGHEST]]
)
# Ends of the cells, in increasing order; the cell around zero holds what is smaller than 2⁻²⁰.
MAGNITUDE_EDGES = np.concatenate([-_POSITIVE[::-1], _POSITIVE])

# Months from January 1800 to December 2199.
_FIRST_YEAR, _MONTHS = 1800, 4800
MONTH_EDGES = (
    (np.datetime64(f"{_FIRST_YEAR}-01", "M") + np.arange(_MONTHS + 1)).astype("datetime64[us]").astype(np.int64)
)

# Standard errors by which one of thousands of windows stands out, one of the hundred halves that they are cut into, and
# one of the few next to what was found.
_STANDS, _HALF, _NEAR = 5.5, 4.5, 3.5
_NEXT = 32  # cells: a mistake of the few does not reach farther


def numeric_bounds(histogram: np.ndarray, sigma: float, integer: bool) -> tuple[float, float]:
    """The ends of the outermost cells that stand out of the noise; (0, 1) when none does."""
    first, last = standing_out(histogram, sigma)
    if first is None:
        return (0, 1) if integer else (0.0, 1.0)
    low, high = MAGNITUDE_EDGES[first], MAGNITUDE_EDGES[last + 1]
    middle = (len(MAGNITUDE_EDGES) - 1) // 2  # the cell around zero stands for zero itself
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
    months = np.array(MONTH_EDGES[[first, last + 1]], "datetime64[us]").astype("datetime64[D]")
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

    A long thin tail shows only in a wide window, a spike only in a narrow one. Some 2·cells windows are looked at from
    either side, twenty thousand for months: at 5.5 standard errors noise widens one range in two thousand.
    """
    sums = np.concatenate([[0], np.cumsum(histogram)])
    found = []
    size = 1
    while size <= len(histogram):
        hits = np.flatnonzero(sums[size:] - sums[:-size] > _STANDS * sigma * np.sqrt(size))
        if len(hits):
            found.append(_trimmed(sums, int(hits[0]), size, sigma))
        size *= 2
    return _with_tail(sums, min(found), sigma) if found else None


def _with_tail(sums: np.ndarray, edge: int, sigma: float) -> int:
    """The edge moved outwards for as long as a window beside it stands out."""
    size = 1
    while size <= min(_NEXT, edge):
        if sums[edge] - sums[edge - size] > _NEAR * sigma * np.sqrt(size):
            edge, size = _trimmed(sums, edge - size, size, sigma), 1
        else:
            size *= 2
    return edge


def _trimmed(sums: np.ndarray, start: int, size: int, sigma: float) -> int:
    """Where the mass begins inside a window that stands out: the outer half if that does, else the inner one."""
    while size > 1:
        size //= 2
        outer, inner = np.diff(sums[[start, start + size, start + 2 * size]])
        level = (_HALF if size > _NEXT else _NEAR) * sigma * np.sqrt(size)
        # Where neither half stands out by itself, the heavier one is the better guess.
        if outer <= level and (inner > level or inner > outer):
            start += size
    return start
