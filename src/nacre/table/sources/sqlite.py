"""Tables of a SQLite file. Any value may stand in any column there, whatever type the column was declared to have.

How a column is read follows from its declared type: text is text, BOOLEAN a truth value, and all else is as in a text
file: a number is its digits, and what it stands for is for the schema to say. So is every value of a sort that was not
declared: read by itself, never by what stands around it.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, OwnerWarning
from nacre.table.imports.base import Relation
from nacre.table.sources.banks import Keys, known_table, quoted
from nacre.table.sources.checks import check_names, first_line
from nacre.table.sources.options import Options
from nacre.table.sources.storage import as_written
from nacre.table.values import casting, labels

_ROWS = 32_768  # of a batch, at most: every value is an object while it is read
_EXACT = 2.0**53
_TEXTS = re.compile("CHAR|CLOB|TEXT", re.I)


class SqliteBank:
    """One SQLite file."""

    def __init__(self, path: Path, options: Options):
        self.path, self.options = path, options
        with self.connected() as connection:
            found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            tables = [(_name(name, path), (sql or b"").upper()) for name, sql in found]
        virtual = tuple(name for name, sql in tables if sql.startswith(b"CREATE VIRTUAL"))
        hidden = (*virtual, *(f"{name}_" for name in virtual), "sqlite_")
        self.names = [name for name, _ in tables if name not in virtual and not name.startswith(hidden[len(virtual) :])]

    @contextlib.contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that can only read, in which the file's own definitions are not trusted."""
        try:
            uri = f"file:{quote(str(self.path.absolute()))}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            connection.text_factory = bytes
            with contextlib.closing(connection):
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA cell_size_check = ON")
                yield connection
        except (sqlite3.Error, OverflowError) as error:
            raise DataError(
                f"{self.path}: not a readable SQLite file ({first_line(error)}); check that it is complete"
            ) from None

    def table(self, name: str) -> SqliteTable:
        return SqliteTable(self, known_table(self, name))

    def keys(self) -> Keys:
        primary, unique, relations = {}, {}, []
        with self.connected() as connection:
            for name in self.names:
                own = [_name(row[1], self.path) for row in sorted(_pragma(connection, "table_info", name), key=_rank)
                       if row[5]]  # fmt: skip
                if len(own) == 1:
                    primary[name] = own[0]
                unique[name] = frozenset(_unique(connection, name, self.path))
                relations += _relations(connection, name, self.path)
        found = [r if r.parent_columns else _completed(r, primary) for r in relations]
        return Keys(primary, unique, tuple(r for r in found if r.parent in self.names))


class SqliteTable:
    """One table of a SQLite file, read in the order of its rows."""

    def __init__(self, bank: SqliteBank, name: str):
        self.bank, self.name = bank, name
        self.path = f"{bank.path}, table {name!r}"
        self._told = False

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        with self.bank.connected() as connection:
            found = [row for row in _pragma(connection, "table_xinfo", self.name) if row[6] != 1]
        names = [_name(row[1], self.bank.path) for row in found]
        check_names(Path(self.path), names, self.bank.options)
        return pa.schema([_field(name, row[2].decode(errors="replace")) for name, row in zip(names, found)])

    def look(self) -> None:
        """Names and types were read when it was opened."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.arrow_schema.names if columns is None else list(columns)
        fields = [self.arrow_schema.field(name) for name in names]
        listed = ", ".join(map(quoted, names)) or "NULL"
        strange = 0
        with self.bank.connected() as connection:
            # By an index that covers them, the order of the rows would depend on which columns are read.
            order = ", ".join(self._order(connection))
            cursor = connection.execute(f"SELECT {listed} FROM {quoted(self.name)} ORDER BY {order}")
            while rows := cursor.fetchmany(min(self.bank.options.batch_rows, _ROWS)):
                if not names:
                    yield pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
                    continue
                arrays = []
                for field, values in zip(fields, zip(*rows)):
                    array, lost = _array(field, values, self.bank.options.null_words)
                    arrays.append(array)
                    strange += lost
                yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        if strange and not self._told:
            self._told = True
            warnings.warn(
                f"{self.path}: {strange:,} values of BOOLEAN columns are no truth values and are read as missing",
                OwnerWarning,
                stacklevel=1,
            )

    def _order(self, connection: sqlite3.Connection) -> list[str]:
        """What rows are stored by: their number, or the primary key of tables that do not number them."""
        taken = {name.casefold() for name in self.arrow_schema.names}
        number = next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)
        if number is not None:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute(f"SELECT {number} FROM {quoted(self.name)} LIMIT 0")
                return [number]
        found = sorted(_pragma(connection, "table_info", self.name), key=_rank)
        keys = [row for row in found if row[5]]
        return [quoted(_name(row[1], self.bank.path)) for row in keys or found]


# -- what is declared -------------------------------------------------------------------------------------------------


def _field(name: str, declared: str) -> pa.Field:
    if "BOOL" in declared.upper():
        return pa.field(name, pa.bool_())
    # As SQLite itself has it: INT decides before CHAR.
    typed = _TEXTS.search(declared) and "INT" not in declared.upper()
    return pa.field(name, pa.string()) if typed else as_written(name)


def _pragma(connection: sqlite3.Connection, what: str, name: str) -> list[tuple]:
    return connection.execute(f"PRAGMA {what}({quoted(name)})").fetchall()


def _rank(row: tuple) -> int:
    return row[5]


def _unique(connection: sqlite3.Connection, table: str, path: Path) -> Iterator[str]:
    """The columns of which no value may come twice, each by itself and in all rows."""
    for row in _pragma(connection, "index_list", table):
        if row[2] and not row[4]:
            columns = _pragma(connection, "index_info", _name(row[1], path))
            if len(columns) == 1 and columns[0][2] is not None:
                yield _name(columns[0][2], path)


def _relations(connection: sqlite3.Connection, table: str, path: Path) -> list[Relation]:
    found: dict[int, list[tuple]] = {}
    for row in _pragma(connection, "foreign_key_list", table):
        found.setdefault(row[0], []).append(row)
    made = []
    for rows in reversed(found.values()):  # SQLite lists the last one first
        parent = _name(rows[0][2], path)
        theirs = tuple(_name(row[4], path) for row in rows if row[4] is not None)
        made.append(Relation(table, tuple(_name(row[3], path) for row in rows), parent, theirs))
    return made


def _completed(relation: Relation, primary: dict[str, str]) -> Relation:
    """A key that names no column of its parent leads to the primary key."""
    there = primary.get(relation.parent)
    return Relation(relation.child, relation.columns, relation.parent, () if there is None else (there,))


def _name(name: bytes, path: Path) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise DataError(f"{path}: the name {name!r} is not UTF-8; rename the table or column") from None


# -- values -----------------------------------------------------------------------------------------------------------


def _array(field: pa.Field, values: Sequence[object], words: tuple[str, ...]) -> tuple[pa.Array, int]:
    """Values of one column, and how many of them could not be read."""
    array = _texts(values)
    if words:
        array = pc.if_else(pc.is_in(array, pa.array(words, pa.string())), None, array)
    if not pa.types.is_boolean(field.type):
        return array, 0
    truth, null, bad = casting.booleans(array)
    return pa.array(truth.astype(bool), mask=null), int(bad.sum())


def _texts(values: Sequence[object]) -> pa.Array:
    """The text of each value, which depends on that value alone; arrays of one sort are made at once."""
    sorts = set(map(type, values)) - {type(None)}
    if sorts == {int}:
        return pa.array(values, pa.int64()).cast(pa.string())
    if sorts == {bytes} and not any(b"\0" in v for v in values if isinstance(v, bytes)):
        with contextlib.suppress(pa.ArrowInvalid):  # bytes that are no text
            return pa.array(values, pa.binary()).cast(pa.string())
    return pa.array([_text(v) for v in values], pa.string())


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return labels.text_of_bytes(value)
    if isinstance(value, float):
        if abs(value) < _EXACT:
            return str(int(value)) if value.is_integer() else repr(value)
        return f"{value:.16e}"  # of so large a number the last digits are none: in a name they would tell nothing
    return None if value is None else str(value)
