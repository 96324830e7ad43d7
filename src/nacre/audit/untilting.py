"""An attacker who knows that a decoy was used, and how far it moved the columns, and undoes it.

Method ppem imitates rows with the weight exp(θ Σ s_j r_j), r_j the rank of a row in hidden column j of the real table
and s_j = ±1. Somebody with rows of that law looks for weights exp(−θ Σ s_j r_j) with r_j the ranks of the *weighted*
rows: a fixed point. For one column it is the inverse of a truncated exponential law. θ is the one that moves the least
moved column by the decoy's distance, which has a default and may be guessed. The signs are those of the real table's
first principal axis, or all of them turned around: known, or guessed. Released rows may have another axis, so that all
patterns of a few columns are tried; the right one is an axis of the rows that it gives back.
"""

from __future__ import annotations

from itertools import product

import numpy as np

ROUNDS, HALVINGS, MOST = 60, 24, 60.0
PATTERNS = 6  # columns of which all signs are tried: 64 patterns
TRIED = 2_000  # rows on which they are


def untilted(hidden: np.ndarray, distance: float, signs: np.ndarray | None = None) -> np.ndarray:
    """Weights of released rows (mean 1) under which their columns are those of the table before the decoy.

    `hidden` [n, columns]: numbers, or places of labels. `signs`: ±1 per column where they are known; else, of the
    patterns with the first column upwards, which a table without classes has, the one that is nearest to an axis of the
    rows it gives back. All ones where no tilt explains that distance.
    """
    x = np.asarray(hidden, np.float64)
    if signs is None:
        some = x[:TRIED]
        upwards = [one for one in patterns(x) if one[0] > 0]
        signs = max(upwards, key=lambda one: _agreement(some, distance, one))
    columns = _codes(x)
    plain = np.full(len(x), 1.0)
    low, high = 0.0, 1.0
    while _moved(columns, weights := _fixed(columns, signs, high)) < distance:
        low, high = high, 2 * high
        if high > MOST:
            return plain
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        weights = _fixed(columns, signs, middle)
        low, high = (middle, high) if _moved(columns, weights) < distance else (low, middle)
    return weights


def _fixed(columns: list[np.ndarray], signs: np.ndarray, theta: float) -> np.ndarray:
    """Weights that are exp(−θ Σ s_j r_j) of their own ranks, by damped repetition."""
    weights = np.ones(len(columns[0]))
    rank = np.stack([_ranks(codes, weights) for codes in columns], axis=1)
    for _ in range(ROUNDS):
        exponent = -theta * (rank - 0.5) @ signs
        weights = np.exp(exponent - exponent.max())
        weights /= weights.mean()
        new = np.stack([_ranks(codes, weights) for codes in columns], axis=1)
        if np.abs(new - rank).max() < 1e-9:
            break
        rank = (rank + new) / 2
    return weights


def _ranks(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Middle ranks of weighted values as shares; `codes` number the distinct values in order."""
    mass = np.bincount(codes, weights)
    return ((np.cumsum(mass) - mass / 2) / mass.sum())[codes]


def _moved(columns: list[np.ndarray], weights: np.ndarray) -> float:
    """The least Kolmogorov-Smirnov distance of a weighted column from the unweighted one."""
    found = []
    for codes in columns:
        gap = np.cumsum(np.bincount(codes, weights)) / weights.sum() - np.cumsum(np.bincount(codes)) / len(codes)
        found.append(float(np.abs(gap).max()))
    return min(found)


def patterns(hidden: np.ndarray) -> list[np.ndarray]:
    """Signs that a decoy may have used: those of the rows' own axis, either way, and all others where the columns are
    few."""
    columns = hidden.shape[1]
    own = axis_signs(hidden)
    likely = [own, -own]
    if columns > PATTERNS:
        return likely
    others = (np.array(signs) for signs in product((1.0, -1.0), repeat=columns))
    return [*likely, *(one for one in others if not any(np.array_equal(one, known) for known in likely))]


def axis_signs(hidden: np.ndarray) -> np.ndarray:
    """+1 or −1 per column: the signs of the first principal axis of the ranks, the first column upwards. Of the real
    rows these are the signs of the decoy, or their opposites."""
    axis = _axis(_codes(np.asarray(hidden, np.float64)), np.ones(len(hidden)))
    sign = np.where(axis < 0, -1.0, 1.0)
    return sign * sign[0]


def _agreement(hidden: np.ndarray, distance: float, signs: np.ndarray) -> float:
    """How well signs fit the principal axis of the rows that they give back: 1 where they are its signs."""
    weights = untilted(hidden, distance, signs)
    axis = _axis(_codes(hidden), weights)
    return abs(float(axis @ signs)) / max(float(np.abs(axis).sum()), 1e-300)


def _axis(columns: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    rank = np.stack([_ranks(codes, weights) for codes in columns], axis=1)
    w = weights / weights.sum()
    centred = rank - w @ rank
    spread = np.sqrt(w @ centred**2)
    standard = centred / np.where(spread > 0, spread, 1.0)
    return np.linalg.eigh((standard * w[:, None]).T @ standard)[1][:, -1]


def _codes(x: np.ndarray) -> list[np.ndarray]:
    return [np.unique(column, return_inverse=True)[1] for column in x.T]
