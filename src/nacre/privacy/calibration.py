"""How much noise a budget asks of `descend` or `teach`, or how many steps a given noise allows.

Composing a privacy-loss distribution takes a good part of a second, so the roots are found by Brent's method on
logarithms and then made safe: what is returned has been checked against the budget itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from nacre.errors import BudgetError
from nacre.privacy import accounting
from nacre.privacy.budget import Budget
from nacre.privacy.noise import MAX_SIGMA
from nacre.privacy.plan import Descend, Entry, Part, Scope, Teach
from nacre.privacy.rounding import exact

_CLOSE = 2e-4  # relative distance between the noise found and the smallest that would do
_LEAST = 0.05  # noise below this promises nothing worth the name
_MOST_STEPS = 2**30


def _excess(budget: Budget, scope: Scope, others: Sequence[Entry], planned: Entry) -> float:
    """log(δ spent / δ allowed): the budget is met where it is not positive."""
    events = [event for entry in (*others, planned) for event in entry.events(scope)]
    spent = accounting.delta_at(events, float(budget.epsilon or 0.0))
    return math.log(max(spent, 1e-300) / budget.delta)


def noise_for(budget: Budget, scope: Scope, q: float, steps: int, others: Sequence[Entry] = ()) -> float:
    """The smallest noise multiplier, to about 2 in 10⁴ and from above, for `steps` steps at rate q beside the others.

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

    low = high = 1.0
    while excess(high) > 0:
        low, high = high, 2 * high
        if high > MAX_SIGMA:
            raise BudgetError(f"epsilon={exact(budget.epsilon)} is spent before the first step; raise it")
    while low == high or (low > _LEAST and excess(low) <= 0):
        low, high = low / 2, low
    noise = _root(excess, low, high) if excess(low) > 0 else high
    while excess(noise) > 0:
        noise *= 1 + _CLOSE / 2
    return noise


def steps_for(budget: Budget, scope: Scope, q: float, noise: float, others: Sequence[Entry] = ()) -> int:
    """The largest number of steps that a noise multiplier allows; BudgetError when it does not allow one."""

    def excess(steps: float) -> float:
        return _excess(budget, scope, others, _descend(q, max(1, math.floor(steps)), noise))

    if excess(1) > 0:
        raise BudgetError(f"noise {noise:g} at rate {q:g} does not allow a single step; raise the noise or the budget")
    low, high = 1, 2
    while high < _MOST_STEPS and excess(high) <= 0:
        low, high = high, 4 * high
    if low > 64:  # a guess that is close saves most of the halvings
        guess = _root(excess, low, high)
        for closer in (math.floor(guess * (1 - 1e-3)), math.ceil(guess * (1 + 1e-3))):
            low, high = (max(low, closer), high) if excess(closer) <= 0 else (low, min(high, closer))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return math.exp(brentq(lambda x: function(math.exp(x)), math.log(low), math.log(high), xtol=_CLOSE / 4))  # type: ignore[arg-type]


def split(noise: float, shares: Sequence[float]) -> list[float]:
    """σ_i of the parts of one step, so that together they cost what one part with `noise` does: Σ σ_i⁻² = noise⁻²."""
    whole = math.fsum(shares)
    return [noise * math.sqrt(whole / share) for share in shares]
