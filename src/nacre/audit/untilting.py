"""An attacker who knows that a decoy was used, and how far it moved the columns, and undoes it.

Method ppem imitates rows with the weight exp(θ Σ s_j r_j), r_j the rank of a row in hidden column j of the real table
and s_j = ±1. Somebody with rows of that law looks for weights exp(−θ Σ s_j r_j) with r_j the ranks of the *weighted*
rows: a fixed point. For one column it is the inverse of a truncated exponential law. θ is the one that moves the least
moved column by the decoy's distance, which has a default and may be guessed; the signs are read off the correlations
of the rows, which a tilt seldom turns around.
"""

from __future__ import annotations

import numpy as np

ROUNDS, HALVINGS, MOST = 60, 30, 60.0


def untilted(hidden: np.ndarray, distance: float) -> np.ndarray:
    """Weights of released rows (mean 1) under which their columns are those of the table before the decoy.

    `hidden` [n, columns]: numbers, or places of labels. All ones where no tilt explains that distance.
    """
    x = np.asarray(hidden, np.float64)
    columns = [np.unique(column, return_inverse=True)[1] for column in x.T]
    plain = np.full(len(x), 1.0)
    signs = _signs(np.stack([_ranks(codes, plain) for codes in columns], axis=1))
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


def _signs(rank: np.ndarray) -> np.ndarray:
    """+1 or −1 per column: the signs of the first principal axis, the first column upwards."""
    spread = rank.std(axis=0)
    standard = (rank - rank.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    axis = np.linalg.eigh(standard.T @ standard)[1][:, -1]
    sign = np.where(axis < 0, -1.0, 1.0)
    return sign * sign[0]
