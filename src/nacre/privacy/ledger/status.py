"""Where a population stands, in words that a steward reads: ε spent and left at the population's δ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nacre.privacy import accounting
from nacre.privacy.accounting import Failure, Gaussian
from nacre.privacy.budget import Level
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.chain import OPENED, REFUNDED, RESERVED, SETTLED, Row
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy

_LEVELS = {level.label: level for level in Level}


def _epsilon(units: int, failure: int, delta: float) -> float:
    """ε at δ of that many units: of the Gaussian and the failures that they stand for."""
    if not units:
        return 0.0
    return accounting.epsilon_at([Gaussian(math.sqrt(units * UNIT)), Failure(failure * FAILURE_UNIT)], delta)


def epsilon_spent(policy: Policy, last: Row) -> float:
    """What all releases so far cost together, however they were chosen. Never above the cap."""
    full = last.spent == policy.unit_cap and last.spent_failure == policy.failure_cap
    return policy.epsilon if full else min(policy.epsilon, _epsilon(last.spent, last.spent_failure, policy.delta))


def epsilon_left(policy: Policy, last: Row) -> float:
    """ε at δ of one more release by Gaussian noise alone. Not the cap minus what was spent: ε does not add."""
    if last.spent_failure >= policy.failure_cap:
        return 0.0
    return _epsilon(policy.unit_cap - last.spent, 0, policy.delta)


def states(rows: Sequence[Row]) -> dict[str, str]:
    """reservation -> reserved, opened, settled or refunded: the last thing that happened to it."""
    found: dict[str, str] = {}
    for row in rows:
        if row.kind in (RESERVED, OPENED, SETTLED, REFUNDED):
            found[row.reservation] = row.kind
    return found


def status(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of one population, from all its rows.

    `epsilon_beforehand` composes the recorded events by privacy-loss distributions, as if the whole list had been fixed
    before the first: a check on what was charged, never above it by more than rounding. `epsilon_added` is the sum that
    simple bookkeeping would show. `guarantee` is the weakest of all releases: the cap holds as far as that does.
    """
    policy, last = Policy.from_json(rows[0].facts), rows[-1]
    kinds = states(rows)
    counted = [row for row in rows if row.kind == RESERVED and kinds[row.reservation] != REFUNDED]
    events = [event for row in counted for event in cost.from_json(row.facts["events"])]
    return {
        "population": last.population,
        "policy": policy.to_json(),
        "epsilon_spent": epsilon_spent(policy, last),
        "epsilon_left": epsilon_left(policy, last),
        "epsilon_beforehand": accounting.epsilon_at(events, policy.delta) if events else 0.0,
        "epsilon_added": math.fsum(row.facts["budget"]["epsilon"] for row in counted),
        "guarantee": min((_LEVELS[row.facts["guarantee"]] for row in counted), default=Level.PROVEN).label,
        "units": {"spent": last.spent, "cap": policy.unit_cap, "of": f"{UNIT:g} of mu squared"},
        "failure_units": {"spent": last.spent_failure, "cap": policy.failure_cap, "of": f"{FAILURE_UNIT:g} of delta"},
        "reservations": {
            kind: sum(k == kind for k in kinds.values()) for kind in (RESERVED, OPENED, SETTLED, REFUNDED)
        },
        "sequence": last.sequence,
        "head": last.hash,
    }
