"""Frictionless Table Schema and Data Package (specs.frictionlessdata.io; datapackage.org for version 2)."""

from __future__ import annotations

import contextlib

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.formats import NumberFormat, TruthFormat
from nacre.table.imports.base import (
    DAY,
    INTEGER,
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    Described,
    Document,
    Raw,
    Relation,
    Told,
    iso,
)

_KINDS = {
    "string": TEXT, "any": TEXT, "number": NUMBER, "integer": INTEGER, "boolean": TRUTH, "date": DAY,
    "datetime": MOMENT, "year": INTEGER, "yearmonth": DAY,
}  # fmt: skip
_SURROGATES = {"email": "email", "uuid": "uuid"}
_FIELD = {
    "name", "type", "format", "constraints", "categories", "categoriesOrdered", "missingValues", "decimalChar",
    "groupChar", "bareNumber", "trueValues", "falseValues", "title", "description", "example",
}  # fmt: skip
_SCHEMA = {"fields", "missingValues", "primaryKey", "uniqueKeys", "foreignKeys", "$schema", "profile", "fieldsMatch"}
_ENDS = {"minimum": ("low", False), "exclusiveMinimum": ("low", True), "maximum": ("high", False),
         "exclusiveMaximum": ("high", True)}  # fmt: skip


def claims(raw: object) -> bool:
    if not isinstance(raw, dict):
        return False
    return isinstance(raw.get("fields"), list) or isinstance(raw.get("resources"), list)


def describe(raw: Raw, name: str) -> Document:
    if "fields" in raw:
        return _document({name: raw})
    schemas = {}
    for resource in raw["resources"]:
        schema = resource.get("schema")
        if isinstance(schema, str):
            raise SchemaError(
                f"the schema of resource {resource.get('name')!r} lies in {short(schema)}: give that file"
            )
        if isinstance(schema, dict):
            schemas[resource["name"]] = schema
    return _document(schemas)


def _document(schemas: dict[str, Raw]) -> Document:
    relations = []
    for table, raw in schemas.items():
        for key in raw.get("foreignKeys") or ():
            there = key["reference"]
            parent = there.get("resource") or table
            relations.append(Relation(table, _names(key["fields"]), parent, _names(there["fields"])))
    return Document({table: _table(table, raw) for table, raw in schemas.items()}, tuple(relations))


def _table(name: str, raw: dict[str, Raw]) -> Described:
    found = Described(name)
    for field in raw["fields"]:
        found.add(field["name"], _told(found, field, raw.get("missingValues") or ()))
        if "title" in field or "description" in field:
            found.leave("titles and descriptions", field["name"])
    keys = [raw["primaryKey"]] if raw.get("primaryKey") else []
    for key in (*keys, *(raw.get("uniqueKeys") or ())):
        found.key(_names(key), "key")
    for other in sorted(set(raw) - _SCHEMA):
        found.leave(f"{other}: {short(raw[other])}")
    return found


def _told(found: Described, field: dict[str, Raw], missing: Raw) -> Told:
    name, kind = field["name"], field.get("type", "any")
    limits = dict(field.get("constraints") or {})
    told = Told(_KINDS.get(kind), nullable=not limits.pop("required", False), unique=bool(limits.pop("unique", False)))
    told.null_words = _words(field.get("missingValues", missing))
    told.values, told.ordered = limits.pop("enum", None), bool(field.get("categoriesOrdered"))
    if field.get("categories"):
        told.values = [c["value"] if isinstance(c, dict) else c for c in field["categories"]]
    for limit, (end, opened) in _ENDS.items():
        if limit in limits:
            setattr(told, end, limits.pop(limit))
            setattr(told, f"open_{end}", opened)
    for limit, value in limits.items():
        found.leave(f"{limit}: {short(value)}", name)
    for other in sorted(set(field) - _FIELD):
        found.leave(f"{other}: {short(field[other])}", name)
    _writing(found, told, kind, field)
    return told


def _writing(found: Described, told: Told, kind: str, field: dict[str, Raw]) -> None:
    name, written = field["name"], field.get("format", "default")
    if kind in ("number", "integer") and ("decimalChar" in field or "groupChar" in field):
        told.format = NumberFormat(decimal=field.get("decimalChar", "."), thousands=field.get("groupChar", ""))
    if field.get("bareNumber") is False:
        found.leave("bareNumber: the affix of the numbers is not named", name)
    if kind == "boolean" and ("trueValues" in field or "falseValues" in field):
        true, false = field.get("trueValues", ["true"]), field.get("falseValues", ["false"])
        told.format = TruthFormat(true[0], false[0])
        if len(true) + len(false) > 2:
            found.leave("further words for true and false", name)
    if kind == "yearmonth":
        told.format = "%Y-%m"
    elif kind in ("date", "datetime") and written not in ("default", "any"):
        told.format = written
        with contextlib.suppress(ValueError):  # ends in ISO 8601 stay what they are
            iso(told, written)
    elif kind == "string" and written in _SURROGATES and told.values is None:
        told.surrogate = _SURROGATES[written]
    elif written not in ("default", "any"):
        found.leave(f"format: {short(written)}", name)


def _words(missing: Raw) -> tuple[str, ...]:
    """The words for a missing value, but for the empty text, which always is one."""
    words = [m["value"] if isinstance(m, dict) else m for m in missing]
    return tuple(dict.fromkeys(w for w in words if w != ""))


def _names(key: Raw) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)
