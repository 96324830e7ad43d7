"""Schemas as JSON: strict on the way in, canonical on the way out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.errors import DataError, SchemaError
from nacre.table import documents
from nacre.table.checking import named
from nacre.table.columns import KINDS, Column
from nacre.table.conditions import Between, plain
from nacre.table.rules import Dependency, Unit
from nacre.table.schema import Attestation, Purchase, Schema

FORMAT = 1
MAX_BYTES = 16 * 2**20  # hundreds of thousands of categories; parsed in less than a second
_KEYS = ("format", "columns", "rows", "unit", "dependencies", "impossible", "provenance", "attestations", "purchases")
_LAST = ("nullable", "null_words", "provenance")
# The keys of a column after `kind`, in the order they are written. Those equal to their default are left out.
_COLUMN_KEYS = {
    "numeric": ("bounds", "integer", "edges", "atoms", "decimals", "format", "text", *_LAST),
    "categorical": ("categories", "ordered", "other", *_LAST),
    "boolean": ("format", "text", *_LAST),
    "datetime": ("bounds", "tz", "unit", "format", "text", *_LAST),
    "tensor": ("shape", "bounds", *_LAST),
    "identifier": ("person", "text", *_LAST),
}


def dump(schema: Schema) -> str:
    """The canonical text: fixed order of keys, one line per column."""
    columns = ",\n".join(
        f"    {_compact(name)}: {_compact(column_json(column))}" for name, column in schema.columns.items()
    )
    parts = [f'  "format": {FORMAT}', f'  "columns": {{\n{columns}\n  }}']
    rest: dict[str, Any] = {
        "rows": schema.rows,
        "unit": None if schema.unit is None else {"column": schema.unit.column, "cap": schema.unit.cap},
        "dependencies": [_dependency_json(d) for d in schema.dependencies],
        "impossible": [{name: c.to_rule_json() for name, c in rule.items()} for rule in schema.impossible],
        "provenance": schema.provenance,
        "attestations": [{"by": a.by, "why": a.why, "facts": [list(f) for f in a.facts]} for a in schema.attestations],
        "purchases": [dataclasses.asdict(p) for p in schema.purchases],
    }
    parts += [f'  "{key}": {_compact(value)}' for key, value in rest.items() if value not in (None, [], {})]
    return "{\n" + ",\n".join(parts) + "\n}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def column_json(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": column.kind}
    for key in _COLUMN_KEYS[column.kind]:
        value = getattr(column, key)
        if value is not None and value is not False and value != ():
            found[key] = list(value) if isinstance(value, tuple) else value.to_json() if key == "format" else value
    return found


def _dependency_json(rule: Dependency) -> dict[str, Any]:
    pairs = [[plain(k), plain(v)] for k, v in rule.mapping.items()]
    return {"determinant": rule.determinant, "dependent": rule.dependent, "mapping": pairs}


def load(path: Any) -> Schema:
    """Read a schema file; every problem with it names the file."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SchemaError(f"a schema file of {path.stat().st_size:,} bytes; at most {MAX_BYTES:,}")
        text = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such schema file; check the path, or make one with `nacre schema`") from None
    except OSError as error:
        raise DataError(f"{path}: cannot read the schema file ({error.strerror}); check the path") from None
    try:
        return parse(text)
    except SchemaError as error:
        raise type(error)(f"{path}: {error}") from None


def parse(source: str | bytes | Mapping[str, Any]) -> Schema:
    """A schema from JSON text or from the object it holds."""
    raw = _decode(source) if isinstance(source, (str, bytes)) else source
    raw = _object(raw, "the schema", _KEYS)
    if "format" not in raw:
        raise SchemaError(f'the schema has no "format"; add "format": {FORMAT}')
    if type(raw["format"]) is not int or raw["format"] != FORMAT:
        raise SchemaError(
            f"the schema has format {raw['format']!r}; this version of nacre reads format {FORMAT}: "
            "update nacre, or write the schema again"
        )
    columns = _object(raw.get("columns"), '"columns"')
    return Schema(
        columns={name: column_of(name, spec) for name, spec in columns.items()},
        rows=raw.get("rows"),
        unit=None if raw.get("unit") is None else _unit(raw["unit"]),
        dependencies=tuple(_dependency(d, i) for i, d in enumerate(_list(raw, "dependencies"))),
        impossible=tuple(_rule(r, i) for i, r in enumerate(_list(raw, "impossible"))),
        provenance=raw.get("provenance", {}),
        attestations=tuple(_attestation(a, i) for i, a in enumerate(_list(raw, "attestations"))),
        purchases=tuple(_purchase(p, i) for i, p in enumerate(_list(raw, "purchases"))),
    )


def _decode(source: str | bytes) -> Any:
    if len(source) > MAX_BYTES:
        raise SchemaError(f"the schema text has {len(source):,} characters; at most {MAX_BYTES:,}")
    try:
        return documents.parse(source, MAX_BYTES)
    except ValueError as error:
        raise SchemaError(f"not a schema: {error}") from None


def _object(value: Any, where: str, allowed: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"{where} is {_short(value)}; write an object {{...}}")
    for key in value:
        if allowed is not None and key not in allowed:
            raise SchemaError(f"{where} has the unknown key {key!r}; the keys are {', '.join(allowed)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _list(raw: Mapping[str, Any], key: str) -> list:
    value = raw.get(key, [])
    if not isinstance(value, list):
        raise SchemaError(f'"{key}" is {_short(value)}; write a list [...]')
    return value


def column_of(name: str, spec: Any) -> Column:
    where = f"column {name!r}"
    kind = _object(spec, where).get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"{where}: kind is {_short(kind)}; choose one of {', '.join(KINDS)}")
    _object(spec, where, ("kind", *_COLUMN_KEYS[kind]))
    try:
        return KINDS[kind](**{key: value for key, value in spec.items() if key != "kind"})
    except SchemaError as error:
        raise named(error, name) from None


def _keys(value: Any, where: str, keys: tuple[str, ...]) -> list[Any]:
    _object(value, where, keys)
    lacking = [key for key in keys if key not in value]
    if lacking:
        raise SchemaError(f"{where} has no {lacking[0]!r}; it needs {', '.join(keys)}")
    return [value[key] for key in keys]


def _unit(raw: Any) -> Unit:
    return Unit(*_keys(raw, '"unit"', ("column", "cap")))


def _dependency(raw: Any, i: int) -> Dependency:
    where = f"dependencies[{i}]"
    determinant, dependent, pairs = _keys(raw, where, ("determinant", "dependent", "mapping"))
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise SchemaError(f"{where}: mapping is {_short(pairs)}; write pairs [[from, to], ...]")
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if isinstance(key, (list, dict)) or isinstance(value, (list, dict)):
            raise SchemaError(f"{where}: mapping has the pair {_short([key, value])}; write single values")
        if key in mapping:
            raise SchemaError(f"{where}: mapping has two entries for {key!r}; keep one")
        mapping[key] = value
    return Dependency(determinant, dependent, mapping)


def _rule(raw: Any, i: int) -> dict[str, Any]:
    where = f"impossible[{i}]"
    rule: dict[str, Any] = {}
    for name, condition in _object(raw, where).items():
        if isinstance(condition, Mapping):
            condition = Between(*_keys(condition, f"{where}, column {name!r}", ("low", "high")))
        rule[name] = condition
    return rule


def _attestation(raw: Any, i: int) -> Attestation:
    where = f"attestations[{i}]"
    by, why, facts = _keys(raw, where, ("by", "why", "facts"))
    good = isinstance(facts, list) and all(
        isinstance(f, list) and len(f) == 2 and isinstance(f[0], (str, type(None))) and isinstance(f[1], str)
        for f in facts
    )
    if not good:
        raise SchemaError(f"{where}: facts is {_short(facts)}; write pairs [column or null, fact]")
    return Attestation(by, why, tuple((f[0], f[1]) for f in facts))


def _purchase(raw: Any, i: int) -> Purchase:
    return Purchase(*_keys(raw, f"purchases[{i}]", ("epsilon", "delta", "neighbours", "cap")))
