"""An attacker who knows that a decoy was used, and how far it moved the columns, and undoes it.

Method ppem imitates rows with the weight exp(Σ θ_j s_j r_j), r_j the rank of a row in hidden column j of the real
table, s_j = ±1 and θ_j ≥ 0 the least that move every column by the decoy's distance. Somebody with rows of that law
looks for weights exp(−Σ θ_j s_j r_j) with r_j the ranks of the *weighted* rows and θ_j such that every column has moved
by that distance: a fixed point. For one column it is the inverse of a truncated exponential law. The distance has a
default and may be guessed. The signs are those under which the tilted rows are worth most, or of many columns those of
the real table's first principal axis or their opposites, except that a column which has no room in that direction
moves in the other. All patterns of a few columns are tried.
"""

from __future__ import annotations

from itertools import product

import numpy as np

ROUNDS, MOST = 300, 60.0
PATTERNS = 6  # columns of which all signs are tried: 64 patterns
TRIED = 2_000  # rows on which they are


def untilted(hidden: np.ndarray, distance: float, signs: np.ndarray | None = None) -> np.ndarray:
    """Weights of released rows (mean 1) under which their columns are those of the table before the decoy.

    `hidden` [n, columns]: numbers, or places of labels. `signs`: ±1 per column where they are known; else, of the
    patterns with the first column upwards, which a table without classes has, the one whose tilt would leave most: a
    guess, wrong where columns that depend little on each other could have moved either way. A column of a single value
    tells nothing and is left out. All ones where no tilt explains that distance.
    """
    x = np.asarray(hidden, np.float64)
    varied = np.ptp(x, axis=0) > 0
    if not varied.all():
        some = None if signs is None else np.asarray(signs)[varied]
        return untilted(x[:, varied], distance, some) if varied.any() else np.ones(len(x))
    if signs is None:
        some = x[:TRIED]
        upwards = [one for one in patterns(x, distance) if one[0] > 0] or patterns(x, distance)
        signs = max(upwards, key=lambda one: _worth(untilted(some, distance, one)))
    columns = _codes(x)
    theta = np.full(len(columns), 4.0 * distance)
    rank = np.stack([_ranks(codes, np.ones(len(x))) for codes in columns], axis=1)
    for _ in range(ROUNDS):
        exponent = -(rank - 0.5) @ (theta * signs)
        weights = np.exp(exponent - exponent.max())
        weights /= weights.mean()
        new = np.stack([_ranks(codes, weights) for codes in columns], axis=1)
        ratio = distance / np.maximum(_moved(columns, weights, signs), 1e-9)
        if np.abs(new - rank).max() < 1e-6 and np.all((np.abs(ratio - 1) < 1e-4) | ((ratio < 1) & (theta < 1e-3))):
            break
        rank = (rank + new) / 2
        theta = np.minimum(theta * np.clip(ratio, 0.5, 2.0) ** 0.5, 2 * MOST)
    return weights if theta.max() <= MOST else np.ones(len(x))


def _worth(weights: np.ndarray) -> float:
    """The share of rows that a tilt is worth which these weights undo; less than all of it where nothing was found."""
    return 1.0 / float(np.mean(1.0 / weights)) if np.ptp(weights) else 0.0


def _ranks(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Middle ranks of weighted values as shares; `codes` number the distinct values in order."""
    mass = np.bincount(codes, weights)
    return ((np.cumsum(mass) - mass / 2) / mass.sum())[codes]


def _moved(columns: list[np.ndarray], weights: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """How far every column has moved from the weighted rows to the unweighted ones, in the direction of its sign."""
    found = np.empty(len(columns))
    for j, codes in enumerate(columns):
        gap = np.cumsum(np.bincount(codes, weights)) / weights.sum() - np.cumsum(np.bincount(codes)) / len(codes)
        found[j] = (signs[j] * gap).max()
    return found


def patterns(hidden: np.ndarray, distance: float = 0.0) -> list[np.ndarray]:
    """Signs that a decoy may have used: those of the rows' own axis, either way but for columns without room to move so
    far, and all others where the columns are few."""
    columns = hidden.shape[1]
    own = axis_signs(hidden)
    first, last = (hidden == hidden.min(axis=0)).mean(axis=0), (hidden == hidden.max(axis=0)).mean(axis=0)
    likely = [np.where(1 - last < distance, -1.0, np.where(1 - first < distance, 1.0, way)) for way in (own, -own)]
    if columns > PATTERNS:
        return likely
    others = (np.array(signs) for signs in product((1.0, -1.0), repeat=columns))
    return [*likely, *(one for one in others if not any(np.array_equal(one, known) for known in likely))]


def axis_signs(hidden: np.ndarray) -> np.ndarray:
    """+1 or −1 per column: the signs of the first principal axis of the ranks, the first column upwards. Of the real
    rows of many columns these are the signs of the decoy, or their opposites."""
    ones = np.ones(len(hidden))
    rank = np.stack([_ranks(codes, ones) for codes in _codes(np.asarray(hidden, np.float64))], axis=1)
    spread = rank.std(axis=0)
    standard = (rank - rank.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axis = np.linalg.eigh(standard.T @ standard / len(rank))[1][:, -1]
    sign = np.where(axis < 0, -1.0, 1.0)
    return sign * sign[0]


def _codes(x: np.ndarray) -> list[np.ndarray]:
    return [np.unique(column, return_inverse=True)[1] for column in x.T]
