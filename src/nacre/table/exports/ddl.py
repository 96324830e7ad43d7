"""A table definition in SQL that PostgreSQL and SQLite both read."""

from __future__ import annotations

import numpy as np

from nacre.table.columns import Boolean, Column, Datetime, Identifier, Numeric, Tensor, Text
from nacre.table.exports.base import Export, Subject, told
from nacre.table.schema import Schema

_MOST_LABELS = 1_000  # of a CHECK
_LAST = {"day": 0, "hour": 3_599_999_999, "minute": 59_999_999, "s": 999_999, "ms": 999, "us": 0}


def write(schema: Schema, subject: Subject) -> Export:
    left: dict[str, list[str]] = {}
    lines = [f"  {_quoted(name)} {_definition(name, column, left)}" for name, column in schema.columns.items()]
    body = ",\n".join(lines)
    return told(f"CREATE TABLE {_quoted(subject.name)} (\n{body}\n);\n", left, schema)


def _definition(name: str, column: Column, left: dict[str, list[str]]) -> str:
    parts = [_type(column)]
    if not column.nullable and column.learnt:
        parts.append("NOT NULL")
    if isinstance(column, Identifier) or (isinstance(column, Text) and column.unique):
        parts.append("NOT NULL UNIQUE")
    check = _check(_quoted(name), column)
    if check:
        parts.append(f"CHECK ({check})")
    elif (column.ends is not None or column.labels) and not isinstance(column, Boolean):
        left.setdefault("its range or its labels", []).append(name)
    return " ".join(parts)


def _type(column: Column) -> str:
    if column.text:
        return "TEXT"
    if isinstance(column, Numeric):
        return "BIGINT" if column.integer else "DOUBLE PRECISION" if column.decimals is None else _decimal(column)
    if isinstance(column, Datetime):
        if column.tz is not None:
            return "TIMESTAMP WITH TIME ZONE"
        return "DATE" if column.unit == "day" and not (column.format and column.format.clock) else "TIMESTAMP"
    if isinstance(column, Boolean):
        return "BOOLEAN"
    return "TEXT" if column.labelled or isinstance(column, Tensor) else "BIGINT"


def _decimal(column: Numeric) -> str:
    if column.bounds is None:
        return "NUMERIC"
    digits = len(str(int(max(abs(b) for b in column.bounds))))
    return f"NUMERIC({digits + (column.decimals or 0)}, {column.decimals})"


def _check(name: str, column: Column) -> str | None:
    """The domain as a condition; None where a text or a zone would be compared letter by letter."""
    if isinstance(column, Boolean):
        words = column.format
        return f"{name} IN ({_text(words.true)}, {_text(words.false)})" if words and column.text else None
    if column.labelled:
        fits = 0 < len(column.labels) <= _MOST_LABELS
        return f"{name} IN ({', '.join(map(_text, column.labels))})" if fits else None
    if column.text or column.ends is None or column.shape or column.zone is not None:
        return None
    low, high = column.ends
    if isinstance(column, Datetime):
        return f"{name} BETWEEN {_text(_moment(low, column))} AND {_text(_moment(high + _LAST[column.unit], column))}"
    return f"{name} BETWEEN {low!r} AND {high!r}"


def _moment(value: int, column: Datetime) -> str:
    """To the microsecond at the end of the unit, so that it is right as a time in PostgreSQL and as a text in SQLite,
    whose programs write more or fewer digits."""
    moment = np.datetime64(value, "us")
    if _type(column) == "DATE":
        return str(moment.astype("datetime64[D]"))
    text = str(moment).replace("T", " ")
    return text.removesuffix(".000000")


def _text(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
