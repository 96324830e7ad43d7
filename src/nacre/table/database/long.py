"""One long table of persons and their rows, as the two tables that it stands for."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import SchemaError
from nacre.table.columns import Column
from nacre.table.database.database import Database
from nacre.table.database.keys import Key
from nacre.table.naming import choices
from nacre.table.schema import Attestation, Schema

ROWS = "rows"  # the table of what a person has many of


@dataclasses.dataclass(frozen=True)
class LongTable:
    """Rows of persons: `person` names them, at most `cap` rows of each count, the first by the column `order`.

    Columns that are `constant` are the person's own: the value in the first of their rows is used, and all their
    synthetic rows have one.
    """

    schema: Schema
    person: str
    cap: int
    order: str | None = None
    constant: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.constant, str):
            raise SchemaError(f"constant is {self.constant!r}; write a list of columns")
        object.__setattr__(self, "constant", tuple(self.constant))
        named = (("person", self.person), ("order", self.order), *(("constant", name) for name in self.constant))
        for what, name in named:
            if name is not None and name not in self.schema.columns:
                known = choices(name, self.schema.names)
                raise SchemaError(f"{what}: there is no column {name!r}; choose among {known}")
        if self.person in self.constant or self.order in self.constant:
            raise SchemaError(f"constant names {self.person if self.person in self.constant else self.order!r}, which "
                              "tells persons or rows apart; leave it out")  # fmt: skip
        if self.schema.rows is not None:
            raise SchemaError(
                f"the schema states rows={self.schema.rows:,}; where persons are protected with all their rows, how "
                "many rows there are is not public: leave it out"
            )
        if self.schema.unit is not None and self.schema.unit.column != self.person:
            raise SchemaError(
                f"the schema's unit is {self.schema.unit.column!r}, and person is {self.person!r}; make them agree"
            )
        _ = self.database  # what is wrong with the rest is said here

    @property
    def columns(self) -> tuple[str, ...]:
        return self.schema.names

    @functools.cached_property
    def database(self) -> Database:
        """A table of persons, called by the column that names them, and one of their rows."""
        unit = self.person if self.person.casefold() != ROWS else f"{self.person} persons"
        mine = {self.person, *self.constant}
        rest = {self.person, *(name for name in self.schema.names if name not in mine)}
        root = re.sub(r'[./\\"]', " ", unit)  # which no table may be called
        tables = {root: self._part(mine, own=True), ROWS: self._part(rest, own=False)}
        key = Key.of((ROWS, self.person), (root, self.person), self.cap, self.order)
        return Database(tables, (key,), root)

    def _part(self, names: Collection[str], own: bool) -> Schema:
        """The schema of some of the columns. What is said of the table as a whole stays with the rows."""
        columns: dict[str, Column] = {name: c for name, c in self.schema.columns.items() if name in names}
        person = columns[self.person]
        if person.learnt:
            raise SchemaError(
                f"person: column {self.person!r} is {person.kind}, and names of persons are never learnt; declare it "
                "as an Identifier"
            )
        dependencies = tuple(
            d for d in self.schema.dependencies if self._here(d, (d.determinant, d.dependent), columns)
        )
        impossible = tuple(i for i in self.schema.never if self._here(i, i.columns, columns))
        rules = tuple(r for r in self.schema.rules if self._here(r, r.names, columns))
        has = {"dependencies": dependencies, "impossible": impossible, "rules": rules}
        stated = {f: s for f, s in self.schema.provenance.items() if has.get(f)}
        attested = (
            Attestation(a.by, a.why, tuple(f for f in a.facts if (f[0] in columns if f[0] is not None else not own)))
            for a in self.schema.attestations
        )
        purchases = () if own else self.schema.purchases
        return Schema(columns, None, None, dependencies, impossible, rules, stated,
                      tuple(a for a in attested if a.facts), purchases)  # fmt: skip

    def _here(self, rule: object, names: Collection[str], columns: Collection[str]) -> bool:
        """Whether a rule is about columns of this part; SchemaError for one about both parts."""
        here = [name for name in names if name in columns]
        if here and len(here) < len({*names}):
            raise SchemaError(
                f"{rule}: it is about columns that are constant for a person and about others; name all of its columns "
                "constant, or none, or drop the rule"
            )
        return bool(here)


def joined(database: Database, columns: Sequence[str], tables: Mapping[str, pa.Table]) -> pa.Table:
    """The long table, with its columns in this order, of drawn persons and their rows."""
    persons, rows = (tables[name] for name in database.owned)
    key = database.owner(database.owned[1])
    assert key is not None  # rows hang on persons
    places = pc.index_in(rows.column(key.column), persons.column(key.parent_column))
    own = {name: persons.column(name).take(places) for name in persons.column_names if name != key.parent_column}
    fields = {field.name: field for table in (persons, rows) for field in table.schema}
    arrays = [own[name] if name in own else rows.column(name) for name in columns]
    return pa.table(arrays, schema=pa.schema([fields[name] for name in columns]))


def whole(database: Database, columns: Sequence[str]) -> Schema:
    """The schema of the long table, with its columns in this order, of what is said of persons and of their rows."""
    parts = [database.tables[name] for name in reversed(database.owned)]
    known = {name: column for part in parts for name, column in part.columns.items()}
    return Schema(
        {name: known[name] for name in columns},
        dependencies=tuple(d for part in parts for d in part.dependencies),
        impossible=tuple(i for part in parts for i in part.never),
        rules=tuple(r for part in parts for r in part.rules),
        provenance={fact: source for part in parts for fact, source in part.provenance.items()},
        attestations=tuple(a for part in parts for a in part.attestations),
        purchases=(*(p for part in parts for p in part.purchases), *database.purchases),
    )
