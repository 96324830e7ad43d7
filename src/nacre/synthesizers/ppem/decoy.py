"""A decoy marginal with a stated effect size: rows resampled so that every hidden column moves by a chosen distance.

Row i gets the weight exp(Σ_j θ_j s_j (r_ij − ½)), r_ij its rank in hidden column j as a share, s_j = ±1 and θ_j ≥ 0. Of
all weights that move the columns so far in these directions, measured by mean ranks, none is nearer to equal weights
(Kullback-Leibler): every column has a θ of its own, and 0 where the others carry it along. One θ for all would move
most columns further than asked, and with many columns leave a single row.

The signs are those that leave rows worth most: of each class alike, where there are classes, of which a rare one has
few to lose. All signs are tried of a few columns, of many those of the first principal axis of the ranks, both ways,
with columns turned around that cannot move so far in that direction.

Weights depend on x' alone, so p(x*|x') is that of the data; all values of x' stay inside the data's support. For one
column the weighted ranks follow a truncated exponential law. θ is found on the rows, so that the Kolmogorov-Smirnov
distance of every column that has one is the distance asked for, and no column stays below it (specs/ppem.md 10.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from nacre.errors import ConvergenceError

FEW = 20  # rows of a class below which it does not choose the direction: that would tell of single rows
PATTERNS = 6  # columns of which all signs are tried
MOST = 60.0  # of θ: beyond, one row in e^30 counts
ROUNDS = 100
CLOSE, SHORT = 1e-6, 1e-4  # of the distance: where the search ends, and by how much it may be missed
RIDGE = 1e-3  # of the Newton step
HALVINGS = 12  # of a step that leads nowhere
TURNS = 8  # times that columns which stay behind are turned around


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
    class of every row, -1 for none. Without classes the first column moves upwards if it can.

    ConvergenceError where none were found; by their `names`, columns that stay behind are told."""
    columns, groups = Columns(ranks(np.asarray(hidden, np.float64))), _classes(kinds, len(hidden))
    up, down = columns.room()
    stuck = np.maximum(up, down) < distance
    tried = [] if stuck.any() else _tried(columns, distance, up, down)
    found = [one for one in tried if not one.short.any()]
    if not found:
        behind = stuck if stuck.any() else np.all([one.short for one in tried], axis=0)
        which = ", ".join(repr(name) for name, lags in zip(names, behind) if lags)
        raise ConvergenceError(
            f"decoy={distance:g}: no tilt of these rows was found that moves every hidden column that far"
            f"{f'; staying behind: {which}' if which else ''}. Hide fewer columns (one that is nearly constant cannot "
            "be moved), or ask for a smaller decoy"
        )
    found = [one for one in found if one.exact] or found
    if len(groups) == 1:
        found = [one for one in found if one.signs[0] > 0] or found
    return max(found, key=lambda one: sum(np.log(_worth(one.weights[own]) / len(own)) for own in groups)).weights


def _tried(columns: Columns, distance: float, up: np.ndarray, down: np.ndarray) -> list[Tilt]:
    axis = directions(columns.rank)
    signs = [np.where(up < distance, -1.0, np.where(down < distance, 1.0, way)) for way in (axis, -axis)]
    if few := len(axis) <= PATTERNS:
        signs += [np.array(one) for one in product((1.0, -1.0), repeat=len(axis))]
    found: dict[tuple[float, ...], Tilt] = {}
    for way in signs:
        for _ in range(TURNS):
            if tuple(way) in found:
                break
            found[tuple(way)] = one = along(columns, way, distance)
            if few or not one.short.any():
                break
            way = np.where(one.short & (up >= distance) & (down >= distance), -way, way)
    return list(found.values())


def _worth(weights: np.ndarray) -> float:
    """How many equal rows such rows are worth, and no more than they weigh: a class that hardly occurs is lost."""
    return max(min(float(weights.sum() ** 2 / max((weights**2).sum(), 1e-300)), float(weights.sum())), 1e-300)


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

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """How far every column could move upwards, and downwards: up to where all rows have its last or first value."""
        first, last = (
            (self.rank == self.rank.min(axis=0)).mean(axis=0),
            (self.rank == self.rank.max(axis=0)).mean(axis=0),
        )
        return 1.0 - last, 1.0 - first

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


class Tilt(NamedTuple):
    """Weights of mean 1, the directions in which they move the columns, which columns stay `short` of the distance, and
    whether no column with a slope goes beyond it."""

    weights: np.ndarray
    signs: np.ndarray
    short: np.ndarray
    exact: bool


def along(columns: Columns, signs: np.ndarray, distance: float) -> Tilt:
    """The tilt in these directions.

    Newton's method on the distances: that of column j changes with θ_k by the covariance, under the weights, of s_k r_k
    and of being below the place where column j is farthest. A step is halved until it leads nearer.
    """
    centred = (columns.rank - 0.5) * signs

    def at(theta: np.ndarray) -> Any:
        weights = _weights(centred @ theta)
        far, place = columns.moved(weights, signs)
        lack = distance - far
        off = np.where(theta > 0, np.abs(lack), np.maximum(lack, 0.0))
        return off, weights, lack, place

    theta = np.full(len(signs), 0.1 / len(signs))
    off, weights, lack, place = at(theta)
    for _ in range(ROUNDS):
        if off.max() < CLOSE * distance:
            break
        share = weights / weights.sum()
        below = (columns.rank <= place).astype(np.float64)
        slope = np.outer(share @ below, share @ centred) - below.T @ (share[:, None] * centred)
        free = (theta > 0) | (lack > 0)
        part = (slope * signs[:, None])[np.ix_(free, free)]
        ridge = RIDGE * max(np.abs(np.diag(part)).mean(), 1e-9) * np.eye(free.sum())
        step = np.zeros(len(signs))
        step[free] = np.clip(np.linalg.solve(part + ridge, lack[free]), -1.0, 1.0)
        for _ in range(HALVINGS):
            nearer = at(new := np.clip(theta + step, 0.0, MOST))
            if (nearer[0] ** 2).sum() < (off**2).sum():
                break
            step /= 2
        else:
            break
        theta, (off, weights, lack, place) = new, nearer
    return Tilt(weights, signs, lack > SHORT * distance, bool(off.max() <= SHORT * distance))


def _weights(exponent: np.ndarray) -> np.ndarray:
    found = np.exp(exponent - exponent.max())
    return found / found.mean()
