"""Units with their rows: those that count, rows of one parent together and in order, at most so many of them.

Which rows are kept is decided inside the unit: by the order column, by what stands in the rows, and by the secret key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nacre.engines import Rows
from nacre.privacy.nested.coding import Reader
from nacre.privacy.nested.keys import LEFT_OUT, Index
from nacre.privacy.nested.mixing import mixed, told_apart
from nacre.privacy.nested.reading import Above, Loose, Part, TooMany, read
from nacre.privacy.passes.work import Outside, narrow
from nacre.table.grid import Grid
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.database import Database
    from nacre.table.database.forms import Form

_PICK = np.uint64(0x632BE59BD9B4E019)


@dataclass
class Left:
    """How many rows of a table reach no door, and why. For the owner only.

    Orphans hang on no row; `below` on one that is left out itself; `cap` are beyond those of one parent row, `most`
    beyond those of one unit.
    """

    rows: int = 0
    orphans: int = 0
    below: int = 0
    cap: int = 0
    most: int = 0


@dataclass
class Owned:
    """The rows of one table that count: sorted by `parent`, the position of their parent row, and in order there.

    `unit` is whose they are, `beside` how many rows the same parent has, `place` how many of them come before, `number`
    the keyed number of the row. Rows of the unit table are their own units.
    """

    codes: dict[str, np.ndarray]
    parent: np.ndarray
    unit: np.ndarray
    beside: np.ndarray
    place: np.ndarray
    number: np.ndarray
    order: Values | None = None
    names: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.parent)


@dataclass
class Units:
    """The units of a database, or of one part of them."""

    tables: dict[str, Owned] = field(default_factory=dict)
    left: dict[str, Left] = field(default_factory=dict)
    outside: dict[str, Outside] = field(default_factory=dict)


@dataclass(frozen=True)
class Gathering:
    """How units are read: public facts, the secret key, and how much may be in memory at a time."""

    database: Database
    forms: Mapping[str, Form]
    key: bytes = field(repr=False)
    room: int

    def units(self, sources: Mapping[str, Rows], part: Part, progress: Callable[[int], None]) -> Units:
        """The units of one part with all their rows. TooMany where that does not fit."""
        found, indices, done, room = Units(), {}, 0, self.room
        for table in self.database.owned:
            reader = Reader(self.database, self.forms[table], self.key)
            owner = reader.owner
            above = None
            if owner is not None:
                names = {t: o.names for t, o in found.tables.items() if o.names is not None}
                above = Above(indices[owner.parent], names, {t: o.parent for t, o in found.tables.items()})
            loose = None
            for step in read(reader, sources[table], above, part, room):
                if isinstance(step, Loose):
                    loose = step
                else:
                    progress(done + step)
            assert loose is not None  # the last step
            done, room = done + loose.read, room - loose.nbytes
            if room < 0:
                raise TooMany
            self._settle(reader, loose, found, indices)
        for own in found.tables.values():
            own.order = own.names = None  # all that hangs on them is read
        return found

    def _settle(self, reader: Reader, loose: Loose, found: Units, indices: dict[str, Index]) -> None:
        """Arrange the rows of a table, and tell its parent's rows how many and when."""
        owner, left = reader.owner, Left(loose.read, loose.orphans, loose.below)
        if owner is None:
            rows, own = np.arange(len(loose.parent)), None
        else:
            own = found.tables[owner.parent]
            rows = arranged(loose, owner.cap or 1, self.database.most(reader.table), own.unit, left)
        kept = _kept(loose, rows, own)
        if reader.names_rows and loose.names is not None and loose.named is not None:
            positions = np.full(len(loose.parent), LEFT_OUT, np.int32)
            positions[rows] = np.arange(len(rows), dtype=np.int32)
            where = f"column {self.database.id(reader.table)!r} of {reader.table!r}"
            indices[reader.table] = Index(loose.names[loose.named], positions[loose.named], where)
            kept.names = loose.names[rows]
        found.tables[reader.table], found.left[reader.table] = kept, left
        found.outside[reader.table] = loose.outside
        if owner is not None and own is not None:
            _tell(self.forms[owner.parent], reader.form, kept, own)


def arranged(loose: Loose, cap: int, most: int, units: np.ndarray, left: Left) -> np.ndarray:
    """The rows that count, by position: under each parent the first `cap` in order, of each unit the first `most`.

    Ties go by the numbers of the rows; rows that are alike in all that is counted get numbers of their own.
    """
    keys: tuple[np.ndarray, ...] = (loose.number,)
    if loose.order is not None:  # what a value is where it is null means nothing
        values = np.where(loose.order.null, loose.order.values.dtype.type(0), loose.order.values)
        keys = (loose.number, values, loose.order.null)
    rows = np.lexsort((*keys, loose.parent))
    again = np.ones(max(len(rows) - 1, 0), bool)
    for key in (*keys, loose.parent):
        again &= key[rows[1:]] == key[rows[:-1]]
    if again.any():
        later = rows[1:][again]  # the others keep theirs: no unit decides what those of another become
        loose.number[later] = told_apart(loose.number[later], place_of(np.concatenate([[True], ~again]))[1:][again])
        if loose.order is None:
            rows = np.lexsort((loose.number, loose.parent))
    fits = place_of(_starts(loose.parent[rows])) < cap
    left.cap += int((~fits).sum())
    rows = rows[fits]
    within = place_of(_starts(units[loose.parent[rows]])) < most
    left.most += int((~within).sum())
    return rows[within]


def place_of(starts: np.ndarray) -> np.ndarray:
    """How many rows of its run come before each row, from where runs start."""
    here = np.arange(len(starts), dtype=np.int32)
    return here - np.maximum.accumulate(np.where(starts, here, 0))


def _starts(ids: np.ndarray) -> np.ndarray:
    """Where runs of equal ids start."""
    return np.concatenate([np.ones(min(len(ids), 1), bool), ids[1:] != ids[:-1]])


def _kept(loose: Loose, rows: np.ndarray, above: Owned | None) -> Owned:
    """The rows at these positions, in this order; each column of the loose rows is let go when it was copied."""
    codes = {name: loose.codes.pop(name)[rows] for name in [*loose.codes]}
    parent, number = loose.parent[rows], loose.number[rows]
    order = None if loose.order is None else loose.order.take(rows)
    if above is None:
        here = np.arange(len(rows), dtype=np.int32)
        return Owned(codes, parent, here, np.ones_like(here), np.zeros_like(here), number, order)
    beside = np.bincount(parent, minlength=len(above)).astype(np.int32)[parent]
    return Owned(codes, parent, above.unit[parent], beside, place_of(_starts(parent)), number, order)


def _tell(above: Form, form: Form, rows: Owned, parents: Owned) -> None:
    """Write into the parents how many rows of this table they have and when the first is, into the rows their gaps."""
    made = {above.count[form.table]: above.counts(form.table, rows.parent, len(parents))}
    clock = form.clock
    if clock is not None and rows.order is not None:
        base = parents.order if clock.base is not None else None
        gap, made[clock.start] = clock.encode(rows.order, rows.parent, len(parents), base)
        rows.codes[clock.gap] = _coded(form, clock.gap, gap)
    for name, values in made.items():
        parents.codes[name] = _coded(above, name, values)


def _coded(form: Form, name: str, values: Values) -> np.ndarray:
    grid = Grid.of(form.columns[name])
    return narrow(grid.codes(values), grid.cells)


def pick(rows: Owned, parents: int) -> np.ndarray:
    """For every parent row the position of one of its rows, at random by the secret key; −1 where it has none."""
    found = np.full(parents, -1, np.int64)
    if len(rows):
        heads = np.flatnonzero(_starts(rows.parent))
        chance = mixed(rows.number ^ _PICK)
        least = np.minimum.reduceat(chance, heads)
        hits = np.flatnonzero(chance == np.repeat(least, np.diff(np.append(heads, len(rows)))))
        found[rows.parent[hits[::-1]]] = hits[::-1]
    return found
