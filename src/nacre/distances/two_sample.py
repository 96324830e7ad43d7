"""Do two samples come from one law? Each test returns an Outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.distances.arrays import float64, two_samples
from nacre.distances.characteristic import wave_moments
from nacre.distances.kernels import RBF, Kernel, median_distance
from nacre.distances.mmd import centred
from nacre.distances.outcome import Outcome, positive, resampled_p
from nacre.distances.tiles import Forms, quadratic_forms
from nacre.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@float64
def mmd_test(
    x: ArrayLike,
    y: ArrayLike,
    kernel: Kernel | None = None,
    permutations: int = 1_000,
    level: float = 0.05,
    seed: int = 0,
) -> Outcome:
    """Unbiased squared MMD, compared with its values under permuted labels (Gretton et al. 2012): exact at any size.

    The kernel matrix of the pooled sample is made once, tile by tile, and multiplied with all label vectors.
    """
    positive("permutations", permutations)
    x, y = two_samples(x, y, least=2)
    kernel = RBF(median_distance(x, y)) if kernel is None else kernel
    n, m = len(x), len(y)
    pooled = np.concatenate(centred(kernel, x, y))
    labels = np.ones((permutations + 2, n + m), dtype=np.int8)  # the last row, all ones, gives the sum of the matrix
    labels[:-1, n:] = 0
    np.random.default_rng(seed).permuted(labels[1:-1], axis=1, out=labels[1:-1])
    values = _unbiased(quadratic_forms(kernel, pooled, labels.T), n, m)
    p = resampled_p(values[0], values[1:])
    return Outcome(f"MMD, {permutations} permutations", float(values[0]), p, level, (n, m))


def _unbiased(found: Forms, n: int, m: int) -> np.ndarray:
    """U-statistics of all labellings a (1 for x). With b = 1 − a, all terms follow from aᵀKa, aᵀK1 and 1ᵀK1."""
    xx, rows, own = found.square[:-1], found.with_ones[:-1], found.diagonal[:-1]
    yy = found.square[-1] - 2 * rows + xx
    own_y = found.diagonal[-1] - own
    return (xx - own) / (n * (n - 1)) + (yy - own_y) / (m * (m - 1)) - 2 * (rows - xx) / (n * m)


@float64
def cf_test(x: ArrayLike, y: ArrayLike, frequencies: ArrayLike, level: float = 0.05) -> Outcome:
    """Characteristic functions at J given frequencies [J, d] (pearl.md 5): g ᵀ(S_x/n + S_y/m)⁻¹ g against χ²_2J, with
    g the difference of the mean [cos, sin] and S their covariances. Linear in n.

    The samples need not be of equal size or paired. The frequencies must be chosen without these rows. Directions in
    which neither sample varies are left out, and lower the degrees of freedom; a difference there rejects outright.
    """
    from scipy.stats import chi2

    x, y = two_samples(x, y, least=2)
    (mx, sx), (my, sy) = wave_moments(x, frequencies), wave_moments(y, frequencies)
    sizes, axes = np.linalg.eigh(sx / len(x) + sy / len(y))
    gap = axes.T @ (mx - my)
    kept = sizes > 1e-12 * max(1 / len(x), 1 / len(y))
    value = float(np.sum(gap[kept] ** 2 / sizes[kept]))
    if (np.abs(gap[~kept]) > 1e-6).any():
        value = np.inf
    freedom = int(kept.sum())
    p = float(chi2.sf(value, freedom)) if freedom else float(value == 0)
    return Outcome(f"characteristic functions, {freedom} degrees of freedom", value, p, level, (len(x), len(y)))


def ks_test(x: ArrayLike, y: ArrayLike, level: float = 0.05) -> Outcome:
    """Kolmogorov-Smirnov on one numeric column, by SciPy; conservative where values are tied."""
    from scipy.stats import ks_2samp

    x, y = two_samples(x, y)
    if x.shape[1] != 1:
        raise DataError(f"ks_test: expected one column, got {x.shape[1]}; test the columns one by one")
    found: Any = ks_2samp(x[:, 0], y[:, 0])
    return Outcome("Kolmogorov-Smirnov", float(found.statistic), float(found.pvalue), level, (len(x), len(y)))


def chi2_test(x_counts: object, y_counts: object, level: float = 0.05) -> Outcome:
    """Chi-square test that two vectors of counts over the same cells come from one law, by SciPy, without correction.

    Cells that are empty in both are left out. With fewer than two cells left there is nothing to tell apart: p = 1.
    """
    from scipy.stats import chi2_contingency

    counts = np.stack([np.asarray(x_counts, dtype=np.float64).ravel(), np.asarray(y_counts, dtype=np.float64).ravel()])
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts.sum(axis=1) == 0).any():
        raise DataError("chi2_test: expected finite counts, none negative, and at least one row in each sample")
    counts = counts[:, counts.sum(axis=0) > 0]
    sizes = tuple(int(s) for s in counts.sum(axis=1))
    freedom = counts.shape[1] - 1
    name = f"chi-square, {freedom} degrees of freedom"
    if freedom == 0:
        return Outcome(name, 0.0, 1.0, level, sizes)
    found: Any = chi2_contingency(counts, correction=False)
    return Outcome(name, float(found.statistic), float(found.pvalue), level, sizes)


def weighted_ks(generated: object, values: object, weights: ArrayLike) -> float:
    """max_t |F_generated(t) − F_weighted(t)|: the Kolmogorov-Smirnov distance to a weighted sample."""
    a, b, w = (np.asarray(v, dtype=np.float64).ravel() for v in (generated, values, weights))
    if len(b) != len(w) or not len(a) or not len(b) or (w < 0).any() or w.sum() <= 0:
        raise DataError("weighted_ks: expected two samples that are not empty, and a weight >= 0 for each value")
    order = np.argsort(b, kind="stable")
    points = np.unique(np.concatenate([a, b]))
    shares = np.concatenate([[0.0], np.cumsum(w[order]) / w.sum()])
    gap = np.searchsorted(np.sort(a), points, "right") / len(a) - shares[np.searchsorted(b[order], points, "right")]
    return float(np.abs(gap).max())
