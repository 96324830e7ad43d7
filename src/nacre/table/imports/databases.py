"""Databases out of documents of other formats: SDV's multi-table metadata, SQL, Data Packages, CSV on the Web."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping

from nacre.errors import SchemaError
from nacre.table.database import Database
from nacre.table.database.arranging import arranged
from nacre.table.imports import describe
from nacre.table.schema import Schema


@dataclasses.dataclass(frozen=True)
class ImportedDatabase:
    """A database out of another document, and what the document says that it does not."""

    database: Database
    format: str
    left_out: tuple[str, ...]


def read_database(
    path: str | os.PathLike,
    caps: int | Mapping[str, int],
    unit: str | None = None,
    public: Collection[str] = (),
    format: str | None = None,
) -> ImportedDatabase:
    """The database that a document describes, by its tables and the keys between them.

    What no document says is given here: `caps`, the most rows under one parent row, for all owned tables or by table;
    the `unit`, else the table that owns most others. What is given is `public`, all else `unattested`. Tables to which
    owned ones lead but which do not lead to the unit are public tables.
    """
    format, document = describe(path, format)
    notes = [f"table {name!r}: {what}" for name, found in document.tables.items() for what in found.left_out()]
    notes += [f"table {name!r}: no column that a schema can hold" for name, t in document.tables.items()
              if not t.columns]  # fmt: skip
    try:
        tables = {name: Schema(found.columns) for name, found in document.tables.items() if found.columns}
        found = arranged(tables, document.relations, unit, public)
        below = [key.child for key in found.owning]
        each = dict.fromkeys(below, caps) if isinstance(caps, int) else dict(caps)
        for name in each:
            if name not in below:
                raise SchemaError(f"caps names {name!r}; the owned tables are {', '.join(below) or 'none'}")
        keys = [key.capped(each.get(key.child)) if key in found.owning else key for key in found.keys]
        made = Database(_unattested(found.tables), keys, found.unit, found.public)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
    given = {"caps", *(("unit",) if unit is not None else ()), *(("public",) if {*public} == {*found.public} else ())}
    provenance = {fact: "public" if fact in given else "unattested" for fact in made.provenance}
    return ImportedDatabase(dataclasses.replace(made, provenance=provenance), format, (*notes, *found.notes))


def _unattested(tables: Mapping[str, Schema]) -> dict[str, Schema]:
    return {
        name: schema.with_provenance(dict.fromkeys(schema.facts(), "unattested")) for name, schema in tables.items()
    }
