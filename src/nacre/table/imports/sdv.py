"""SDV metadata (docs.sdv.dev, Metadata JSON): `METADATA_SPEC_VERSION` V1, SINGLE_TABLE_V1 and MULTI_TABLE_V1, and V2,
which also holds ranges and lists of values, mostly as SDV found them in the data."""

from __future__ import annotations

from nacre.table.checking import short
from nacre.table.imports.base import (
    DAY,
    INTEGER,
    KEY,
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
from nacre.table.rules import Geo

_SURROGATES = {
    "name": "name", "first_name": "first_name", "last_name": "last_name", "email": "email", "phone_number": "phone",
    "address": "address", "street_address": "address", "company": "company", "iban": "iban",
    "credit_card_number": "card", "uuid4": "uuid",
}  # fmt: skip
_PLAIN = {"categorical": TEXT, "boolean": TRUTH, "numerical": NUMBER, "datetime": MOMENT}
_DEGREES = {"latitude": 90, "longitude": 180}
_NAMES = ("id", "text", "unknown")
_SPEC = {"sdtype", "pii", "regex_format", "datetime_format", "computer_representation", "order", "order_by",
         "range_min", "range_max", "range_values", "range_is_nullable", "decimal_places",
         "high_cardinality"}  # fmt: skip
_TABLE = {"columns", "primary_key", "alternate_keys", "METADATA_SPEC_VERSION", "relationships", "tables"}


def claims(raw: object) -> bool:
    return isinstance(raw, dict) and ("METADATA_SPEC_VERSION" in raw or _has_sdtypes(raw.get("columns")))


def _has_sdtypes(columns: Raw) -> bool:
    return isinstance(columns, dict) and any(isinstance(c, dict) and "sdtype" in c for c in columns.values())


def describe(raw: Raw, name: str) -> Document:
    tables = raw.get("tables", {name: raw})
    relations = tuple(
        Relation(r["child_table_name"], _names(r["child_foreign_key"]), r["parent_table_name"],
                 _names(r["parent_primary_key"]))
        for r in raw.get("relationships") or ()
    )  # fmt: skip
    return Document({table: _table(table, told) for table, told in tables.items()}, relations)


def _table(name: str, raw: dict[str, Raw]) -> Described:
    found = Described(name)
    keys = [*([raw["primary_key"]] if raw.get("primary_key") else []), *(raw.get("alternate_keys") or ())]
    unique = {_names(key)[0] for key in keys if len(_names(key)) == 1}
    for column, spec in raw["columns"].items():
        found.add(column, _told(found, column, spec, column in unique))
    for key in keys:
        found.key(_names(key), "key")
    for relationship in raw.get("column_relationships") or ():
        if relationship["type"] == "gps" and (place := _place(found, raw, relationship)):
            found.rules.append(place)
            continue
        found.leave(f"the relationship {relationship['type']!r} of {', '.join(relationship['column_names'])}")
    for other in sorted(set(raw) - _TABLE - {"column_relationships"}):
        if raw[other]:
            found.leave(f"{other}: {short(raw[other])}")
    return found


def _place(found: Described, raw: dict[str, Raw], relationship: dict[str, Raw]) -> Geo | None:
    """The rule of a pair of coordinates; None where the columns are others."""
    names = relationship["column_names"]
    kinds = {raw["columns"][name]["sdtype"]: name for name in names}
    if len(names) != 2 or set(kinds) != set(_DEGREES):
        return None
    same = found.columns[names[0]].nullable == found.columns[names[1]].nullable
    return Geo((kinds["latitude"], kinds["longitude"])) if same else None


def _told(found: Described, name: str, spec: dict[str, Raw], unique: bool) -> Told:
    told = _of_kind(found, name, spec, unique)
    told.nullable = spec.get("range_is_nullable") is not False
    return told


def _of_kind(found: Described, name: str, spec: dict[str, Raw], unique: bool) -> Told:
    sdtype = spec["sdtype"]
    for other in sorted(set(spec) - _SPEC):
        found.leave(f"{other}: {short(spec[other])}", name)
    if spec.get("regex_format"):
        found.leave(f"values written as {spec['regex_format']}: names are made anew in a form of their own", name)
    if sdtype in _SURROGATES:
        return Told(TEXT, surrogate=_SURROGATES[sdtype], unique=unique)
    if sdtype == "datetime":
        return _moment(found, name, spec)
    if sdtype == "numerical":
        return _number(found, name, spec)
    if sdtype in ("categorical", "ordinal"):
        if spec.get("order_by"):
            found.leave(f"an order by {spec['order_by']}: the schema has no list yet to put in order", name)
        values = spec.get("order", spec.get("range_values"))
        return Told(TEXT, values=values, ordered="order" in spec or sdtype == "ordinal")
    if sdtype in _DEGREES:
        return Told(NUMBER, -_DEGREES[sdtype], _DEGREES[sdtype])
    if sdtype in _PLAIN:
        return Told(_PLAIN[sdtype])
    if sdtype not in _NAMES:
        found.leave(f"the kind {sdtype}: made anew as plain names", name)
    return Told(KEY)


def _moment(found: Described, name: str, spec: dict[str, Raw]) -> Told:
    pattern = spec.get("datetime_format")
    if not isinstance(pattern, str):
        return Told(MOMENT, spec.get("range_min"), spec.get("range_max"))
    clock = any(f"%{letter}" in pattern for letter in "HIMSfcXT")
    told = Told(MOMENT if clock else DAY, spec.get("range_min"), spec.get("range_max"), format=pattern)
    try:
        iso(told, pattern)
    except ValueError:
        found.leave(f"a range not written as {pattern}", name)
        told.low = told.high = None
    return told


def _number(found: Described, name: str, spec: dict[str, Raw]) -> Told:
    stored = str(spec.get("computer_representation", ""))
    if stored:
        found.leave(f"the width of numbers stored as {stored}", name)
    digits = spec.get("decimal_places")
    whole = "Int" in stored or digits == 0
    return Told(INTEGER if whole else NUMBER, spec.get("range_min"), spec.get("range_max"), decimals=digits)


def _names(key: Raw) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)
