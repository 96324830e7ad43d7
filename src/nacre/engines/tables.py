"""Several tables at once: out of a mapping, a folder, or a file of SQLite or DuckDB."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nacre.engines.interface import Rows, Stored
from nacre.engines.rows import open_rows
from nacre.engines.shards import known
from nacre.errors import DataError
from nacre.table.naming import choices
from nacre.table.sources import Options, is_table
from nacre.table.sources.banks import kind_of_bank, open_bank
from nacre.table.sources.storage import plain

if TYPE_CHECKING:
    from nacre.table.sources import Source


class TableRows(Stored):
    """One table of a file that holds several. It may have no rows."""

    def __init__(self, source: Source):
        self.source = source
        self._arrow_schema = source.arrow_schema

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._arrow_schema

    @property
    def column_names(self) -> list[str]:
        return self._arrow_schema.names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = None if columns is None else known(columns, self.column_names, self.source.path)
        yield from map(plain, self.source.batches(wanted))


def holds_tables(source: object) -> bool:
    """Whether a source holds several tables by itself: a mapping of names to tables, a file of SQLite or DuckDB. A
    folder may be either: the parts of one table, or, to whom the schema is that of a database, a file for each."""
    if isinstance(source, str | os.PathLike):
        return kind_of_bank(source) is not None
    return isinstance(source, Mapping)


def open_tables(
    source: object, names: Collection[str] | None = None, options: Options | None = None, look: bool = True
) -> dict[str, Rows]:
    """The rows of every table, by name: of a mapping of names to anything that `open_rows` takes, of a folder with a
    file (or a folder of parts) for each table, of a SQLite or DuckDB file.

    Of these only `names`, in that order, where they are given; DataError for one that is not there. Tables may have no
    rows. Nothing of them is read but names and types, and, with `look`, the first rows of text files.
    """
    if isinstance(source, Mapping):
        return _opened(source, names, "the mapping of tables", options, look)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"a {type(source).__name__} holds no tables by name; give {{name: table}}, a folder, or a SQLite or DuckDB "
            "file"
        )
    if os.path.isdir(source):
        return _opened(_parts(source), names, str(source), options, look)
    bank = open_bank(source, options)
    wanted = _wanted(names, bank.names, str(source))
    return {name: TableRows(bank.table(name)) for name in wanted}


def _opened(
    sources: Mapping[str, object], names: Collection[str] | None, where: str, options: Options | None, look: bool
) -> dict[str, Rows]:
    for name in sources:
        if not isinstance(name, str):
            raise DataError(f"{where} names {name!r}; tables have names of text")
    wanted = _wanted(names, list(sources), where)
    return {name: open_rows(sources[name], options=options, look=look, empty=True) for name in wanted}


def _wanted(names: Collection[str] | None, found: list[str], where: str) -> list[str]:
    if not found:
        raise DataError(f"{where}: there is no table in it")
    for name in names or ():
        if name not in found:
            raise DataError(f"{where}: there is no table {name!r}; it has {choices(name, found)}")
    return found if names is None else list(names)


def _inside(folder: str | os.PathLike) -> list[Path]:
    return sorted(p for p in Path(folder).iterdir() if not p.name.startswith("."))


def _parts(folder: str | os.PathLike) -> dict[str, Path]:
    """The tables of a folder: files by their name without endings, folders that hold files of one table."""
    found: dict[str, Path] = {}
    for path in _inside(folder):
        whole = path.is_dir()
        if not (any(is_table(p.name) for p in _inside(path)) if whole else is_table(path.name)):
            continue
        name = path.name if whole else path.name.partition(".")[0]
        if name in found:
            raise DataError(
                f"{folder}: {found[name].name} and {path.name} are both the table {name!r}; keep one, or put the parts "
                f"of a table into a folder {name}"
            )
        found[name] = path
    return found
