"""What an audit could find at most: the bound of an attack that is always right.

An audit none of whose bounds could exceed its claim can never fail, so that it is refused before it runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacre.audit.bounds import Guesses, one_run_epsilon
from nacre.audit.one_run import one_run_mu
from nacre.errors import NacreError
from nacre.privacy.accounting.accountant import epsilon_at


@dataclass(frozen=True)
class Ceiling:
    """`value`: the most that a bound on `metric` (epsilon at `delta`, or mu) could be, against the claim."""

    metric: str
    value: float
    claim: float
    delta: float = 0.0


def of_worlds(runs: int, first: int, plan: Any, mu: float | None, alpha: float) -> list[Ceiling]:
    """Of `runs` runs in each of two worlds; `first` of them choose the threshold for epsilon."""
    tried, budget = runs - first, plan.budget
    most = Guesses(tried, tried, 0, tried).epsilon(budget.delta, alpha)
    found = [Ceiling("epsilon", most, budget.epsilon, budget.delta)]
    if mu is not None:
        found.append(Ceiling("mu", Guesses(tried, tried, 0, tried).mu(alpha), mu))
    return found


def of_one_run(canaries: int, guesses: int, plan: Any, mu: float | None, alpha: float) -> list[Ceiling]:
    """Of one run. Where δ of the plan is too large for the level (p is at least 2·canaries·δ/guesses, however many
    guesses are right), epsilon is audited at alpha/(2·canaries) instead, against what the plan promises there."""
    budget = plan.budget
    most = one_run_epsilon(canaries, guesses, guesses, budget.delta, alpha)
    found = [Ceiling("epsilon", most, budget.epsilon, budget.delta)]
    small = alpha / (2 * canaries)
    if most <= budget.epsilon and small < budget.delta:
        claim = epsilon_at(plan.events(), small)
        if math.isfinite(claim):
            found = [Ceiling("epsilon", one_run_epsilon(canaries, guesses, guesses, small, alpha), claim, small)]
    if mu is not None:
        found.append(Ceiling("mu", one_run_mu(canaries, guesses, guesses, alpha), mu))
    return found


def check(view: str, ceilings: list[Ceiling], effort: str) -> None:
    """Refuse a view that cannot refute its claim whatever it sees."""
    if any(c.value > c.claim for c in ceilings):
        return
    most = ", ".join(f"{c.metric} {c.value:.3g} against a claim of {c.claim:.3g}" for c in ceilings)
    raise NacreError(
        f"{view}: if the attack were always right it would find at most {most}, so that it can never fail; ask for "
        f"more {effort}, a lower confidence or a smaller delta, or leave this view out with 0"
    )
