"""Frictionless Table Schema (specs.frictionlessdata.io/table-schema), of the table as it is written to CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.table.columns import Boolean, Column, Datetime, Numeric, Tensor, Text
from nacre.table.exports.base import Export, Subject, told, written_ends
from nacre.table.schema import Schema

if TYPE_CHECKING:
    from nacre.typed import Json

_FORMATS = {"email": "email", "uuid": "uuid"}


def write(schema: Schema, subject: Subject) -> Export:
    left: dict[str, list[str]] = {}
    fields = [_field(name, column, left) for name, column in schema.columns.items()]
    return told({"fields": fields, "missingValues": [""]}, left, schema)


def _field(name: str, column: Column, left: dict[str, list[str]]) -> dict[str, Json]:
    limits: dict[str, Json] = {} if column.nullable or not column.learnt else {"required": True}
    field: dict[str, Json] = {"name": name, **_type(column)}
    if field.pop("as_text", False):
        left.setdefault("how its values are written, and its range: texts of their own", []).append(name)
    elif (ends := written_ends(column)) is not None:
        limits |= {"minimum": ends[0], "maximum": ends[1]}
    if column.labelled and not isinstance(column, Boolean):
        limits |= {"enum": list(column.labels)} if column.labels else {}
        field |= {"categories": list(column.labels), "categoriesOrdered": True} if column.ordered else {}
    if not column.learnt and (not isinstance(column, Text) or column.unique):
        limits["unique"] = True
    if column.null_words:
        field["missingValues"] = ["", *column.null_words]
    return {**field, **({"constraints": limits} if limits else {})}


def _type(column: Column) -> dict[str, Json]:
    if isinstance(column, Numeric):
        return _number(column)
    if isinstance(column, Datetime):
        return _moment(column)
    if isinstance(column, Boolean):
        words = column.format
        return {"type": "boolean", **({"trueValues": [words.true], "falseValues": [words.false]} if words else {})}
    if isinstance(column, Tensor):
        return {"type": "array"}
    if isinstance(column, Text) and column.surrogate in _FORMATS:
        return {"type": "string", "format": _FORMATS[column.surrogate]}
    return {"type": "string" if column.text or column.labelled else "integer"}


def _number(column: Numeric) -> dict[str, Json]:
    kind, format = "integer" if column.integer else "number", column.format
    if format is None or format.plain:
        return {"type": kind}
    if format.width or format.negative != "-$1":
        return {"type": "string", "as_text": True}
    marks = {"decimalChar": format.decimal, "groupChar": format.thousands}
    known = {key: mark for key, mark in marks.items() if mark not in ("", ".") or (key == "groupChar" and mark)}
    return {"type": kind, **known, **({"bareNumber": False} if format.prefix or format.suffix else {})}


def _moment(column: Datetime) -> dict[str, Json]:
    kind = "datetime" if column.unit != "day" or (column.format is not None and column.format.clock) else "date"
    if column.tz is not None and column.format is None:
        return {"type": "string", "as_text": True}
    if kind == "date" and column.format is None:
        return {"type": "date"}
    written = column.format_of_typed or column.format
    pattern = "%Y-%m-%d %H:%M:%S.%f" if written is None else written.pattern
    if "%-" in pattern or "%^" in pattern or "%P" in pattern:  # not in every strptime
        return {"type": "string", "as_text": True}
    return {"type": kind, "format": pattern}
