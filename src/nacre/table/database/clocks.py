"""When the rows under one parent happen: the first by itself, every further one by its distance from the row before.

Both directions work on whole arrays and are exact where the order column counts steps: whole numbers, units of time,
decimals. Rows stand by parent, and under one parent by the order column, nulls last.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from nacre.table.cells import integer_starts
from nacre.table.columns import Column, Numeric
from nacre.table.rules.line import PER_DECADE, Line
from nacre.table.values.stored import Values


@dataclasses.dataclass(frozen=True)
class Clock:
    """How the order column `order` of the table `child` is modelled.

    `gap` is a column of the child's own form: how far a row lies behind the row before it, null in the first. `start`
    is one of its parent's form: the order value of the first row, or, where the parent's rows are themselves in order
    by the column `base`, how far that lies behind the parent's own; null where there is no row, or none in time.
    """

    child: str
    order: str
    gap: str
    start: str
    column: Column
    base: str | None = None
    base_column: Column | None = None

    @property
    def _line(self) -> Line:
        return Line(self.column)

    @property
    def gap_column(self) -> Column:
        """From zero to the width of the bounds, on a logarithmic scale."""
        low, high = self._line.ends
        return dataclasses.replace(self._line.distances(high - low), nullable=True)

    @property
    def start_column(self) -> Column:
        """The order column, null where there is no row; or differences of both signs."""
        if self.base_column is None:
            return dataclasses.replace(self.column, nullable=True)
        base = self._on_line(np.array(Line(self.base_column).ends)).tolist()
        low, high = self._line.ends
        return _differences(self.column, (low - base[1], high - base[0]))

    def encode(
        self, values: Values, parent: np.ndarray, rows: int, base: Values | None = None
    ) -> tuple[Values, Values]:
        """(`gap` of each row, `start` of each of the `rows` parents) from the order values of rows and, sorted, the
        positions of their parents; `base` has the parents' own order values."""
        first = _first(parent)
        before = np.concatenate([values.values[:1], values.values[:-1]])
        unknown = first | values.null | np.concatenate([values.null[:1], values.null[:-1]])
        gap = np.maximum(self._line.apart(before, values.values), 0)
        heads = np.flatnonzero(first)
        start, null = np.zeros(rows, values.values.dtype), np.ones(rows, bool)
        start[parent[heads]], null[parent[heads]] = values.values[heads], values.null[heads]
        if base is not None:
            start, null = self._line.apart(self._on_line(base.values), start), null | base.null
        return _blank(gap, unknown), _blank(start, null)

    def times(self, start: Values, gap: Values, parent: np.ndarray, base: Values | None = None) -> Values:
        """The order values of rows from drawn distances: inside their bounds, and never falling under one parent.

        A row without a distance is null, and so are all under a parent without a start. Where the column is never null,
        what was not drawn is taken from the next row that has it.
        """
        first = _first(parent)
        begin = self._begin(start, np.bincount(parent, minlength=len(start)) > 0, base)
        if not self.column.nullable:
            gap = _filled(gap, ~first, 0)
        found = np.where(first, begin.values[parent], 0) if len(parent) else begin.values[:0]
        null = np.where(first, begin.null[parent], gap.null) if len(parent) else begin.null[:0]
        lost = begin.null[parent]
        place = np.arange(len(parent)) - np.maximum.accumulate(np.where(first, np.arange(len(parent)), 0))
        by_place = np.argsort(place, kind="stable")
        for rows in np.split(by_place, np.cumsum(np.bincount(place))[:-1])[1:]:  # all second rows, all third ones, ...
            most = self._line.apart(found[rows - 1], np.full(len(rows), self._line.ends[1]))
            step = np.where(null[rows], 0, np.clip(gap.values[rows], 0, most))
            found[rows] = self._line.beyond(found[rows - 1], step)
        return _blank(found, null | lost)

    def _begin(self, start: Values, used: np.ndarray, base: Values | None) -> Values:
        """The order value of the first row of each parent that has rows."""
        low, high = self._line.ends
        known = start if self.column.nullable else _filled(start, used, low if base is None else 0)
        values, null = known.values, known.null
        if base is not None:
            values, null = self._line.beyond(self._on_line(base.values), values), null | base.null
        values = np.clip(values, low, high).astype(np.int64 if self.column.step else np.float64, copy=False)
        found = Values.of(values, null)
        return found if self.column.nullable else _filled(found, used, low)

    def _on_line(self, values: np.ndarray) -> np.ndarray:
        """Order values of the parent among those of this column: the last step that is not after them."""
        step = self.column.step
        if step is None:
            return self._line.nearest(values)
        return (np.floor(values / step) if values.dtype.kind == "f" else values // step).astype(np.int64) * step


def _first(parent: np.ndarray) -> np.ndarray:
    """Where the first row under each parent stands."""
    return np.diff(parent, prepend=-1) != 0


def _blank(values: np.ndarray, null: np.ndarray) -> Values:
    return Values.of(np.where(null, values.dtype.type(0), values), null)


def _filled(values: Values, needed: np.ndarray, otherwise: float) -> Values:
    """What is needed and null as in the next row that has it, around the end; where no row has, that value."""
    lacking, known = np.flatnonzero(needed & values.null), np.flatnonzero(needed & ~values.null)
    if not len(lacking):
        return values
    filled, null = values.values.copy(), values.null.copy()
    source = known[np.searchsorted(known, lacking) % len(known)] if len(known) else None
    filled[lacking] = otherwise if source is None else values.values[source]
    null[lacking] = False
    return Values.of(filled, null)


def _differences(column: Column, bounds: tuple[float, float]) -> Column:
    """Differences of both signs between values on the steps of a column, on a logarithmic scale to both sides."""
    if column.step is None:
        low, high = Line(column).nearest(np.array(bounds)).tolist()
        return Numeric((low, high), decimals=column.decimals, nullable=True)
    low, high = (int(b) // column.step for b in bounds)
    whole = Numeric((low, high), integer=True, nullable=True)
    starts, single = integer_starts((low, high), None, (), zero=True)
    if not single.any():
        return whole
    reach = max(abs(low), abs(high))
    lattice = np.rint(10.0 ** (np.arange(int(np.log10(reach) * PER_DECADE) + 1) / PER_DECADE)).astype(np.int64)
    points = np.unique(np.concatenate([starts, lattice, -lattice]))
    edges = points[(points >= low) & (points < high)]
    return dataclasses.replace(whole, edges=(*edges.tolist(), high), atoms=(0,) if low <= 0 <= high else ())
