"""Schemas of pandera, as `DataFrameSchema.to_yaml` and `to_json` write them."""

from __future__ import annotations

import re

from nacre.table.checking import short
from nacre.table.imports.base import DAY, INTEGER, MOMENT, NUMBER, TEXT, TRUTH, Described, Document, Raw, Told

_COLUMN = {"title", "description", "dtype", "nullable", "unique", "coerce", "required", "regex", "checks", "name",
           "metadata", "default", "parsers", "drop_invalid_rows"}  # fmt: skip
_TABLE = {"schema_type", "version", "api", "columns", "title", "description", "dtype", "coerce", "strict", "name",
          "ordered", "unique", "report_duplicates", "unique_column_names", "add_missing_columns", "metadata",
          "drop_invalid_rows"}  # fmt: skip
_ENDS = {"greater_than_or_equal_to": ("low", False), "greater_than": ("low", True),
         "less_than_or_equal_to": ("high", False), "less_than": ("high", True)}  # fmt: skip
_KINDS = (  # of the name of a type, without its library and in small letters
    (r"u?int(\d+)?", INTEGER), (r"(float|double)(\d+)?", NUMBER), (r"decimal.*", NUMBER), (r"bool(ean)?|bool_", TRUTH),
    (r"datetime(64)?.*|timestamp.*", MOMENT), (r"date(32|64)?(\[.*\])?", DAY), (r"(str|string|object|utf8|category|"
     r"categorical|enum|large_string)\b.*", TEXT),
)  # fmt: skip


def claims(raw: object) -> bool:
    if not isinstance(raw, dict) or not isinstance(raw.get("columns"), dict):
        return False
    return "schema_type" in raw or any(isinstance(c, dict) and "dtype" in c for c in raw["columns"].values())


def describe(raw: Raw, name: str) -> Document:
    found = Described(raw.get("name") or name)
    for column, spec in raw["columns"].items():
        if spec.get("regex"):
            found.leave(f"the columns whose names match {column}")
            continue
        found.add(column, _told(found, column, spec))
        if spec.get("required") is False:
            found.leave("that the column may be absent: those of a schema are there", column)
        if spec.get("title") or spec.get("description"):
            found.leave("titles and descriptions", column)
    for index in raw.get("index") or ():
        found.leave(f"the index {index.get('name') or ''}: what comes out counts its rows".replace(" :", ":"))
    if raw.get("unique"):
        unique = raw["unique"]
        found.key([unique] if isinstance(unique, str) else unique, "unique")
    checks = raw.get("checks") or {}
    for check in checks:
        found.leave(f"the check {short(check)} of the whole table")
    for other in sorted(set(raw) - _TABLE - {"index", "checks"}):
        found.leave(f"{other}: {short(raw[other])}")
    return Document({found.name: found})


def _told(found: Described, name: str, spec: dict[str, Raw]) -> Told:
    dtype = str(spec.get("dtype"))
    told = Told(_kind(dtype), nullable=bool(spec.get("nullable")), unique=bool(spec.get("unique")))
    if zone := re.search(r"\[\w+, ?([\w/+-]+)\]", dtype):
        told.tz = zone.group(1)
    for check, value in _checks(spec).items():
        if isinstance(value, dict) and "value" in value:
            value = value["value"]
        if check in _ENDS:
            end, opened = _ENDS[check]
            _end(told, end, value, opened)
        elif check == "in_range":
            _end(told, "low", value["min_value"], value.get("include_min") is False)
            _end(told, "high", value["max_value"], value.get("include_max") is False)
        elif check == "isin":
            told.values = list(value["allowed_values"] if isinstance(value, dict) else value)
        elif check == "equal_to":
            told.values = [value]
        elif check == "not_nullable":
            told.nullable = not value
        else:
            found.leave(f"the check {check}: {short(value)}", name)
    return told


def _kind(dtype: str) -> str | None:
    name = dtype.rpartition("DataType(")[2].rstrip(")").lower() if "DataType(" in dtype else dtype.lower()
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), TEXT if name == "none" else None)


def _checks(spec: dict[str, Raw]) -> dict[str, Raw]:
    """By name: older versions keep checks under a key of their own, newer ones beside the type."""
    found = {key: value for key, value in spec.items() if key not in _COLUMN}
    own = spec.get("checks") or {}
    for check in own if isinstance(own, list) else [own]:
        named = check.get("options", {}).get("check_name") if isinstance(check, dict) else None
        found |= {named: check["value"]} if named else check
    return found


def _end(told: Told, end: str, value: Raw, opened: bool) -> None:
    """Moments are written with a blank where ISO 8601 has a T."""
    setattr(told, end, value.replace(" ", "T", 1) if isinstance(value, str) else value)
    setattr(told, f"open_{end}", opened)
