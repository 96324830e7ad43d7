"""Energy distance: sorting, tiles and updates against SciPy, quadrature and full recomputation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import energy_distance as scipy_energy

from nacre.distances import cf_distance2, energy_distance, energy_frequencies
from nacre.distances.energy import accept, place, propose

rng = np.random.default_rng(2)


def by_pairs(x, y, p):
    """support_points.md 2."""
    d = {1: "cityblock", 2: "euclidean"}[p]
    return 2 * cdist(x, y, d).mean() - cdist(x, x, d).mean() - cdist(y, y, d).mean()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_against_all_pairs(d, p):
    x, y = rng.normal(size=(60, d)) + 50, rng.exponential(size=(47, d)) + 50
    assert energy_distance(x, y, p) == pytest.approx(by_pairs(x, y, p), rel=1e-9)


def test_one_column_against_scipy_and_the_integral_of_squared_differences():
    for n, m in ((1, 1), (4, 7), (300, 211)):
        x, y = rng.integers(0, 9, n) / 4, rng.normal(size=m)
        grid = np.sort(np.concatenate([x, y]))
        f, g = (np.searchsorted(np.sort(s), grid[:-1], "right") / len(s) for s in (x, y))
        integral = 2 * np.sum((f - g) ** 2 * np.diff(grid))
        assert energy_distance(x, y) == pytest.approx(integral, abs=1e-9)
        assert energy_distance(x, y) == pytest.approx(scipy_energy(x, y) ** 2, abs=1e-9)
        assert energy_distance(x, y, 1) == energy_distance(x, y, 2)


def test_worked_example_and_blindness_of_p_1():
    """support_points.md 11: N = 4, n = 3 on {0, 1}; and rows (u, u) against (u, 1 − u)."""
    y = [1.0, 1.0, 1.0]
    assert energy_distance([0.0, 0.0, 0.0, 0.0], y) == pytest.approx(2.0)
    assert energy_distance([0.0, 0.0, 0.0, 1.0], y) == pytest.approx(1.125)
    u = (np.arange(50) + 0.5) / 50
    along, across = np.stack([u, u], axis=1), np.stack([u, 1 - u], axis=1)
    assert energy_distance(along, across, 1) == pytest.approx(0, abs=1e-12)
    assert energy_distance(along, across, 2) == pytest.approx(0.1396, abs=5e-4)


def test_a_distance_on_random_pairs():
    """1,000 pairs: positive, symmetric, zero on itself in any order; and values found without pairs of rows.

    For p = 1 it is the sum over columns of SciPy's one-column distance; for p = 2, in the plane, the mean of those of
    all directions over E|cos| = 2/pi.
    """
    for i in range(1_000):
        d = 1 + i % 3
        x, y = rng.normal(size=(5, d)), rng.normal(size=(4, d)) + (i % 2)
        by_columns = sum(scipy_energy(x[:, j], y[:, j]) ** 2 for j in range(d))
        assert energy_distance(x, y, 1) == pytest.approx(by_columns, rel=1e-9)
        e = energy_distance(x, y)
        assert e > 0 and e == pytest.approx(energy_distance(y, x), rel=1e-12)
        assert abs(energy_distance(x, x[::-1])) < 1e-14
    angle = (np.arange(2_000) + 0.5) * np.pi / 2_000
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(4, 2)) + 1
    turned = [scipy_energy(x @ u, y @ u) ** 2 for u in np.stack([np.cos(angle), np.sin(angle)], axis=1)]
    assert energy_distance(x, y) == pytest.approx(np.pi / 2 * np.mean(turned), rel=1e-4)


@pytest.mark.parametrize("p", [1, 2])
def test_ten_thousand_moves_equal_full_recomputation(p):
    x, y = rng.uniform(size=(40, 3)), rng.uniform(size=(8, 3))

    def step(points, key):
        a, b, c = jax.random.split(key, 3)
        j, to = jax.random.randint(a, (), 0, 8), jax.random.uniform(b, (3,), jnp.float64)
        after = accept(points, propose(x, points, j, to, p))
        keep = jax.random.bernoulli(c)
        return jax.tree.map(lambda old, new: jnp.where(keep, new, old), points, after), None

    with jax.enable_x64(True):
        x = jnp.asarray(x)
        start = place(x, jnp.asarray(y), p)
        keys = jax.random.split(jax.random.key(0), 10_000)
        end = jax.jit(lambda s, k: jax.lax.scan(step, s, k)[0])(start, keys)
        fresh = place(x, end.y, p)
    d = {1: "cityblock", 2: "euclidean"}[p]
    assert float(end.value) == pytest.approx(float(fresh.value), abs=1e-9)
    np.testing.assert_allclose(end.reach, fresh.reach, atol=1e-9)
    assert float(fresh.value) == pytest.approx(by_pairs(x, end.y, p) + cdist(x, x, d).mean(), abs=1e-9)
    assert not np.allclose(end.y, y)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_characteristic_functions_estimate_the_energy_distance(d):
    """support_points.md 9d: within 4 standard errors of the mean over 20,000 frequencies (false alarm 6e-5)."""
    x, y = rng.uniform(size=(30, d)), rng.uniform(size=(25, d)) ** 2
    t, w = energy_frequencies(20_000, d, np.sqrt(d), seed=d)
    parts = [cf_distance2(x, y, t[i : i + 500], w[i : i + 500]) for i in range(0, 20_000, 500)]
    error = np.std(parts, ddof=1) / np.sqrt(len(parts))
    assert abs(np.mean(parts) - by_pairs(x, y, 2)) < 4 * error < 0.2 * by_pairs(x, y, 2)
