"""A decoy marginal with a stated effect size: rows resampled so that every hidden column moves by a chosen distance.

Row i gets the weight exp(θ Σ_j s_j (r_ij − ½)), r_ij its rank in hidden column j as a share and s_j = ±1: columns that
run against each other are moved in opposite directions, or the tilt would have to be far steeper and few rows would be
left to imitate. All signs turned around are as good a decoy; where there are classes, that of the two is taken which
leaves more of the rarest one that has some rows, of which a generator sees few as it is.

Weights depend on x' alone, so p(x*|x') is that of the data; all values of x' stay inside the data's support. For one
column the weighted ranks follow a truncated exponential law. θ is found on the rows, so that the smallest
Kolmogorov-Smirnov distance of the hidden columns is the one asked for (specs/ppem.md 10.3). With many hidden columns a
small distance may need weights that leave a single row: who imitates the rows asks first what they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacre.errors import ConvergenceError

FEW = 20  # rows of a class below which it does not choose the direction: that would tell of single rows
_MOST = 60.0  # of θ: beyond, one row in e^30 counts


def ranks(hidden: np.ndarray) -> np.ndarray:
    """Middle ranks of every column as shares in (0, 1)."""
    from scipy.stats import rankdata

    return (rankdata(hidden, axis=0) - 0.5) / len(hidden)


def column_distances(rank: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """max_t |F_weighted(t) − F(t)| of every column."""
    return np.array([_distance(one, weights) for one in _sorted(rank)])


def _sorted(rank: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of every column the order of its rows, and where in it a value ends: with ties, functions are compared there."""
    orders = [np.argsort(column, kind="stable") for column in rank.T]
    return [(order, np.append(np.diff(column[order]) > 0, True)) for order, column in zip(orders, rank.T)]


def _distance(column: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> float:
    order, last = column
    gap = np.cumsum(weights[order]) / weights.sum() - np.arange(1, len(order) + 1) / len(order)
    return float(np.abs(gap[last]).max())


def directions(rank: np.ndarray) -> np.ndarray:
    """+1 or -1 for every column: the signs of the first principal axis of the ranks, the first column upwards."""
    spread = rank.std(axis=0)
    standard = (rank - rank.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axis = np.linalg.eigh(standard.T @ standard / len(rank))[1][:, -1]
    sign = np.where(axis < 0, -1.0, 1.0)
    return sign * sign[0]


def tilt(hidden: np.ndarray, distance: float, names: Sequence[str] = (), kinds: np.ndarray | None = None) -> np.ndarray:
    """Weights of the rows, mean 1, with which the least moved hidden column is `distance` from the data. `kinds`: the
    class of every row, -1 for none.

    ConvergenceError where there are none; by their `names`, columns that stay behind are told."""
    rank = ranks(np.asarray(hidden, np.float64))
    total = (rank - 0.5) @ directions(rank)
    upwards = _along(total, rank, distance, names)
    counts = np.bincount(np.zeros(0, np.int64) if kinds is None else kinds[kinds >= 0])
    there = np.flatnonzero(counts >= FEW)
    if len(there) < 2:
        return upwards
    try:
        downwards = _along(-total, rank, distance, names)
    except ConvergenceError:
        return upwards
    rarest = np.flatnonzero(kinds == there[counts[there].argmin()])
    return max(upwards, downwards, key=lambda weights: weights[rarest].sum())


def _along(total: np.ndarray, rank: np.ndarray, distance: float, names: Sequence[str]) -> np.ndarray:
    """Weights exp(θ·total) with the least θ that moves every column by `distance`."""

    def weights(theta: float) -> np.ndarray:
        w = np.exp(theta * (total - total.max()))
        return w / w.mean()

    columns = _sorted(rank)

    def least(theta: float) -> float:
        w = weights(theta)
        return min(_distance(one, w) for one in columns)

    low, high = 0.0, 1.0
    while least(high) < distance:
        low, high = high, 2 * high
        if high > _MOST:
            short = column_distances(rank, weights(low)) < distance
            which = ", ".join(repr(name) for name, lags in zip(names, short) if lags)
            raise ConvergenceError(
                f"decoy={distance:g}: no tilt of these rows moves every hidden column that far"
                f"{f'; {which} stays behind' if which else ''}: hide fewer columns (one that is nearly constant cannot "
                "be moved), or ask for a smaller decoy"
            )
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) < distance else (low, middle)
    return weights(high)
