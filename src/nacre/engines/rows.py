"""Streams of rows. Every call of `batches` is one pass over the whole table, in the same order."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from nacre.engines.interface import Rows, ShardedRows, Stored
from nacre.engines.shards import FileShard, Piece, even_cuts, known
from nacre.errors import DataError
from nacre.table.sources import BATCH_ROWS, FORMATS, Options, Source, is_table, open_file
from nacre.table.sources.frames import to_arrow
from nacre.table.sources.places import RemotePath, Spooled, is_remote, place
from nacre.table.sources.storage import Agreement, plain, type_of_all


class MemoryRows(Stored):
    """A table in memory. It must have columns, rows (unless it may be `empty`) and no name twice."""

    def __init__(self, table: Any, batch_rows: int = BATCH_ROWS, empty: bool = False):
        self.table = to_arrow(table)
        self._batch_rows = batch_rows
        if self.table.num_columns == 0 or (self.table.num_rows == 0 and not empty):
            raise DataError(
                f"the table has {self.table.num_rows} rows and {self.table.num_columns} columns; "
                "a table needs at least one of each"
            )

    @property
    def column_names(self) -> list[str]:
        return self.table.schema.names

    @property
    def arrow_schema(self) -> pa.Schema:
        return self.table.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = self.table if columns is None else self.table.select(known(columns, self.column_names, "the table"))
        yield from map(plain, table.to_batches(max_chunksize=self._batch_rows))


class FileRows(Stored):
    """One file, or several with the same columns, read one after the other in the order given.

    Memory use does not grow with the number of rows. Opening reads names, types and sizes; with `look`, also whether
    the first rows fit what was declared, so that a wrong dialect costs nothing. Without rows it is refused unless it
    may be `empty`.
    """

    def __init__(
        self,
        paths: str | os.PathLike | Sequence[str | os.PathLike],
        options: Options | None = None,
        look: bool = True,
        empty: bool = False,
    ):
        self._empty = empty
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not listed:
            raise DataError("no file was named; name at least one")
        self.options = options or Options()
        self.sources: list[Source] = [open_file(place(p), self.options) for p in listed]
        first, parts = self.sources[0], Agreement()
        for source in self.sources:
            if source.arrow_schema.names != first.arrow_schema.names:
                raise DataError(
                    f"{source.path} has other columns than {first.path}: {_difference(source, first)}; "
                    "the parts of one table need the same columns in the same order"
                )
            parts.add(source.arrow_schema, source.path)
        schemas = [source.arrow_schema for source in self.sources]
        self._arrow_schema = pa.schema([f.with_type(type_of_all(schemas, f.name)) for f in schemas[0]])
        for source in self.sources if look else ():
            source.look()

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._arrow_schema

    @property
    def column_names(self) -> list[str]:
        return self.arrow_schema.names

    @property
    def stored_as(self) -> tuple[pa.Schema, ...]:
        return tuple(source.arrow_schema for source in self.sources)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(a for s in self.sources for a in getattr(s, "assumptions", ())))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        if columns is not None:
            columns = known(columns, self.column_names, str(self.sources[0].path))
        rows = 0
        for source in self.sources:
            for batch in source.batches(columns):
                rows += batch.num_rows
                if batch.num_rows:
                    yield plain(batch)
        if rows == 0 and not self._empty:
            raise DataError(f"{self.sources[0].path}: the file has column names but no rows; a table needs rows")

    def split(self, parts: int) -> list[FileShard]:
        """Whole files, or row groups of a Parquet file."""
        pieces = [piece for s in self.sources for piece in Piece.all_of(s, self.options)]
        cuts = even_cuts([p.size for p in pieces], parts)
        return [FileShard(self.arrow_schema, tuple(pieces[a:b])) for a, b in cuts]


def open_rows(
    source: Any,
    format: str | None = None,
    options: Options | None = None,
    engine: Any = None,
    look: bool = True,
    empty: bool = False,
) -> Rows:
    """Rows from whatever holds a table: rows, a pandas, polars or Arrow table, an Arrow dataset, a path or URL, a list
    of them, a pattern such as 'parts/*.parquet' (files in the order of their names), or a folder of files of one
    format. With an `engine` ("ray", "ray:4" or "ray://HOST:PORT", or a `Cluster`) its workers read the files. Without
    `look`, no row of a file is looked at; a table without rows is refused unless it may be `empty`."""
    options = options or Options()
    if format is not None:
        options = dataclasses.replace(options, format=format)
    if engine is not None:
        from nacre.engines.cluster import Cluster, ClusterRows

        kept = isinstance(engine, Cluster)  # whoever opened it closes it
        rows = open_rows(source, None, options, look=look, empty=empty)
        return ClusterRows(rows, engine if kept else Cluster(engine), not kept)
    if isinstance(source, (MemoryRows, FileRows)):
        return source
    if isinstance(source, (str, os.PathLike)):
        return FileRows(_expanded([source]), options, look, empty)
    if isinstance(source, (list, tuple)) and source and all(isinstance(s, (str, os.PathLike)) for s in source):
        return FileRows(_expanded(source), options, look, empty)
    if not isinstance(source, (list, tuple)) and isinstance(source, Rows):
        return source
    if type(source).__module__ == "pyarrow._dataset":
        from nacre.engines.dataset import DatasetRows

        return DatasetRows(source)
    return MemoryRows(source, empty=empty)


def _expanded(sources: Sequence[Any]) -> list[Any]:
    """The files that stand behind each; what is a place already stays what it is."""
    return [p for s in sources for p in ([s] if isinstance(s, RemotePath | Spooled) else expand(os.fspath(s)))]


@contextlib.contextmanager
def finished(rows: Rows) -> Iterator[None]:
    """Stop, at the end, what was started to read these rows."""
    try:
        yield
    finally:
        if isinstance(rows, ShardedRows):
            rows.close()


def expand(path: str) -> list[str]:
    """The files that a path, a URL, a pattern or a folder stands for."""
    if is_remote(path):
        return _expand_remote(RemotePath(path))
    if os.path.isdir(path):
        found = sorted(os.path.join(path, f) for f in os.listdir(path) if is_table(f))
        if not found:
            raise DataError(f"{path} is a folder without tables; expected files ending in {', '.join(FORMATS)}")
        return found
    if glob.has_magic(path) and not os.path.exists(path):
        found = sorted(glob.glob(path))
        if not found:
            raise DataError(f"no file matches {path!r}; check the pattern")
        return found
    return [path]


def _expand_remote(path: RemotePath) -> list[str]:
    if glob.has_magic(path.url) and not path.exists():
        if not (found := path.glob()):
            raise DataError(f"no file matches {path.url!r}; check the pattern")
        return found
    if path.is_dir():
        found = [f for f in path.files() if is_table(f)]
        if not found:
            raise DataError(f"{path} is a folder without tables; expected files ending in {', '.join(FORMATS)}")
        return found
    return [path.url]


def _difference(source: Source, first: Source) -> str:
    here, there = source.arrow_schema.names, first.arrow_schema.names
    for name in here:
        if name not in there:
            return f"{name!r} is new"
    for name in there:
        if name not in here:
            return f"{name!r} is missing"
    return "the order differs"
