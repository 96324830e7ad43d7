"""The two tables that a long one stands for: one row for each person, and their rows.

A person's row follows from their own rows alone, in whatever order they come (the law of reading holds for persons).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.engines.interface import Rows, View
from nacre.engines.shards import known
from nacre.table.database.long import LongTable
from nacre.table.sources import BATCH_ROWS
from nacre.table.values.labels import names

_NAME, _TIME, _LATE = "\0name", "\0time", "\0late"
_MANY = 1 << 20  # rows after which those that are no person's first are forgotten


def split(long: LongTable, rows: Rows) -> dict[str, Rows]:
    """The tables of `long.database`."""
    persons, below = long.database.owned
    return {persons: PersonRows(rows, long), below: SomeColumns(rows, long.database.tables[below].names)}


class SomeColumns(View):
    """The rows of a table with some of its columns."""

    def __init__(self, rows: Rows, columns: Sequence[str]):
        self.rows, self._columns = rows, list(columns)

    @property
    def column_names(self) -> list[str]:
        return self._columns

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([self.rows.arrow_schema.field(name) for name in self._columns])

    @property
    def stored_as(self) -> tuple[pa.Schema, ...]:
        return tuple(pa.schema([part.field(n) for n in self._columns]) for part in super().stored_as)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from self.rows.batches(self._columns if columns is None else known(columns, self._columns, "the table"))


class PersonRows(SomeColumns):
    """A row for each person: the name, and the constant columns of the first of their rows. First is what comes first
    by a learnt order, then by its texts; rows without a name are nobody's."""

    def __init__(self, rows: Rows, long: LongTable):
        super().__init__(rows, [long.person, *long.constant])
        self._person, self._constant, self._schema = long.person, tuple(long.constant), long.schema
        order = long.order
        self._order = order if order is not None and long.schema.columns[order].measured else None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self._columns if columns is None else known(columns, self._columns, "the table")
        yield from self._persons.select(wanted).to_batches(max_chunksize=BATCH_ROWS)

    @functools.cached_property
    def _persons(self) -> pa.Table:
        needed = [*self._columns, *([self._order] if self._order else [])]
        kept: list[pa.Table] = []
        for batch in self.rows.batches(needed):
            kept.append(self._first(self._described(batch)))
            if len(kept) > 1 and sum(part.num_rows for part in kept) > _MANY + 2 * kept[0].num_rows:
                kept = [self._first(pa.concat_tables(kept))]
        return self._first(pa.concat_tables(kept)).select(self._columns)

    def _described(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows of somebody, with what tells persons and their rows apart."""
        found = pa.table({name: batch.column(name) for name in self._columns})
        found = found.append_column(_NAME, names(batch.column(self._person)))
        time, late = np.zeros(batch.num_rows), np.zeros(batch.num_rows, bool)
        if self._order is not None:
            values = self._schema.columns[self._order].encode(batch.column(self._order))
            time, late = np.where(values.null, 0, values.values).astype(np.float64), values.null
        found = found.append_column(_TIME, pa.array(time)).append_column(_LATE, pa.array(late))
        for i, name in enumerate(self._constant):
            found = found.append_column(f"\0text {i}", names(batch.column(name)))
        return found.filter(pc.is_valid(found.column(_NAME)))

    def _first(self, rows: pa.Table) -> pa.Table:
        by = [_NAME, _LATE, _TIME, *(f"\0text {i}" for i in range(len(self._constant)))]
        ordered = rows.take(pc.sort_indices(rows, [(name, "ascending") for name in by]))
        if not ordered.num_rows:
            return ordered
        name = ordered.column(_NAME).combine_chunks()
        new = pc.not_equal(name[1:], name[:-1]).to_numpy(zero_copy_only=False)
        return ordered.filter(pa.array(np.concatenate([[True], new])))
