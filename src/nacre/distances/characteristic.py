"""Distances between characteristic functions at random frequencies: linear in the number of rows."""

from __future__ import annotations

from math import exp, lgamma, pi, sqrt
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import beside, float64, option, sample, two_samples
from nacre.distances.mmd import FORMS
from nacre.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROWS = 2_048  # rows whose features are held at a time


def waves(x: jax.Array, frequencies: jax.Array) -> jax.Array:
    """[cos(t·x), sin(t·x)] of each row, [n, 2k]; the squared norm of a row is k exactly."""
    angle = jnp.matmul(x, frequencies.T, precision=jax.lax.Precision.HIGHEST)
    return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1)


@jax.jit
def _wave_moments(x: jax.Array, counts: jax.Array, frequencies: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sum and second moments over blocks of rows [blocks, rows, d]; rows that are padding count 0."""

    def one(total: tuple[jax.Array, jax.Array], block: tuple[jax.Array, jax.Array]) -> tuple[tuple, None]:
        features = waves(block[0], frequencies) * block[1][:, None]
        return (total[0] + features.sum(axis=0), total[1] + features.T @ features), None

    size = 2 * len(frequencies)
    return jax.lax.scan(one, (jnp.zeros(size, x.dtype), jnp.zeros((size, size), x.dtype)), (x, counts))[0]


@jax.jit
def _wave_sum(x: jax.Array, counts: jax.Array, frequencies: jax.Array) -> jax.Array:
    def one(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        return total + block[1] @ waves(block[0], frequencies), None

    return jax.lax.scan(one, jnp.zeros(2 * len(frequencies), x.dtype), (x, counts))[0]


def _blocks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    extra = -len(x) % min(ROWS, len(x))
    rows = np.pad(x, ((0, extra), (0, 0)))
    counts = np.pad(np.ones(len(x)), (0, extra))
    size = min(ROWS, len(x))
    return rows.reshape(-1, size, x.shape[1]), counts.reshape(-1, size)


def _checked(frequencies: ArrayLike, columns: int) -> np.ndarray:
    t = sample(frequencies, "frequencies")
    if t.shape[1] != columns:
        raise DataError(f"frequencies: expected {columns} columns as the rows have, got {t.shape[1]}")
    return t


@float64
def characteristic_function(x: ArrayLike, frequencies: ArrayLike) -> np.ndarray:
    """The empirical characteristic function mean exp(i t·x) at each frequency [k, d], as k complex numbers."""
    x = sample(x, "x")
    t = _checked(frequencies, x.shape[1])
    mean = np.asarray(_wave_sum(*_blocks(x), t)) / len(x)
    return mean[: len(t)] + 1j * mean[len(t) :]


@float64
def wave_moments(x: ArrayLike, frequencies: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Mean [2k] and covariance [2k, 2k] (divisor n − 1) of the features [cos, sin] of the rows."""
    x = sample(x, "x", least=2)
    total, square = (np.asarray(m) for m in _wave_moments(*_blocks(x), _checked(frequencies, x.shape[1])))
    mean = total / len(x)
    return mean, (square - len(x) * np.outer(mean, mean)) / (len(x) - 1)


def cf_distance2(x: Any, y: Any, frequencies: Any, weights: Any = None, form: str = "v") -> float:
    """Weighted mean over frequencies of |φ_x(t) − φ_y(t)|².

    Form "v" is never negative; "u" takes away (1 − |φ|²)/(n − 1) of each sample and is then unbiased. Weights need
    not sum to 1: their mean multiplies the result, as importance weights must.
    """
    option("form", form, FORMS)
    x, y = two_samples(x, y, least=2 if form == "u" else 1)
    fx, fy = characteristic_function(x, frequencies), characteristic_function(y, frequencies)
    gap = np.abs(fx - fy) ** 2
    if form == "u":
        gap = gap - (1 - np.abs(fx) ** 2) / (len(x) - 1) - (1 - np.abs(fy) ** 2) / (len(y) - 1)
    w = np.ones(len(gap)) if weights is None else beside(weights, len(gap), "weights")
    return float(np.mean(w * gap))


def gaussian_frequencies(count: int, scales: object, seed: int = 0) -> np.ndarray:
    """Frequencies [count, d] from N(0, diag(scales²)); the mean |φ_x − φ_y|² then estimates the squared MMD with an
    RBF of bandwidths 1/scales."""
    scales = np.atleast_1d(np.asarray(scales, dtype=np.float64))
    return np.random.default_rng(seed).normal(size=(count, len(scales))) * scales


def energy_frequencies(count: int, columns: int, diameter: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and weights whose weighted mean |φ_x − φ_y|² estimates the energy distance (p = 2) without bias.

    Directions uniform on the sphere, radius half-Cauchy with scale 2/diameter (support_points.md 9d): the weighted
    terms are bounded for samples of that diameter, which they would not be for Gaussian frequencies.
    """
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(count, columns))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    scale = 2 / diameter
    radius = scale * np.abs(rng.standard_cauchy(count))
    mean_shadow = exp(lgamma(columns / 2) - lgamma((columns + 1) / 2)) / sqrt(pi)  # E|θ_1| on the sphere
    weights = (2 / (pi * mean_shadow)) * radius**-2 * (pi * scale / 2) * (1 + (radius / scale) ** 2)
    return direction * radius[:, None], weights
