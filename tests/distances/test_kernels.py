"""Kernels and sums over tiles, against scikit-learn, SciPy and plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import pairwise

from nacre.distances import IMQ, RBF, Energy, Polynomial, RBFSum, median_distance, tiles
from nacre.distances.kernels import distances, squared_distances
from nacre.errors import DataError

rng = np.random.default_rng(0)


def blocks(d):
    return rng.normal(size=(7, d)) + 3, rng.normal(size=(5, d)) + 3


@pytest.mark.parametrize("d", [1, 3, 40])
def test_kernels_agree_with_scikit_learn_and_scipy(d):
    x, y = blocks(d)
    expected = {
        RBF(1.7): pairwise.rbf_kernel(x, y, gamma=1 / (2 * 1.7**2)),
        RBFSum((0.5, 2.0)): pairwise.rbf_kernel(x, y, gamma=2.0) + pairwise.rbf_kernel(x, y, gamma=1 / 8),
        Polynomial(): pairwise.polynomial_kernel(x, y, degree=3, gamma=1 / d, coef0=1),
        IMQ(2.0): 1 / np.sqrt(1 + cdist(x, y, "sqeuclidean") / 4),
        Energy(2): -cdist(x, y),
        Energy(1): -cdist(x, y, "cityblock"),
    }
    with jax.enable_x64(True):
        for kernel, matrix in expected.items():
            np.testing.assert_allclose(kernel(jnp.asarray(x), jnp.asarray(y)), matrix, rtol=1e-10, atol=1e-12)
            own = np.diagonal(kernel(jnp.asarray(x), jnp.asarray(x)))
            np.testing.assert_allclose(kernel.diagonal(jnp.asarray(x)), own, rtol=1e-12, atol=1e-12)


def test_equal_rows_are_at_distance_zero_though_products_round():
    x = rng.normal(size=(50, 30)) * 100
    assert np.all(np.diagonal(squared_distances(jnp.asarray(x), jnp.asarray(x))) == 0)


@pytest.mark.parametrize("p", [1, 2])
def test_the_gradient_of_a_distance_is_finite_at_equal_rows(p):
    x = jnp.ones((3, 12))
    slope = jax.grad(lambda a: distances(a, x, p).sum())(x)
    assert np.isfinite(slope).all()


def test_a_new_bandwidth_compiles_nothing():
    compiled = jax.jit(lambda k, a: k(a, a))
    for h in (0.5, 1.0, 2.0):
        compiled(RBF(h), jnp.ones((2, 3)))
    assert compiled._cache_size() == 1


@pytest.mark.parametrize("n", [1, 5, 511, 512, 513, 1_100])
def test_forms_equal_plain_sums_at_any_size(n):
    x = rng.normal(size=(n, 9))
    v = rng.integers(-1, 3, size=(n, 4)).astype(np.int8)
    k = pairwise.rbf_kernel(x, gamma=1 / (2 * 1.3**2))
    with jax.enable_x64(True):
        found = tiles.quadratic_forms(RBF(1.3), x, v)
        a, y = rng.normal(size=n), rng.normal(size=(700, 9))
        b = rng.normal(size=700)
        across = tiles.bilinear_form(RBF(1.3), x, y, a, b)
    wide = v.astype(float)
    np.testing.assert_allclose(found.square, np.einsum("ib,ij,jb->b", wide, k, wide, optimize=True), rtol=1e-10)
    np.testing.assert_allclose(found.with_ones, wide.T @ k.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.diagonal, np.sum(wide**2, axis=0), rtol=1e-12)
    assert across == pytest.approx(a @ pairwise.rbf_kernel(x, y, gamma=1 / (2 * 1.3**2)) @ b, rel=1e-9, abs=1e-9)


def test_vectors_are_taken_in_several_rounds(monkeypatch):
    x, v = rng.normal(size=(60, 3)), rng.normal(size=(60, 7))
    with jax.enable_x64(True):
        whole = tiles.quadratic_forms(RBF(1.0), x, v)
        monkeypatch.setattr(tiles, "VECTORS_BYTES", 60 * 8 * 3)
        parts = tiles.quadratic_forms(RBF(1.0), x, v)
    np.testing.assert_allclose(parts.square, whole.square, rtol=1e-12)


def test_median_heuristic():
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    assert median_distance(x, y) == pytest.approx(np.median(pdist(np.concatenate([x, y]))), rel=1e-12)
    many = rng.normal(size=(6_000, 2))
    assert median_distance(many) == median_distance(many)
    # 2,000 of 6,000 rows: the median of two normals in the plane is 2·sqrt(ln 2) = 1.665
    assert median_distance(many) == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.03)
    mostly_equal = np.zeros((10, 1))
    mostly_equal[0] = 4.0
    assert median_distance(mostly_equal) == 4.0
    with pytest.raises(DataError, match="all rows are equal"):
        median_distance(np.ones((5, 2)))


def test_bad_samples_are_refused_by_name():
    from nacre.distances import energy_distance, mmd2

    with pytest.raises(DataError, match="y: row 1 is not finite"):
        mmd2([[1.0], [2.0]], [[1.0], [np.nan]])
    with pytest.raises(DataError, match="3 columns and y has 2"):
        energy_distance(np.ones((4, 3)), np.ones((4, 2)))
    with pytest.raises(DataError, match="at least 2 rows"):
        mmd2([[1.0]], [[1.0], [2.0]])
    with pytest.raises(DataError, match="expected one of 1, 2"):
        energy_distance([1.0], [2.0], p=3)


def test_the_float64_setting_of_the_caller_is_left_alone():
    from nacre.distances import mmd2

    assert jnp.ones(1).dtype == jnp.float32
    mmd2(np.arange(5.0), np.arange(4.0))
    assert jnp.ones(1).dtype == jnp.float32
