"""Maximum mean discrepancy: from kernel matrices (traceable, for losses), or from samples of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from nacre.distances.arrays import beside, float64, option, two_samples
from nacre.distances.kernels import RBF, Kernel, median_distance
from nacre.distances.tiles import bilinear_form, quadratic_forms
from nacre.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FORMS = ("u", "v")
SCHEMES = ("iw", "sniw", "miw")


def self_term(k: jax.Array, weights: jax.Array | None = None, form: str = "u") -> jax.Array:
    """Mean of k(x_i, x_j) over pairs: without i = j ("u") or with ("v"); a pair counts w_i·w_j, not normalised."""
    n = len(k)
    w = jnp.ones(n, k.dtype) if weights is None else weights
    total = w @ k @ w
    return total / n**2 if form == "v" else (total - jnp.sum(w**2 * jnp.diagonal(k))) / (n * (n - 1))


def plain(kxx: jax.Array, kxy: jax.Array, kyy: jax.Array, form: str = "u") -> jax.Array:
    """Squared MMD of kernel matrices: unbiased ("u", may be negative) or the squared norm of the difference ("v")."""
    return self_term(kxx, form=form) + self_term(kyy, form=form) - 2 * jnp.mean(kxy)


def importance(kxx: jax.Array, kxy: jax.Array, kyy: jax.Array, w: jax.Array, form: str = "u") -> jax.Array:
    """IW: rows x from a biased law with weights w = 1/M of mean 1 under that law. The U form is unbiased."""
    cross = jnp.mean(w @ kxy) / len(w)
    return self_term(kxx, w, form) + self_term(kyy, form=form) - 2 * cross


def self_normalised(kxx: jax.Array, kxy: jax.Array, kyy: jax.Array, w: jax.Array, form: str = "u") -> jax.Array:
    """SNIW: weights known up to a factor; bias O(1/n). The V form is a squared norm, hence never negative."""
    p = w / jnp.sum(w)
    xx = p @ kxx @ p
    if form == "u":
        xx = (xx - jnp.sum(p**2 * jnp.diagonal(kxx))) / (1 - jnp.sum(p**2))
    return xx + self_term(kyy, form=form) - 2 * jnp.mean(p @ kxy)


def centred(kernel: Kernel, *samples: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows moved to a common centre where only differences matter, so that products of rows lose no digits."""
    if not kernel.shift_free:
        return samples
    middle = np.concatenate(samples).mean(axis=0)
    return tuple(s - middle for s in samples)


def mean_of_pairs(kernel: Kernel, x: np.ndarray, weights: np.ndarray, form: str) -> float:
    """Σ p_i p_j k_ij with p = weights/Σ weights; "u" leaves i = j out and divides by what remains."""
    p = weights / weights.sum()
    found = quadratic_forms(kernel, x, p[:, None])
    if form == "v":
        return float(found.square[0])
    return float((found.square[0] - found.diagonal[0]) / (1 - np.sum(p**2)))


@float64
def mmd2(x: ArrayLike, y: ArrayLike, kernel: Kernel | None = None, form: str = "u") -> float:
    """Squared MMD of two samples in float64, O((n+m)²d) time and O((n+m)d) memory.

    `kernel` None: RBF with the median heuristic on the pooled sample. Form "u" is unbiased and may be negative,
    "v" is not negative for a positive definite kernel.
    """
    option("form", form, FORMS)
    x, y = two_samples(x, y, least=2 if form == "u" else 1)
    kernel = RBF(median_distance(x, y)) if kernel is None else kernel
    x, y = centred(kernel, x, y)
    a, b = np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))
    same = mean_of_pairs(kernel, x, a, form) + mean_of_pairs(kernel, y, b, form)
    return same - 2 * bilinear_form(kernel, x, y, a, b)


def mmd_biased(x: ArrayLike, y: ArrayLike, kernel: Kernel | None = None) -> float:
    """The biased MMD: root of the V form. About sqrt(2(1 − E k)/n) for equal laws, so state n beside it."""
    return max(0.0, mmd2(x, y, kernel, form="v")) ** 0.5


@float64
def weighted_mmd2(
    x: ArrayLike,
    weights: ArrayLike,
    y: ArrayLike,
    kernel: Kernel | None = None,
    scheme: str = "sniw",
    form: str = "u",
    groups: int = 9,
    seed: int = 0,
) -> float:
    """Squared MMD between the law that the weights make of x, and y.

    "sniw": weights up to a factor. "iw": weights of mean 1 under the law of x, as given. "miw": median of "iw"
    over `groups` random groups; only this scheme uses `groups` and `seed`.
    """
    option("scheme", scheme, SCHEMES)
    option("form", form, FORMS)
    x, y = two_samples(x, y, least=2)
    w = beside(weights, len(x), "weights")
    if (w < 0).any() or np.count_nonzero(w) < 2:
        raise DataError("weights: expected no negative weight and at least two positive ones")
    kernel = RBF(median_distance(x, y)) if kernel is None else kernel
    x, y = centred(kernel, x, y)
    if scheme == "miw":
        parts = _groups(len(x), len(y), groups, seed)
        return float(np.median([_weighted(kernel, x[i], y[j], w[i], form, normalised=False) for i, j in parts]))
    return _weighted(kernel, x, y, w, form, normalised=scheme == "sniw")


def _weighted(kernel: Kernel, x: np.ndarray, y: np.ndarray, w: np.ndarray, form: str, normalised: bool) -> float:
    b = np.full(len(y), 1 / len(y))
    yy = mean_of_pairs(kernel, y, b, form)
    if normalised:
        return mean_of_pairs(kernel, x, w, form) + yy - 2 * bilinear_form(kernel, x, y, w / w.sum(), b)
    n = len(x)
    found = quadratic_forms(kernel, x, w[:, None])
    total = found.square[0]
    xx = total / n**2 if form == "v" else (total - found.diagonal[0]) / (n * (n - 1))
    return float(xx + yy - 2 * bilinear_form(kernel, x, y, w / n, b))


def _groups(n: int, m: int, groups: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of x and of y in each of so many random groups of equal size; what is left over is in none."""
    if groups < 1 or min(n, m) < 2 * groups:
        raise DataError(f"groups={groups}: expected at least 1, and at least two rows of x and of y in each group")
    rng = np.random.default_rng(seed)
    return zip(*(rng.permutation(k)[: k // groups * groups].reshape(groups, -1) for k in (n, m)), strict=True)


def effective_size(weights: ArrayLike) -> float:
    """(Σw)²/Σw²: how many equally weighted rows these are worth."""
    w = np.asarray(weights, dtype=np.float64)
    return float(w.sum() ** 2 / np.sum(w**2))
