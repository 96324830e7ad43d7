"""Tables of a database as SQL defines them, for files that hold them all."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns import Column, Numeric
from nacre.table.database.database import Database
from nacre.table.sources.banks import quoted

MOST_DIGITS = 15  # that a number keeps


def definition(name: str, types: Mapping[str, str], database: Database) -> str:
    """CREATE TABLE, with the id as its primary key and, of an owned table, its keys and what is never null."""
    owned = name in database.owned
    columns = database.tables[name].columns
    lines = []
    for column, kind in types.items():
        parts = [quoted(column), kind]
        if owned and column in columns and not columns[column].nullable:
            parts.append("NOT NULL")
        if column == database.id(name):
            parts.append("PRIMARY KEY")
        lines.append(" ".join(parts))
    if owned:
        owner = database.owner(name)
        keys = (*((owner,) if owner else ()), *database.implied(name), *database.references(name))
        lines += [
            f"FOREIGN KEY ({quoted(k.column)}) REFERENCES {quoted(k.parent)} ({quoted(k.parent_column)})" for k in keys
        ]
    return f"CREATE TABLE {quoted(name)} (" + ", ".join(lines) + ")"


def decimal_type(column: Column | None, kind: pa.DataType) -> str | None:
    """The exact type of numbers that all have so many decimals, where their digits fit."""
    if not isinstance(column, Numeric) or column.decimals is None or not pa.types.is_floating(kind):
        return None
    if column.bounds is None:
        return None
    digits = len(str(int(max(abs(b) for b in column.bounds)))) + column.decimals
    return f"DECIMAL({digits}, {column.decimals})" if digits <= MOST_DIGITS else None


def check_columns(table: pa.Table, name: str, database: Database) -> None:
    """SQL takes names in large and small letters for the same; keys need their columns."""
    seen: dict[str, str] = {}
    for column in table.schema.names:
        other = seen.setdefault(column.casefold(), column)
        if other != column:
            raise DataError(
                f"table {name!r} has columns {other!r} and {column!r}, which SQL takes for one name; rename one of "
                "them, or write a folder"
            )
    for key in database.keys:
        for of, column in ((key.child, key.column), (key.parent, key.parent_column)):
            if of == name and column not in table.schema.names:
                raise DataError(f"table {name!r} has no column {column!r}, which the key {key} needs")
