"""How much noise a budget asks of `descend` or `teach`, or how many steps a given noise allows.

Noise is sought on a fixed lattice, steps are whole: what is returned is the last value that meets the budget itself, so
that a smaller budget never gets less noise or more steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from nacre.errors import BudgetError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.noise import MAX_SIGMA
from nacre.privacy.plan import Descend, Entry, Part, Scope, Teach

_FINE = 4096  # noise multipliers within a factor of 2: they lie 1.7 in 10⁴ apart
_LEAST = 0.05  # noise below this promises nothing worth the name
_MOST_STEPS = 2**30


def _excess(budget: Budget, scope: Scope, others: Sequence[Entry], planned: Entry) -> float:
    """log(δ spent / δ allowed): the budget is met where it is not positive."""
    events = [event for entry in (*others, planned) for event in entry.events(scope)]
    spent = accounting.delta_at(events, float(budget.epsilon or 0.0))
    return math.log(spent / budget.delta)


def noise_for(budget: Budget, scope: Scope, q: float, steps: int, others: Sequence[Entry] = ()) -> float:
    """The smallest noise multiplier, on a lattice of 1.7 in 10⁴, for `steps` steps at rate q beside the others.

    Without a budget (`epsilon=None`) it is 0. Raises BudgetError when no noise is enough.
    """
    return _least_noise(budget, scope, others, lambda noise: _descend(q, steps, noise))


def teaching_noise_for(budget: Budget, scope: Scope, planned: Teach, others: Sequence[Entry] = ()) -> float:
    """The same for an entry of `teach`, whose own noise does not matter here."""
    return _least_noise(budget, scope, others, lambda noise: replace(planned, clip=1.0, sigma=noise))


def _descend(q: float, steps: int, noise: float) -> Descend:
    return Descend("calibration", q=q, steps=steps, parts=(Part("all", sigma=noise),))


def _least_noise(budget: Budget, scope: Scope, others: Sequence[Entry], planned: Callable[[float], Entry]) -> float:
    if budget.epsilon is None:
        return 0.0

    def excess(noise: float) -> float:
        return _excess(budget, scope, others, planned(noise))

    limits = (-math.floor(_FINE * math.log2(MAX_SIGMA)), -math.ceil(_FINE * math.log2(_LEAST)))
    found = accounting.last_within(lambda k: excess(2.0 ** (-k / _FINE)), 0, _FINE, limits)
    if found is None:
        raise BudgetError(f"epsilon={exact(budget.epsilon)} is spent before the first step; raise it")
    return 2.0 ** (-found / _FINE)


def steps_for(budget: Budget, scope: Scope, q: float, noise: float, others: Sequence[Entry] = ()) -> int:
    """The largest number of steps that a noise multiplier allows; BudgetError when it does not allow one."""

    def excess(steps: int) -> float:
        return _excess(budget, scope, others, _descend(q, steps, noise))

    found = accounting.last_within(excess, 1, 1, (1, _MOST_STEPS))
    if found is None:
        raise BudgetError(f"noise {noise:g} at rate {q:g} does not allow a single step; raise the noise or the budget")
    return found


def split(noise: float, shares: Sequence[float]) -> list[float]:
    """σ_i of the parts of one step, so that together they cost what one part with `noise` does: Σ σ_i⁻² = noise⁻²."""
    whole = math.fsum(shares)
    return [noise * math.sqrt(whole / share) for share in shares]
