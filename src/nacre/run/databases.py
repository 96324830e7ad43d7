"""From the tables of a database to a release: check, plan, spend, certify, in that order and by the same spine."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from nacre.engines import Rows, finished, open_rows, open_tables, stored
from nacre.engines.persons import split
from nacre.errors import NacreError, SchemaError
from nacre.owner import OwnerNotes
from nacre.privacy.budget import warn_weak_delta
from nacre.privacy.certificate import assumed
from nacre.privacy.certificate.owned import Owned
from nacre.privacy.curator import Record
from nacre.privacy.nested.curator import Dropped, NestedCurator
from nacre.privacy.nested.keys import refuse_repeated_ids
from nacre.privacy.nested.units import Gathering
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.release import public
from nacre.release.databases import DatabaseRelease
from nacre.run import database_buying
from nacre.run.checks import check_columns, check_keys, read_missing, refuse_read, refuse_undeclared
from nacre.run.session import session
from nacre.run.terms import DOMAINS, Access, Terms, check_seed
from nacre.synthesizers.registry import make_for_databases
from nacre.table import Column
from nacre.table.database import Database
from nacre.table.database.forms import Form, PublicIds, forms
from nacre.table.database.long import LongTable
from nacre.table.database.publics import public_ids
from nacre.table.sources import Options, storage
from nacre.table.values.misfits import Misfits

if TYPE_CHECKING:
    from nacre.synthesizers.nested.method import NestedSketch

Sources: TypeAlias = Mapping[str, Rows]


@dataclass(frozen=True)
class OwnedTables:
    """The tables of a database, as a session asks about them."""

    sources: Sources
    database: Database
    forms: Mapping[str, Form]

    @property
    def described(self) -> Owned:
        return Owned(self.database)

    @property
    def unit(self) -> str:
        return self.database.unit

    def check(self) -> None:
        for name in self.database.owned:
            check_columns(self.sources[name], self.database.tables[name], table=name)
        check_keys(self.sources, self.database)

    def check_rows(self) -> None:
        refuse_repeated_ids(self.database, self.sources)

    def open(self, plan: Plan, noise: NoiseSource, record: Record) -> NestedCurator:
        return NestedCurator(self.sources, plan, self.database, self.forms, noise, record)

    def assumptions(self, plan: Plan) -> tuple[str, ...]:
        owned = [(name, self.sources[name]) for name in self.database.owned]
        fields = [field.with_name(f"{name}.{field.name}") for name, rows in owned for field in rows.arrow_schema]
        told = dict.fromkeys(said for _, rows in owned for said in stored(rows).assumptions)
        return assumed.of_run(self.described, storage.told(fields), told, plan)

    def finished(self) -> AbstractContextManager[None]:
        return _all_finished(self.sources)

    def tell(self, owner: OwnerNotes, found: Owned, curator: NestedCurator) -> None:
        columns = {f"{t}.{c}": column for t, form in curator.forms.items() for c, column in form.columns.items()}
        read = _Read({**found.columns, **columns})
        owner.hear(read, _by_column(curator.outside), {}, _dropped_lines(curator.dropped, self.database))


@dataclass(frozen=True)
class _Read:
    """The columns of a database as they were read: references by their labels."""

    columns: Mapping[str, Column]


def _dropped_lines(dropped: Dropped, database: Database) -> list[str]:
    """What reached no door, in words, for the owner: by table and reason."""
    lines = []
    for table, left in dropped.rows.items():
        owner = database.owner(table)
        above = "nothing" if owner is None else f"rows of {owner.parent!r}"
        reasons = (
            (left.orphans, f"hang on no row of {owner.parent!r}" if owner else "have no id of their own"),
            (left.below, f"hang on {above} that were left out"),
            (left.cap, f"lie beyond the cap of {owner.cap:,} under one row of {owner.parent!r}" if owner else ""),
            (left.most, f"lie beyond the {database.most(table):,} rows of one unit"),
        )
        lines += [f"{n:,} of {left.rows:,} rows of {table!r} {why}, and were left out" for n, why in reasons if n]
    return lines + [
        f"{n:,} units were left out of {entry!r}: their rows would have moved its tables by more than was paid for"
        for entry, n in dropped.units.items()
        if n
    ]


@contextlib.contextmanager
def _all_finished(sources: Sources) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for rows in sources.values():
            stack.enter_context(finished(rows))
        yield


@dataclass(frozen=True)
class Seen:
    """What the owner of the data sees of tables beside their description: numbers of rows, values that do not fit by
    "table.column", and in words what would reach no door."""

    rows: Mapping[str, int]
    misfits: Mapping[str, Misfits]
    dropped: Sequence[str]


def look(source: object, database: Database, options: Options | None = None) -> Seen:
    """Hold data against their description, as a run would: every error of a run, and for the owner what it would leave
    out. No budget is at stake."""
    sources = opened(source, database, tuple(database.tables), options)
    database = _as_stored(database, sources)
    shapes = forms(database, public_ids(database, sources))
    tables = OwnedTables(sources, database, shapes)
    tables.check()
    tables.check_rows()
    units = Gathering(database, shapes, secrets.token_bytes(16), NestedCurator.room).units(
        sources, (0, 1), lambda rows: None
    )
    rows = {name: left.rows for name, left in units.left.items()}
    dropped = _dropped_lines(Dropped(units.left, {}), database)
    told = [line.replace("were left out", "would be left out") for line in dropped]
    return Seen(rows, _by_column(units.outside), told)


def _by_column(outside: Mapping[str, Mapping[str, Misfits]]) -> dict[str, Misfits]:
    return {f"{table}.{name}": n for table, own in outside.items() for name, n in own.items()}


# ----------------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class DatabaseJob:
    """A planned run: the method, what is known, the doors it will open; and what it was planned from."""

    synthesizer: NestedSketch
    schema: Database
    forms: Mapping[str, Form]
    plan: Plan
    terms: Terms
    given: Database | LongTable
    source: object = None

    def fit(self, source: object = None, access: Access | None = None) -> DatabaseRelease:
        """The release: `nacre.fit` on these terms, of the tables that were planned for or, after a plan from a
        description alone, of these."""
        found = self.source if source is None else source
        if found is None:
            raise NacreError("the plan was made from a schema; name the data that are to be fitted")
        return carry_out(found, self.given, self.terms, access or Access())


def plan(source: object, given: Database | LongTable, terms: Terms) -> DatabaseJob:
    """What a run on these terms would do. Of the source, rows of public tables alone are read; without one (None), the
    labels of references must be declared."""
    _refuse_idle(terms)
    database = given.database if isinstance(given, LongTable) else given
    sources = {} if source is None else opened(source, given, database.public)
    return dataclasses.replace(prepare(database, _ids_of(database, sources), terms), given=given, source=source)


def prepare(database: Database, ids: PublicIds, terms: Terms) -> DatabaseJob:
    """Plan a run from public facts. Raises before anything is spent."""
    if terms.domain not in DOMAINS:
        raise NacreError(f"domain={terms.domain!r}: expected one of {', '.join(DOMAINS)}")
    described, terms = Owned(database), terms.settled(database.units)
    refuse_undeclared(database_buying.lacking(database), terms)
    refuse_read(described, terms)
    synthesizer = make_for_databases(terms.method, {"target": terms.target, **terms.options})
    before = database_buying.entries(database, terms.budget)
    stands = database_buying.planned(database) if before else database
    shapes = forms(stands, ids)
    made = synthesizer.plan(stands, shapes, terms.budget, before)
    return DatabaseJob(synthesizer, database, shapes, made, terms, database)


def _refuse_idle(terms: Terms, **how: object) -> None:
    """What single tables have and databases do not: said before anything is opened."""
    asked = {"target_shares": terms.target_shares, "weights": terms.weights, **how}
    if used := [name for name, value in asked.items() if value is not None]:
        shares = {"target_shares", "weights"} & {*used}
        more = "draw the unit's columns in other shares from the release (rebalance=, --rebalance)"
        raise NacreError(f"{', '.join(used)}: not for databases; {more if shares else 'leave it out'}")


def _ids_of(database: Database, sources: Sources) -> dict[tuple[str, str], tuple[str, ...]]:
    """The labels of references: the ids of public tables, or what is declared of them where no table is at hand."""
    if sources or not database.public:
        return public_ids(database, sources)
    found = {}
    for name in database.owned:
        for key in database.references(name):
            column = database.tables[name].columns[key.column]
            if not column.labels:
                raise SchemaError(
                    f"key {key}: how many rows the public table {key.parent!r} has is needed for a plan; name the data "
                    f"as well (--columns-from), or declare {key.column!r} as Categorical with its categories"
                )
            place = (key.parent, key.parent_column)
            found[place] = tuple(dict.fromkeys([*found.get(place, ()), *column.labels]))
    return found


# ------------------------------------------------------------------------------------------------------------ fitting


def carry_out(
    source: object, given: Database | LongTable, terms: Terms, access: Access, options: Options | None = None
) -> DatabaseRelease:
    """The release of the tables of a database on these terms; `nacre.fit` says what they mean."""
    check_seed(terms.seed)
    _refuse_idle(terms, engine=access.engine)
    access.account.check(reads=terms.reads, seeded=terms.noise_seed is not None)
    database = given.database if isinstance(given, LongTable) else given
    sources = opened(source, given, tuple(database.tables), options)
    database = _as_stored(database, sources)
    if terms.reads:
        database = _read_missing(database, sources)
    tables = {name: public.kept(_whole(sources[name]), name, database.tables[name]) for name in database.public}
    ids = public_ids(database, sources)
    job = prepare(database, ids, terms)
    warn_weak_delta(job.plan.budget, database.units)
    with session(OwnedTables(sources, database, job.forms), job.plan, terms, access) as run:
        found = database_buying.buy(run.curator, job.plan, database, run.noise.seeded)
        shapes = forms(found, ids)
        run.curator.adopt(found, shapes)
        model = job.synthesizer.fit(run.curator, job.plan, terms.seed, access.progress)
        certificate = run.certificate(Owned(found))
    long = given.columns if isinstance(given, LongTable) else None
    return DatabaseRelease(job.plan.method, found, shapes, model, certificate, tables, long)


def opened(
    source: object, given: Database | LongTable, names: Sequence[str], options: Options | None = None
) -> Sources:
    """The rows of these tables."""
    if isinstance(given, LongTable):
        return split(given, open_rows(source, options=(options or Options()).named(given.columns)))
    return open_tables(source, names, options)


def _as_stored(database: Database, sources: Sources) -> Database:
    """The database whose columns come out as the sources store them."""
    tables = {n: storage.as_stored(schema, sources[n].arrow_schema) for n, schema in database.tables.items()}
    return dataclasses.replace(database, tables=tables)


def _read_missing(database: Database, sources: Sources) -> Database:
    """The database with what it lacks read from the data, and marked so: the guarantee will be `none`."""
    lacking = dict.fromkeys(name for name, _, _ in database.undeclared())
    tables = {name: read_missing(database.tables[name], sources[name]) for name in lacking}
    return dataclasses.replace(database, tables={**database.tables, **tables}) if tables else database


def _whole(rows: Rows) -> pa.Table:
    return pa.Table.from_batches([*rows.batches()])
