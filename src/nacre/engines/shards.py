"""Pieces of a table that another process can open: paths and row groups, never rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources import Options, Source, open_file
from nacre.table.sources.places import Spooled, place
from nacre.table.sources.storage import Agreement, plain


@dataclass(frozen=True)
class Piece:
    """A file, or a row group of a Parquet file, and about how large it is (in bytes as they lie there)."""

    path: str | Spooled
    options: Options
    group: int | None
    size: int

    @staticmethod
    def all_of(source: Source, options: Options) -> list[Piece]:
        """The pieces of an open file, in order."""
        whole = source.path.stat().st_size
        path = source.path if isinstance(source.path, Spooled) else str(source.path)
        metadata = getattr(source, "metadata", None)
        if metadata is None or metadata.num_row_groups < 2:
            return [Piece(path, options, None, whole)]
        rows = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        share = whole / max(sum(rows), 1)
        return [Piece(path, options, g, round(share * n)) for g, n in enumerate(rows)]


@dataclass(frozen=True)
class FileShard:
    """Some pieces of a table in files, opened where they are read. It may hold no rows at all."""

    arrow_schema: pa.Schema
    pieces: tuple[Piece, ...]

    @property
    def column_names(self) -> list[str]:
        return self.arrow_schema.names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self.column_names if columns is None else known(columns, self.column_names, str(self.pieces[0].path))
        for (path, options), run in itertools.groupby(self.pieces, lambda p: (p.path, p.options)):
            groups = [p.group for p in run]
            rest = None if groups[0] is None else range(groups[0], groups[-1] + 1)  # type: ignore[operator]
            source = open_file(place(path), options, rest)
            if source.arrow_schema.names != self.column_names:
                raise DataError(f"{path}: its columns are not those it had when the table was opened; open it again")
            parts = Agreement()
            parts.add(self.arrow_schema, "the table")
            parts.add(source.arrow_schema, path)
            for batch in source.batches(wanted):
                if batch.num_rows:
                    yield plain(batch)


def even_cuts(sizes: Sequence[int], parts: int) -> list[tuple[int, int]]:
    """At most `parts` runs (first, end) of consecutive items with about equal sums, none of them empty."""
    ends = list(itertools.accumulate(max(s, 1) for s in sizes))
    cuts, first = [], 0
    for k in range(1, parts + 1):
        goal = ends[-1] * k / parts
        end = first
        while end < len(ends) and (ends[end] <= goal or k == parts):
            end += 1
        if end > first:
            cuts.append((first, end))
            first = end
    return cuts


def known(columns: Sequence[str], names: Sequence[str], where: Any) -> list[str]:
    """The columns as a list; DataError for one that is not there."""
    for column in columns:
        if column not in names:
            raise DataError(f"{where} has no column {column!r}; it has {', '.join(map(repr, names[:8]))}")
    return list(columns)
