"""Schemas as JSON: strict on the way in, canonical on the way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nacre.errors import DataError, SchemaError
from nacre.table import documents
from nacre.table.checking import as_object, short
from nacre.table.columns import from_json
from nacre.table.rules import Dependency, Impossible, Unit, row_rule
from nacre.table.schema import Attestation, Purchase, Schema

if TYPE_CHECKING:
    import os

FORMAT = 1
MAX_BYTES = 16 * 2**20  # hundreds of thousands of categories; parsed in less than a second
_KEYS = (
    "format", "columns", "rows", "unit", "dependencies", "impossible", "rules", "provenance", "attestations",
    "purchases",
)  # fmt: skip
_Fact = TypeVar("_Fact")
_Made = TypeVar("_Made")


def dump(schema: Schema) -> str:
    """The canonical text: fixed order of keys, one line per column."""
    columns = ",\n".join(f"    {_compact(n)}: {_compact(column.to_json())}" for n, column in schema.columns.items())
    parts = [f'  "format": {FORMAT}', f'  "columns": {{\n{columns}\n  }}']
    rest: dict[str, Any] = {
        "rows": schema.rows,
        "unit": None if schema.unit is None else schema.unit.to_json(),
        "dependencies": [d.to_json() for d in schema.dependencies],
        "impossible": [rule.to_json() for rule in schema.never],
        "rules": [rule.to_json() for rule in schema.rules],
        "provenance": schema.provenance,
        "attestations": [a.to_json() for a in schema.attestations],
        "purchases": [p.to_json() for p in schema.purchases],
    }
    parts += [f'  "{key}": {_compact(value)}' for key, value in rest.items() if value not in (None, [], {})]
    return "{\n" + ",\n".join(parts) + "\n}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def load(path: str | os.PathLike) -> Schema:
    """Read a schema file; every problem with it names the file."""
    return load_with(parse, path, MAX_BYTES, "schema file")


def load_with(parse: Callable[[bytes], _Made], path: str | os.PathLike, most: int, what: str) -> _Made:
    """What a file of at most so many bytes says; every problem with it names the file."""
    path = Path(path)
    try:
        if path.stat().st_size > most:
            raise SchemaError(f"{path}: a {what} of {path.stat().st_size:,} bytes; at most {most:,}")
        text = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such {what}; check the path, or make one with `nacre schema`") from None
    except OSError as error:
        raise DataError(f"{path}: cannot read the {what} ({error.strerror}); check the path") from None
    try:
        return parse(text)
    except SchemaError as error:
        raise type(error)(f"{path}: {error}") from None


def parse(source: str | bytes | Mapping[str, Any]) -> Schema:
    """A schema from JSON text or from the object it holds."""
    raw = _decode(source) if isinstance(source, (str, bytes)) else source
    raw = as_object(raw, "the schema", _KEYS)
    if "format" not in raw:
        raise SchemaError(f'the schema has no "format"; add "format": {FORMAT}')
    if type(raw["format"]) is not int or raw["format"] != FORMAT:
        raise SchemaError(
            f"the schema has format {raw['format']!r}; this version of nacre reads format {FORMAT}: "
            "update nacre, or write the schema again"
        )
    columns = as_object(raw.get("columns"), '"columns"')
    return Schema(
        columns={name: from_json(spec, name) for name, spec in columns.items()},
        rows=raw.get("rows"),
        unit=None if raw.get("unit") is None else Unit.from_json(raw["unit"], '"unit"'),
        dependencies=each(raw, "dependencies", Dependency.from_json),
        impossible=each(raw, "impossible", Impossible.from_json),
        rules=each(raw, "rules", row_rule),
        provenance=raw.get("provenance", {}),
        attestations=each(raw, "attestations", Attestation.from_json),
        purchases=each(raw, "purchases", Purchase.from_json),
    )


def _decode(source: str | bytes) -> Any:
    if len(source) > MAX_BYTES:
        raise SchemaError(f"the schema text has {len(source):,} characters; at most {MAX_BYTES:,}")
    try:
        return documents.parse(source, MAX_BYTES)
    except ValueError as error:
        raise SchemaError(f"not a schema: {error}") from None


def each(raw: Mapping[str, Any], key: str, read: Callable[[Any, str], _Fact]) -> tuple[_Fact, ...]:
    value = raw.get(key, [])
    if not isinstance(value, list):
        raise SchemaError(f'"{key}" is {short(value)}; write a list [...]')
    return tuple(read(item, f"{key}[{i}]") for i, item in enumerate(value))
