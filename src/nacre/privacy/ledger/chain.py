"""Rows of a ledger: each holds the hash of the one before, so that none can be changed, removed or put in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from nacre.errors import LedgerTampered
from nacre.table.documents import parse
from nacre.typed import Json

# A reservation goes reserved -> opened -> settled, or reserved -> refunded. Nothing else takes place.
POLICY, RESERVED, OPENED, SETTLED, REFUNDED = "policy", "reserved", "opened", "settled", "refunded"


@dataclass(frozen=True)
class Row:
    """One fact. `units` and `failure` are what it adds to what is spent (a refund takes away), `spent` and
    `spent_failure` the sums after it. `made_at` is for people: nothing is decided by clocks."""

    population: str
    sequence: int
    kind: str
    reservation: str
    request: str
    units: int
    failure: int
    spent: int
    spent_failure: int
    body: str
    made_at: str
    made_by: str
    previous: str
    hash: str = ""

    def digest(self) -> str:
        return hashlib.sha256(text({k: v for k, v in vars(self).items() if k != "hash"}).encode()).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        try:
            told = parse(self.body, len(self.body))
            if not isinstance(told, dict):
                raise ValueError("no object")
        except ValueError as error:
            raise LedgerTampered(f"{where(self)}: its text cannot be read ({error})") from None
        return told

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


COLUMNS = tuple(f.name for f in fields(Row))
_TYPES = {f.name: int if f.type == "int" else str for f in fields(Row)}
_CALLED = {int: "whole number", str: "text"}


def text(data: Json) -> str:
    """JSON with one spelling only."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def genesis(ledger: str, population: str) -> str:
    """What the first row of a population follows."""
    return hashlib.sha256(text(["nacre ledger", ledger, population]).encode()).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Step:
    """What a row says took place, of which reservation and request, and what it adds to what is spent."""

    kind: str
    body: Mapping[str, Json]
    reservation: str = ""
    request: str = ""
    units: int = 0
    failure: int = 0


def following(last: Row, by: str, step: Step) -> Row:
    """The row that comes after `last`."""
    made = Row(
        last.population,
        last.sequence + 1,
        step.kind,
        step.reservation,
        step.request,
        step.units,
        step.failure,
        last.spent + step.units,
        last.spent_failure + step.failure,
        text(step.body),
        now(),
        by,
        last.hash,
    )
    return replace(made, hash=made.digest())


def first(ledger: str, population: str, by: str, policy: Mapping[str, Json]) -> Row:
    """The row that opens a population: its policy."""
    made = Row(population, 0, POLICY, "", "", 0, 0, 0, 0, text(policy), now(), by, genesis(ledger, population))
    return replace(made, hash=made.digest())


def check(row: Row) -> Row:
    """The row, if its numbers are numbers, its texts texts, and its hash its own."""
    for name, kind in _TYPES.items():
        if type(getattr(row, name)) is not kind:
            raise LedgerTampered(f"{where(row)}: its {name} is no {_CALLED[kind]}. {ADVICE}")
    if row.hash != row.digest():
        raise LedgerTampered(f"{where(row)} was edited: its hash is not that of what it says. {ADVICE}")
    return row


ADVICE = "Nothing may be spent on a ledger that was tampered with: find out what happened, and start from an export"


def where(row: Row) -> str:
    return f"population {row.population!r}: row {row.sequence}"
