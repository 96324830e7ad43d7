"""The fine cells of a number line: a function of the declared bounds, edges and atoms, of nothing else.

Cells are given by their starts, in increasing order; a cell reaches up to the next start. An atom is a
cell that holds one value only: [v, v+1) on integers, [v, next float) on the real line.
"""

from __future__ import annotations

import numpy as np

EQUAL = 200  # cells of equal width across the bounds
PER_DECADE = 8  # cells per factor of ten on each side of zero
SMALLEST = 1e-6  # where those begin, relative to the range
MERGE = 1e-7  # edges closer than this, relative to the range, are one
FIRST = 100  # lowest steps from zero that are looked at one by one, however far the bounds reach
ONE_BY_ONE = 512  # integer columns with up to this many values above the lowest get a cell for each


def real_starts(
    bounds: tuple[float, float], edges: tuple[float, ...] | None, atoms: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """(starts, atom flags) of the cells of a real column. The last cell ends at, and includes, the upper
    bound.

    Declared edges are taken as they are, with the declared atoms only. Otherwise zero and the two bounds are
    atoms too: spikes sit at zero, and clamped values pile up at the bounds.
    """
    low, high = bounds
    if edges is None:
        points = _real_edges(low, high)
        atoms = (*atoms, low, high, *([0.0] if low <= 0 <= high else []))
    else:
        points = np.array(edges[:-1])
    spikes = np.unique(np.array(atoms, dtype=np.float64) + 0.0)  # + 0.0 turns -0.0 into 0.0
    after = np.nextafter(spikes, np.inf)
    starts = np.unique(np.concatenate([points + 0.0, spikes, after[after <= high]]))
    return starts, np.isin(starts, spikes)


def _real_edges(low: float, high: float) -> np.ndarray:
    span = high - low
    if span == 0:
        return np.array([low])
    return _merged(np.concatenate([np.linspace(low, high, EQUAL + 1), _log_points(low, high)]), span)[:-1]


def _log_points(low: float, high: float) -> np.ndarray:
    span, reach = high - low, max(abs(low), abs(high))
    decades = np.log10(reach) - np.log10(span) - np.log10(SMALLEST)
    if decades <= 0:
        return np.array([])
    # In logarithms, so that neither huge nor tiny bounds overflow.
    exponents = np.log10(span) + np.log10(SMALLEST) + np.arange(int(decades * PER_DECADE) + 1) / PER_DECADE
    steps = 10.0**exponents
    points = np.concatenate([-steps, [0.0], steps])
    return points[(points > low) & (points < high)]


def _merged(points: np.ndarray, span: float) -> np.ndarray:
    """The points in order, each at least MERGE of the range above the one kept before; the ends stay."""
    points = np.unique(points)
    kept = [points[0]]
    for point in points[1:-1]:
        if point - kept[-1] > MERGE * span and points[-1] - point > MERGE * span:
            kept.append(point)
    return np.array([*kept, points[-1]])


def integer_starts(
    bounds: tuple[int, int], edges: tuple[int, ...] | None, atoms: tuple[int, ...], zero: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(starts, atom flags) of the cells of an integer column; the last cell ends at, and includes, the
    upper bound.

    `zero` says whether zero is a natural origin: it is for numbers, not for dates.
    """
    low, high = bounds
    if edges is not None:
        points = np.array(edges[:-1], dtype=np.int64)
    elif high - low <= ONE_BY_ONE:
        return np.arange(low, high + 1, dtype=np.int64), np.zeros(high - low + 1, bool)
    else:
        points = _integer_edges(low, high, zero)
        atoms = (*atoms, low, high, *([0] if zero and low <= 0 <= high else []))
    spikes = np.unique(np.array(atoms, dtype=np.int64))
    starts = np.unique(np.concatenate([points, spikes, spikes[spikes < high] + 1]))
    return starts, np.isin(starts, spikes)


def _integer_edges(low: int, high: int, zero: bool) -> np.ndarray:
    # Whole steps counted in Python integers: exact, whatever the size of the bounds.
    points = [low + (high - low) * i // EQUAL for i in range(EQUAL)]
    if zero:
        points += [int(p) for p in np.rint(_log_points(float(low), float(high)))]
    inside = sorted({p for p in points if low <= p <= high})
    return np.array(inside, dtype=np.int64)


def likely_spikes(bounds: tuple[int, int], unit: int) -> np.ndarray:
    """The steps at which people's numbers pile up, wherever the data lie: the first, those of two significant digits,
    and the last step below a whole `unit` (prices) or a number of one digit (codes).
    """
    low, high = bounds
    reach = max(abs(low), abs(high))
    found = [np.arange(min(FIRST, reach) + 1)]
    for power in range(len(str(reach))):
        two = np.arange(10, 100, dtype=np.int64) * 10**power
        ends = two[two % unit == 0] if unit > 1 else two[(two % (10 ** (power + 1)) == 0) & (two >= 100)]
        found += [two, ends - 1]
    steps = np.unique(np.concatenate(found))
    steps = np.unique(np.concatenate([-steps, steps]))
    return steps[(steps >= low) & (steps <= high)]
