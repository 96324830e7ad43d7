"""Rows as this package asks for them: whatever is read batch by batch, frames, and the tables of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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


class Held:
    """Rows that something else holds and gives out."""

    def __init__(self, arrow_schema: pa.Schema, read: Callable[[Sequence[str] | None], Iterable[pa.RecordBatch]]):
        self.arrow_schema, self._read = arrow_schema, read

    @property
    def column_names(self) -> list[str]:
        return self.arrow_schema.names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from map(plain, self._read(columns))


def of_source(source: Source) -> Rows:
    """One table of a file as rows."""
    return Held(source.arrow_schema, source.batches)


def as_rows(table: object) -> Rows:
    """Rows as they are, or those of a frame."""
    if isinstance(table, Rows):
        return table
    found = to_arrow(table)
    return Held(found.schema, lambda columns: (found if columns is None else found.select(list(columns))).to_batches())


def key_names(rows: Rows, column: str) -> pa.Array:
    """The names that a column holds, as keys are compared: null where a row has none."""
    parts = [labels.names(batch.column(0)).cast(pa.large_string()) for batch in rows.batches([column])]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())
