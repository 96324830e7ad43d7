"""The public fine alphabet of a column: every value lands in one cell, and every cell can give values back.

A grid is a function of the declared column alone. Numbers and instants have cells in increasing order;
labels have one cell each; a nullable column has one more cell, the last, for null.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nacre.errors import DomainNotDeclared
from nacre.table.cells import integer_starts, real_starts
from nacre.table.values.stored import Values
from nacre.typed import Value

if TYPE_CHECKING:
    from nacre.table.columns import Column

_LOOKUP = 1 << 20  # integer ranges up to this get a table from value to cell


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """Cells of one column. `low`, `high`: what a cell covers, for numbers [low, high); equal for a single
    value."""

    column: Column
    low: np.ndarray
    high: np.ndarray
    width: np.ndarray

    dtype: ClassVar[type] = np.float64

    @staticmethod
    def of(column: Column) -> Grid:
        """The grid of a column. Raises DomainNotDeclared while its bounds or categories are missing."""
        if column.missing:
            raise DomainNotDeclared(
                f"{column.missing[0]} are not declared; declare them, have them bought, or read them from the data"
            )
        return column.grid()

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells are near to each other."""
        return self.column.ordered

    @property
    def null(self) -> int | None:
        """The code of the null cell, or None when the column is not nullable."""
        return len(self.low) if self.column.nullable else None

    @property
    def cells(self) -> int:
        """How many cells there are, the null cell included."""
        return len(self.low) + int(self.column.nullable)

    def codes(self, values: Values) -> np.ndarray:
        """The cell of each row, int32; -1 for a row that lands in none: a label outside the list without
        `other`, a null in a column that is not nullable."""
        codes = self._find(values.values).astype(np.int32, copy=False)
        if values.null.any():
            return np.where(values.null, np.int32(-1 if self.null is None else self.null), codes)
        return codes

    def place(self, codes: np.ndarray, u: np.ndarray) -> Values:
        """The value at share `u` in [0, 1) of each row's cell. `codes(place(c, u))` is `c` for every valid
        code."""
        return self._between(codes, u, None, None)

    def draw(self, codes: np.ndarray, rng: np.random.Generator, low: Value = None, high: Value = None) -> Values:
        """A value drawn uniformly from each row's cell, or from the part of it in [low, high], stored values both.

        The cells must meet that range: draw codes by the mask of a `Condition` first. Null cells stay null.
        """
        return self._between(np.asarray(codes), rng.random(len(codes)), low, high)

    @classmethod
    def padded(cls, column: Column, low: np.ndarray, high: np.ndarray, width: np.ndarray, *more: object) -> Self:
        """A grid with the width of these cells, and none for the cell of null."""
        return cls(column, low, high, np.append(width, 0.0) if column.nullable else width, *more)

    # -- what grids differ in -------------------------------------------------------------------------------

    def within(self, cell: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where in its cell each value begins, and what part of the cell it takes: 0 for a point."""
        return np.zeros(len(cell)), np.ones(len(cell))

    def _find(self, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _between(self, codes: np.ndarray, u: np.ndarray, low: Value, high: Value) -> Values:
        raise NotImplementedError

    def share(self, low: Value, high: Value) -> np.ndarray:
        """The share of every cell but null in [low, high], stored values both; inside a cell it is prorated."""
        raise NotImplementedError

    # -- shared ---------------------------------------------------------------------------------------------

    def _nulls(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(codes with null and -1 moved to cell 0, where they were)."""
        empty = (codes < 0) | (codes >= len(self.low))
        return np.where(empty, 0, codes), empty


class RealGrid(Grid):
    """Bins and atoms of a continuous numeric column."""

    @classmethod
    def over(cls, column: Column, bounds: tuple, edges: tuple | None, atoms: tuple) -> RealGrid:
        low, single = real_starts(bounds, edges, atoms)
        high = np.where(single, low, np.append(low[1:], bounds[1]))
        return cls.padded(column, low, high, np.where(single, 0.0, high - low))

    def _find(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(np.searchsorted(self.low, values, side="right") - 1, 0)

    def _between(self, codes: np.ndarray, u: np.ndarray, low: Any, high: Any) -> Values:
        cell, empty = self._nulls(np.asarray(codes))
        first, last = self.low[cell], self.high[cell]
        # The last value of a cell: the float below its end, the bound itself in the last cell.
        final = np.where(cell == len(self.low) - 1, last, np.nextafter(last, -np.inf))
        final = np.maximum(final, first)
        if low is not None:
            first, final, last = np.maximum(first, low), np.minimum(final, high), np.minimum(last, high)
        return Values.of(np.clip(first + u * (last - first), first, final), empty)

    def within(self, cell: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cell, empty = self._nulls(cell)
        span = self.width[cell]
        inside = np.clip((values - self.low[cell]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
        point = ~empty & (span > 0)
        return np.where(point, inside, 0.0), np.where(point, 0.0, 1.0)

    def share(self, low: Any, high: Any) -> np.ndarray:
        width = self.width[: len(self.low)]  # without the null cell
        single = width == 0
        covered = np.minimum(self.high, high) - np.maximum(self.low, low)
        # An atom's cell ends at the next float; only its value counts.
        inside = (self.low >= low) & (self.low <= high)
        return np.where(single, inside, np.clip(covered, 0, None) / np.where(single, 1, width))


@dataclasses.dataclass(frozen=True, eq=False)
class DecimalGrid(RealGrid):
    """Cells of the multiples of 1 / `scale`: [low, high) holds some of them, an atom one."""

    scale: float

    @classmethod
    def steps(cls, column: Column, bounds: tuple, edges: tuple | None, atoms: tuple, decimals: int) -> DecimalGrid:
        scale = 10.0**decimals
        first, last = (round(b * scale) for b in bounds)
        ends = None if edges is None else tuple(round(e * scale) for e in edges)
        starts, single = integer_starts((first, last), ends, tuple(round(a * scale) for a in atoms), zero=True)
        low = starts / scale
        high = np.where(single, low, np.append(starts[1:], last + 1) / scale)
        return cls.padded(column, low, high, high - low, scale)

    def _steps(self, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = np.rint(self.low[cell] * self.scale).astype(np.int64)
        return first, np.maximum(np.rint(self.high[cell] * self.scale).astype(np.int64), first + 1)

    def _meeting(self, low: Any, high: Any) -> tuple[int, int]:
        """The first multiple in [low, high] and the one behind the last, whatever the rounding of floats."""
        return int(np.ceil(low * self.scale - 1e-6)), int(np.floor(high * self.scale + 1e-6)) + 1

    def _between(self, codes: np.ndarray, u: np.ndarray, low: Value, high: Value) -> Values:
        cell, empty = self._nulls(np.asarray(codes))
        first, end = self._steps(cell)
        if low is not None:
            least, most = self._meeting(low, high)
            first, end = np.maximum(first, least), np.minimum(end, most)
        count = np.maximum(end - first, 1)
        steps = first + np.minimum(np.floor(u * count).astype(np.int64), count - 1)
        return Values.of(steps / self.scale, empty)

    def within(self, cell: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cell, empty = self._nulls(cell)
        first, end = self._steps(cell)
        return _steps_within(np.rint(values * self.scale) - first, end - first, empty)

    def share(self, low: Value, high: Value) -> np.ndarray:
        first, end = self._steps(np.arange(len(self.low)))
        least, most = self._meeting(low, high)
        covered = np.minimum(end, most) - np.maximum(first, least)
        return np.clip(covered, 0, None) / (end - first)


@dataclasses.dataclass(frozen=True, eq=False)
class IntegerGrid(Grid):
    """Cells of whole numbers, or of whole units of time: `low`, `high` count steps, and [low, high) holds
    them."""

    step: int
    table: np.ndarray | None  # value - lowest -> cell, for ranges that allow it

    dtype: ClassVar[type] = np.int64

    @classmethod
    def over(cls, column: Column, bounds: tuple, edges: tuple | None = None, atoms: tuple = ()) -> IntegerGrid:
        """Zero is an origin of numbers, not of moments."""
        step = column.step or 1
        first, last = bounds[0] // step, bounds[1] // step
        low, single = integer_starts((first, last), edges, atoms, zero=not column.moments)
        high = np.append(low[1:], np.int64(last + 1))
        width = np.where(single, 0.0, (high - low) * float(step))
        table = np.repeat(np.arange(len(low), dtype=np.int32), high - low) if last - first < _LOOKUP else None
        return cls.padded(column, low, high, width, step, table)

    def _find(self, values: np.ndarray) -> np.ndarray:
        steps = values if self.step == 1 else values // self.step
        steps = np.clip(steps, self.low[0], self.high[-1] - 1)  # rows that are null may hold anything
        if len(self.low) == int(self.high[-1]) - int(self.low[0]):  # one cell per value
            return steps - self.low[0]
        if self.table is not None:
            return self.table[steps - self.low[0]]
        return np.searchsorted(self.low, steps, side="right") - 1

    def _between(self, codes: np.ndarray, u: np.ndarray, low: Any, high: Any) -> Values:
        cell, empty = self._nulls(np.asarray(codes))
        first, end = self.low[cell], self.high[cell]
        if low is not None:
            first, end = np.maximum(first, -(-low // self.step)), np.minimum(end, high // self.step + 1)
        count = np.maximum(end - first, 1)
        offset = np.minimum(np.floor(u * count), (count - 1).astype(np.float64)).astype(np.int64)
        steps = first + np.minimum(offset, count - 1)
        return Values.of(steps * self.step, empty)

    def within(self, cell: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cell, empty = self._nulls(cell)
        return _steps_within(values // self.step - self.low[cell], self.high[cell] - self.low[cell], empty)

    def share(self, low: Any, high: Any) -> np.ndarray:
        first, end = -(-low // self.step), high // self.step + 1
        covered = np.minimum(self.high, end) - np.maximum(self.low, first)
        return np.clip(covered, 0, None) / (self.high - self.low)


class LabelGrid(Grid):
    """One cell per label, or per truth value."""

    dtype: ClassVar[type] = np.int32

    @classmethod
    def over(cls, column: Column) -> LabelGrid:
        code = np.arange(len(column.labels), dtype=np.int32)
        return cls.padded(column, code, code, np.zeros(len(code)))

    def _find(self, values: np.ndarray) -> np.ndarray:
        return values

    def _between(self, codes: np.ndarray, u: np.ndarray, low: Value, high: Value) -> Values:
        codes = np.asarray(codes).astype(np.int32)
        empty = (codes < 0) | (codes >= len(self.low))
        return Values.of(np.where(empty, np.int32(-1), codes), empty)

    def share(self, low: Value, high: Value) -> np.ndarray:
        return ((self.low >= low) & (self.low <= high)).astype(np.float64)


def _steps_within(step: np.ndarray, of: np.ndarray, empty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place and the part of one of several values of a cell; null takes its own whole."""
    count = np.maximum(of, 1).astype(np.float64)
    return np.where(empty, 0.0, np.clip(step / count, 0, 1 - 1 / count)), np.where(empty, 1.0, 1 / count)
