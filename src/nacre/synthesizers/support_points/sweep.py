"""Support points without privacy, by the convex-concave sweep (Mak and Joseph 2018; specs/support_points.md 3)."""

from __future__ import annotations

import numpy as np

_TINY = 1e-9
_CHUNK = 1 << 22  # distances held at a time


def support_points(x: np.ndarray, points: int, seed: int = 0, sweeps: int = 500, tolerance: float = 1e-7) -> np.ndarray:
    """`points` rows that (locally) minimise the energy distance to x [N, d], starting from rows of x.

    Each sweep moves every point by the closed form
    y_j <- [Σ_i 1/‖x_i−y_j‖]⁻¹ (Σ_i x_i/‖x_i−y_j‖ + (N/n) Σ_{l≠j} (y_j−y_l)/‖y_j−y_l‖), which never raises the distance.
    """
    x = np.asarray(x, dtype=np.float64)
    rng = np.random.default_rng([seed, 11])
    y = x[rng.choice(len(x), points, replace=points > len(x))] + 1e-3 * rng.standard_normal((points, x.shape[1]))
    for _ in range(sweeps):
        new = _sweep(x, y)
        moved = float(np.abs(new - y).max())
        y = new
        if moved < tolerance:
            break
    return y


def _sweep(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    n = len(y)
    weight, pull = np.zeros(n), np.zeros_like(y)
    for a in range(0, len(x), max(1, _CHUNK // n)):
        rows = x[a : a + max(1, _CHUNK // n)]
        inverse = 1 / np.maximum(_distances(rows, y), _TINY)
        weight += inverse.sum(axis=0)
        pull += inverse.T @ rows
    push = 1 / np.maximum(_distances(y, y), _TINY)
    np.fill_diagonal(push, 0.0)
    return (pull + len(x) / n * (push.sum(axis=1)[:, None] * y - push @ y)) / weight[:, None]


def _distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return cdist(x, y)
