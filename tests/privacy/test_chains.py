"""Chains: incremental values against full ones; R-hat and effective sizes against closed forms."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.privacy_contract import sampled

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange
from nacre.privacy.accounting.ranges import range_share
from nacre.privacy.budget import Budget
from nacre.privacy.doors import diagnostics, walk
from nacre.privacy.plan import Plan, Sample, Scope


def test_incremental_values_equal_full_ones_after_ten_thousand_moves():
    rng = np.random.default_rng(1)
    x, n = rng.random((30, 2)), 6
    law = walk.Law(sampled.near, sampled.apart, -np.sqrt(2), 0.0)
    chain = walk.Walk(n, (1.0, 1.0), chains=2)
    moves = [chain._moves(rng) for _ in range(40)]
    with jax.enable_x64(True):
        joined = tuple(np.concatenate(parts) for parts in zip(*moves))
        public = (np.float64(3.0), np.float64(15.0), np.ones(2))
        start = chain._starts(rng)
        state = walk._block(law, (np.ascontiguousarray(x.T), np.ones(30)), start, joined, np.full(2, 0.2), public)
    assert np.asarray(state.accepted).min() > 500
    for y, reach, value in zip(np.asarray(state.points), np.asarray(state.reach), np.asarray(state.value)):
        full = -cdist(x, y).sum(axis=0)
        assert np.allclose(reach, full, rtol=0, atol=1e-9)
        assert value == pytest.approx(full.mean() + 15.0 * cdist(y, y).mean(), abs=1e-9)


def test_reflection_folds_any_number_of_times():
    with jax.enable_x64(True):
        found = walk.reflect(np.array([-0.1, 0.4, 1.3, 2.2, -3.1, 0.9]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.5]))
    assert np.allclose(found, [0.1, 0.4, 0.7, 0.2, 0.9, 0.1])


def test_independent_chains_pass_and_shifted_ones_do_not():
    rng = np.random.default_rng(0)
    good = rng.standard_normal((8, 1000))
    assert diagnostics.r_hat(good) < 1.01
    assert 6500 < diagnostics.bulk_ess(good) < 10_000 and diagnostics.tail_ess(good) > 6000
    assert diagnostics.r_hat(good + (np.arange(8) % 2)[:, None]) > 1.05
    assert diagnostics.r_hat(good * np.where(np.arange(8) == 0, 3.0, 1.0)[:, None]) > 1.02  # seen by folding alone
    heavy = rng.standard_cauchy((8, 1000))
    assert diagnostics.r_hat(heavy) < 1.01  # ranks do not mind a missing mean


def test_effective_size_of_an_autoregression():
    """ESS/draws = (1 − φ)/(1 + φ) for the mean of an AR(1)."""
    rng = np.random.default_rng(2)
    for phi in (0.5, 0.8):
        x = np.zeros((8, 4000))
        for t in range(1, 4000):
            x[:, t] = phi * x[:, t - 1] + rng.standard_normal(8)
        expected = x.size * (1 - phi) / (1 + phi)
        assert diagnostics.bulk_ess(x) == pytest.approx(expected, rel=0.15)


def test_chains_that_never_moved_do_not_pass():
    still = np.ones((4, 100))
    assert np.isnan(diagnostics.r_hat(still)) and np.isnan(diagnostics.bulk_ess(still))
    assert not diagnostics.summary({"value": still}, 0.3)["passed"]
    moving = np.random.default_rng(0).standard_normal((8, 500))
    assert diagnostics.summary({"value": moving}, 0.3)["passed"]
    assert not diagnostics.summary({"value": moving}, 0.01)["passed"]


def test_repeated_draws_cost_what_bounded_range_composition_says():
    """k draws cost less than k·ε, and their price is at most that of k·ε²/8 zCDP."""
    scope, budget = Scope("zero_out"), Budget(1.0, 1e-6, "zero_out")
    one, many = (range_share(budget, scope, k) for k in (1, 20))
    assert 1.0 <= one < 1.01 and 1 / 20 < many < 1.0
    Plan("test", (Sample("s", epsilon=many, draws=20),), budget)  # is within the budget
    assert accounting.delta_at([BoundedRange(many * 1.03, 20)], 1.0) > 1e-6  # and uses it up
    rho = 20 * many**2 / 8
    assert accounting.zcdp_delta(rho, 1.0) >= 0.7e-6  # the search stops 1/800 of ε below
    bought = range_share(budget, scope, 1, [Sample("before", epsilon=0.4)])
    assert 0.55 < bought < 0.7
