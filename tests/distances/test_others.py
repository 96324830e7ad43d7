"""Transport, nearest neighbours, and the classical tests."""

import numpy as np
import pytest
from scipy import stats

from nacre.distances import chi2_test, kl_knn, ks_test, sliced_wasserstein, weighted_ks
from nacre.errors import DataError

rng = np.random.default_rng(7)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (6, 6), (5, 8), (40, 27)])
def test_one_column_is_the_exact_distance(n, m):
    x, y = rng.normal(size=n), rng.exponential(size=m)
    assert sliced_wasserstein(x, y) == pytest.approx(stats.wasserstein_distance(x, y), rel=1e-10)
    copies_x, copies_y = np.sort(np.repeat(x, m)), np.sort(np.repeat(y, n))
    assert sliced_wasserstein(x, y, p=2) == pytest.approx(np.sqrt(np.mean((copies_x - copies_y) ** 2)), rel=1e-10)


@pytest.mark.parametrize("p", [1, 2])
def test_slices_are_projections(p):
    x, y = rng.normal(size=(50, 4)), rng.normal(size=(30, 4)) + 1
    theta = np.random.default_rng(3).normal(size=(40, 4))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    one = [sliced_wasserstein(x @ t, y @ t, p) ** p for t in theta]
    assert sliced_wasserstein(x, y, p, directions=40, seed=3) == pytest.approx(np.mean(one) ** (1 / p), rel=1e-9)


def test_a_shift_has_a_known_sliced_distance():
    """W₂² of a shift v along θ is (θ·v)², whose mean over the sphere is ‖v‖²/d; 2,000 directions, 4 standard errors."""
    x, v = rng.normal(size=(20, 3)), np.array([3.0, 0.0, 4.0])
    found = sliced_wasserstein(x, x + v, p=2, directions=2_000) ** 2
    assert abs(found - 25 / 3) < 4 * 25 * np.sqrt(4 / 45) / np.sqrt(2_000)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_divergence_of_gaussians(d):
    """KL(N(μ, S)‖N(0, I)) in closed form; 20 samples of 2,000 rows. P is no wider than Q, else neighbours in Q are
    too far and the bias, O(n^(−1/d)), shows in 4 columns."""
    mean, scale = np.full(d, 0.3), np.linspace(0.6, 1.0, d)
    exact = 0.5 * np.sum(scale**2 + mean**2 - 1 - np.log(scale**2))
    found = [kl_knn(mean + scale * rng.normal(size=(2_000, d)), rng.normal(size=(2_000, d))) for _ in range(20)]
    error = np.std(found, ddof=1) / np.sqrt(20)
    assert abs(np.mean(found) - exact) < 4 * error + 0.02
    same = [kl_knn(rng.normal(size=(2_000, d)), rng.normal(size=(2_000, d))) for _ in range(10)]
    assert abs(np.mean(same)) < 0.02


def test_neighbours_by_brute_force_and_repeated_rows():
    x, y = rng.normal(size=(60, 3)), rng.normal(size=(50, 3)) * 1.5
    rho = np.sort(np.linalg.norm(x[:, None] - x[None], axis=2), axis=1)[:, 5]
    nu = np.sort(np.linalg.norm(x[:, None] - y[None], axis=2), axis=1)[:, 4]
    exact = 3 * np.mean(np.log(nu / rho)) + np.log(50 / 59)
    assert kl_knn(x, y) == pytest.approx(exact, rel=1e-10)
    assert kl_knn(np.repeat(x, 3, axis=0), np.repeat(y, 2, axis=0)) == pytest.approx(exact, rel=1e-10)
    assert np.isfinite(kl_knn(x, np.concatenate([y, x]), k=1))
    with pytest.raises(DataError, match="k=5"):
        kl_knn(x[:5], y)


def test_classical_tests_are_scipys():
    x, y = rng.normal(size=80), rng.normal(size=60) + 0.3
    found = ks_test(x, y)
    assert (found.statistic, found.p_value) == pytest.approx(tuple(stats.ks_2samp(x, y)[:2]))
    assert found.sizes == (80, 60)
    counts = np.array([[10, 0, 20, 5], [12, 0, 9, 14]])
    assert chi2_test(*counts).p_value == pytest.approx(
        stats.chi2_contingency(counts[:, [0, 2, 3]], correction=False)[1]
    )
    assert chi2_test([5, 0], [7, 0]).p_value == 1.0 and chi2_test(*counts).sizes == (35, 35)
    with pytest.raises(DataError, match="expected one column"):
        ks_test(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(DataError, match="none negative"):
        chi2_test([1, -1], [1, 1])


def test_weighted_ks_is_that_of_repeated_values():
    a, b, times = rng.integers(0, 6, 30), rng.integers(0, 6, 20), rng.integers(1, 4, 20)
    expected = stats.ks_2samp(a, np.repeat(b, times)).statistic
    assert weighted_ks(a, b, times) == pytest.approx(expected, abs=1e-12)
    assert weighted_ks(a, b, 0.01 * times) == pytest.approx(expected, abs=1e-12)
