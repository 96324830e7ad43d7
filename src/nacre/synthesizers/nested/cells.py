"""What the first round says of a column: its groups, and how values are drawn inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.nested.drawing import Ints, pick
from nacre.synthesizers.parts.grouping import bend
from nacre.synthesizers.sketch.allocation import Allocation
from nacre.synthesizers.sketch.coarse import Coarse
from nacre.table.encoding import Values
from nacre.table.grid import Grid

WHOLE = 16  # cells up to which every number of rows is a group of its own


class Grouped(Protocol):
    """Groups of the cells of a column."""

    @property
    def grid(self) -> Grid: ...

    @property
    def lut(self) -> NDArray[np.int32]: ...

    @property
    def inside(self) -> NDArray[np.float64]: ...


def member_of(grouped: Grouped) -> NDArray[np.float32]:
    """[groups, cells]: the share of every cell in its group."""
    found = np.zeros((int(grouped.lut.max()) + 1, grouped.grid.cells), np.float32)
    found[grouped.lut, np.arange(grouped.grid.cells)] = grouped.inside
    return found


@dataclass(frozen=True)
class Cells:
    """The groups of one column: fine cell -> group, the share of each cell in its group, the slope inside a cell."""

    grid: Grid
    lut: NDArray[np.int32]
    inside: NDArray[np.float64]
    slope: NDArray[np.float64]

    def place(self, groups: Ints | NDArray[np.int32], rng: np.random.Generator) -> tuple[Ints, NDArray[np.float64]]:
        """(cell, place inside it) for each row's group."""
        cells = pick(member_of(self).astype(np.float64), groups.astype(np.int64), rng)
        return cells, bend(rng.random(len(cells)), self.slope[cells])

    def values(self, cells: Ints, u: NDArray[np.float64]) -> Values:
        return self.grid.place(cells, u)

    def to_arrays(self, name: str) -> dict[str, NDArray]:
        return {f"{name}.lut": self.lut, f"{name}.inside": self.inside, f"{name}.slope": self.slope}

    @classmethod
    def from_arrays(cls, grid: Grid, name: str, arrays: Mapping[str, NDArray]) -> Cells:
        return cls(grid, *(np.asarray(arrays[f"{name}.{part}"]) for part in ("lut", "inside", "slope")))

    def sound(self) -> bool:
        """Whether shapes and ranges fit, for files of others."""
        good = all(a.shape == (self.grid.cells,) for a in (self.lut, self.inside, self.slope))
        if not good or self.lut.dtype.kind not in "iu" or self.lut.min() < 0 or self.lut.max() >= self.grid.cells:
            return False
        finite = np.isfinite(self.inside).all() and (self.inside >= 0).all() and (np.abs(self.slope) <= 2).all()
        return bool(finite) and bool((np.bincount(self.lut, self.inside) > 0).all())


def of_column(
    grid: Grid, counts: NDArray[np.float64], sigma: float, parts: Allocation, whole: bool = False, apart: bool = False
) -> Coarse:
    """The groups of a column by its noisy counts. `whole`: every cell by itself while there are few; `apart`: null is a
    group of its own, whatever was counted."""
    if whole and grid.cells <= WHOLE:
        return Coarse.of(grid, counts, sigma, grid.cells, None)
    if apart and grid.null is not None:
        counts = counts.copy()
        counts[grid.null] = max(counts[grid.null], 2 * parts.floor(grid.ordered))
    return Coarse.of(grid, counts, sigma, parts.groups, parts)


def settled(coarse: Coarse, mass: NDArray[np.float64]) -> Cells:
    """With the masses that all tables together have told."""
    found = coarse.settled(mass)
    return Cells(found.grid, found.lut, found.inside, found.slope)
