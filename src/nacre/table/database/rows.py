"""Rows as this package asks for them: whatever is read batch by batch, frames, and the tables of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa

from nacre.table.sources import Source
from nacre.table.sources.frames import to_arrow
from nacre.table.sources.storage import plain
from nacre.table.values import labels


@runtime_checkable
class Rows(Protocol):
    """A table that can be read again and again, batch by batch."""

    @property
    def column_names(self) -> list[str]: ...

    @property
    def arrow_schema(self) -> pa.Schema: ...

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...


class FrameRows:
    """A frame as rows."""

    def __init__(self, frame: object):
        self._table = to_arrow(frame)

    @property
    def column_names(self) -> list[str]:
        return self._table.schema.names

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._table.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from map(plain, (self._table if columns is None else self._table.select(list(columns))).to_batches())


class SourceRows:
    """One table of a file as rows."""

    def __init__(self, source: Source):
        self._source = source

    @property
    def column_names(self) -> list[str]:
        return self._source.arrow_schema.names

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._source.arrow_schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from map(plain, self._source.batches(columns))


def as_rows(table: object) -> Rows:
    """Rows as they are, or those of a frame."""
    return table if isinstance(table, Rows) else FrameRows(table)


def key_names(rows: Rows, column: str) -> pa.Array:
    """The names that a column holds, as keys are compared: null where a row has none."""
    parts = [labels.names(batch.column(0)).cast(pa.large_string()) for batch in rows.batches([column])]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())
