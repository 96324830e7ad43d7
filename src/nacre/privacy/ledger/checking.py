"""Whether rows that are there could have come about by the rules: what `nacre ledger verify` asks of every one.

Hashes and sums show that a chain is whole; they are no secret, and whoever can write can make a whole chain of rows
that never should have been. So every row is also held against what went before: the states of its reservation, what
was reserved, the policy, the caps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from nacre.errors import LedgerTampered, NacreError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.chain import ADVICE, OPENED, POLICY, REFUNDED, RESERVED, SETTLED, Row, check, genesis, where
from nacre.privacy.ledger.policy import UNIT, Policy

_HAIR = 1e-9  # of a cap or a cost: the arithmetic of another version may end in another last digit
_BEFORE = {OPENED: RESERVED, SETTLED: OPENED, REFUNDED: RESERVED}


def check_chain(rows: Iterable[Row], ledger: str, population: str, caps: tuple[int, int] | None = None) -> Row:
    """The last row, if all follow from one another by the rules. LedgerTampered names the first that does not, and why.

    `caps` are those of the anchor, which must be the policy's.
    """
    previous, units, failure, last = genesis(ledger, population), 0, 0, None
    history = History(population)
    for number, row in enumerate(rows):
        check(row)
        if row.sequence != number or row.previous != previous or row.population != population:
            raise _wrong(row, f"it does not follow row {number - 1}: one is missing, new, or elsewhere")
        units, failure = units + row.units, failure + row.failure
        if (row.spent, row.spent_failure) != (units, failure):
            raise _wrong(row, "its sum is not that of the rows up to it")
        history.take(row)
        previous, last = row.hash, row
    if last is None:
        raise LedgerTampered(f"population {population!r}: it has no rows left. {ADVICE}")
    history.check_caps(caps)
    return last


@dataclass
class History:
    """What the rows so far have done, and what the next one may do."""

    population: str
    policy: Policy | None = None
    taken: dict[str, Row] = field(default_factory=dict)  # by reservation
    state: dict[str, Row] = field(default_factory=dict)  # the last row of each
    requests: dict[str, int] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        if (row.kind == POLICY) != (row.sequence == 0):
            raise _wrong(row, "a population begins with its policy, and has one")
        if row.kind == POLICY:
            self.policy = _policy(row)
        elif row.kind == RESERVED:
            self._reserved(row)
        elif row.kind in _BEFORE:
            self._step(row)
        else:
            raise _wrong(row, f"{row.kind!r} is nothing that a row can say")

    def check_caps(self, caps: tuple[int, int] | None) -> None:
        assert self.policy is not None
        own = (self.policy.unit_cap, self.policy.failure_cap)
        if caps is not None and not all(abs(a - b) <= _HAIR * b for a, b in zip(caps, own)):
            raise LedgerTampered(
                f"population {self.population!r}: its anchor holds the caps {caps[0]:,} and {caps[1]:,} units, and its "
                f"policy means {own[0]:,} and {own[1]:,}: the anchor was changed. {ADVICE}"
            )

    def _reserved(self, row: Row) -> None:
        policy = self.policy
        assert policy is not None
        if not row.reservation or row.reservation in self.state:
            raise _wrong(row, f"reservation {row.reservation!r} was made before, or has no name")
        if not row.request or row.request in self.requests:
            told = f"in row {self.requests[row.request]}" if row.request else "without a name"
            raise _wrong(row, f"its request was made before ({told}): one request is debited once")
        if row.units < 1 or row.failure < 1:
            raise _wrong(row, "a reservation costs something")
        if policy.who and row.made_by not in (*policy.who, policy.owner):
            raise _wrong(row, f"{row.made_by} may not spend on this population")
        if row.spent > policy.unit_cap * (1 + _HAIR) or row.spent_failure > policy.failure_cap * (1 + _HAIR):
            raise _wrong(row, "the sum is above the cap of the population")
        _check_cost(row, policy)
        self.taken[row.reservation] = self.state[row.reservation] = row
        self.requests[row.request] = row.sequence

    def _step(self, row: Row) -> None:
        before, policy = self.state.get(row.reservation), self.policy
        assert policy is not None
        if before is None:
            raise _wrong(row, f"it is {row.kind}, and no reservation {row.reservation!r} was made for this population")
        if before.kind != _BEFORE[row.kind]:
            more = "; what was opened stays spent" if row.kind == REFUNDED else ""
            raise _wrong(row, f"it is {row.kind} after being {before.kind} in row {before.sequence}{more}")
        taken = self.taken[row.reservation]
        back = (-taken.units, -taken.failure) if row.kind == REFUNDED else (0, 0)
        if (row.units, row.failure) != back:
            raise _wrong(row, f"it is {row.kind} with {row.units:,} and {row.failure:,} units; row {taken.sequence} "
                              f"reserved {taken.units:,} and {taken.failure:,}")  # fmt: skip
        facts = row.facts
        if row.request not in ("", taken.request) or facts.get("plan", taken.facts["plan"]) != taken.facts["plan"]:
            raise _wrong(row, f"its request or its plan is not that of row {taken.sequence}")
        # Rows of earlier versions name neither, and could be added by somebody else who asked for the same.
        if row.kind != REFUNDED and row.request and row.made_by != taken.made_by:
            raise _wrong(row, f"it is {row.kind} by {row.made_by}, and was reserved by {taken.made_by}")
        if row.kind == REFUNDED and row.made_by not in (taken.made_by, policy.owner):
            raise _wrong(row, f"it is refunded by {row.made_by}, who neither owns nor reserved it")
        self.state[row.reservation] = row


def _policy(row: Row) -> Policy:
    if row.reservation or row.request or row.units or row.failure:
        raise _wrong(row, "a policy spends nothing")
    return Policy.from_json(row.facts)


def _check_cost(row: Row, policy: Policy) -> None:
    """What was charged is no less than the Gaussian noise in it costs by any accounting, unless it is the whole cap."""
    facts = row.facts
    try:
        events = cost.from_json(facts["events"])
        for name in ("plan", "guarantee"):
            if not isinstance(facts[name], str):
                raise TypeError(name)
        least = sum(e.mu**2 for e in events if isinstance(e, accounting.Gaussian))
        if not float(facts["budget"]["epsilon"]) > 0 or not math.isfinite(least):
            raise ValueError("its budget or its noise is no number")
    except (KeyError, TypeError, ValueError, ArithmeticError, NacreError) as error:
        raise _wrong(row, f"it does not say what was reserved ({error})") from None
    whole = row.units == row.spent and abs(row.units - policy.unit_cap) <= _HAIR * policy.unit_cap
    if row.units * UNIT < least * (1 - _HAIR) and not whole:
        raise _wrong(row, f"it charges {row.units:,} units, and its noise alone costs {least / UNIT:,.0f}")


def _wrong(row: Row, why: object) -> LedgerTampered:
    return LedgerTampered(f"{where(row)}: {why}. {ADVICE}")
