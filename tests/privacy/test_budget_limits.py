"""Budgets at their limits: what is refused, what is found there, and lists of events made to eat the machine."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.audits import accountant
from tests.privacy import coarse

from nacre.errors import BudgetError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting import calibration
from nacre.privacy.accounting.accountant import BoundedRange, Failure, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.accounting.ranges import range_share
from nacre.privacy.budget import Budget, default_delta
from nacre.privacy.plan import Counts, Descend, Part, Plan, Scope, gaussian_share

SCOPE = Scope("add_or_remove_one")
DELTAS = (1e-3, 1e-6, 1.001e-9, 1e-9, 1e-12, 1e-14, 0.99e-14, 1e-15, 1e-16)


# ------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize("delta", [1e-17, 1e-200, 0.0, -1e-6, 1.0, 2.0])
def test_a_delta_below_what_is_proved_is_refused(delta):
    for ask in (lambda: Budget(3.0, delta), lambda: accounting.epsilon_at([Gaussian(0.1)], delta),
                lambda: accounting.gaussian_mu(3.0, delta)):  # fmt: skip
        with pytest.raises(BudgetError, match=r"delta=.*expected a number from 1e-16"):
            ask()


def test_the_least_delta_is_enough_for_any_number_of_rows():
    assert [default_delta(10**k) for k in (8, 10, 11, 30)] == pytest.approx([1e-12, 1e-15, 1e-16, 1e-16])
    assert all(Budget(1.0, default_delta(10**k)) for k in range(40))


def test_a_plan_that_spends_more_than_a_tiny_delta_is_refused():
    """The noise once found for (3, 1e-15): 500 of 32,561 rows in 2,000 steps, true δ above 9.5e-15."""
    q, steps = 500 / 32_561, 2000
    noise = calibration.noise_for(Budget(3.0, 1e-15), SCOPE, q, steps)
    assert accountant.sampled(q, noise, steps).bound(3.0) <= 1e-15
    entry = [Descend("training", q=q, steps=steps, parts=(Part("all", sigma=noise * 0.97),))]
    with pytest.raises(BudgetError, match="would spend delta"):
        Plan("dpsgd", tuple(entry), Budget(3.0, 1e-15))
    assert accounting.delta_at(entry[0].events(SCOPE), 3.0) > accountant.sampled(q, noise * 0.97, steps).bound(3.0)


# ---------------------------------------------------------------------------- less is never answered with more


def rises(values) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


def test_less_delta_never_gets_less_noise():
    with coarse.grid(2**12):
        noises = [calibration.noise_for(Budget(3.0, d), SCOPE, 0.015, 2000) for d in DELTAS]
        assert rises(noises) and len(set(noises)) >= len(noises) - 3
        for delta, noise in zip(DELTAS, noises, strict=True):
            assert accounting.delta_at([PoissonGaussian(0.015, noise, 2000)], 3.0) <= delta
            assert accounting.delta_at([PoissonGaussian(0.015, noise * 0.999, 2000)], 3.0) > delta
        assert rises([calibration.noise_for(Budget(e, 1e-14), SCOPE, 0.015, 2000) for e in (8.0, 3.0, 2.99, 1.0, 0.3)])


def test_less_delta_never_gets_more_steps():
    with coarse.grid(2**12):
        steps = [calibration.steps_for(Budget(3.0, d), SCOPE, 0.015, 2.0) for d in reversed(DELTAS)]
        assert rises(steps)
        for delta, found in zip(reversed(DELTAS), steps, strict=True):
            spent = [accounting.delta_at([PoissonGaussian(0.015, 2.0, n)], 3.0) for n in (found, found + 1)]
            assert spent[0] <= delta < spent[1]


@pytest.mark.parametrize("others", [(), (BoundedRange(0.1, 10),), (PoissonGaussian(0.01, 1.5, 100),)])
def test_less_delta_never_gets_a_larger_gaussian(others):
    with coarse.grid(2**12):
        mus = [accounting.gaussian_mu(2.0, d, others) for d in reversed(DELTAS)]
        assert rises(mus) and mus[0] > 0.05
        for delta, mu in zip(reversed(DELTAS), mus, strict=True):
            assert accounting.delta_at([*others, Gaussian(mu)], 2.0) <= delta
            assert accounting.delta_at([*others, Gaussian(mu * 1.0001)], 2.0) > delta


@pytest.mark.parametrize("draws", [1, 30])
def test_less_delta_never_gets_larger_ranges(draws):
    with coarse.grid(2**12):
        assert rises([range_share(Budget(1.0, d), SCOPE, draws) for d in reversed(DELTAS)])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(700.0, 1e-6), (45.0, 1e-6), (1e-9, 1e-16), (1e-300, 1e-6), (20.0, 1e-16), (0.0, 1e-6),
                           (1e6, 0.9), (1.0, 0.999999), (12.0, 1e-16)])  # fmt: skip
def test_gaussians_near_the_limits_are_found_or_refused(epsilon, delta):
    try:
        mu = accounting.gaussian_mu(epsilon, delta)
    except BudgetError as error:
        assert "no Gaussian noise fits" in str(error)
        assert accounting.delta_at([Gaussian(1e-12)], epsilon) > delta * (1 - 1e-9)
    else:
        assert accounting.delta_at([Gaussian(mu)], epsilon) <= delta
        assert mu == 1e12 or accounting.delta_at([Gaussian(mu * 1.001)], epsilon) > delta


def test_a_budget_that_others_have_spent_leaves_no_gaussian():
    for others in ([Failure(1e-5)], [BoundedRange(3.0, 20)], [PoissonGaussian(0.5, 0.6, 100)], [Unbounded("rows")]):
        with pytest.raises(BudgetError, match="no Gaussian noise fits"):
            accounting.gaussian_mu(1.0, 1e-6, others)
    with pytest.raises(BudgetError):
        gaussian_share(Budget(12.0, 1e-16), SCOPE, [Counts("a", sigmas=(0.1,))])


def test_the_largest_of_what_always_holds_or_never_does_is_found_too():
    assert accounting.largest(lambda x: True, 1.0) == 2.0**1000
    assert accounting.largest(lambda x: False, 1.0) == 0.0
    assert accounting.largest(lambda x: x <= 3.5, 1.0) == pytest.approx(3.5, rel=1e-11)
    assert accounting.last_within(lambda k: 1.0, 3, 2, (-9, 50)) is None
    assert accounting.last_within(lambda k: -1.0, 3, 2, (-9, 50)) == 50
    for shape in (float, math.sinh, lambda d: math.atan(9 * d), lambda d: d**3 if d < 0 else 1e6 * d, np.sign):
        for last in (-9, 0, 3, 4, 31, 50):
            assert accounting.last_within(lambda k, at=last, f=shape: float(f(k - at - 0.5)), 7, 2, (-9, 50)) == last


# ----------------------------------------------------------------------------------- lists made to eat the machine

GREEDY = {
    "a range of 3,000": [BoundedRange(3e3, 5)],
    "a range of 1e300": [BoundedRange(1e300)],
    "1e9 picks": [BoundedRange(1.0, 10**9)],
    "noise of 0.01": [PoissonGaussian(0.5, 0.01, 1)],
    "noise of 1e-15": [PoissonGaussian(0.5, 1e-15, 3, "replace_one")],
    "2^31 steps": [PoissonGaussian(0.01, 1.0, 2**31 - 1)],
    "2^40 faint steps": [PoissonGaussian(1e-9, 1e6, 2**40)],
    "infinite mu": [Gaussian(math.inf), BoundedRange(1.0)],
    "tiny everything": [PoissonGaussian(1e-9, 1e10, 1), BoundedRange(1e-300, 3), Gaussian(1e-200)],
    "hundreds of kinds": [PoissonGaussian(0.01 + k * 1e-5, 1.0 + k, 10 + k) for k in range(300)]
    + [BoundedRange(0.01 + k * 1e-4, 1 + k) for k in range(199)],
}
CHILD = """
import json, resource, sys, time
from nacre.privacy import accounting
from tests.privacy.test_budget_limits import GREEDY
accounting.delta_at([accounting.BoundedRange(0.1, 2)], 1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, events in GREEDY.items():
    start = time.process_time()
    accounting.check_composable(events)
    found = [accounting.delta_at(events, 1.0), accounting.epsilon_at(events, 1e-6)]
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([name, *map(str, found), time.process_time() - start, used / 1024]))
"""


def test_greedy_lists_are_composed_in_seconds_and_little_memory():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=120, check=True)
    found = {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}
    assert set(found) == set(GREEDY)
    for name, (delta, epsilon, seconds, megabytes) in found.items():
        assert 0 < float(delta) <= 1 and float(epsilon) >= 0, name
        assert seconds < 4 and megabytes < 200, (name, seconds, megabytes)
    for name in ("a range of 3,000", "a range of 1e300", "1e9 picks", "noise of 0.01", "infinite mu", "2^31 steps"):
        assert float(found[name][1]) == math.inf, name
    assert float(found["tiny everything"][0]) < 1e-17


@pytest.mark.parametrize(
    "event",
    [Gaussian(math.nan), Gaussian(-1.0), Gaussian("1"), BoundedRange(math.nan), BoundedRange(-1.0),
     BoundedRange(1.0, 0), BoundedRange(1.0, 2.5), BoundedRange(1.0, 2**41), BoundedRange(1.0, True),
     PoissonGaussian(0.0, 1.0, 1),
     PoissonGaussian(1.1, 1.0, 1), PoissonGaussian(0.1, 0.0, 1), PoissonGaussian(0.1, -1.0, 1),
     PoissonGaussian(0.1, 1.0, 0), PoissonGaussian(0.1, 1.0, 10**30), PoissonGaussian(0.1, 1.0, 1, "all"),
     PoissonGaussian(math.nan, 1.0, 1), Failure(-0.1), Failure(math.nan), "no event", None],
)  # fmt: skip
def test_events_that_no_mechanism_has_are_refused(event):
    with pytest.raises(BudgetError, match="privacy event 2 of 2"):
        accounting.check_composable([Gaussian(0.1), event])
    with pytest.raises(BudgetError):
        accounting.delta_at([Gaussian(0.1), event], 1.0)


def test_more_kinds_than_any_plan_has_are_refused():
    many = [BoundedRange(0.01 + k * 1e-6) for k in range(501)]
    with pytest.raises(BudgetError, match="501 different"):
        accounting.check_composable(many)
    accounting.check_composable([BoundedRange(0.01)] * 5000 + [Gaussian(0.1 * k) for k in range(5000)])


def test_coarse_grids_are_only_looser():
    rng = np.random.default_rng(0)
    events = [PoissonGaussian(0.02, 1.2, 500), BoundedRange(0.1, 5)]
    for epsilon in rng.uniform(0.1, 5, 4):
        fine = accounting.delta_at(events, float(epsilon))
        with coarse.grid(2**11):
            assert fine <= accounting.delta_at(events, float(epsilon)) <= 3 * fine
