"""Sliced Wasserstein distance: optimal transport along random directions, where sorting solves it exactly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import float64, option, two_samples
from nacre.typed import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DIRECTIONS = 16  # directions sorted at a time


@float64
def sliced_wasserstein(x: ArrayLike, y: ArrayLike, p: int = 1, directions: int = 128, seed: int = 0) -> float:
    """(mean over directions of W_p^p)^(1/p), p = 1 or 2, in float64. One column: the exact W_p, no directions drawn."""
    option("p", p, (1, 2))
    x, y = two_samples(x, y)
    if x.shape[1] == 1:
        theta = np.ones((1, 1))
    else:
        theta = np.random.default_rng(seed).normal(size=(directions, x.shape[1]))
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    plan = _coupling(len(x), len(y))
    costs = [np.asarray(_costs(x, y, theta[s : s + DIRECTIONS], plan, p=p)) for s in range(0, len(theta), DIRECTIONS)]
    return float(np.concatenate(costs).mean() ** (1 / p))


class Coupling(NamedTuple):
    """A plan of transport along one line: which ranks of x and of y exchange how much mass."""

    x: Array
    y: Array
    mass: Array


def _coupling(n: int, m: int) -> Coupling:
    """The monotone plan between n and m equal atoms (exact: cut at integers)."""
    cuts = np.union1d(np.arange(0, n + 1) * m, np.arange(0, m + 1) * n)
    start = cuts[:-1]
    return Coupling(start // m, start // n, np.diff(cuts) / (n * m))


@partial(jax.jit, static_argnames="p")
def _costs(x: Array, y: Array, theta: Array, plan: Coupling, p: int) -> jax.Array:
    a, b = jnp.sort(theta @ x.T, axis=1), jnp.sort(theta @ y.T, axis=1)
    return (jnp.abs(a[:, plan.x] - b[:, plan.y]) ** p) @ plan.mass
