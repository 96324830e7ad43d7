"""One owned table in memory: its rows that hang on rows read before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from nacre.engines import Rows
from nacre.privacy.nested.coding import Coded, Reader, all_coded
from nacre.privacy.nested.keys import LEFT_OUT, NOWHERE, Index, OrderKeys, of_part
from nacre.privacy.nested.mixing import mixed
from nacre.privacy.passes.work import NONE, Outside, added, narrow
from nacre.table.values.stored import Values

Part = tuple[int, int]  # which of how many parts of the units, a power of two


class TooMany(Exception):
    """More rows than are to be in memory at a time."""


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
    for found in all_coded(reader, rows):
        piece = _piece(reader, found, above, part, total)
        pieces.append(piece)
        total.read += found.rows
        total.outside = added(total.outside or dict.fromkeys(found.outside, NONE), found.outside)
        size += piece.nbytes
        if size + (total.texts.nbytes if total.texts is not None else 0) > room:
            raise TooMany
        yield total.read
    yield _joined(reader, pieces, total)


def _piece(reader: Reader, found: Coded, above: Above | None, part: Part, total: Loose) -> Loose:
    """Those of some rows that are kept; what is only counted goes to `total`."""
    if above is None:
        parent, kept = np.zeros(found.rows, np.int32), np.flatnonzero(_in_part(found, part))
    else:
        parent = _parents(reader, found, above)
        kept = np.flatnonzero(parent >= 0)
        total.orphans += int((parent == NOWHERE).sum())
        total.below += int((parent == LEFT_OUT).sum())
    if total.texts is not None and found.texts is not None:
        total.texts.add(found.texts, kept)
    codes = {name: own[kept] for name, own in found.codes.items()}
    order = None if found.order is None else found.order.take(kept)
    names, there = (None, None) if found.own is None else (found.own[0][kept], found.own[1][kept])
    return Loose(codes, parent[kept], found.number[kept], order, names, there)


def _in_part(found: Coded, part: Part) -> np.ndarray:
    """Which rows of the unit table are in this part: by name, those without one by their place, as nothing hangs on
    them."""
    names = np.zeros((found.rows, 2), np.uint64)
    names[:, 0] = mixed(np.arange(found.place, found.place + found.rows, dtype=np.uint64))
    return of_part(names if found.own is None else np.where(found.own[1][:, None], found.own[0], names), *part)


def _parents(reader: Reader, found: Coded, above: Above) -> np.ndarray:
    """The position of the parent of each row, below 0 where it hangs on none that is kept."""
    parent = above.index.find(*found.keys[0])
    for key, (says, stated) in zip(reader.database.implied(reader.table), found.keys[1:]):
        known = np.flatnonzero(parent >= 0)
        at = parent[known]
        for table in reversed(reader.database.path(reader.table)[:-1]):
            if table == key.parent:
                break
            at = above.parents[table][at]
        wrong = ~stated[known] | (says[known] != above.names[key.parent][at]).any(axis=1)
        parent[known[wrong]] = NOWHERE
    return parent


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
    elif (clock := reader.form.clock) is not None:  # of a table without a row as well: its parents' columns need it
        empty = Values.of(np.empty(0, np.float64 if clock.column.step is None else np.int64))
        total.order = Values.joined([empty, *(p.order for p in pieces if p.order is not None)])
    return total
