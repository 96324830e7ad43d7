"""Kernel Stein discrepancy with an RBF kernel: how far a sample is from a law known by its score ∇ log p alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import float64, option, sample
from nacre.distances.kernels import median_distance, pytree
from nacre.distances.mmd import FORMS
from nacre.distances.tiles import quadratic_forms
from nacre.errors import DataError
from nacre.typed import Number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def stein(x: jax.Array, sx: jax.Array, y: jax.Array, sy: jax.Array, h: Number) -> jax.Array:
    """u(x, y) row by row, [n]: k·(s_x·s_y + (s_x − s_y)·δ/h² + D/h² − r²/h⁴) with δ = x − y, r = ‖δ‖,
    k = exp(−r²/(2h²)), D columns (ppem.md 3.3). Symmetric; mean 0 when x follows the law of the scores."""
    delta = x - y
    r2 = jnp.sum(delta**2, axis=-1)
    inner = jnp.sum(sx * sy, axis=-1) + jnp.sum((sx - sy) * delta, axis=-1) / h**2
    return jnp.exp(-0.5 * r2 / h**2) * (inner + x.shape[-1] / h**2 - r2 / h**4)


def pair_values(x: jax.Array, scores: jax.Array, h: Number) -> jax.Array:
    """u of the pairs (rows 0, 1), (2, 3)...; an odd last row is left out."""
    even = len(x) // 2 * 2
    return stein(x[0:even:2], scores[0:even:2], x[1:even:2], scores[1:even:2], h)


def linear(u: jax.Array) -> jax.Array:
    """S_l: the mean of the pair values; sqrt(N)·S_l/sd(u) tends to N(0, 1) under the null."""
    return jnp.mean(u)


def normalised(u: jax.Array) -> jax.Array:
    """S_ln = ((N−1)/N)·(Σu)²/Σu², between 0 and N − 1; tends to χ²₁ under the null (ppem.md 3.4)."""
    n = len(u)
    return (n - 1) / n * jnp.sum(u) ** 2 / (jnp.sum(u**2) + 1e-12)


def normalised_coefficients(u: jax.Array) -> jax.Array:
    """c with ∇S_ln = Σ c_i ∇u_i: c_i = (2(N−1)/N)·r·(1 − r·u_i), r = Σu/Σu² (ppem.md 3.4)."""
    n = len(u)
    r = jnp.sum(u) / (jnp.sum(u**2) + 1e-12)
    return 2 * (n - 1) / n * r * (1 - r * u)


@pytree
@dataclass(frozen=True)
class SteinRBF:
    """u between blocks of rows that hold a point and its score side by side, [a, 2D]; positive definite."""

    bandwidth: Any
    shift_free: ClassVar[bool] = False  # scores are not to be moved; `with_scores` centres the points

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        d, h = x.shape[1] // 2, self.bandwidth
        (px, sx), (py, sy) = (jnp.split(rows, 2, axis=1) for rows in (x, y))
        # Both products of three each at once: s_x·s_y − (s_x·y + s_y·x)/h², and the squared distance.
        left, right = jnp.concatenate([sx, px], axis=1), jnp.concatenate([sy - py / h**2, -sy / h**2], axis=1)
        own_x, own_y = jnp.sum(sx * px, axis=1) / h**2, jnp.sum(sy * py, axis=1) / h**2
        inner = jnp.matmul(left, right.T, precision=jax.lax.Precision.HIGHEST) + own_x[:, None] + own_y[None, :]
        size = jnp.sum(px**2, axis=1)[:, None] + jnp.sum(py**2, axis=1)[None, :]
        r2 = jnp.maximum(size - 2 * jnp.matmul(px, py.T, precision=jax.lax.Precision.HIGHEST), 0)
        return jnp.exp(-0.5 * r2 / h**2) * (inner + d / h**2 - r2 / h**4)

    def diagonal(self, x: jax.Array) -> jax.Array:
        d = x.shape[1] // 2
        return jnp.sum(x[:, d:] ** 2, axis=1) + d / self.bandwidth**2


def with_scores(x: ArrayLike, scores: ArrayLike, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Points moved to their mean, and their scores; both checked."""
    x, s = sample(x, "x", least), sample(scores, "scores", least)
    if x.shape != s.shape:
        raise DataError(f"scores: expected one per entry of x, {x.shape}, got {s.shape}")
    return x - x.mean(axis=0), s


@float64
def ksd2(x: ArrayLike, scores: ArrayLike, bandwidth: float | None = None, form: str = "u") -> float:
    """Squared KSD in float64: mean of u over pairs without i = j ("u", unbiased) or with ("v", not negative).

    `bandwidth` None: the median heuristic, h = median‖x_i − x_j‖.
    """
    option("form", form, FORMS)
    x, s = with_scores(x, scores)
    kernel = SteinRBF(median_distance(x) if bandwidth is None else bandwidth)
    rows, n = np.concatenate([x, s], axis=1), len(x)
    found = quadratic_forms(kernel, rows, np.ones((n, 1)))
    total = found.square[0]
    return float(total / n**2 if form == "v" else (total - found.diagonal[0]) / (n * (n - 1)))
