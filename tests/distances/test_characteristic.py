"""Characteristic functions: laws, bias, level and order of power."""

import numpy as np
import pytest
from scipy import stats

from nacre.distances import RBF, cf_distance2, cf_test, characteristic_function, gaussian_frequencies, mmd2
from nacre.distances import characteristic as module
from nacre.errors import DataError

rng = np.random.default_rng(4)


def test_empirical_function_in_blocks(monkeypatch):
    x, t = rng.normal(size=(700, 3)), rng.normal(size=(5, 3))
    expected = np.exp(1j * x @ t.T).mean(axis=0)
    np.testing.assert_allclose(characteristic_function(x, t), expected, atol=1e-13)
    monkeypatch.setattr(module, "ROWS", 64)
    np.testing.assert_allclose(characteristic_function(x, t), expected, atol=1e-13)
    half = (characteristic_function(x[:300], t) * 300 + characteristic_function(x[300:], t) * 400) / 700
    np.testing.assert_allclose(half, expected, atol=1e-12)


def test_many_gaussian_frequencies_give_the_rbf_mmd():
    """Bochner: 40,000 frequencies, within 4 standard errors."""
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 1
    t = gaussian_frequencies(40_000, [1 / 1.5, 1 / 1.5])
    for form in ("u", "v"):
        parts = [cf_distance2(x, y, t[i : i + 1_000], form=form) for i in range(0, 40_000, 1_000)]
        assert abs(np.mean(parts) - mmd2(x, y, RBF(1.5), form)) < 4 * np.std(parts) / np.sqrt(40)


def test_the_u_form_is_unbiased():
    """Equal laws: the mean of 2,000 samples within 4 standard errors of 0, and the V form far above."""
    t = gaussian_frequencies(20, [1.0, 1.0], seed=1)
    found = np.array(
        [
            [cf_distance2(x, y, t, form=f) for f in ("u", "v")]
            for x, y in ((rng.normal(size=(10, 2)), rng.normal(size=(12, 2))) for _ in range(2_000))
        ]
    )
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(2_000)
    assert abs(mean[0]) < 4 * error[0] and mean[1] > 20 * error[1]


def test_statistic_of_paired_samples_by_numpy():
    """pearl.md 5 with independent halves: the covariance of differences is the sum of the two covariances."""
    x, y, t = rng.normal(size=(300, 2)), rng.normal(size=(200, 2)), rng.normal(size=(3, 2))
    f, g = (np.concatenate([np.cos(s @ t.T), np.sin(s @ t.T)], axis=1) for s in (x, y))
    gap = f.mean(axis=0) - g.mean(axis=0)
    value = gap @ np.linalg.inv(np.cov(f.T) / 300 + np.cov(g.T) / 200) @ gap
    outcome = cf_test(x, y, t)
    assert outcome.statistic == pytest.approx(value, rel=1e-8)
    assert outcome.p_value == pytest.approx(stats.chi2.sf(value, 6)) and outcome.sizes == (300, 200)


def test_what_does_not_vary_is_left_out():
    x = rng.integers(0, 2, size=(200, 1)).astype(float)
    flat = cf_test(x, x[::-1], [[2 * np.pi], [1.0]])
    assert "1 degrees" in flat.method and flat.p_value > 0.99
    assert cf_test(np.zeros(50), np.ones(50), [[1.0]]).p_value == 0
    assert cf_test(np.zeros(50), np.zeros(50), [[1.0]]).p_value == 1
    with pytest.raises(DataError, match="frequencies: expected 1 columns"):
        cf_test(x, x, [[1.0, 2.0]])


def frequencies(kind, d, source):
    """pearl.md 5: 20 of them. Only the first column differs between the laws, and t_0 looks along it."""
    t = source.normal(size=(20, d))
    if kind != "normal":
        t[:, 0] = 0
        t[0] = np.eye(d)[0]
    return t[:1] if kind == "optimised" else t


@pytest.mark.parametrize("d", [2, 20])
def test_order_of_power(d):
    """N(0, I) against a shift of the first column, 1,000 rows: the one good frequency is better alone than among 19
    that see nothing, and than 20 random ones. 80 trials at a shift of 0.15, where no power is near 1: the standard
    error of a difference is below 0.08. At the shift of 1 of pearl.md the good frequency never fails."""
    source = np.random.default_rng(5)

    def power(kind, shift, trials):
        found = []
        for _ in range(trials):
            x, z = source.normal(size=(1_000, d)), source.normal(size=(1_000, d))
            z[:, 0] += shift
            found.append(cf_test(x, z, frequencies(kind, d, source)).rejects)
        return np.mean(found)

    best = power("optimised", 0.15, 80)
    assert best > power("normal", 0.15, 80) + 0.16
    assert best > power("unoptimised", 0.15, 80) + 0.16
    assert power("optimised", 1.0, 20) == 1


def test_level_with_a_thousand_rows():
    """20 frequencies, 1,000 rows as in pearl.md: 200 trials, 0.01-0.12 is over 3 standard errors."""
    source = np.random.default_rng(6)
    t = frequencies("normal", 5, source)
    found = [cf_test(source.normal(size=(1_000, 5)), source.normal(size=(1_000, 5)), t).rejects for _ in range(200)]
    assert 0.01 <= np.mean(found) <= 0.12
