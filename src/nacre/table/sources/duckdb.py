"""Tables of a DuckDB file, by the optional package duckdb. Every value has the type of its column."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.imports.base import Relation
from nacre.table.sources.banks import Keys, known_table, quoted
from nacre.table.sources.checks import READ_ERRORS, check_names, first_line, slices
from nacre.table.sources.options import Options

if TYPE_CHECKING:
    from types import ModuleType

    from duckdb import DuckDBPyConnection

_CLOSED = {  # what a file could otherwise reach or load
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
_TABLES = (
    "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary AND schema_name = 'main' "
    "AND database_name = current_database() ORDER BY table_oid"
)
_CONSTRAINTS = (
    "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
    "FROM duckdb_constraints() WHERE schema_name = 'main' AND database_name = current_database() "
    "AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY') ORDER BY table_oid, constraint_index"
)


def library(path: object) -> ModuleType:
    """The package, or a DataError that says how it is had."""
    try:
        import duckdb
    except ImportError:
        raise DataError(f"{path}: DuckDB files need the package duckdb: pip install 'nacre[duckdb]'") from None
    return duckdb


class DuckBank:
    """One DuckDB file."""

    def __init__(self, path: Path, options: Options):
        self.path, self.options = path, options
        self._duckdb = library(path)
        with self.connected() as connection:
            self.names = [row[0] for row in connection.execute(_TABLES).fetchall()]

    @contextlib.contextmanager
    def connected(self) -> Iterator[DuckDBPyConnection]:
        """A connection that can only read."""
        try:
            with contextlib.closing(self._duckdb.connect(self.path, read_only=True, config=_CLOSED)) as connection:
                yield connection
        except (self._duckdb.Error, *READ_ERRORS) as error:
            raise DataError(
                f"{self.path}: not a readable DuckDB file ({first_line(error)}); check that it is complete, that no "
                "other program has it open, and that the package duckdb is new enough"
            ) from None

    def table(self, name: str) -> DuckTable:
        return DuckTable(self, known_table(self, name))

    def keys(self) -> Keys:
        primary: dict[str, str] = {}
        unique: dict[str, frozenset[str]] = dict.fromkeys(self.names, frozenset())
        relations: list[Relation] = []
        with self.connected() as connection:
            found = connection.execute(_CONSTRAINTS).fetchall()
        for table, kind, columns, parent, theirs in found:
            if kind == "FOREIGN KEY":
                relations.append(Relation(table, tuple(columns), parent, tuple(theirs)))
            elif len(columns) == 1 and kind == "PRIMARY KEY":
                primary[table] = columns[0]
            elif len(columns) == 1:
                unique[table] |= {columns[0]}
        return Keys(primary, unique, tuple(relations))


class DuckTable:
    """One table of a DuckDB file, read in the order in which its rows were inserted."""

    def __init__(self, bank: DuckBank, name: str):
        self.bank, self.name = bank, name
        self.path = f"{bank.path}, table {name!r}"

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        with self.bank.connected() as connection:
            found = connection.execute(f"SELECT * FROM {quoted(self.name)} LIMIT 0").to_arrow_table().schema
        check_names(Path(self.path), found.names, self.bank.options)
        return found

    def look(self) -> None:
        """Names and types were read when it was opened."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.arrow_schema.names if columns is None else list(columns)
        listed = ", ".join(map(quoted, names)) or "NULL"
        rows = self.bank.options.batch_rows
        with self.bank.connected() as connection:
            reader = connection.execute(f"SELECT {listed} FROM {quoted(self.name)}").to_arrow_reader(rows)
            for batch in reader:
                yield from slices(batch.select(names), rows)
