"""Kernels between rows. A kernel is called on two blocks of rows, [a, d] and [b, d], and gives the matrix [a, b].

Every kernel is a pytree: bandwidths are traced, so another bandwidth compiles nothing anew. All functions here
may be traced, differentiated and used in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import sample
from nacre.errors import DataError

FEW_COLUMNS = 8  # up to here differences are formed one by one, which loses no digits
pytree = partial(jax.tree_util.register_dataclass)


class Kernel(Protocol):
    """`shift_free`: only differences of rows matter, so rows may be centred before products are taken."""

    shift_free: ClassVar[bool]

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array: ...

    def diagonal(self, x: jax.Array) -> jax.Array: ...


def squared_distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """‖x_i − y_j‖², [a, b]. Many columns: one product of matrices, and what lies below its rounding error is 0."""
    if x.shape[1] <= FEW_COLUMNS:
        return sum(
            ((x[:, None, c] - y[None, :, c]) ** 2 for c in range(1, x.shape[1])), (x[:, :1] - y[None, :, 0]) ** 2
        )
    size = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(y * y, axis=1)[None, :]
    r2 = size - 2 * jnp.matmul(x, y.T, precision=jax.lax.Precision.HIGHEST)
    return jnp.where(r2 > 8 * jnp.finfo(r2.dtype).eps * size, r2, 0)


def distances(x: jax.Array, y: jax.Array, p: int = 2) -> jax.Array:
    """‖x_i − y_j‖_p for p = 1 or 2, [a, b]; the gradient at equal rows is 0 (a subgradient) instead of NaN."""
    if p == 1:
        return jax.lax.fori_loop(
            1, x.shape[1], lambda c, total: total + abs(x[:, c, None] - y[None, :, c]), abs(x[:, :1] - y[None, :, 0])
        )
    r2 = squared_distances(x, y)
    return jnp.where(r2 > 0, jnp.sqrt(jnp.where(r2 > 0, r2, 1)), 0)


@pytree
@dataclass(frozen=True)
class RBF:
    """exp(−‖x−y‖²/(2h²))."""

    bandwidth: Any
    shift_free: ClassVar[bool] = True

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.exp(squared_distances(x, y) * (-0.5 / self.bandwidth**2))

    def diagonal(self, x: jax.Array) -> jax.Array:
        return jnp.ones(len(x), x.dtype)


@pytree
@dataclass(frozen=True)
class RBFSum:
    """Σ_s exp(−‖x−y‖²/(2h_s²)): one kernel for several scales; its largest value is the number of scales."""

    bandwidths: tuple[Any, ...]
    shift_free: ClassVar[bool] = True

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        r2 = squared_distances(x, y)
        return sum((jnp.exp(r2 * (-0.5 / h**2)) for h in self.bandwidths), jnp.zeros_like(r2))

    def diagonal(self, x: jax.Array) -> jax.Array:
        return jnp.full(len(x), len(self.bandwidths), x.dtype)


@pytree
@dataclass(frozen=True)
class IMQ:
    """Inverse multiquadric (1 + ‖x−y‖²/h²)^(−β), 0 < β < 1: heavier tails than the RBF."""

    bandwidth: Any
    beta: Any = 0.5
    shift_free: ClassVar[bool] = True

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return (1 + squared_distances(x, y) / self.bandwidth**2) ** -self.beta

    def diagonal(self, x: jax.Array) -> jax.Array:
        return jnp.ones(len(x), x.dtype)


@pytree
@dataclass(frozen=True)
class Polynomial:
    """(x·y/d + offset)^degree, d the number of columns; degree 3 and offset 1 are those of KID."""

    degree: int = field(default=3, metadata={"static": True})
    offset: Any = 1.0
    shift_free: ClassVar[bool] = False

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        dot = jnp.matmul(x, y.T, precision=jax.lax.Precision.HIGHEST)
        return (dot / x.shape[1] + self.offset) ** self.degree

    def diagonal(self, x: jax.Array) -> jax.Array:
        return (jnp.sum(x * x, axis=1) / x.shape[1] + self.offset) ** self.degree


@pytree
@dataclass(frozen=True)
class Energy:
    """−‖x−y‖_p: squared MMD with it is the energy distance. p = 1 is blind to dependence between columns."""

    p: int = field(default=2, metadata={"static": True})
    shift_free: ClassVar[bool] = True

    def __call__(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return -distances(x, y, self.p)

    def diagonal(self, x: jax.Array) -> jax.Array:
        return jnp.zeros(len(x), x.dtype)


def median_distance(*samples: object, rows: int = 2_000, seed: int = 0) -> float:
    """Median heuristic: the median of ‖x_i − x_j‖, i < j, over the pooled samples.

    With more than `rows` pooled rows, over that many of them drawn without replacement with the given seed. Where
    more than half of the pairs coincide the median of the others is taken; all rows equal is an error.
    """
    from scipy.spatial.distance import pdist

    pooled = np.concatenate([sample(s, f"sample {i}") for i, s in enumerate(samples)])
    if len(pooled) > rows:
        pooled = pooled[np.random.default_rng(seed).choice(len(pooled), rows, replace=False)]
    pairs = pdist(pooled)
    median = float(np.median(pairs)) if len(pairs) else 0.0
    if median == 0.0:
        apart = pairs[pairs > 0]
        if not len(apart):
            raise DataError("median heuristic: all rows are equal, so no bandwidth follows; give one")
        median = float(np.median(apart))
    return median
