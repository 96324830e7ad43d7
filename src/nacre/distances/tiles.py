"""Sums over all pairs of rows, one tile of the kernel matrix at a time, so that memory does not grow with n².

Everything is a bilinear form Σ_ij a_i b_j k(x_i, y_j) for several vectors a, b at once: plain sums, weighted sums,
permuted labels and bootstrap weights. A symmetric form visits one half of the tiles only.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.kernels import Kernel

TILE = 512  # rows and columns of a tile: 2 MiB in float64, which stays in the processor's cache
VECTORS_BYTES = 64 * 2**20  # vectors handled at a time


class Forms(NamedTuple):
    """Of each vector v: Σ_ij v_i v_j k_ij, Σ_ij v_i k_ij, and Σ_i v_i² k_ii, which the first includes."""

    square: np.ndarray
    with_ones: np.ndarray
    diagonal: np.ndarray


def quadratic_forms(kernel: Kernel, x: np.ndarray, vectors: np.ndarray) -> Forms:
    """The forms of the columns of `vectors` [n, B], of any number type, on the kernel matrix of x.

    The kernel must be symmetric. Beyond the vectors memory is O(n·d) and a few times 64 MiB; time O(n²(d + B)).
    """
    n, total = vectors.shape
    size = _tile(n)
    x = _padded(x, size, edge=True)
    rows = _padded(np.ones((n, 1)), size)
    step = max(1, min(total, VECTORS_BYTES // (8 * n)))
    found = [
        _symmetric(kernel, x, _padded(np.asarray(vectors[:, s : s + step], dtype=np.float64), size), rows, tile=size)
        for s in range(0, total, step)
    ]
    return Forms(*(np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*found)))


def bilinear_form(kernel: Kernel, x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Σ_ij a_i b_j k(x_i, y_j)."""
    rows, columns = _tile(len(x)), _tile(len(y))
    x, y = _padded(x, rows, edge=True), _padded(y, columns, edge=True)
    a, b = _padded(a[:, None], rows)[:, 0], _padded(b[:, None], columns)[:, 0]
    return float(_rectangular(kernel, x, y, a, b, tile=(rows, columns)))


def _tile(n: int) -> int:
    """Tiles of nearly equal size, so that little is padded."""
    return -(-n // -(-n // TILE))


def _padded(rows: np.ndarray, tile: int, edge: bool = False) -> np.ndarray:
    """Whole tiles: zeros (weights that do not count) or the last row again (any finite point)."""
    extra = -len(rows) % tile
    if not extra:
        return rows
    return np.pad(rows, ((0, extra), (0, 0)), mode="edge") if edge else np.pad(rows, ((0, extra), (0, 0)))


@partial(jax.jit, static_argnames="tile")
def _symmetric(kernel: Kernel, x: jax.Array, v: jax.Array, rows: jax.Array, tile: int) -> tuple[jax.Array, ...]:
    upper = jnp.asarray(np.stack(np.triu_indices(len(x) // tile), axis=1))
    width = v.shape[1]

    def one(total: tuple[jax.Array, jax.Array], pair: jax.Array) -> tuple[tuple, None]:
        i, j = pair[0], pair[1]
        xi, vi, ri = (jax.lax.dynamic_slice_in_dim(m, i * tile, tile) for m in (x, v, rows))
        xj, vj, rj = (jax.lax.dynamic_slice_in_dim(m, j * tile, tile) for m in (x, v, rows))
        product = kernel(xi, xj) @ jnp.concatenate([vj, rj], axis=1)
        kv, k1 = product[:, :width], product[:, width:]
        apart = jnp.where(i == j, 0.0, 1.0)  # tiles off the diagonal stand for their mirror image too
        square = (1 + apart) * jnp.sum(vi * kv, axis=0)
        sums = jnp.sum(vi * k1, axis=0) + apart * jnp.sum(ri * kv, axis=0)
        return (total[0] + square, total[1] + sums), None

    zero = jnp.zeros(width, x.dtype)
    square, sums = jax.lax.scan(one, (zero, zero), upper)[0]
    return square, sums, kernel.diagonal(x) @ v**2


@partial(jax.jit, static_argnames="tile")
def _rectangular(
    kernel: Kernel, x: jax.Array, y: jax.Array, a: jax.Array, b: jax.Array, tile: tuple[int, int]
) -> jax.Array:
    grid = np.indices((len(x) // tile[0], len(y) // tile[1])).reshape(2, -1)

    def one(total: jax.Array, pair: jax.Array) -> tuple[jax.Array, None]:
        xi, ai = (jax.lax.dynamic_slice_in_dim(m, pair[0] * tile[0], tile[0]) for m in (x, a))
        yj, bj = (jax.lax.dynamic_slice_in_dim(m, pair[1] * tile[1], tile[1]) for m in (y, b))
        return total + ai @ (kernel(xi, yj) @ bj), None

    return jax.lax.scan(one, jnp.zeros((), x.dtype), jnp.asarray(grid.T))[0]
