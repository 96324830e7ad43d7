"""What the schemas of a database lack, bought table by table before the fit: as part of its plan and budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from nacre.engines.owned import UNIT
from nacre.errors import DataError, DomainNotDeclared
from nacre.privacy import discovery
from nacre.privacy.budget import Budget
from nacre.privacy.buying import other_word
from nacre.privacy.discovery import Bought, Undeclared, Unmeasured
from nacre.privacy.doors.entry import Entry
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.plan import Plan
from nacre.table import Categorical, Column, Datetime, Identifier, Numeric, Schema, Unit
from nacre.table.database import Database

_SPAN = ("2000-01-01", "2001-01-01")  # of moments in a plan, which does not look at bounds


def lacking(database: Database) -> list[tuple[str, str]]:
    """("table.column", fact) that the schemas lack."""
    found = database.undeclared()
    kinds = {(t, c) for t, c, _ in found if isinstance(database.tables[t].columns[c], Undeclared | Unmeasured)}
    return [(f"{t}.{c}", "kind" if (t, c) in kinds else fact) for t, c, fact in found]


def entries(database: Database, budget: Budget) -> tuple[Entry, ...]:
    """The doors that buy it; nothing when nothing lacks."""
    lacks = _lacking(database)
    if not lacks:
        return ()
    _refuse_rules(database, lacks)
    rows = {name: database.most(name) for name in lacks}
    every = sum(len(database.tables[name].modelled) for name in database.owned)
    return discovery.table_entries(lacks, rows, every, budget)


def planned(database: Database) -> Database:
    """The database with something in the place of what it lacks: a plan follows from names, kinds and keys alone."""
    stands = {name: {n: _stand_in(c) for n, c in schema.columns.items()} for name, schema in _lacking(database).items()}
    return _with(database, stands)


def buy(curator: NestedCurator, plan: Plan, database: Database, seeded: bool) -> Database:
    """The database with what it lacked, bought."""
    lacks = _lacking(database)
    found: dict[str, dict[str, Column]] = {}
    for name, schema in lacks.items():
        most = plan[f"kinds of {name}"].most
        below = name != database.unit
        asked = dataclasses.replace(schema, columns={**schema.columns, UNIT: Identifier(text=True)},
                                    unit=Unit(UNIT, most)) if below else schema  # fmt: skip
        made = discovery.buy_domain(curator.table(name, asked), Bought(plan, name), asked)
        found[name] = {n: _modelled(made.columns[n]) for n in schema.columns}
    if not found:
        return database
    _refuse_unordered(database, found)
    made = _with(database, found)
    if seeded:
        facts = {(t, n, f) for t, own in found.items() for n, c in own.items() for f, s in c.provenance.items()
                 if s == "bought"}  # fmt: skip
        return _sourced(made, facts, "read")
    return dataclasses.replace(made, purchases=(*made.purchases, discovery.paid(plan)))


def _lacking(database: Database) -> dict[str, Schema]:
    """Of each table that lacks something, the columns that do."""
    names: dict[str, dict[str, Column]] = {}
    for table, column, _ in database.undeclared():
        names.setdefault(table, {})[column] = database.tables[table].columns[column]
    return {table: Schema(columns) for table, columns in names.items()}


def _refuse_rules(database: Database, lacks: Mapping[str, Schema]) -> None:
    for table, schema in lacks.items():
        for rule in database.tables[table].rules:
            if found := [name for name in rule.names if name in schema.columns]:
                raise DomainNotDeclared(
                    f"column '{table}.{found[0]}': {rule} needs what it may hold before anything is bought; declare it"
                )


def _refuse_unordered(database: Database, found: Mapping[str, Mapping[str, Column]]) -> None:
    for table, columns in found.items():
        key = database.owner(table)
        order = None if key is None else key.order
        if order is not None and order in columns and not columns[order].measured:
            raise DataError(
                f"column '{table}.{order}' orders rows and came out as {columns[order].kind}; declare in a "
                "schema how its numbers or moments are written. The budget for the schema is spent"
            )


def _stand_in(column: Column) -> Column:
    if isinstance(column, Datetime):
        return dataclasses.replace(column, bounds=_SPAN, provenance={})
    if isinstance(column, Numeric):
        return Numeric((0, 1), nullable=column.nullable)
    return Categorical(("?",), nullable=True)


def _modelled(column: Column) -> Column:
    """What was bought; a column of names is one label for all of them, since the plan counts it."""
    if column.learnt:
        return column
    word = other_word(())
    return Categorical((word,), other=word, nullable=True).sourced("bought")


def _with(database: Database, columns: Mapping[str, Mapping[str, Column]]) -> Database:
    tables = dict(database.tables)
    for table, own in columns.items():
        tables[table] = dataclasses.replace(tables[table], columns={**tables[table].columns, **own})
    return dataclasses.replace(database, tables=tables)


def _sourced(database: Database, facts: set[tuple[str, str, str]], source: str) -> Database:
    tables = {
        name: schema.with_provenance({(c, f): source for t, c, f in facts if t == name})
        for name, schema in database.tables.items()
    }
    return dataclasses.replace(database, tables=tables)
