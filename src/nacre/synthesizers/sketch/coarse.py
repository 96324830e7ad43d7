"""What the first round says of a column: its groups, and what lies inside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.parts import grouping
from nacre.synthesizers.sketch.allocation import Allocation
from nacre.table.grid import Grid


@dataclass(frozen=True)
class Coarse:
    """What round one says of a column: groups of fine cells, shares inside a group, slopes inside a cell."""

    lut: np.ndarray
    inside: np.ndarray
    slope: np.ndarray
    counts: np.ndarray  # of the groups
    sigma: np.ndarray

    @property
    def groups(self) -> int:
        return len(self.counts)

    def table(self, j: int) -> Table:
        """The group counts as a noisy table of column number j."""
        return Table((j,), self.counts, self.sigma)

    @staticmethod
    def of(grid: Grid, counts: np.ndarray, sigma: float, limit: int, parts: Allocation | None) -> Coarse:
        """At most `limit` groups by the rules of `parts`; without them every cell is a group of its own."""
        width = grid.width if grid.ordered else None
        if parts is None:
            lut = np.arange(grid.cells, dtype=np.int32)
        else:
            floor = parts.floor(grid.ordered)
            lut = grouping.group(counts, sigma, grid.ordered, limit, floor, grid.null, parts.power)
        shares = grouping.shares(counts, sigma, lut, width, grid.null)
        return Coarse(
            lut=lut,
            inside=grouping.inside(counts, sigma, lut, width, grid.null),
            slope=grouping.slopes(shares, grid.width),
            counts=np.bincount(lut, counts),
            sigma=sigma * np.sqrt(np.bincount(lut)),
        )
