"""The tables of a database into a new SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns import Column
from nacre.table.database.database import Database
from nacre.table.database.definitions import MOST_DIGITS, check_columns, decimal_type, definition
from nacre.table.sources.banks import quoted
from nacre.table.sources.checks import first_line
from nacre.table.values import labels

_ROWS = 32_768  # at a time
_TYPES = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_integer, "INTEGER"),
    (pa.types.is_floating, "REAL"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_timestamp, "TIMESTAMP"),
    (labels.is_binary, "BLOB"),
)


def fill(path: Path, tables: Mapping[str, pa.Table], database: Database) -> None:
    """Write the tables into an empty file; DataError where rows break a key."""
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")  # the file is not there until it is whole
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA foreign_keys = OFF")  # checked all together below, which says where
            connection.execute("BEGIN")
            for name, table in tables.items():
                check_columns(table, name, database)
                _insert(connection, name, table, database)
            _check_keys(connection, database)
            connection.execute("COMMIT")
    except (sqlite3.Error, OverflowError) as error:
        raise DataError(f"the tables cannot be written into a SQLite file ({first_line(error)})") from None


def _insert(connection: sqlite3.Connection, name: str, table: pa.Table, database: Database) -> None:
    columns = database.tables[name].columns
    types = {field.name: _type(field, columns.get(field.name), name) for field in table.schema}
    connection.execute(definition(name, types, database))
    listed, places = ", ".join(map(quoted, types)), ", ".join("?" * len(types))
    insert = f"INSERT INTO {quoted(name)} ({listed}) VALUES ({places})"
    try:
        for batch in table.to_batches(max_chunksize=_ROWS):
            connection.executemany(insert, _rows(batch))
    except sqlite3.IntegrityError as error:
        raise DataError(f"table {name!r}: rows break what its schema says ({first_line(error)})") from None


def _type(field: pa.Field, column: Column | None, table: str) -> str:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_nested(kind):
        raise DataError(
            f"table {table!r}: column {field.name!r} holds arrays, which SQLite cannot; write a DuckDB file or a folder"
        )
    if pa.types.is_decimal(kind) and kind.precision <= MOST_DIGITS:  # SQLite would round others, but as texts
        return f"DECIMAL({kind.precision}, {kind.scale})"
    exact = decimal_type(column, kind)
    return exact or next((name for test, name in _TYPES if test(kind)), "TEXT")


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    return zip(*(_values(array) for array in batch.columns))


def _values(array: pa.Array) -> list[object]:
    """As SQLite holds them: numbers, texts and bytes; dates and times as texts of ISO 8601."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if plain or labels.is_binary(kind) or labels.is_text(kind):
        return array.to_pylist()
    if pa.types.is_decimal(kind):
        return array.cast(pa.string()).to_pylist()
    return labels.as_text(labels.unpack(array)).to_pylist()


def _check_keys(connection: sqlite3.Connection, database: Database) -> None:
    found = connection.execute("PRAGMA foreign_key_check").fetchone()
    if found is None:
        return
    table, _, parent, number = found
    column = next(row[3] for row in connection.execute(f"PRAGMA foreign_key_list({quoted(table)})") if row[0] == number)
    key = next(k for k in database.keys if (k.child, k.column, k.parent) == (table, column, parent))
    raise DataError(f"key {key}: {table!r} has rows that name no row of {parent!r}; nothing was written")
