"""A schema as a release of its own: bought with noise, certified, booked; to be read and corrected before a fit.

The same doors that a fit opens for what is not declared, with the whole of a (small) budget. What it cost stands in the
schema (`purchases`) and in the certificate of every run that uses it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Unpack

from nacre.engines import open_rows
from nacre.errors import SchemaError
from nacre.owner import OwnerNotes
from nacre.privacy import discovery, learnt_rules
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.progress import Progress, silent
from nacre.run.former import Former, account_of
from nacre.run.session import session
from nacre.run.subjects import OneTable
from nacre.run.terms import Access, Terms
from nacre.table import Schema
from nacre.table.sources import storage

METHOD = "schema"


@dataclass(frozen=True)
class BoughtSchema:
    """The completed schema, and the certificate of what it cost."""

    schema: Schema
    certificate: Certificate


def buy_schema(
    table: object,
    *,
    epsilon: float,
    delta: float | None = None,
    schema: Schema | str | os.PathLike | None = None,
    neighbours: str = "add_or_remove_one",
    noise_seed: int | None = None,
    progress: Progress = silent,
    transcript: Transcript | None = None,
    owner: OwnerNotes | None = None,
    ledger: Account | Ledger | str | None = None,
    **former: Unpack[Former],
) -> BoughtSchema:
    """Buy what `schema` does not declare (all of it, without one): kinds, writing, domains, the number of rows.

    `table`, `owner` and `ledger` are what `nacre.fit` takes.
    """
    known = None if schema is None else Schema.given(schema)
    terms = Terms(epsilon, delta, neighbours, method=METHOD, noise_seed=noise_seed)
    notes = OwnerNotes() if owner is None else owner
    return bought(table, known, terms, Access(account_of(ledger, former), None, transcript, progress, notes))


def bought(table: object, known: Schema | None, terms: Terms, access: Access) -> BoughtSchema:
    """The completed schema of a table on these terms."""
    access.account.check(reads=False, seeded=terms.noise_seed is not None)
    budget = terms.settled(known.rows if known else None).budget
    rows = open_rows(table)
    known = storage.as_stored(known or discovery.unknown(rows.column_names), rows.arrow_schema)
    entries = discovery.whole_entries(known, budget)
    if not entries:
        raise SchemaError("the schema lacks nothing that could be bought; fit with it")
    plan = Plan(METHOD, entries, budget, known.unit.cap if known.unit else 1, known.rows)
    with session(OneTable(rows, known), plan, terms, access) as run:
        found = discovery.buy_domain(run.curator, plan, discovery.buy_rows(run.curator, plan, known))
        found = learnt_rules.buy(run.curator, plan, found)
        found = discovery.paid_for(found, known, plan, run.noise.seeded)
        return BoughtSchema(found, run.certificate(found))
