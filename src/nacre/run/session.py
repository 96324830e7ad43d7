"""A session with private rows: every run goes through one, whatever it makes.

In this order: the columns are checked, a ledger is charged, persons are checked (which reads rows: a population that
has nothing left is not read at all, and a refusal leaves its trace in the books, given back), a curator holds the rows,
and at the end the plan is certified and the certificate stamped with where the books stand.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nacre.engines import Rows, finished
from nacre.privacy.certificate.statement import Certificate, certify
from nacre.privacy.curator import Curator, Record
from nacre.privacy.ledger.books import Reservation
from nacre.privacy.ledger.payment import paid, stamped
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.progress import of_rows
from nacre.run.checks import assumptions, check_columns, check_persons
from nacre.run.terms import Access, Terms
from nacre.table import Schema


@dataclass
class Session:
    """Rows that are paid for, behind a curator."""

    curator: Curator
    plan: Plan
    rows: Rows
    schema: Schema
    noise: NoiseSource
    held: Reservation | None

    def certificate(
        self, schema: Schema, rests_on: tuple[str, ...] | None = None, extras: Mapping[str, Any] | None = None
    ) -> Certificate:
        """What was promised, on a table that turned out to be of this schema: the end of a run, whose debit is settled.
        `rests_on`: its assumptions, where they are not those of any table."""
        stated = assumptions(self.schema, self.rows, self.plan) if rests_on is None else rests_on
        self.schema = schema
        seeded = self.noise.seeded
        made = certify(self.plan, schema, seeded=seeded, noise=self.noise.description, assumptions=stated)
        return stamped(dataclasses.replace(made, extras={**made.extras, **(extras or {})}), self.held)


@contextlib.contextmanager
def session(rows: Rows, plan: Plan, schema: Schema, terms: Terms, access: Access) -> Iterator[Session]:
    """A session for the doors of `plan`. When it has come to its end, the owner is told what was found on the way."""
    check_columns(rows, schema, terms.beside)
    noise = NoiseSource(terms.noise_seed)
    with finished(rows), paid(access.account, plan, schema.unit.column if schema.unit else None) as held:
        check_persons(rows, schema)
        curator = Curator(rows, plan, schema, noise, Record(access.transcript, held), of_rows(access.progress))
        made = Session(curator, plan, rows, schema, noise, held)
        yield made
    access.owner.hear(made.schema, curator.outside, curator.diagnostics)
