"""Databases as JSON: strict on the way in, canonical on the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import SchemaError
from nacre.table import documents, schema_json
from nacre.table.checking import as_object
from nacre.table.database.database import Database
from nacre.table.database.keys import Key
from nacre.table.schema import Attestation, Purchase, Schema
from nacre.typed import Json

if TYPE_CHECKING:
    import os

FORMAT = 1
MAX_BYTES = 64 * 2**20
_KEYS = ("format", "unit", "tables", "keys", "public", "units", "caps", "provenance", "attestations", "purchases")


def dump(database: Database) -> str:
    """The canonical text: fixed order of keys, one line per key and column."""
    tables = ",\n".join(f"    {_compact(name)}: {_indented(s.to_json())}" for name, s in database.tables.items())
    keys = ",\n".join(f"    {_compact(key.to_json())}" for key in database.keys)
    parts = [f'  "format": {FORMAT}', f'  "unit": {_compact(database.unit)}', f'  "tables": {{\n{tables}\n  }}']
    parts += [f'  "keys": [\n{keys}\n  ]'] if keys else []
    rest: dict[str, Json] = {
        "public": list(database.public),
        "units": database.units,
        "caps": dict(database.caps),
        "provenance": dict(database.provenance),
        "attestations": [a.to_json() for a in database.attestations],
        "purchases": [p.to_json() for p in database.purchases],
    }
    parts += [f'  "{key}": {_compact(value)}' for key, value in rest.items() if value not in (None, [], {})]
    return "{\n" + ",\n".join(parts) + "\n}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")  # no value holds a line break: JSON writes it as \n


def describes(path: str | os.PathLike) -> bool:
    """Whether a JSON file is of a database rather than of one table: it has tables. False for what is no JSON."""
    try:
        raw = documents.read(Path(path), MAX_BYTES)
    except (OSError, ValueError):
        return False
    return isinstance(raw, dict) and "tables" in raw and "columns" not in raw


def load(path: str | os.PathLike) -> Database:
    """Read a database file; every problem with it names the file."""
    return schema_json.load_with(parse, path, MAX_BYTES, "database file")


def parse(source: str | bytes | Mapping[str, Json]) -> Database:
    """A database from JSON text or from the object it holds."""
    raw = _decode(source) if isinstance(source, (str, bytes)) else source
    if isinstance(raw, Mapping) and "columns" in raw and "tables" not in raw:
        raise SchemaError('this is the schema of one table; a database has "tables", "keys" and a "unit"')
    raw = as_object(raw, "the database", _KEYS)
    if type(raw.get("format")) is not int or raw["format"] != FORMAT:
        raise SchemaError(
            f"the database has format {raw.get('format')!r}; this version of nacre reads format {FORMAT}: update "
            "nacre, or write it again"
        )
    if "unit" not in raw:
        raise SchemaError('the database has no "unit"; name the table whose rows, with all they own, are protected')
    tables = as_object(raw.get("tables"), '"tables"')
    return Database(
        tables={name: _table(name, spec) for name, spec in tables.items()},
        keys=schema_json.each(raw, "keys", Key.from_json),
        unit=raw["unit"],
        public=raw.get("public", ()),
        units=raw.get("units"),
        caps=raw.get("caps", {}),
        provenance=raw.get("provenance", {}),
        attestations=schema_json.each(raw, "attestations", Attestation.from_json),
        purchases=schema_json.each(raw, "purchases", Purchase.from_json),
    )


def _table(name: str, spec: object) -> Schema:
    try:
        return schema_json.parse(as_object(spec, "the schema"))
    except SchemaError as error:
        raise type(error)(f"table {name!r}: {error}") from None


def _decode(source: str | bytes) -> object:
    try:
        return documents.parse(source, MAX_BYTES)
    except ValueError as error:
        raise SchemaError(f"not a database: {error}") from None
