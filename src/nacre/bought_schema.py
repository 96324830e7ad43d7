"""A schema as a release of its own: bought with noise, certified, booked; to be read and corrected before a fit.

The same doors that a fit opens for what is not declared, with the whole of a (small) budget. What it cost stands in the
schema (`purchases`) and in the certificate of every run that uses it.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

from nacre.engines import finished, open_rows
from nacre.errors import SchemaError
from nacre.privacy import discovery
from nacre.privacy.budget import Budget, default_delta
from nacre.privacy.certificate.statement import Certificate, certify
from nacre.privacy.curator import Curator, Record
from nacre.privacy.ledger.payment import Account, paid, stamped
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.run import assumptions, check_columns, check_persons, tell_rows
from nacre.synthesizers.base import Progress, silent
from nacre.table import Schema

METHOD = "schema"


@dataclass(frozen=True)
class BoughtSchema:
    """The completed schema, and the certificate of what it cost."""

    schema: Schema
    certificate: Certificate


def buy_schema(
    table: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    schema: Schema | str | os.PathLike | None = None,
    neighbours: str = "add_or_remove_one",
    noise_seed: int | None = None,
    progress: Progress = silent,
    transcript: Transcript | None = None,
    account: Account | None = None,
) -> BoughtSchema:
    """Buy what `schema` does not declare (all of it, without one): kinds, writing, domains, the number of rows.

    `table` is what `nacre.fit` takes. With an `Account` the plan is charged to a ledger before a door opens.
    """
    known = None if schema is None else Schema.given(schema)
    account = account or Account(None, None, None)
    account.check(reads=False, seeded=noise_seed is not None)
    budget = Budget(epsilon, default_delta(known.rows if known else None) if delta is None else delta, neighbours)
    rows = open_rows(table)
    known = known or discovery.unknown(rows.column_names)
    entries = discovery.whole_entries(known, budget)
    if not entries:
        raise SchemaError("the schema lacks nothing that could be bought; fit with it")
    plan = Plan(METHOD, entries, budget, known.unit.cap if known.unit else 1, known.rows)
    check_columns(rows, known)
    noise = NoiseSource(noise_seed)
    with finished(rows), paid(account, plan, known.unit.column if known.unit else None) as held:
        check_persons(rows, known)
        reading = functools.partial(tell_rows, progress)
        curator = Curator(rows, plan, known, noise, Record(transcript, held), reading)
        found = discovery.buy_domain(curator, plan, discovery.buy_rows(curator, plan, known))
        found = discovery.paid_for(found, known, plan, noise.seeded)
        rests = assumptions(known, rows, plan)
        stated = certify(plan, found, seeded=noise.seeded, noise=noise.description, assumptions=rests)
        return BoughtSchema(found, stamped(stated, held))
