"""From a table to a release: check, plan, spend, certify, in that order."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from nacre.engines import Rows, open_rows
from nacre.errors import DataError, TooLittleData
from nacre.owner import OwnerNotes
from nacre.privacy import discovery, learnt_rules
from nacre.privacy.budget import Budget, warn_weak_delta
from nacre.privacy.curator import Curator
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.privacy.transcript import Transcript
from nacre.progress import Progress, silent
from nacre.release.release import Release
from nacre.run.checks import check_columns, read_missing
from nacre.run.described import Given, described
from nacre.run.former import Former, account_of, tell_as_before
from nacre.run.job import Job, prepare
from nacre.run.requests import in_the_loss, stating, with_hiding
from nacre.run.session import Session, session
from nacre.run.subjects import OneTable
from nacre.run.terms import Access, AskedShares, Terms, check_seed
from nacre.table import Schema
from nacre.table.database import Database
from nacre.table.database.long import LongTable
from nacre.table.sources import Options, storage
from nacre.targets import Target

if TYPE_CHECKING:
    from nacre.engines.cluster import Cluster
    from nacre.release.databases import DatabaseRelease


@overload
def fit(table: object, *, schema: Database | LongTable, **asked: object) -> DatabaseRelease: ...


@overload
def fit(table: object, *, schema: Schema | str | os.PathLike | None = None, **asked: object) -> Release: ...


def fit(  # type: ignore[reportInconsistentOverload]  # the keywords of both stand here alone
    table: object,
    *,
    epsilon: float | None,
    delta: float | None = None,
    schema: Given | None = None,
    target: str | None = None,
    method: str = "sketch",
    neighbours: str = "add_or_remove_one",
    domain: str = "buy",
    seed: int = 0,
    noise_seed: int | None = None,
    large: bool = False,
    options: Mapping[str, Any] | None = None,
    hide: Sequence[Any] | None = None,
    alpha: float | None = None,
    target_shares: AskedShares | None = None,
    weights: Target | str | None = None,
    progress: Progress = silent,
    transcript: Transcript | None = None,
    owner: OwnerNotes | None = None,
    ledger: Account | Ledger | str | None = None,
    engine: str | Cluster | None = None,
    go_on: bool = False,
    **former: Unpack[Former],
) -> Release | DatabaseRelease:
    """Fit a private model of a table, or of a database, and return a release with its certificate.

    `table` is a pandas, polars or Arrow table, a path or list of paths, or `Rows`; `schema` a `Schema` or the path of
    one (docs/schema.md). Of a database (`schema` a `Database`, or the path of one; docs/relational.md) it is a dict of
    tables, a folder, a SQLite or a DuckDB file; of rows of persons (`schema` a `LongTable`) one table. What the schema
    does not declare is bought with part of the budget (`domain="buy"`), refused ("declared") or read from the data
    ("from-data", guarantee `none`). `epsilon=None` asks for a non-private run.
    `seed` fixes public randomness only; `noise_seed` makes the noise repeatable and the guarantee `none`. `owner` gets
    what only the owner of the data may know: how many values did not fit the schema, how Markov chains mixed, what
    weighted rows are worth (`nacre.OwnerNotes`). `hide` names
    columns whose distribution the release must not show (method "ppem"), `alpha` the level of the test for that; it is
    not differential privacy. `target_shares` ({column: {value: share}}, public) says whom the rows shall stand for,
    where that is not whom the table holds: methods that read raw rows weigh them in their loss, all others buy tables
    by class of the column where they can and rebalance what they draw, by their noisy model and never by exact counts.
    `weights` states such a target in other ways, for methods without a promise ("weighted", "mmdgan"): the name of a
    column of weights, which is then not modelled, or `Shares`, `WeightColumn`, `Thinning` or `Labelled` of
    `nacre.targets`; rows worth fewer than 50 equal ones are refused. With a `ledger` (`nacre.Account`: its URL, a
    population, a name for the request) the plan is charged to the population there, durably, before a door opens; the
    same request is charged once (docs/decisions/ledger.md).
    `engine` has the workers of a Ray cluster read the files ("ray", "ray:4", "ray://HOST:PORT"; docs/engines.md): with
    the same noise the release is the same. A run stops (`UnreadableColumn`) where, by noisy counts, a column that is
    stored as text cannot be read as declared; with `go_on` nothing is spent on that question and such values are
    missing.
    """
    known = described(schema, table)
    terms = Terms(
        epsilon, delta, neighbours, large, method, target, domain, with_hiding(method, options, hide, alpha),
        target_shares, weights, seed, noise_seed, go_on,
    )  # fmt: skip
    notes = OwnerNotes() if owner is None else owner
    access = Access(account_of(ledger, former), engine, transcript, progress, notes)
    if known is None or isinstance(known, Schema):
        made = carry_out(table, known, terms, access)
    else:
        from nacre.run import databases

        made = databases.carry_out(table, known, terms, access)
    tell_as_before(notes, former)
    return made


def carry_out(table: object, schema: Schema | None, terms: Terms, access: Access) -> Release:
    """The release of a table on these terms; `nacre.fit` says what they mean."""
    check_seed(terms.seed)
    weighing = in_the_loss(terms)
    access.account.check(reads=terms.reads, seeded=terms.noise_seed is not None)
    terms = terms.settled(schema.rows if schema else None)
    budget = terms.budget
    rows = open_rows(table, options=Options().named(schema and schema.names), engine=access.engine)
    schema = schema and storage.as_stored(schema, rows.arrow_schema)
    if terms.reads:
        schema = read_missing(schema, rows)
    written = () if terms.go_on else [f.name for f in rows.arrow_schema if storage.family(f.type) == "text"]
    job = prepare(rows.column_names, _count_public_rows(schema, rows, budget), terms, written)
    check_columns(rows, job.schema, terms.beside)
    warn_weak_delta(budget, job.schema.rows)
    _warn_if_little(job, job.schema.rows, "declared")
    with session(OneTable(rows, job.schema, terms.beside), job.plan, terms, access) as run:
        found = _bought(run, job)
        model = job.synthesizer.fit(run.curator, job.plan.for_rows(found.rows), terms.seed, access.progress)
        found = discovery.paid_for(found, job.schema, job.plan, run.noise.seeded)
        certificate = run.certificate(found)
    extras = {**certificate.extras, **job.synthesizer.public_facts(terms.epsilon is not None)}
    extras |= {"chosen": job.chosen} if job.chosen else {}
    certificate = dataclasses.replace(certificate, extras=extras)
    certificate = stating(certificate, found, terms)
    return Release(job.method, found, model, certificate, None if weighing else terms.target_shares)


def _bought(run: Session[Curator], job: Job) -> Schema:
    """The complete schema, with what was lacking bought: the number of rows first, then kinds and domains."""
    curator, plan, target = run.curator, job.plan, job.terms.target
    schema = discovery.buy_rows(curator, plan, job.schema)
    if schema.rows != job.schema.rows:
        warn_weak_delta(plan.budget, schema.rows)
        _warn_if_little(job, schema.rows, "bought")
    discovery.refuse_unreadable(curator, plan, schema)
    schema = learnt_rules.buy(curator, plan, discovery.buy_domain(curator, plan, schema))
    if target is not None and target not in schema.modelled:
        warnings.warn(
            f"target {target!r}: no frequent value stood out of the noise, so it came out as a mere name and "
            "plays no part; declare its categories in a schema to keep it",
            stacklevel=4,
        )
    if not schema.modelled:
        raise DataError(
            "nothing in this table stands out of the noise at this budget: every column came out as a mere name. "
            "Declare a schema, or raise epsilon; the budget for the schema is spent"
        )
    curator.adopt(schema.inner)
    return schema


def _warn_if_little(job: Job, rows: int | None, source: str) -> None:
    """What `nacre plan` says, or would have said, had the number of rows been declared. The plan goes on."""
    from nacre.planning.forecast import forecast

    if rows is None or job.plan.budget.epsilon is None:
        return
    seen = forecast(job.plan, job.schema, rows, job.synthesizer)
    if seen.verdict in ("little", "too little"):
        noisy = f" (by the noisy count of about {rows:,} rows)" if source == "bought" else ""
        kind = TooLittleData if seen.verdict == "too little" else UserWarning
        warnings.warn(seen.advice + noisy, kind, stacklevel=5 if noisy else 4)


def _count_public_rows(schema: Schema | None, rows: Rows, budget: Budget) -> Schema:
    """The schema with the number of rows, where the promise is about tables that all have the same, or none is made."""
    schema = schema or discovery.unknown(rows.column_names)
    public = discovery.rows_are_public(schema, budget)
    if schema.rows is not None or not (public or budget.epsilon is None):
        return schema
    provenance = {**schema.provenance, "rows": "counted" if public else "read"}
    counted = sum(b.num_rows for b in rows.batches(rows.column_names[:1]))
    return dataclasses.replace(schema, rows=counted, provenance=provenance)
