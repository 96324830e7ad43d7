"""What a plan is charged: covering Gaussians, rounding up, and why adaptive choices stay below the cap."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from nacre.errors import BudgetError, BudgetExceeded
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange, Failure, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy

POLICY = Policy(3.0, 1e-6)


def gaussian(t: np.ndarray, mu: float) -> np.ndarray:
    """P[N(μ,1) > s] − e^t·P[N(0,1) > s] at the best threshold s = t/μ + μ/2."""
    s = t / mu + mu / 2
    return norm.sf(s - mu) - np.exp(t) * norm.sf(s)


def test_a_gaussian_is_covered_by_itself():
    t, curve = cost.sampled_curve(lambda x: gaussian(np.asarray(x), 0.37), 1e-12)
    assert cost.covering_mu(t, curve, 1e-12) == pytest.approx(0.37, rel=5e-3)
    assert cost.covering_mu(t, curve, 1e-12) >= 0.37 - 1e-6


@pytest.mark.parametrize("event", [BoundedRange(0.3), BoundedRange(1.5), BoundedRange(0.1, 12)])
def test_exponential_mechanisms_lie_below_their_gaussian_everywhere(event):
    charged = cost.cost_of([event], POLICY)
    mu, tail = math.sqrt(charged.units * UNIT), charged.failure * FAILURE_UNIT
    exact = _range_curve(event)
    t = np.linspace(-3, 3, 2001)
    assert np.all(exact(t) <= tail + (1 - tail) * gaussian(t, mu) + 1e-9)
    assert np.any(exact(t) > tail + (1 - tail) * gaussian(t, 0.97 * mu))  # no more than needed


def _range_curve(event):
    """One mechanism in closed form; several by the worst pair of each, composed on a fine grid of losses."""
    if event.times == 1:
        return lambda t: accounting.bounded_range_delta(event.epsilon, t)
    curve = accounting.composed([event])  # of both directions: below 0 the rule 1 − e^t + e^t·δ(−t)
    return lambda t: np.where(t >= 0, curve(np.abs(t)), -np.expm1(t) + np.exp(t) * curve(np.abs(t)))


def test_sampled_gaussians_cost_little_more_than_their_own_curve():
    event = PoissonGaussian(0.01, 1.1, 300)
    charged = cost.cost_of([event], POLICY)
    stands_for = [Gaussian(math.sqrt(charged.units * UNIT)), Failure(charged.failure * FAILURE_UNIT)]
    mine, own = accounting.epsilon_at(stands_for, 1e-6), accounting.epsilon_at([event], 1e-6)
    assert own <= mine <= 1.12 * own


def rounds_up(whole) -> None:
    """Exact amounts, as fractions, never exceed the units charged; a spend below one unit costs one."""
    rng = np.random.default_rng(3)
    amounts = [*(10.0 ** rng.uniform(-30, 1, 300)), 5e-324, UNIT, UNIT * 7, 0.4 * UNIT]
    for amount in amounts:
        units = whole(amount, UNIT)
        assert isinstance(units, int)
        assert Fraction(amount) <= units * Fraction(UNIT), amount
        assert units <= max(2, 1 + Fraction(amount) / Fraction(UNIT) * (1 + Fraction(1, 10**11)))


def test_amounts_are_rounded_up():
    rounds_up(cost.whole)


@pytest.mark.parametrize(
    "broken", [lambda a, u: int(a / u), lambda a, u: round(a / u), lambda a, u: max(1, int(a / u))]
)
def test_twins_that_do_not_round_up_are_caught(broken):
    with pytest.raises(AssertionError):
        rounds_up(broken)


def test_the_caps_are_the_promise():
    """D + (1 − D)·δ_√B(ε) ≤ δ, and one part in a thousand more would be too much."""
    for policy in (Policy(0.1, 1e-9), Policy(1.0, 1e-6), Policy(8.0, 1e-5)):
        d, b = policy.failure_cap * FAILURE_UNIT, policy.unit_cap * UNIT
        at = lambda squared: d + (1 - d) * gaussian(np.array(policy.epsilon), math.sqrt(squared))  # noqa: B023, E731
        assert at(b) <= policy.delta < at(1.001 * b)


@pytest.mark.parametrize("threshold", [-1.0, 0.3, 2.0])
def test_gaussians_chosen_by_earlier_answers_stay_below_the_cap(threshold):
    """The filter, by quadrature: after seeing x ~ N(bμ1, 1), spend all that is left if x is large, little if not."""
    cap, first = 0.4, 0.2
    rest = {True: math.sqrt(cap - first), False: 0.05}
    for epsilon in (0.2, 1.0, 2.0):

        def density(x, epsilon=epsilon):
            mu = math.sqrt(first)
            loss = mu * x - mu**2 / 2
            return norm.pdf(x - mu) * gaussian(np.array(epsilon - loss), rest[x > threshold])

        parts = [quad(density, a, b, limit=200)[0] for a, b in ((-12, threshold), (threshold, 12))]
        assert sum(parts) <= gaussian(np.array(epsilon), math.sqrt(cap)) + 1e-10


def test_raw_rows_have_no_price():
    with pytest.raises(BudgetExceeded, match="no cap covers"):
        cost.cost_of([Gaussian(0.1), Unbounded("reveal")], POLICY)


def test_failures_and_the_sampler_are_charged():
    charged = cost.cost_of([Gaussian(0.1), Failure(3e-9)], POLICY)
    assert charged.failure * FAILURE_UNIT >= 3e-9 + accounting.sampler_cost(3.0)
    assert charged.units * UNIT == pytest.approx(0.01, rel=1e-9)


def test_events_survive_the_ledger():
    events = [Gaussian(0.1), Failure(3e-9), BoundedRange(0.2, 3), PoissonGaussian(0.1, 2.0, 5, "zero_out")]
    assert cost.from_json(cost.to_json(events)) == events


@pytest.mark.parametrize("bad", [{"epsilon": None}, {"epsilon": 0}, {"epsilon": 1, "delta": 2}, {"epsilon": math.nan},
                                 {"epsilon": 1, "per_release": 2}, {"epsilon": 1, "delta": 1e-19},
                                 {"epsilon": 1, "neighbours": "all"}])  # fmt: skip
def test_bad_policies_are_refused(bad):
    with pytest.raises(BudgetError):
        Policy(**bad)


def test_what_is_said_to_be_left_can_be_had(tmp_path, monkeypatch):
    """And what is said to be spent is no less than it is."""
    from nacre.privacy.budget import Budget
    from nacre.privacy.certificate.rounding import down, up
    from nacre.privacy.ledger import open_ledger
    from nacre.privacy.ledger.status import status
    from nacre.privacy.plan import Counts, Plan

    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    ledger = open_ledger(tmp_path / "b.sqlite", create=True)
    for number, (epsilon, delta, sigma) in enumerate(((1.0, 1e-6, 9.0), (3.0, 1e-6, 4.0), (0.1, 1e-9, 90.0))):
        name = f"people {number}"
        ledger.create(name, Policy(epsilon, delta))
        ledger.reserve(name, Plan("m", (Counts("t", sigmas=(sigma,)),), Budget(epsilon, delta)))
        told = status(ledger.rows(name))
        assert float(up(told["epsilon_spent"])) >= accounting.epsilon_at([Gaussian(1 / sigma)], delta)
        left = float(down(told["epsilon_left"], 3))
        least = 1 / accounting.gaussian_mu(left, delta)
        ledger.reserve(name, Plan("m", (Counts("t", sigmas=(least,)),), Budget(left, delta)))
        assert 0 <= status(ledger.rows(name))["epsilon_left"] < 0.2 * epsilon
