"""One owned table as codes: its rows that hang on rows read before, as they come.

A value is read by its column alone, a key by its text: what a row is read as depends on no other row.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nacre.engines import Rows
from nacre.privacy.nested.keys import LEFT_OUT, NOWHERE, Index, OrderKeys, named, of_part
from nacre.privacy.nested.mixing import joined, mixed, seed
from nacre.privacy.passes.work import NONE, Outside, added, narrow
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.schema import Schema
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    import pyarrow as pa

    from nacre.table.database import Database, Key
    from nacre.table.database.forms import Form

Part = tuple[int, int]  # which of how many parts of the units, a power of two


class TooMany(Exception):
    """More rows than are to be in memory at a time."""


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


@dataclass
class Loose:
    """Rows of one table that hang on rows of its parent, in the order of the file; `parent` is their position there.

    `orphans` counts rows that hang on none, `below` those on a row that was left out; `outside` is for the owner.
    """

    codes: dict[str, np.ndarray]
    parent: np.ndarray
    number: np.ndarray
    order: Values | None
    names: np.ndarray | None
    named: np.ndarray | None
    read: int = 0
    orphans: int = 0
    below: int = 0
    outside: Outside = field(default_factory=dict)
    texts: OrderKeys | None = None  # an order that is not learnt, until all rows are read

    @property
    def nbytes(self) -> int:
        held = [*self.codes.values(), self.parent, self.number, self.names, self.named]
        order = () if self.order is None else (self.order.values, self.order.null)
        return sum(a.nbytes for a in (*held, *order) if a is not None)


@dataclass
class Above:
    """What rows of a table are joined with: its parent's index, and the names and parents of rows on the way up."""

    index: Index
    names: Mapping[str, np.ndarray]  # by table, of kept rows
    parents: Mapping[str, np.ndarray]


def read(reader: Reader, rows: Rows, above: Above | None, part: Part, room: int) -> Iterator[int | Loose]:
    """The numbers of rows read so far, and at last the rows. TooMany where they take more than `room` bytes."""
    pieces, size = [], 0
    total = Loose({}, np.empty(0, np.int32), np.empty(0, np.uint64), None, None, None)
    total.texts = OrderKeys() if reader.orders else None
    for batch in rows.batches(reader.columns):
        piece = _piece(reader, batch, above, part, total)
        pieces.append(piece)
        total.read += batch.num_rows
        size += piece.nbytes
        if size > room:
            raise TooMany
        yield total.read
    yield _joined(reader, pieces, total)


def _piece(reader: Reader, batch: pa.RecordBatch, above: Above | None, part: Part, total: Loose) -> Loose:
    """The rows of one batch; what is only counted goes to `total`."""
    encoded = encode(batch, reader.schema)
    total.outside = added(total.outside or dict.fromkeys(encoded.columns, NONE), encoded.outside())
    names = there = None
    own = reader.database.id(reader.table) if reader.names_rows else None
    if own is not None:
        names, there = named(batch.column(own), reader.key)
    parent, number = _hung(reader, batch, above, total)
    if above is None:
        kept = np.flatnonzero(_in_part(names, there, batch.num_rows, total.read, part))
    else:
        kept = np.flatnonzero(parent >= 0)
    columns = {n: encoded[n].take(kept) for n in reader.grids}
    codes = {n: narrow(grid.codes(columns[n]), grid.cells) for n, grid in reader.grids.items()}
    number = number[kept]
    for name, found in codes.items():
        number = joined(number, found, seed(reader.key, name))
    order = None
    if reader.form.clock is not None:
        order = encoded[reader.form.clock.order].take(kept)
        values = np.where(order.null, order.values.dtype.type(0), order.values)
        number = joined(joined(number, values, seed(reader.key, "order")), order.null, np.uint64(1))
    if total.texts is not None and reader.orders is not None:
        total.texts.add(batch.column(reader.orders), kept)
    if names is not None and there is not None:
        names, there = names[kept], there[kept]
        number = joined(number, names[:, 0], np.uint64(0))
    return Loose(codes, parent[kept], number, order, names, there)


def _in_part(names: np.ndarray | None, there: np.ndarray | None, rows: int, before: int, part: Part) -> np.ndarray:
    """Which rows of the unit table are in this part: by name, those without one by their place, as nothing hangs on
    them."""
    places = np.zeros((rows, 2), np.uint64)
    places[:, 0] = mixed(np.arange(before, before + rows, dtype=np.uint64))
    named = places if names is None or there is None else np.where(there[:, None], names, places)
    return of_part(named, *part)


def _hung(reader: Reader, batch: pa.RecordBatch, above: Above | None, total: Loose) -> tuple[np.ndarray, np.ndarray]:
    """(the position of the parent of each row, below 0 where it hangs on none that is kept; numbers from its name)."""
    if above is None or reader.owner is None:
        return np.zeros(batch.num_rows, np.int32), np.full(batch.num_rows, seed(reader.key, reader.table))
    names, there = named(batch.column(reader.owner.column), reader.key)
    parent = above.index.find(names, there)
    for key in reader.database.implied(reader.table):
        known = np.flatnonzero(parent >= 0)
        at = parent[known]
        for table in reversed(reader.database.path(reader.table)[:-1]):
            if table == key.parent:
                break
            at = above.parents[table][at]
        says, stated = named(batch.column(key.column), reader.key)
        wrong = ~stated[known] | (says[known] != above.names[key.parent][at]).any(axis=1)
        parent[known[wrong]] = NOWHERE
    total.orphans, total.below = (
        total.orphans + int((parent == NOWHERE).sum()),
        total.below + int((parent == LEFT_OUT).sum()),
    )
    return parent, mixed(names[:, 0] ^ seed(reader.key, reader.table))


def _joined(reader: Reader, pieces: list[Loose], total: Loose) -> Loose:
    """All pieces as one; each is let go as it is copied."""

    def column(take: Callable[[Loose], np.ndarray | None], empty: np.ndarray) -> np.ndarray:
        return np.concatenate([empty, *(found for p in pieces if (found := take(p)) is not None)])

    for name, grid in reader.grids.items():
        total.codes[name] = column(lambda p: p.codes.pop(name), narrow(np.empty(0, np.int32), grid.cells))  # noqa: B023
    total.parent = column(lambda p: p.parent, total.parent)
    total.number = column(lambda p: p.number, total.number)
    if reader.names_rows:
        total.names = column(lambda p: p.names, np.empty((0, 2), np.uint64))
        total.named = column(lambda p: p.named, np.empty(0, bool))
    if total.texts is not None:
        total.order, total.texts = Values.of(*total.texts.ranks()), None
    elif pieces and reader.form.clock is not None:
        total.order = Values.joined([p.order for p in pieces if p.order is not None])
    return total
