"""Where a population stands, in words that a steward reads: ε spent and left at the population's δ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import Failure, Gaussian
from nacre.privacy.budget import Level
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.chain import OPENED, REFUNDED, RESERVED, SETTLED, Row
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy

_HAIR = 1e-8  # `epsilon_at` bounds from above, to 1e-9; what is left is bounded from below
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
    if last.spent_failure >= policy.failure_cap or last.spent >= policy.unit_cap:
        return 0.0
    return _epsilon(policy.unit_cap - last.spent, 0, policy.delta) * (1 - _HAIR)


@dataclass(frozen=True)
class Entry:
    """One request: what became of it, and what it counts in the two sums. What was given back counts nothing."""

    request: str
    reservation: str
    made_by: str
    made_at: str
    state: str
    epsilon: float  # asked for; does not add
    guarantee: str
    units: int
    failure: int
    given_back: int = 0


def entries(rows: Sequence[Row]) -> list[Entry]:
    """All requests in the order in which they came."""
    found: dict[str, Entry] = {}
    for row in rows:
        if row.kind == RESERVED:
            facts = row.facts
            found[row.reservation] = Entry(
                row.request, row.reservation, row.made_by, row.made_at, row.kind, float(facts["budget"]["epsilon"]),
                facts["guarantee"], row.units, row.failure,
            )  # fmt: skip
        elif row.kind in (OPENED, SETTLED):
            found[row.reservation] = replace(found[row.reservation], state=row.kind)
        elif row.kind == REFUNDED:
            taken = found[row.reservation]
            found[row.reservation] = replace(taken, state=row.kind, units=0, failure=0, given_back=taken.units)
    return list(found.values())


def _sums(of: Sequence[Entry], name: str, cap: int, unit: str) -> dict[str, Any]:
    """Whole units: reserved + opened + settled = spent, spent + left = cap."""
    by = {state: sum(getattr(e, name) for e in of if e.state == state) for state in (RESERVED, OPENED, SETTLED)}
    spent = sum(by.values())
    return {**by, "spent": spent, "left": cap - spent, "cap": cap, "of": unit}


def status(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of one population, from all its rows, which were checked.

    What adds up is `units` and `failure_units`, entry by entry. `epsilon_beforehand` composes the recorded events by
    privacy-loss distributions, as if the whole list had been fixed before the first: a check on what was charged, never
    above it by more than rounding. `epsilon_added` is the sum that simple bookkeeping would show. `guarantee` is the
    weakest of all releases: the cap holds as far as that does.
    """
    policy, last = Policy.from_json(rows[0].facts), rows[-1]
    found = entries(rows)
    counted = {e.reservation: e for e in found if e.state != REFUNDED}
    events = [event for row in rows if row.kind == RESERVED and row.reservation in counted
              for event in cost.from_json(row.facts["events"])]  # fmt: skip
    levels = [_LEVELS.get(e.guarantee, Level.NONE) for e in counted.values()]
    return {
        "population": last.population,
        "policy": policy.to_json(),
        "epsilon_spent": epsilon_spent(policy, last),
        "epsilon_left": epsilon_left(policy, last),
        "epsilon_beforehand": accounting.epsilon_at(events, policy.delta) if events else 0.0,
        "epsilon_added": math.fsum(e.epsilon for e in counted.values()),
        "guarantee": min(levels, default=Level.PROVEN).label,
        "units": _sums(found, "units", policy.unit_cap, f"{UNIT:g} of mu squared"),
        "failure_units": _sums(found, "failure", policy.failure_cap, f"{FAILURE_UNIT:g} of delta"),
        "entries": [asdict(e) for e in found],
        "reservations": {kind: sum(e.state == kind for e in found) for kind in (RESERVED, OPENED, SETTLED, REFUNDED)},
        "sequence": last.sequence,
        "head": last.hash,
    }
