"""How much of a budget buys draws and selections: the counterpart of `plan.gaussian_share`."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.errors import BudgetError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.plan import NO_NOISE, Entry, Scope


def range_share(budget: Budget, scope: Scope, draws: int, others: Sequence[Entry] = ()) -> float:
    """The largest privacy-loss range of each of `draws` exponential mechanisms that the budget covers beside `others`.

    Without a budget it is so large that the best candidate wins.
    """
    if budget.epsilon is None:
        return NO_NOISE
    epsilon, delta = budget.epsilon, budget.delta
    before = [event for entry in others for event in entry.events(scope)]
    if accounting.delta_at(before, epsilon) > delta:
        raise BudgetError(f"epsilon={exact(epsilon)} is spent before the draws are made; raise it")

    def fits(share: float) -> bool:
        return accounting.delta_at([*before, BoundedRange(share, draws)], epsilon) <= delta

    if draws == 1 and not before:  # in closed form, as the plan is checked
        alone = (delta - accounting.sampler_cost(epsilon)) * (1 - 1e-9)
        share = accounting.bounded_range_epsilon(epsilon, alone) if alone > 0 else 0.0
        if share > 0 and fits(share):
            return share
    low, high = 0.0, epsilon * 1.25
    for _ in range(10):  # to 1/800 of the budget, always from below
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low > 0:
        raise BudgetError(
            f"epsilon={exact(epsilon)} at delta={exact(delta)} leaves nothing for {draws} draws; raise it"
        )
    return low
