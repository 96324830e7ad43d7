"""Audit bounds against published values, brute force and simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from nacre.audit import bounds
from nacre.audit.bounds import Bound, Guesses
from nacre.errors import NacreError


@pytest.mark.parametrize(
    ("m", "r", "v", "delta", "epsilon"),
    [
        (1000, 600, 600, 1e-5, 5.2704),
        (1000, 100, 100, 1e-5, 3.4654),
        (1000, 100, 90, 1e-5, 1.6261),
        (5000, 500, 400, 1e-5, 1.1952),
        (10, 10, 10, 0.0, 1.0519),
        (1000, 100, 100, 0.0, 3.493),
        (1000, 100, 80, 0.0, 0.958),
        (10_000, 1000, 600, 0.0, 0.297),
        (17_500, 17_500, 8925, 0.0, 0.015),
        (17_500, 17_500, 8837, 0.0, 0.0),
    ],
)
def test_one_run_golden(m, r, v, delta, epsilon):
    assert bounds.one_run_epsilon(m, r, v, delta) == pytest.approx(epsilon, abs=1e-3)


def test_one_run_p_value_by_enumeration():
    """Sums of binomial terms, written out."""
    m, r, v, epsilon, delta = 50, 12, 10, 0.7, 1e-3
    a = math.exp(epsilon) / (1 + math.exp(epsilon))
    law = [math.comb(r, k) * a**k * (1 - a) ** (r - k) for k in range(r + 1)]
    most = max(sum(law[v - i : v]) / i for i in range(1, v + 1))
    wanted = sum(law[v:]) + 2 * m * delta * most
    assert bounds.one_run_p_value(m, r, v, epsilon, delta) == pytest.approx(wanted, rel=1e-9)


def test_one_run_holds_for_randomized_response():
    """The tight case: each coin is told with probability e^ε/(1 + e^ε). 2,000 audits: at most 5 % + 4 sd are wrong."""
    rng, truth = np.random.default_rng(0), 1.0
    right = rng.binomial(100, 1 / (1 + math.exp(-truth)), 2000)
    found = {int(v): bounds.one_run_epsilon(100, 100, int(v)) for v in set(right)}
    wrong = np.mean([found[int(v)] > truth for v in right])
    assert wrong <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2000)
    assert np.median([found[int(v)] for v in right]) > 0.5  # and the bound is not empty


@pytest.mark.parametrize(
    ("n", "ceiling"), [(50, 2.57), (100, 3.28), (500, 4.91), (1000, 5.60), (5000, 7.21), (10_000, 7.91)]
)
def test_ceiling_of_a_perfect_attack(n, ceiling):
    assert Guesses(n, n, 0, n).epsilon() == pytest.approx(ceiling, abs=0.006)


def test_clopper_pearson_covers():
    """Exact coverage by enumeration: each end fails with probability at most alpha, for every p of a grid."""
    for p in np.linspace(0.02, 0.98, 25):
        ends = np.array([bounds.clopper_pearson(k, 20, 0.025) for k in range(21)])
        law = stats.binom.pmf(np.arange(21), 20, p)
        assert law[ends[:, 0] > p].sum() <= 0.025 and law[ends[:, 1] < p].sum() <= 0.025


def test_gaussian_audit_is_tight_and_refutes():
    """100,000 draws of N(1, 1) and N(0, 1): μ in [0.97, 1], and the claim 0.9 falls (error rate 5 %, seed fixed)."""
    rng = np.random.default_rng(1)
    hits, alarms = (rng.normal(size=100_000) + 1 > 0.5).sum(), (rng.normal(size=100_000) > 0.5).sum()
    mu = Guesses(int(hits), 100_000, int(alarms), 100_000).mu()
    assert 0.97 < mu <= 1
    assert Bound("mu", mu, 0.95, 0.9).refuted and not Bound("mu", mu, 0.95, 1.0).refuted


def test_medians_on_randomized_response():
    """Tight mechanism, ε = 1: median bounds .80, .86, .94 for n = 500, 1,000, 5,000, to .03."""
    rng, chance = np.random.default_rng(2), 1 / (1 + math.exp(-1))
    for n, wanted in ((500, 0.80), (1000, 0.86), (5000, 0.94)):
        hits, alarms = rng.binomial(n, chance, 400), rng.binomial(n, 1 - chance, 400)
        found = [Guesses(int(h), n, int(a), n).epsilon() for h, a in zip(hits, alarms)]
        assert np.median(found) == pytest.approx(wanted, abs=0.03)


def test_multiplicity():
    assert bounds.exceedances(50, 6) == pytest.approx(0.038, abs=5e-4)
    assert bounds.exceedances(50, 7) == pytest.approx(0.012, abs=5e-4)
    assert bounds.exceedances(50, 8) == pytest.approx(0.003, abs=5e-4)
    assert bounds.exceedances(50, 3) == pytest.approx(0.46, abs=5e-3)
    assert bounds.exceedances(50, 1) == pytest.approx(0.923, abs=5e-4)
    assert bounds.family(1e-3, 50) == pytest.approx(2e-5)


def test_group_refutation():
    """All of R runs pass on the table and none on one with 3,238 labels changed."""
    assert bounds.group_epsilon(100, 100, 0, 100, 3238) == pytest.approx(1.0e-3, abs=5e-5)
    assert bounds.group_epsilon(1000, 1000, 0, 1000, 3238) == pytest.approx(1.7e-3, abs=5e-5)
    assert bounds.group_epsilon(50, 100, 50, 100, 1) == 0


def test_a_bound_never_says_safe():
    for bound in (Bound("epsilon", 0.0, 0.95, 1.0), Bound("epsilon", 0.3, 0.95)):
        assert "cannot rule out" in str(bound) and "safe" not in str(bound)
    assert "refuted" in str(Bound("epsilon", 2.0, 0.95, 1.0))


def test_impossible_counts_are_refused():
    for counts in ((10, 5, 6), (10, 11, 3), (10, 0, 0)):
        with pytest.raises(NacreError, match="guess"):
            bounds.one_run_epsilon(*counts)
    with pytest.raises(NacreError, match="successes"):
        bounds.clopper_pearson(3, 2, 0.05)
