"""A request to spend: what a plan costs a population, computed before any lock is taken."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from nacre.errors import BudgetExceeded
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.certificate.rounding import down, exact, up
from nacre.privacy.ledger import chain, cost
from nacre.privacy.ledger.chain import Row
from nacre.privacy.ledger.policy import Policy
from nacre.privacy.ledger.status import epsilon_left, epsilon_spent
from nacre.privacy.plan import Plan

_ALMOST = 1 - 1e-9  # of a cost: the arithmetic of another version may end in another last digit


def digest_of(plan: Plan) -> str:
    told = {k: v for k, v in plan.to_json().items() if k not in ("notes", "rows")}
    return hashlib.sha256(chain.text(told).encode()).hexdigest()


@dataclass(frozen=True)
class Asked:
    """A request, with all that can be computed before the lock is taken."""

    plan: Plan
    policy: Policy
    request: str
    digest: str = field(init=False)
    cost: cost.Cost = field(init=False)

    def __post_init__(self) -> None:
        events = self.plan.events()
        object.__setattr__(self, "digest", digest_of(self.plan))
        object.__setattr__(self, "cost", cost.cost_of(events, self.policy))
        limit = self.policy.per_release
        if limit is not None and accounting.delta_at(events, limit) > self.policy.delta:
            raise BudgetExceeded(
                f"one release of this population may spend epsilon {exact(limit)} at delta "
                f"{exact(self.policy.delta)}, and the plan of {self.plan.method} spends more; nothing was read. "
                "Lower epsilon"
            )

    def charge(self, spent: int, failed: int) -> cost.Cost | None:
        """What to charge after that much was spent; None when the cap does not cover it.

        A first release may take the whole cap by its own accounting: nothing of the data has been seen by then, so
        the choice was made beforehand, and nothing can follow it (docs/proofs/ledger.md).
        """
        caps = self.policy.unit_cap, self.policy.failure_cap
        if spent + self.cost.units <= caps[0] and failed + self.cost.failure <= caps[1]:
            return self.cost
        if not spent and accounting.delta_at(self.plan.events(), self.policy.epsilon) <= self.policy.delta:
            return cost.Cost(*caps)
        return None

    def covered(self, taken: Row) -> bool:
        """Whether a row that names this request pays for it: the database cannot compute what a plan costs, so that
        whoever may add rows could have added one that costs next to nothing."""
        due = self.charge(taken.spent - taken.units, taken.spent_failure - taken.failure)
        return due is not None and taken.units >= due.units * _ALMOST and taken.failure >= due.failure * _ALMOST

    def body(self) -> dict[str, Any]:
        told = self.plan.to_json()
        return {
            "plan": self.digest,
            "guarantee": self.plan.level.label,
            "events": cost.to_json(self.plan.events()),
            **{name: told[name] for name in ("method", "budget", "cap")},
        }

    def exceeds(self, last: Row) -> str:
        """Why it was refused, and what would still fit."""
        policy = self.policy
        return (
            f"population {last.population!r} has spent epsilon {up(epsilon_spent(policy, last), 4)} of "
            f"{exact(policy.epsilon)} at delta {exact(policy.delta)}, and the plan of {self.plan.method} does not fit "
            f"into the rest; nothing was read. One release of epsilon {down(epsilon_left(policy, last))} still "
            "fits, if it buys no schema"
        )
