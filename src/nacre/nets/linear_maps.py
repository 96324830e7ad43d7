"""What training and sampling share of the linear flows, and their inverses, in plain NumPy (dphflow.md 3.3, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

LEAST_SCALE = 1e-3
UNIT = float(np.log(np.expm1(1 - LEAST_SCALE)))  # softplus of this is 1 - LEAST_SCALE
_ZERO = float(np.log(np.expm1(1.0)))
_TINY = 1e-8


def factors(p: Mapping[str, Any], xp: ModuleType) -> tuple[Any, Any, Any]:
    """(s, V, W) of the map diag(s)(I + V W): V = A / s [d, r], W = B [r, d]; its determinant is Π s · det(I + W V).

    s = softplus(raw) + 1e-3 > 0. With rank 1, V is bent along W so that W V becomes m(W V), where
    m(t) = -1 + 1e-3 + (1 - 1e-3) softplus(t + log(e - 1)): m(0) = 0 and m > -1 (E8). Higher ranks stay as they are.
    """
    s = xp.logaddexp(p["raw"], 0.0) + LEAST_SCALE
    v, w = p["a"] / s[:, None], p["b"]
    if v.shape[1] == 1:
        t = (w @ v)[0, 0]
        m = -1 + LEAST_SCALE + (1 - LEAST_SCALE) * xp.logaddexp(t + _ZERO, 0.0)
        v = v + (m - t) * w.T / ((w * w).sum() + _TINY)
    return s, v, w


def low_rank_inverse(p: Mapping[str, np.ndarray], z: np.ndarray) -> np.ndarray:
    """x from z [n, d] by Woodbury: (I + V W)⁻¹ = I - V (I + W V)⁻¹ W."""
    s, v, w = factors(p, np)
    t = (z - p["shift"]) / s
    return t - np.linalg.solve(np.eye(len(w)) + w @ v, w @ t.T).T @ v.T


def plu_inverse(parameters: Mapping[str, Any], z: np.ndarray, name: str, order: np.ndarray) -> np.ndarray:
    """x from z [n, d] by two triangular solves after Pᵀ."""
    from scipy.linalg import solve_triangular

    own, d = parameters[f"{name}/diagonal"], z.shape[1]
    y = np.empty_like(z)
    y[:, order] = z - own["shift"]
    lower = np.eye(d) + parameters[f"{name}/lower"]["weight"] * triangle(d)
    upper = parameters[f"{name}/upper"]["weight"] * triangle(d).T
    upper = upper + np.diag(np.logaddexp(own["raw"], 0.0) + LEAST_SCALE)
    t = solve_triangular(lower, y.T, lower=True, unit_diagonal=True)
    return solve_triangular(upper, t).T


def triangle(d: int) -> np.ndarray:
    """Ones below the diagonal."""
    return np.tril(np.ones((d, d), np.float32), -1)
