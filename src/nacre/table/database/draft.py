"""A first database from the data: schemas, keys, caps and orders. Everything in it is marked `read`.

Keys are those that the file declares; of tables without any, columns that are called like an id of another table and
hold its values.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table.checking import short
from nacre.table.columns import Column
from nacre.table.database.arranging import Arranged, arranged
from nacre.table.database.database import MAX_TABLES, Database
from nacre.table.database.keys import MOST_ROWS, Key
from nacre.table.database.matching import candidates, plain
from nacre.table.database.rows import as_rows, key_names, of_source
from nacre.table.imports.base import Relation
from nacre.table.schema import Schema
from nacre.table.sources.banks import Keys, open_bank

KEPT = 0.95  # of the rows are inside the cap
WHOLE = 0.99  # or of the parents with rows keep all: a few with very many do not decide what all pay for
_HELD = 0.9  # of the values of a key are ids of its parent
_LOST = 0.1  # of rows without an owner, beyond which another key is taken
_SEQUENCE = (
    "seq",
    "seqnum",
    "sequence",
    "position",
    "place",
    "line",
    "linenumber",
    "linenum",
    "order",
    "ordinal",
    "step",
)


@dataclasses.dataclass(frozen=True)
class Draft:
    """A database that was read from data, and what was seen on the way: as private as the data."""

    database: Database
    notes: tuple[str, ...]


def draft_tables(
    tables: Mapping[str, object], declared: Keys | None = None, unit: str | None = None, public: Collection[str] = ()
) -> Draft:
    """The draft of tables or of Rows, by name; with the keys that their file declares, if it does."""
    if len(tables) > MAX_TABLES:
        raise SchemaError(f"there are {len(tables):,} tables; at most {MAX_TABLES}: leave tables out")
    notes: list[str] = []
    seen: dict[str, _Table] = {}
    for name, table in tables.items():
        one = _Table(name, table)
        if one.empty:
            notes.append(f"table {name!r}: no rows; left out")
        else:
            seen[name] = one
    if not seen:
        raise DataError("none of the tables has rows; a draft is read from rows")
    schemas = {name: _schema(one) for name, one in seen.items()}
    relations = [r for r in (declared.relations if declared else ()) if r.child in seen and r.parent in seen]
    relations += _by_names(seen, {r.child for r in relations})
    found = arranged(schemas, relations, unit, public)
    while lost := _lost(found, seen):
        key, share = lost
        notes.append(f"key {key}: {share:.0%} of the rows name no row of {key.parent!r}; dropped")
        relations = [r for r in relations if (r.child, r.columns) != (key.child, (key.column,))]
        found = arranged(schemas, relations, unit, public)
    keys = [_completed(key, found, seen) for key in found.keys]
    facts = ("keys", "caps", "unit", "public")
    stated = (keys, found.owning, True, found.public)
    provenance = {fact: "read" for fact, said in zip(facts, stated, strict=True) if said}
    made = {name: _with_missing(schema, found, seen[name]) for name, schema in found.tables.items()}
    database = Database(made, keys, found.unit, found.public, provenance=provenance)
    return Draft(database, (*notes, *found.notes))


def draft_source(source: object, unit: str | None = None, public: Collection[str] = ()) -> Draft:
    """The draft of a mapping of tables, or of a SQLite or DuckDB file with the keys that it declares."""
    if isinstance(source, Mapping):
        return draft_tables(source, None, unit, public)
    if not isinstance(source, str | os.PathLike) or os.path.isdir(source):
        raise DataError(
            f"a database is drafted from {{name: table}}, or from a SQLite or DuckDB file, not from {short(source)}; "
            "open a folder with nacre.engines.open_tables(folder)"
        )
    bank = open_bank(source)
    return draft_tables({name: of_source(bank.table(name)) for name in bank.names}, bank.keys(), unit, public)


class _Table:
    """Rows, and the names that single columns hold."""

    def __init__(self, name: str, table: object):
        self.name = name
        self.rows = as_rows(table)
        self._names: dict[str, pa.Array] = {}
        self.empty = not any(batch.num_rows for batch in self.rows.batches(self.rows.column_names[:1]))

    def names(self, column: str) -> pa.Array:
        """The names of a column as keys have them, null where a row has none."""
        if column not in self._names:
            self._names[column] = key_names(self.rows, column)
        return self._names[column]

    def is_id(self, column: str) -> bool:
        """Whether every row has a name there, and none has that of another."""
        found = self.names(column)
        return found.null_count == 0 and pc.count_distinct(found).as_py() == len(found)

    def held(self, column: str, parent: _Table, id: str) -> np.ndarray:
        """Whose row each row is: its place among those of the parent, -1 where there is none."""
        place = pc.index_in(self.names(column), value_set=parent.names(id))
        return np.where(self.missing(column), -1, pc.fill_null(place, -1).to_numpy(zero_copy_only=False))

    def missing(self, column: str) -> np.ndarray:
        return self.names(column).is_null().to_numpy(zero_copy_only=False)


def _schema(table: _Table) -> Schema:
    try:
        return Schema.draft(table.rows)
    except (DataError, SchemaError) as error:
        raise type(error)(f"table {table.name!r}: {error}") from None


def _by_names(tables: Mapping[str, _Table], declared: Collection[str]) -> list[Relation]:
    """Columns of tables that declare no key, which are called like an id that they hold."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for below, above in candidates({name: table.rows.column_names for name, table in tables.items()}):
        (child, column), (parent, id) = below, above
        if child in declared or below in found or found.get(above) == below or not tables[parent].is_id(id):
            continue
        place = tables[child].held(column, tables[parent], id)
        there = int((~tables[child].missing(column)).sum())
        if there and (place >= 0).sum() >= _HELD * there:
            found[below] = above
    return [Relation(child, (column,), parent, (id,)) for (child, column), (parent, id) in found.items()]


def _place(key: Key, tables: Mapping[str, _Table]) -> np.ndarray:
    return tables[key.child].held(key.column, tables[key.parent], key.parent_column)


def _lost(found: Arranged, tables: Mapping[str, _Table]) -> tuple[Key, float] | None:
    """A key by which many rows are nobody's, though another key of the table leads to an owner as well."""
    for key in found.owning:
        others = [k for k in found.keys if k.child == key.child and k != key and k.parent not in found.public]
        share = float((_place(key, tables) < 0).mean()) if others else 0.0
        if share > _LOST:
            return key, share
    return None


def _completed(key: Key, found: Arranged, tables: Mapping[str, _Table]) -> Key:
    """An owner's key with a cap that keeps nearly all rows, and the first column of time."""
    if key not in found.owning:
        return key
    cap = _cap(np.bincount(place[place >= 0])) if len(place := _place(key, tables)) else 1
    return Key.of((key.child, key.column), (key.parent, key.parent_column), min(cap, MOST_ROWS),
                  _order(found.tables[key.child]))  # fmt: skip


def _cap(counts: np.ndarray) -> int:
    """The least cap that keeps nearly all rows, or all rows of nearly all parents."""
    sizes = np.bincount(counts)[1:]  # parents by their number of rows, from 1 on
    kept = np.cumsum(np.cumsum(sizes[::-1])[::-1])  # rows by the cap
    if not len(kept):
        return 1
    whole = np.searchsorted(np.cumsum(sizes), WHOLE * sizes.sum())
    return int(min(np.searchsorted(kept, KEPT * counts.sum()), whole)) + 1


def _order(schema: Schema) -> str | None:
    def fits(name: str, column: Column) -> bool:
        return column.moments or (column.whole and plain(name) in _SEQUENCE)

    found = [(column.nullable, not column.moments, i, name)
             for i, (name, column) in enumerate(schema.columns.items()) if fits(name, column)]  # fmt: skip
    return min(found)[3] if found else None


def _with_missing(schema: Schema, found: Arranged, table: _Table) -> Schema:
    """Key columns are null where some row names no parent."""
    own = {key.column for key in found.keys if key.child == table.name}
    columns = {
        name: dataclasses.replace(column, nullable=bool(table.missing(name).any()), provenance={}).sourced("read")
        if name in own
        else column
        for name, column in schema.columns.items()
    }
    return dataclasses.replace(schema, columns=columns)
