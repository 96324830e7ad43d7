"""The Laplace histogram of the support-points study, without holding its cells: a baseline that only benchmarks use.

Total cells (N·ε/10)^(2d/(2+d)), the same number on every axis (at most 6e9 in this study). Every cell gets Laplace
noise of scale 1/ε (one row present or blanked), negative counts become 0, and rows are drawn from what is left, uniform
inside a cell. Cells without rows are all alike: how many are positive is binomial, their sum is a gamma variable, and a
draw from them is a cell chosen at random (that one cell comes twice, of probability about 2/cells, is neglected).
"""

from __future__ import annotations

import numpy as np


def cells_per_axis(rows: int, columns: int, epsilon: float) -> int:
    total = max(1.0, rows * epsilon / 10) ** (2 * columns / (2 + columns))
    return max(2, round(total ** (1 / columns)))


def histogram_rows(train: np.ndarray, points: int, epsilon: float, seed: int) -> np.ndarray:
    """`points` synthetic rows in [0, 1]^d. Noise from NumPy: fit for comparing, not for publishing."""
    rng = np.random.default_rng([seed, round(1000 * epsilon)])
    rows, columns = train.shape
    side = cells_per_axis(rows, columns, epsilon)
    cell = np.minimum((train * side).astype(np.int64), side - 1)
    occupied, counts = np.unique(cell, axis=0, return_counts=True)
    noisy = np.maximum(counts + rng.laplace(0, 1 / epsilon, len(counts)), 0.0)
    empty = float(side) ** columns - len(counts)
    positive = rng.binomial(int(empty), 0.5) if empty < 2**62 else round(empty / 2)
    elsewhere = rng.gamma(positive, 1 / epsilon) if positive else 0.0
    chosen = rng.random(points) * (noisy.sum() + elsewhere)
    found = rng.integers(0, side, (points, columns))  # a cell chosen at random
    own = chosen < noisy.sum()
    found[own] = occupied[np.searchsorted(np.cumsum(noisy), chosen[own], side="right").clip(max=len(counts) - 1)]
    return (found + rng.random((points, columns))) / side
