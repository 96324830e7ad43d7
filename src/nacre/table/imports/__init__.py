"""Schemas that people already have, in other formats: a file for each, and one line here.

What comes of one is `unattested`, fact by fact: anybody may have written the document, or made it from the data.
Nothing is promised to a run on such facts until somebody attests them (`Schema.attest`).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from nacre.errors import SchemaError
from nacre.table.documents import UNFIT
from nacre.table.imports import arrow, csvw, dbt, frictionless, json_schema, loading, pandera, sdv, sql
from nacre.table.imports.base import Document, Raw, Relation
from nacre.table.naming import choices
from nacre.table.schema import Schema

__all__ = ["FORMATS", "Document", "Imported", "Relation", "describe", "read"]


@dataclasses.dataclass(frozen=True)
class Format:
    """One format: whether a loaded document is of it, and what it describes."""

    title: str
    claims: Callable[[object], bool]
    describe: Callable[[Raw, str], Document]  # of the document, and a name for a table that it does not name


# The first that claims a document reads it.
FORMATS = {
    "sdv": Format("SDV metadata", sdv.claims, sdv.describe),
    "frictionless": Format("a Frictionless Table Schema or Data Package", frictionless.claims, frictionless.describe),
    "csvw": Format("CSV on the Web metadata", csvw.claims, csvw.describe),
    "pandera": Format("a pandera schema", pandera.claims, pandera.describe),
    "dbt": Format("a dbt properties file", dbt.claims, dbt.describe),
    "json-schema": Format("the JSON Schema of a model", json_schema.claims, json_schema.describe),
    "sql": Format("SQL table definitions", sql.claims, sql.describe),
    "arrow": Format("an Arrow schema", arrow.claims, arrow.describe),
}


@dataclasses.dataclass(frozen=True)
class Imported:
    """A schema out of another document, every fact of it `unattested`, and what the document says that it does not."""

    schema: Schema
    format: str
    table: str
    left_out: tuple[str, ...]


def read(path: str | os.PathLike, table: str | None = None, format: str | None = None) -> Imported:
    """The schema of one table that a document describes; of several, name it.

    The document may come from anybody: it is read within limits, and SchemaError says what is wrong with it. Rows are
    never looked at, not even where it is a file of data.
    """
    format, document = describe(path, format)
    name = _chosen(document, table, path)
    found = document.tables[name]
    for relation in document.relations:
        if name in (relation.child, relation.parent):
            found.leave(f"the foreign key {relation}: a schema is of one table")
    if not found.columns:
        left = "; ".join(found.left_out()[:3])
        raise SchemaError(f"{path}, table {name!r}: no column that a schema can hold{left and f' ({left})'}")
    try:
        schema = Schema(found.columns, rows=found.rows, rules=tuple(found.rules))
    except SchemaError as error:
        raise SchemaError(f"{path}, table {name!r}: {error}") from None
    unattested = dict.fromkeys(schema.facts(), "unattested")
    return Imported(schema.with_provenance(unattested), format, name, found.left_out())


def describe(path: str | os.PathLike, format: str | None = None) -> tuple[str, Document]:
    """The format of a document, and all the tables and keys that it describes."""
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise SchemaError(f"format {format!r} is not read; choose one of {', '.join(FORMATS)}")
    loaded = loading.load(path)
    try:
        name = format or next((n for n, f in FORMATS.items() if f.claims(loaded)), None)
        if name is None:
            titles = ", ".join(f.title for f in FORMATS.values())
            raise SchemaError(f"{path}: no format that is read, which are: {titles}; see docs/schema.md")
        document = FORMATS[name].describe(loaded, path.name.partition(".")[0] or "table")
    except SchemaError as error:
        text = str(error)
        raise SchemaError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except RecursionError:
        raise SchemaError(f"{path}: nested too deep") from None
    except UNFIT as error:
        title = FORMATS[name].title if name else "a schema"
        raise SchemaError(f"{path}: not {title} as its format has it ({type(error).__name__}); correct it") from None
    if not document.tables:
        raise SchemaError(f"{path}: {FORMATS[name].title} without a table")
    return name, document


def _chosen(document: Document, table: str | None, path: str | os.PathLike) -> str:
    if table is None and len(document.tables) > 1:
        raise SchemaError(f"{path} describes {len(document.tables):,} tables; name one: {choices('', document.tables)}")
    if table is not None and table not in document.tables:
        raise SchemaError(f"{path} describes no table {table!r}; choose among {choices(table, document.tables)}")
    return next(iter(document.tables)) if table is None else table
