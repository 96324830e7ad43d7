"""Kullback-Leibler divergence of two samples from distances to nearest neighbours (Wang, Kulkarni, Verdú 2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.distances.arrays import two_samples
from nacre.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SMALLEST = 1e-12  # a row of x that is also a row of y has distance 0


def kl_knn(x: ArrayLike, y: ArrayLike, k: int = 5) -> float:
    """KL(P‖Q) in nats from x ~ P and y ~ Q: (d/n) Σ log(ν_k/ρ_k) + log(m/(n−1)). May be negative.

    ρ_k: distance to the k-th other row of x, ν_k: to the k-th row of y. Repeated rows are dropped first, for laws
    with density have none: on discrete columns the figure means little. A k-d tree searches, so beyond some twenty
    columns the time grows with n·m·d.
    """
    from scipy.spatial import cKDTree

    x, y = two_samples(x, y)
    x, y = np.unique(x, axis=0), np.unique(y, axis=0)
    if k < 1 or len(x) <= k or len(y) < k:
        raise DataError(f"k={k}: expected at least 1 and fewer distinct rows than x ({len(x)}) and y ({len(y)}) have")
    own = cKDTree(x).query(x, k=[k + 1], workers=-1)[0][:, 0]
    other = cKDTree(y).query(x, k=[k], workers=-1)[0][:, 0]
    ratio = np.log(np.maximum(other, SMALLEST)) - np.log(np.maximum(own, SMALLEST))
    return float(x.shape[1] * ratio.mean() + np.log(len(y) / (len(x) - 1)))
