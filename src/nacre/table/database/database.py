"""A database: tables, the keys between them, and the table whose rows are the protected units."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from nacre import notebook
from nacre.errors import SchemaError
from nacre.table.checking import HIDDEN, short
from nacre.table.columns import PROVENANCES, UNPROTECTED
from nacre.table.database.keys import Key
from nacre.table.database.structure import Structure, check_order
from nacre.table.naming import choices
from nacre.table.schema import Attestation, Purchase, Schema
from nacre.table.written import Written
from nacre.typed import Json

MAX_TABLES = 30
DATABASE_FACTS = ("keys", "caps", "unit", "public", "units")
_One = TypeVar("_One")
Fact = tuple[str | None, str | None, str]  # table, column, fact; without a table, one of DATABASE_FACTS


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Database(Written):
    """Tables by name, and who owns whose rows.

    A unit is one row of the table `unit` and all rows that it owns, through every key: that is what is protected. Rows
    of `public` tables are not, and are given as they are. `units` is the declared public number of units, None when it
    is not public; `caps` the most rows of a unit in a table, where that is less than the caps of its keys allow.
    """

    tables: Mapping[str, Schema]
    keys: Sequence[Key]
    unit: str
    public: Sequence[str] = ()
    units: int | None = None
    caps: Mapping[str, int] = dataclasses.field(default_factory=dict)
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict)
    attestations: Sequence[Attestation] = ()
    purchases: Sequence[Purchase] = ()

    def __post_init__(self) -> None:
        self._set(tables=_checked_tables(self.tables))
        self._set(keys=_listed("keys", self.keys, Key, "Key('stays.patient -> patients.id', cap=8)"))
        self._set(public=_listed("public", self.public, str, "names of tables"))
        for what, name in (("unit", self.unit), *(("public", name) for name in self.public)):
            if not isinstance(name, str) or name not in self.tables:
                raise SchemaError(f"{what} names {short(name)}; choose among the tables {choices(name, self.tables)}")
        if self.unit in self.public or len(set(self.public)) < len(self.public):
            raise SchemaError(
                f"public is {short(list(self.public))}: name each public table once, and not the unit table "
                f"{self.unit!r}, whose rows are protected"
            )
        _ = self._structure  # what is wrong with the keys is said here
        self._check_schemas()
        if self.units is not None and (type(self.units) is not int or not 1 <= self.units <= 10**15):
            raise SchemaError(
                f"units is {short(self.units)}; write the public number of rows of {self.unit!r}, at least 1, or leave "
                "it out"
            )
        self._set(caps=self._checked_caps())
        self._set(attestations=_listed("attestations", self.attestations, Attestation, "what attest(...) records"))
        self._set(purchases=_listed("purchases", self.purchases, Purchase, "a Purchase"))
        self._set(provenance=self._checked_provenance())

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def _structure(self) -> Structure:
        return Structure.of(self.tables, tuple(self.keys), self.unit, self.public)

    def _check_schemas(self) -> None:
        for name in self.owned:
            schema = self.tables[name]
            if schema.unit is not None:
                raise SchemaError(
                    f"table {name!r} names persons of its own ({schema.unit.column!r}); in a database a unit is a row "
                    f"of {self.unit!r} and what it owns: leave unit out of the table's schema"
                )
            if schema.open_rules:
                raise SchemaError(
                    f"table {name!r}: {schema.open_rules[0]} is to be bought, which databases do not do; declare it"
                )
            if schema.rows is not None:
                raise SchemaError(
                    f"table {name!r} states rows={schema.rows:,}; how many rows an owned table has is not public: "
                    f"leave it out, and write units=... where the number of rows of {self.unit!r} is"
                )

        for name, key in self._structure.owners.items():
            if not self.tables[name].rules or not self.tables[name].undeclared():
                check_order(self.tables[name], key)

    def _checked_caps(self) -> dict[str, int]:
        if not isinstance(self.caps, Mapping):
            raise SchemaError(f"caps is {short(self.caps)}; write {{table: most rows per unit}}")
        for name, cap in self.caps.items():
            if name == self.unit or name not in self.owned:
                below = [n for n in self.owned if n != self.unit]
                raise SchemaError(
                    f"caps names {short(name)}; choose among the tables below {self.unit!r}: {choices(name, below)}"
                )
            if type(cap) is not int or cap < 1:
                raise SchemaError(
                    f"caps: that of {name!r} is {short(cap)}; write the most rows per unit, a whole number of at least "
                    "1"
                )
        for name in (n for n in self.owned if n in self.caps):
            allowed = self._most_by(name, {n: c for n, c in self.caps.items() if n != name})
            if self.caps[name] > allowed:
                raise SchemaError(
                    f"caps: a unit may have {self.caps[name]:,} rows of {name!r}, but keys and caps above it leave "
                    f"{allowed:,}; leave it out, or lower it"
                )
        return {name: self.caps[name] for name in self.owned if name in self.caps}

    def _checked_provenance(self) -> dict[str, str]:
        if not isinstance(self.provenance, Mapping):
            raise SchemaError(f"provenance is {short(self.provenance)}; write fact: source pairs")
        has = (self.keys, self._structure.owners, True, self.public, self.units)
        stated = [fact for fact, said in zip(DATABASE_FACTS, has, strict=True) if said]
        for fact, source in self.provenance.items():
            if fact not in stated:
                raise SchemaError(f"provenance names {short(fact)}; a database states {', '.join(stated)}: remove it")
            known = [p for p in PROVENANCES if p != "counted" or fact == "units"]
            if source not in known:
                raise SchemaError(f"provenance of {fact} is {short(source)}; choose one of {', '.join(known)}")
        return {fact: self.provenance.get(fact, "public") for fact in stated}

    # -- who owns whom ----------------------------------------------------------------------------------------

    @property
    def owned(self) -> tuple[str, ...]:
        """The tables whose rows belong to units: the unit table, then by depth, in the order of `tables`."""
        return self._structure.owned

    def path(self, table: str) -> tuple[str, ...]:
        """The tables from the unit table down to this one."""
        return self._structure.paths[self._owned(table)]

    def owner(self, table: str) -> Key | None:
        """The key to the parent by which rows are owned; None for the unit table."""
        return self._structure.owners.get(self._owned(table))

    def children(self, table: str) -> tuple[str, ...]:
        """The tables whose rows rows of this one own directly."""
        return tuple(n for n in self.owned if n != self.unit and self._structure.owners[n].parent == self._owned(table))

    def implied(self, table: str) -> tuple[Key, ...]:
        """Further keys to ancestors: they follow from the owner key, and rows that disagree are orphans."""
        return self._structure.implied[self._owned(table)]

    def references(self, table: str) -> tuple[Key, ...]:
        """Keys to public tables: columns whose labels are the ids of those."""
        return self._structure.references[self._known(table)]

    def id(self, table: str) -> str | None:
        """The column that names rows of a table, to which keys lead; None where none does."""
        return self._structure.ids.get(self._known(table))

    def most(self, table: str) -> int:
        """The most rows of one unit in a table."""
        return self._most_by(self._owned(table), self.caps)

    def _most_by(self, table: str, caps: Mapping[str, int]) -> int:
        most = 1
        for name in self._structure.paths[table][1:]:
            most *= self._structure.owners[name].cap or 1
            most = min(most, caps.get(name, most))
        return most

    def _known(self, table: str) -> str:
        if table not in self.tables:
            raise SchemaError(f"there is no table {table!r}; choose among {choices(table, self.tables)}")
        return table

    def _owned(self, table: str) -> str:
        if self._known(table) not in self._structure.paths:
            raise SchemaError(f"table {table!r} is public; choose among the owned ones {choices(table, self.owned)}")
        return table

    # -- what is known, and how -------------------------------------------------------------------------------

    def facts(self) -> dict[Fact, str]:
        """(table, column, fact) -> provenance, for every stated fact; (None, None, fact) for those of the database."""
        found: dict[Fact, str] = {(None, None, fact): source for fact, source in self.provenance.items()}
        for name in self.owned:
            found |= {(name, column, fact): source for (column, fact), source in self.tables[name].facts().items()}
        return found

    def undeclared(self) -> list[tuple[str, str, str]]:
        """(table, column, fact) that a private method needs and no schema states."""
        known = {(key.child, key.column) for name in self.owned for key in self.references(name)}
        return [(n, c, f) for n in self.owned for c, f in self.tables[n].undeclared() if (n, c) not in known]

    @property
    def unprotected(self) -> list[Fact]:
        """The facts with which no promise holds until somebody attests them."""
        return [fact for fact, source in self.facts().items() if source in UNPROTECTED]

    def attest(
        self, table: str | None = None, column: str | None = None, fact: str | None = None, *, by: str, why: str
    ) -> Database:
        """The same database with `read` and `unattested` facts turned `public`, and a record of who said so and why.

        Without `table`, facts of every table and of the database itself; without `column` or `fact`, all of them.
        SchemaError when no such fact matches: an attestation of nothing is a mistake.
        """
        from nacre.table.database.attesting import attested

        return attested(self, (table, column, fact), by, why)

    # -- in and out -------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Database of {self._size}>"

    def _repr_html_(self) -> str:
        facts = {"unit": f"a row of {self.unit} and all rows that it owns"}
        lines = [(n, self._above(n), f"{len(schema.columns):,} columns") for n, schema in self.tables.items()]
        return notebook.panel(f"Database of {self._size}", facts, ("table", "rows", "columns"), lines)

    def _above(self, table: str) -> str:
        if table not in self._structure.paths:
            return "public" if table in self.public else ""
        key = self.owner(table)
        return "the units" if key is None else f"at most {key.cap:,} under each of {key.parent}"

    @property
    def _size(self) -> str:
        below = f", {self.units:,} units" if self.units is not None else ""
        return f"{len(self.tables):,} tables, unit {self.unit!r}{below}"

    def to_json(self) -> str:
        """Readable JSON; `from_json` gives an equal database back, and the same text from it."""
        from nacre.table.database.documents import dump

        return dump(self)

    @classmethod
    def from_json(cls, source: str | bytes | Mapping[str, Json]) -> Database:
        """The database in a JSON text or in its parsed form. Anything unexpected in it is a SchemaError."""
        from nacre.table.database.documents import parse

        return parse(source)

    @classmethod
    def draft(cls, source: object, unit: str | None = None, public: Collection[str] = ()) -> Database:
        """A guess from tables by name (frames or Rows), or from a SQLite or DuckDB file: every fact in it is `read`, to
        be reviewed and attested or replaced. The table that owns most others is the unit unless one is named."""
        from nacre.table.database.draft import draft_source

        return draft_source(source, unit, public).database

    @classmethod
    def load(cls, path: str | os.PathLike) -> Database:
        """The database in a JSON file."""
        from nacre.table.database.documents import load

        return load(path)


def _listed(what: str, values: object, kind: type[_One], example: str) -> tuple[_One, ...]:
    listed = [*values] if isinstance(values, Sequence) and not isinstance(values, str | bytes) else None
    if listed is None or not all(isinstance(v, kind) for v in listed):
        of = "names" if kind is str else kind.__name__
        raise SchemaError(f"{what} is {short(values)}; write a list of {of}, such as {example}")
    return tuple(v for v in listed if isinstance(v, kind))


def _checked_tables(tables: object) -> dict[str, Schema]:
    if not isinstance(tables, Mapping) or not tables:
        raise SchemaError(f"tables is {short(tables)}; write {{name: Schema}} with at least one table")
    if len(tables) > MAX_TABLES:
        raise SchemaError(f"the database has {len(tables):,} tables; at most {MAX_TABLES}: leave tables out")
    seen: dict[str, str] = {}
    for name, schema in tables.items():
        if not isinstance(name, str) or not name or HIDDEN.search(name) or set(name) & set('./\\"'):
            raise SchemaError(
                f"table name {short(name)}: a name is printed, written before a dot and called a file: text, not "
                "empty, without dots, slashes, double quotes and characters that cannot be seen; rename the table"
            )
        if not isinstance(schema, Schema):
            raise SchemaError(f"table {name!r} is {short(schema)}; write a Schema of its columns")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise SchemaError(
                f"two tables are called {other!r} and {name!r}, which databases take for one name; rename one of them"
            )
    return dict(tables)
