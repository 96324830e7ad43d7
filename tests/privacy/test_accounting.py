"""The books against golden values, closed forms, brute force, and other people's accountants."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld, rdp
from scipy.special import gammaln, logsumexp

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting import renyi
from nacre.privacy.accounting.accountant import BoundedRange, Failure, Gaussian, PoissonGaussian, Unbounded


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(0.1, 1e-6, 36.30469), (1, 1e-5, 3.730632), (1, 1e-6, 4.224679), (5, 1e-5, 0.891868), (10, 1e-5, 0.499889)],
)
def test_analytic_gaussian(epsilon, delta, sigma):
    assert accounting.gaussian_sigma(epsilon, delta) == pytest.approx(sigma, abs=6e-6 if sigma > 10 else 6e-7)
    assert accounting.gaussian_sigma(epsilon, delta, 3.0) == pytest.approx(3 * sigma, rel=1e-6)
    assert accounting.gaussian_delta(epsilon, 1 / accounting.gaussian_sigma(epsilon, delta)) <= delta


def test_gaussian_delta_against_high_precision():
    rng = np.random.default_rng(0)
    with mpmath.workdps(60):
        for _ in range(200):
            epsilon, mu = 10 ** rng.uniform(-2, 1.2), 10 ** rng.uniform(-1.5, 0.8)
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
            found = accounting.gaussian_delta(epsilon, mu)
            if exact > 1e-12:
                assert found == pytest.approx(float(exact), rel=1e-8)
            else:
                assert abs(found - float(exact)) < 1e-18


def test_classical_gaussian_formula_is_not_used():
    sigma = math.sqrt(2 * math.log(1.25 / 1e-5)) / 10
    assert accounting.gaussian_delta(10, 1 / sigma) == pytest.approx(2.27e-5, rel=1e-2), "the classical σ violates δ"
    assert accounting.gaussian_sigma(10, 1e-5) > sigma


def test_zcdp_to_dp():
    assert accounting.zcdp_epsilon(0.1, 1e-6) == pytest.approx(2.1419, abs=1e-4)
    assert accounting.zcdp_epsilon(0.1, 1e-6) < 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    exact = accounting.epsilon_at([Gaussian(math.sqrt(0.2))], 1e-6)
    assert exact == pytest.approx(1.9945, abs=1e-4)


def test_poisson_rdp_golden():
    found = renyi._log_moments(0.01, 1.1)
    for alpha, value in ((2, 1.2851e-4), (8, 5.8407e-4), (32, 8.4694)):
        q, s = 0.01, 1.1
        terms = [
            math.comb(alpha, k) * (1 - q) ** (alpha - k) * q**k * math.exp(k * (k - 1) / (2 * s * s))
            for k in range(alpha + 1)
        ]
        closed = math.log(math.fsum(terms)) / (alpha - 1)
        assert closed == pytest.approx(value, rel=1e-4)
        (place,) = np.flatnonzero(alpha == renyi._WHOLE)
        assert found[place] / (alpha - 1) == pytest.approx(closed, rel=1e-9)


def test_poisson_composition_golden():
    events = [PoissonGaussian(0.01, 1.1, 1000)]
    assert accounting.epsilon_at(events, 1e-5) == pytest.approx(1.5154, abs=2e-3)
    assert _by_orders(events, 1.7253) == pytest.approx(1e-5, rel=0.02), "whole Rényi orders alone give 1.7253"


def _by_orders(events, epsilon):
    """δ by Rényi orders, without the sampler's error."""
    return renyi.renyi(0.0, events)(epsilon, 1e-40)


_OTHERS = [(0.01, 4.0, 10_000, 1.26, 1.04, 0.95), (256 / 32_561, 1.1, 2540, 2.45, 2.07, 1.88),
           (256 / 32_561, 2.0, 3810, 1.30, 1.07, 0.98)]  # fmt: skip


@pytest.mark.parametrize(
    ("q", "z", "steps", "old", "improved", "exact"),
    [(0.01, 1.0, 1000, 2.54, 2.11, 1.83), *_OTHERS],
)
def test_three_ways_to_count_sampled_steps(q, z, steps, old, improved, exact):
    """The paper's conversion and the improved one from a closed form of the divergence at whole orders, privacy loss
    distributions from the accountant (specs/dphflow.md E4)."""
    orders = np.arange(2, 200)
    divergence = np.array([steps * _closed_divergence(int(a), q, z) for a in orders])
    delta, less = 1e-5, orders - 1
    assert (divergence - math.log(delta) / less).min() == pytest.approx(old, abs=0.02)
    better = divergence + np.log(less / orders) - (math.log(delta) + np.log(orders)) / less
    assert better.min() == pytest.approx(improved, abs=0.02)
    event = PoissonGaussian(q, z, steps)
    assert accounting.epsilon_at([event], delta) == pytest.approx(exact, abs=0.02)
    assert _by_orders([event], improved + 0.02) <= delta


def _closed_divergence(alpha, q, z):
    """Of one sampled Gaussian at a whole order, in logarithms."""
    k = np.arange(alpha + 1)
    binomial = gammaln(alpha + 1) - gammaln(k + 1) - gammaln(alpha - k + 1)
    terms = binomial + (alpha - k) * math.log1p(-q) + k * math.log(q) + k * (k - 1) / (2 * z * z)
    return logsumexp(terms) / (alpha - 1)


def test_ours_is_never_below_the_optimistic_value():
    """Random lists of Gaussian and Poisson events: between the optimistic and the pessimistic PLD of dp_accounting."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        mu, q, z, steps = (
            rng.uniform(0.1, 0.8),
            rng.uniform(0.005, 0.1),
            rng.uniform(0.9, 3.0),
            int(rng.integers(1, 60)),
        )
        epsilon = rng.uniform(0.2, 3.0)
        low, high = (
            pld.privacy_loss_distribution.from_gaussian_mechanism(
                z, value_discretization_interval=1e-3, sampling_prob=q, pessimistic_estimate=pessimistic
            )
            .self_compose(steps)
            .compose(
                pld.privacy_loss_distribution.from_gaussian_mechanism(
                    1 / mu, value_discretization_interval=1e-3, pessimistic_estimate=pessimistic
                )
            )
            .get_delta_for_epsilon(epsilon)
            for pessimistic in (False, True)
        )
        ours = accounting.delta_at([PoissonGaussian(q, z, steps), Gaussian(mu)], epsilon)
        assert low * (1 - 1e-9) - 1e-13 <= ours <= high * (1 + 1e-6) + 1e-13, "theirs are noise below 1e-13"


def test_gaussians_agree_with_dp_accounting_and_opendp():
    rng = np.random.default_rng(4)
    for _ in range(12):
        sigmas = rng.uniform(1.0, 6.0, rng.integers(1, 5))
        mu = math.sqrt(float((sigmas**-2.0).sum()))
        delta = 10 ** rng.uniform(-8, -4)
        events = [Gaussian(1 / s) for s in sigmas]
        ours = accounting.epsilon_at(events, delta)
        composed = dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(s) for s in sigmas])
        theirs = rdp.RdpAccountant().compose(composed).get_epsilon(delta)
        assert ours <= theirs * (1 + 1e-6), "exact Gaussian composition is never above RDP"
        assert accounting.gaussian_delta(ours, mu) <= delta
        assert accounting.gaussian_delta(ours * (1 - 1e-4), mu) > delta, "and it is tight"
        assert ours <= accounting.zcdp_epsilon(mu**2 / 2, delta)


def test_opendp_map_agrees_on_zcdp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for sigma in (1.0, 3.0, 10.0, 71.5):
        gaussian = dp.m.make_gaussian(*space, scale=sigma)
        rho = gaussian.map(1)
        assert rho == pytest.approx(1 / (2 * sigma**2), rel=1e-9)
        approximate = dp.c.make_zCDP_to_approxDP(gaussian).map(1)
        for delta in (1e-7, 1e-5):
            theirs = approximate.epsilon(delta)
            assert accounting.zcdp_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-3)
            assert accounting.epsilon_at([Gaussian(1 / sigma)], delta) <= theirs


# ------------------------------------------------------------------------------------------------------ bounded range


def profile(p: np.ndarray, q: np.ndarray, t: float) -> float:
    return float(np.maximum(p - math.exp(t) * q, 0).sum())


@pytest.mark.parametrize("epsilon", (0.1, 0.5, 1.0, 2.0, 4.0))
def test_bounded_range_covers_every_exponential_mechanism(epsilon):
    """Brute force over 2 to 4 candidates, scores moved within the range: never above; attained by two candidates."""
    rng = np.random.default_rng(5)
    grid = np.linspace(-epsilon, epsilon, 41)
    worst = np.zeros(len(grid))
    for _ in range(3000):
        size = int(rng.integers(2, 5))
        scores = rng.uniform(-3 * epsilon, 3 * epsilon, size)
        change = rng.choice([0.0, 1.0], size) if rng.random() < 0.7 else rng.random(size)
        p, q = np.exp(scores), np.exp(scores + epsilon * change)
        p, q = p / p.sum(), q / q.sum()
        for i, t in enumerate(grid):
            worst[i] = max(worst[i], profile(p, q, t), profile(q, p, t))
    claimed = accounting.bounded_range_delta(epsilon, grid)
    assert (worst <= claimed + 1e-12).all()
    inner = slice(8, 33)
    assert (worst[inner] >= 0.97 * claimed[inner] - 1e-4).all(), "the bound is attained, up to the search"


def test_bounded_range_ends():
    epsilon = 1.3
    found = accounting.bounded_range_delta(epsilon, np.array([-5.0, -1.3, 0.0, 1.3, 9.0]))
    assert found[0] == pytest.approx(1 - math.exp(-5))
    assert found[1] == pytest.approx(1 - math.exp(-1.3))
    assert found[2] == pytest.approx(math.tanh(epsilon / 4))
    assert found[3] == found[4] == 0.0


def test_bounded_range_is_within_epsilon_squared_over_eight():
    """SECURITY 3: ρ of two candidates stays below ε²/8 (here at Rényi orders near one)."""
    for epsilon, best in ((0.1, 0.00125), (0.5, 0.03114), (1, 0.1233), (2, 0.4745), (4, 1.670)):
        found = 0.0
        for p in np.linspace(0.01, 0.99, 99):
            a = np.array([p, 1 - p])
            b = a * np.exp([epsilon, 0.0])
            b /= b.sum()
            for order in (1.0001, 2, 4, 16):
                found = max(found, float(np.log((a**order * b ** (1 - order)).sum()) / (order - 1)) / order)
        assert found <= epsilon**2 / 8
        assert found == pytest.approx(best, rel=0.02)


def test_thirty_picks_leave_sigma_4_005():
    """30 picks at a tenth of ρ (ε = 1, δ = 1e-5) leave σ = 4.005 for the tables; without picks it is 3.731."""
    whole = accounting.gaussian_mu(1.0, 1e-5)
    each = math.sqrt(0.4 * whole**2 / 30)  # 30·ε₀²/8 = ρ/10
    mu = accounting.gaussian_mu(1.0, 1e-5, [BoundedRange(each, 30)])
    assert 1 / mu == pytest.approx(4.005, abs=1.5e-3)
    assert accounting.delta_at([BoundedRange(each, 30), Gaussian(mu)], 1.0) <= 1e-5


def test_bounded_range_composition_is_never_below_exact_enumeration():
    """Three picks between two candidates, enumerated: the composed curve is an upper bound."""
    epsilon, times = 0.8, 3
    for p in (0.3, 0.5, 0.6):
        a = np.array([p, 1 - p])
        b = a * np.exp([epsilon, 0.0])
        b /= b.sum()
        joint_a, joint_b = a, b
        for _ in range(times - 1):
            joint_a, joint_b = np.outer(joint_a, a).ravel(), np.outer(joint_b, b).ravel()
        for t in (0.0, 0.3, 0.9, 1.5):
            claimed = accounting.delta_at([BoundedRange(epsilon, times)], t)
            assert max(profile(joint_a, joint_b, t), profile(joint_b, joint_a, t)) <= claimed + 1e-12


# ------------------------------------------------------------------------------------------------- failures and limits


def test_failure_and_sampler_error_add_to_delta():
    base = accounting.delta_at([Gaussian(0.5)], 1.0)
    assert accounting.delta_at([Gaussian(0.5), Failure(1e-7)], 1.0) == pytest.approx(base + 1e-7, rel=1e-12)
    assert base == pytest.approx(accounting.gaussian_delta(1.0, 0.5) + (1 + math.e) * 2.0**-68, rel=1e-12)
    assert accounting.delta_at([Failure(0.7), Failure(0.7)], 1.0) == 1.0


def test_raw_rows_have_no_bound():
    assert accounting.delta_at([Gaussian(0.1), Unbounded("x")], 5.0) == 1.0
    assert accounting.epsilon_at([Unbounded("x")], 1e-5) == math.inf


def test_nothing_costs_nothing_but_the_sampler():
    assert 0 < accounting.delta_at([], 1.0) < 1e-18
    assert accounting.epsilon_at([], 1e-6) == 0.0


def test_replace_one_by_poisson_uses_pld_only():
    event = PoissonGaussian(0.05, 2.0, 5, "replace_one")
    assert _by_orders([event], 1.0) == math.inf
    assert accounting.delta_at([event], 1.0) > accounting.delta_at([PoissonGaussian(0.05, 2.0, 5)], 1.0)


def test_splitting_an_entry_costs_the_same():
    """μ² adds: ten tables of σ cost what one of σ/sqrt(10) does."""
    a = accounting.delta_at([Gaussian(0.1)] * 10, 1.0)
    assert a == pytest.approx(accounting.delta_at([Gaussian(math.sqrt(0.1))], 1.0), rel=1e-9)
