"""How far apart two samples are, or a sample and a law: functions of plain arrays, in float64, chunked.

Functions named here take NumPy arrays [n, d] (a vector is one column) and return Python numbers or an `Outcome`.
What a training loop differentiates is in the modules: `kernels`, `mmd` (of kernel matrices), `stein`, `energy`.
"""

from nacre.distances.characteristic import (
    cf_distance2,
    characteristic_function,
    energy_frequencies,
    gaussian_frequencies,
)
from nacre.distances.energy import energy_distance
from nacre.distances.goodness import ksd_linear_test, ksd_normalised_test, ksd_test
from nacre.distances.kernels import IMQ, RBF, Energy, Kernel, Polynomial, RBFSum, median_distance
from nacre.distances.mmd import effective_size, mmd2, mmd_biased, weighted_mmd2
from nacre.distances.neighbours import kl_knn
from nacre.distances.outcome import Outcome
from nacre.distances.stein import ksd2
from nacre.distances.transport import sliced_wasserstein
from nacre.distances.two_sample import cf_test, chi2_test, ks_test, mmd_test, weighted_ks

__all__ = [
    "IMQ",
    "RBF",
    "Energy",
    "Kernel",
    "Outcome",
    "Polynomial",
    "RBFSum",
    "cf_distance2",
    "cf_test",
    "characteristic_function",
    "chi2_test",
    "effective_size",
    "energy_distance",
    "energy_frequencies",
    "gaussian_frequencies",
    "kl_knn",
    "ks_test",
    "ksd2",
    "ksd_linear_test",
    "ksd_normalised_test",
    "ksd_test",
    "median_distance",
    "mmd2",
    "mmd_biased",
    "mmd_test",
    "sliced_wasserstein",
    "weighted_ks",
    "weighted_mmd2",
]
