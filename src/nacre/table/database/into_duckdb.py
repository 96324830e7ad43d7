"""The tables of a database into a new DuckDB file, by the optional package duckdb."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.database.database import Database
from nacre.table.database.definitions import check_columns, decimal_type, definition
from nacre.table.sources.banks import quoted
from nacre.table.sources.checks import first_line
from nacre.table.sources.duckdb import library

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_GIVEN = "rows that nacre gives"


def fill(path: Path, tables: Mapping[str, pa.Table], database: Database) -> None:
    """Write the tables in the place of an empty file; DataError where rows break a key."""
    duckdb = library(path)
    path.unlink()  # DuckDB makes its file itself
    try:
        with contextlib.closing(duckdb.connect(path)) as connection:
            connection.execute("BEGIN")
            for name, table in tables.items():
                check_columns(table, name, database)
                _insert(connection, name, table, database)
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise DataError(
            f"the tables cannot be written into a DuckDB file ({first_line(error)}); nothing was written"
        ) from None
    finally:
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def _insert(connection: DuckDBPyConnection, name: str, table: pa.Table, database: Database) -> None:
    """With the types that DuckDB itself finds for those of Arrow."""
    plain = [field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
             for field in table.schema]  # fmt: skip
    connection.register(_GIVEN, table.cast(pa.schema(plain)))
    described = connection.execute(f"DESCRIBE SELECT * FROM {quoted(_GIVEN)}").fetchall()
    columns = database.tables[name].columns
    types = {
        field.name: decimal_type(columns.get(field.name), field.type) or row[1] for field, row in zip(plain, described)
    }
    connection.execute(definition(name, types, database))
    listed = ", ".join(map(quoted, types))
    connection.execute(f"INSERT INTO {quoted(name)} ({listed}) SELECT {listed} FROM {quoted(_GIVEN)}")
    connection.unregister(_GIVEN)
