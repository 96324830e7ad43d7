"""A decoy marginal with a stated effect size: rows resampled so that every hidden column moves by a chosen distance.

Row i gets the weight exp(Σ_j θ_j s_j (r_ij − ½)), r_ij its rank in hidden column j as a share, s_j = ±1 and θ_j ≥ 0. Of
all weights that move the columns so far in these directions, measured by mean ranks, none is nearer to equal weights
(Kullback-Leibler): every column has a θ of its own, and 0 where the others carry it along. One θ for all would move
most columns further than asked, and with many columns leave a single row.

The signs are those that leave rows worth most: of each class alike, where there are classes, of which a rare one has
few to lose. All signs are tried of a few columns, of many those of the first principal axis of the ranks, both ways.

Weights depend on x' alone, so p(x*|x') is that of the data; all values of x' stay inside the data's support. For one
column the weighted ranks follow a truncated exponential law. θ is found on the rows, so that the Kolmogorov-Smirnov
distance of every column that has one is the distance asked for, and no column stays below it (specs/ppem.md 10.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from nacre.errors import ConvergenceError

FEW = 20  # rows of a class below which it does not choose the direction: that would tell of single rows
PATTERNS = 6  # columns of which all signs are tried
MOST = 60.0  # of θ: beyond, one row in e^30 counts
ROUNDS = 100
CLOSE, SHORT = 1e-6, 1e-4  # of the distance: where the search ends, and by how much it may be missed
RIDGE = 1e-3  # of the Newton step


def ranks(hidden: np.ndarray) -> np.ndarray:
    """Middle ranks of every column as shares in (0, 1)."""
    from scipy.stats import rankdata

    return (rankdata(hidden, axis=0) - 0.5) / len(hidden)


def directions(rank: np.ndarray) -> np.ndarray:
    """+1 or -1 for every column: the signs of the first principal axis of the ranks, the first column upwards."""
    spread = rank.std(axis=0)
    standard = (rank - rank.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axis = np.linalg.eigh(standard.T @ standard / len(rank))[1][:, -1]
    sign = np.where(axis < 0, -1.0, 1.0)
    return sign * sign[0]


def tilt(hidden: np.ndarray, distance: float, names: Sequence[str] = (), kinds: np.ndarray | None = None) -> np.ndarray:
    """Weights of the rows, mean 1, with which every hidden column is at least `distance` from the data. `kinds`: the
    class of every row, -1 for none. Without classes the first column moves upwards.

    ConvergenceError where there are none; by their `names`, columns that stay behind are told."""
    rank = ranks(np.asarray(hidden, np.float64))
    groups = _classes(kinds, len(rank))
    axis = directions(rank)
    signs = [axis, -axis]
    if rank.shape[1] <= PATTERNS:
        signs += [np.array(one) for one in product((1.0, -1.0), repeat=rank.shape[1])]
    if len(groups) == 1:
        signs = [one for one in signs if one[0] > 0]
    columns = Columns(rank)
    tried = [along(columns, one, distance) for one in {tuple(s): s for s in signs}.values()]
    found = [weights for weights, short in tried if not short.any()]
    if not found:
        behind = np.all([short for _, short in tried], axis=0)
        which = ", ".join(repr(name) for name, lags in zip(names, behind) if lags)
        raise ConvergenceError(
            f"decoy={distance:g}: no tilt of these rows moves every hidden column that far"
            f"{f'; {which} stays behind' if which else ''}: hide fewer columns (one that is nearly constant cannot "
            "be moved), or ask for a smaller decoy"
        )
    return max(found, key=lambda weights: sum(np.log(_worth(weights[own]) / len(own)) for own in groups))


def _worth(weights: np.ndarray) -> float:
    """How many equal rows such rows are worth, and no more than they weigh: a class that hardly occurs is lost."""
    return min(float(weights.sum() ** 2 / (weights**2).sum()), float(weights.sum()))


def _classes(kinds: np.ndarray | None, rows: int) -> list[np.ndarray]:
    """The rows of every class that has enough of them; all rows where there is none but one."""
    known = np.zeros(rows, np.int64) if kinds is None else kinds
    counts = np.bincount(known[known >= 0])
    there = np.flatnonzero(counts >= FEW)
    return [np.flatnonzero(known == c) for c in there] if len(there) > 1 else [np.arange(rows)]


class Columns:
    """Ranks of hidden columns, ready to be compared under many weights of their rows."""

    def __init__(self, rank: np.ndarray):
        self.rank = rank
        self.order = np.argsort(rank, axis=0, kind="stable")
        there = np.take_along_axis(rank, self.order, 0)
        self.last = np.append(np.diff(there, axis=0) > 0, np.ones((1, rank.shape[1]), bool), axis=0)
        self.upto = np.arange(1, len(rank) + 1) / len(rank)

    def moved(self, weights: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(how far every column has moved in its direction, the rank at which it has): max_t s (F(t) − F_w(t)), where a
        value ends."""
        far, at = np.empty(len(signs)), np.empty(len(signs))
        share = weights / weights.sum()
        for j, sign in enumerate(signs):
            order, last = self.order[:, j], self.last[:, j]
            gap = np.where(last, sign * (self.upto - np.cumsum(share[order])), -np.inf)
            place = gap.argmax()
            far[j], at[j] = gap[place], self.rank[order[place], j]
        return far, at


def along(columns: Columns, signs: np.ndarray, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """(weights of mean 1 that move the columns in these directions, which columns they do not move far enough).

    Newton's method on the distances: that of column j changes with θ_k by the covariance, under the weights, of s_k r_k
    and of being below the place where column j is farthest.
    """
    centred = (columns.rank - 0.5) * signs
    theta = np.full(len(signs), 0.1 / len(signs))
    weights, lack = np.ones(len(centred)), np.full(len(signs), distance)
    for _ in range(ROUNDS):
        weights = _weights(centred @ theta)
        far, at = columns.moved(weights, signs)
        lack = distance - far
        if np.all(np.where(theta > 0, np.abs(lack), lack) < CLOSE * distance) or theta.max() > MOST:
            break
        share = weights / weights.sum()
        below = (columns.rank <= at).astype(np.float64)
        slope = np.outer(share @ below, share @ centred) - below.T @ (share[:, None] * centred)
        free = (theta > 0) | (lack > 0)
        part = (slope * signs[:, None])[np.ix_(free, free)]
        step = np.zeros(len(signs))
        step[free] = np.linalg.solve(part + RIDGE * np.abs(np.diag(part)).mean() * np.eye(free.sum()), lack[free])
        theta = np.maximum(0.0, theta + np.clip(step, -1.0, 1.0))
    return weights, lack > SHORT * distance


def _weights(exponent: np.ndarray) -> np.ndarray:
    found = np.exp(exponent - exponent.max())
    return found / found.mean()
