"""The steps on which the values of a measured column stand: whole numbers, units of time, decimals, or none."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from nacre.table.cells import integer_starts

if TYPE_CHECKING:
    from nacre.table.columns import Column

PER_DECADE = 16  # cells of distances per factor of ten, from one step on
_NEAR = 1e-6  # of a step: floats closer than this to a multiple are it
_BEYOND = 1000.0  # steps from the ends of a line, from which on how far numbers lie plays no part


@dataclasses.dataclass(frozen=True)
class Line:
    """The number line of one measured column with bounds, in its stored values."""

    column: Column

    @property
    def ends(self) -> tuple[float, float]:
        assert self.column.ends is not None  # rules refuse a column without
        return self.column.ends

    @property
    def scale(self) -> float | None:
        """Multiples of 1 / scale are its values, where it has decimals."""
        return None if self.column.decimals is None or self.column.step else 10.0**self.column.decimals

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The values of the line next to these numbers, bounds aside."""
        if (step := self.column.step) is not None:
            if values.dtype.kind == "i":
                return (values + step // 2) // step * step
            return np.rint(values / step).astype(np.int64) * step
        values = values.astype(np.float64)
        return values if self.scale is None else np.rint(values * self.scale) / self.scale + 0.0

    def from_(self, values: np.ndarray, strict: bool) -> np.ndarray:
        """The least values of the line that are at least these numbers; above them, if `strict`. Of numbers far beyond
        its ends only the side counts: on a step they might have no value in 64 bits."""
        least = self.column.step or (None if self.scale is None else 1 / self.scale)
        if least is not None and values.dtype.kind == "f":
            values = np.clip(values, self.ends[0] - _BEYOND * least, self.ends[1] + _BEYOND * least)
        if (step := self.column.step) is not None:
            if values.dtype.kind == "i":
                return (values // step + 1) * step if strict else -(-values // step) * step
            steps = values / step
            return (np.floor(steps) + 1 if strict else np.ceil(steps)).astype(np.int64) * step
        values = values.astype(np.float64)
        if self.scale is None:
            return np.nextafter(values, np.inf) if strict else values
        steps = values * self.scale
        near = np.rint(steps)
        exact = np.abs(steps - near) <= _NEAR
        return np.where(exact, near + strict, np.ceil(steps)) / self.scale

    def first(self, value: float, strict: bool) -> float:
        """`from_` of one number."""
        return self.from_(np.asarray([value]), strict)[0]

    def distances(self, most: float) -> Column:
        """The column of distances between values of this line, from zero on: cells on a logarithmic scale whose finest
        is one step, zero an atom."""
        from nacre.table.columns import Numeric

        null = self.column.nullable
        if self.column.step is None:
            return Numeric((0.0, max(float(self.nearest(np.asarray([most]))[0]), 0.0)), decimals=self.column.decimals,
                           nullable=null)  # fmt: skip
        top = int(most) // self.column.step
        whole = Numeric((0, top), integer=True, nullable=null)
        starts, single = integer_starts((0, top), None, (), zero=True)
        if not single.any():  # a cell for every distance
            return whole
        lattice = np.rint(10.0 ** (np.arange(int(np.log10(top) * PER_DECADE) + 1) / PER_DECADE)).astype(np.int64)
        edges = np.unique(np.concatenate([starts[starts < top], lattice[lattice < top]]))
        return dataclasses.replace(whole, edges=(*edges.tolist(), top), atoms=(0,))

    def apart(self, base: np.ndarray, values: np.ndarray) -> np.ndarray:
        """How far values lie above a base, as `distances` has it; negative below it."""
        if self.column.step is not None:
            return (values - base) // self.column.step
        return self.nearest(values - base)

    def beyond(self, base: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """The values that lie so far above a base, inside the upper bound."""
        values = base + distance * (self.column.step or 1.0)
        return np.minimum(values if self.column.step else self.nearest(values), self.ends[1])
