"""Rows of one owned table as they come: codes, and the names of their keys. Each row is read by itself.

A value is read by its column alone, a key by its text: what a row is read as depends on no other row. So it is done
wherever the rows are, batch by batch here or by the workers of a cluster.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nacre.engines import Rows, ShardedRows
from nacre.privacy.nested.keys import named
from nacre.privacy.nested.mixing import joined, mixed, seed
from nacre.privacy.passes.folding import Cap, once_each
from nacre.privacy.passes.work import Outside, narrow
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.schema import Schema
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    import pyarrow as pa

    from nacre.table.database import Database, Key
    from nacre.table.database.forms import Form

Names = tuple[np.ndarray, np.ndarray]  # [n, 2] names, where there is one
_SHARD = 1 << 40  # rows of a shard are numbered from its own multiple of this


@dataclass(frozen=True)
class Reader:
    """How one table is read: all of it public facts, but the key."""

    database: Database
    form: Form
    key: bytes = field(repr=False)

    @property
    def table(self) -> str:
        return self.form.table

    @property
    def owner(self) -> Key | None:
        return self.database.owner(self.table)

    @functools.cached_property
    def schema(self) -> Schema:
        """The table's schema with references as columns of labels, as methods model it."""
        schema = self.database.tables[self.table]
        labelled = {name: self.form.columns[name] for name in self.form.references}
        return dataclasses.replace(schema, columns={**schema.columns, **labelled}).inner

    @functools.cached_property
    def grids(self) -> dict[str, Grid]:
        """The grids of the columns that each row has by itself."""
        return {n: Grid.of(self.form.columns[n]) for n in (*self.form.stored, *self.form.references)}

    @property
    def names_rows(self) -> bool:
        """Whether other rows hang on rows of this table."""
        return bool(self.database.children(self.table))

    @functools.cached_property
    def columns(self) -> list[str]:
        """The columns of the source that are read."""
        keys = [] if self.owner is None else [self.owner.column, *([self.owner.order] if self.owner.order else [])]
        named = [self.database.id(self.table)] if self.names_rows else []
        implied = [key.column for key in self.database.implied(self.table)]
        return [*dict.fromkeys((*self.schema.read, *keys, *(n for n in named if n), *implied))]

    @property
    def orders(self) -> str | None:
        """The order column where it is no column that is learnt."""
        order = None if self.owner is None else self.owner.order
        return order if order and self.form.clock is None else None


@dataclass(frozen=True)
class Coded:
    """Some rows of a table. `place` is a number of the first one that no other rows have.

    `number` are keyed numbers of the rows, `own` their ids, `keys` the owner key and further keys to ancestors, `order`
    a learnt order column, `texts` one that is not learnt.
    """

    place: int
    rows: int
    codes: dict[str, np.ndarray]
    number: np.ndarray
    own: Names | None
    keys: list[Names]
    order: Values | None
    texts: pa.Array | None
    outside: Outside


def coded(reader: Reader, batch: pa.RecordBatch, place: int) -> Coded:
    """The rows of one batch."""
    encoded = encode(batch, reader.schema)
    codes = {n: narrow(grid.codes(encoded[n]), grid.cells) for n, grid in reader.grids.items()}
    columns = [] if reader.owner is None else [reader.owner, *reader.database.implied(reader.table)]
    keys = [named(batch.column(key.column), reader.key) for key in columns]
    number = np.full(batch.num_rows, seed(reader.key, reader.table))
    if keys:
        number = mixed(number ^ keys[0][0][:, 0])
    for name, found in codes.items():
        number = joined(number, found, seed(reader.key, name))
    order = own = None
    if reader.form.clock is not None:
        order = encoded[reader.form.clock.order]
        values = np.where(order.null, order.values.dtype.type(0), order.values)
        number = joined(joined(number, values, seed(reader.key, "order")), order.null, np.uint64(1))
    column = reader.database.id(reader.table) if reader.names_rows else None
    if column is not None:
        own = named(batch.column(column), reader.key)
        number = joined(number, own[0][:, 0], np.uint64(0))
    texts = None if reader.orders is None else batch.column(reader.orders)
    return Coded(place, batch.num_rows, codes, number, own, keys, order, texts, encoded.outside())


@dataclass(frozen=True)
class _Coding:
    """What the workers of a cluster do with a shard."""

    reader: Reader
    any_order = True

    @property
    def columns(self) -> list[str]:
        return self.reader.columns

    def start(self) -> list[Coded]:
        return []

    def add(self, total: list[Coded], batch: pa.RecordBatch) -> list[Coded]:
        place = sum(found.rows for found in total)
        return [*total, coded(self.reader, batch, place)]

    def merge(self, total: list[Coded], part: list[Coded]) -> list[Coded]:
        return [*total, *part]


def all_coded(reader: Reader, rows: Rows) -> Iterator[Coded]:
    """All rows, in any order."""
    if isinstance(rows, ShardedRows):
        given = [(shard, _Coding(reader), Cap()) for shard in rows.shards]
        for i, (shard, _) in once_each(rows, given):
            yield from (dataclasses.replace(found, place=found.place + i * _SHARD) for found in shard)
        return
    place = 0
    for batch in rows.batches(reader.columns):
        yield coded(reader, batch, place)
        place += batch.num_rows
