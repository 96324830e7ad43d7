"""What the first round says of a column: its groups, and what lies inside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.parts import families, grouping
from nacre.synthesizers.sketch.allocation import Allocation
from nacre.table import Schema
from nacre.table.grid import Grid


@dataclass(frozen=True)
class Coarse:
    """What round one says of a column: groups of fine cells, shares inside a group, slopes inside a cell."""

    lut: np.ndarray
    inside: np.ndarray
    slope: np.ndarray
    counts: np.ndarray  # of the groups
    sigma: np.ndarray
    grid: Grid
    fine: tuple[np.ndarray, float]  # counts of the cells and their noise
    whole: np.ndarray  # the groups of the cells before long tails were divided

    @property
    def groups(self) -> int:
        return len(self.counts)

    def table(self, j: int) -> Table:
        """The group counts as a noisy table of column number j."""
        return Table((j,), self.counts, self.sigma)

    @staticmethod
    def of(grid: Grid, counts: np.ndarray, sigma: float, limit: int, parts: Allocation | None) -> Coarse:
        """At most `limit` groups by the rules of `parts`; without them every cell is a group of its own."""
        if parts is None:
            lut = whole = np.arange(grid.cells, dtype=np.int32)
        else:
            floor = parts.floor(grid.ordered)
            above = grid.column.hierarchy
            if above:
                lut = whole = families.group(counts, grid.column.labels, above, limit, floor, grid.null)
            else:
                lut = whole = grouping.group(counts, sigma, grid.ordered, limit, floor, grid.null, parts.power)
            if grid.ordered:
                lut = grouping.reach(lut, counts, sigma, grid.width, floor, grid.null)
        given = np.bincount(lut, counts), sigma * np.sqrt(np.bincount(lut)), grid, (counts, sigma), whole
        found = Coarse(lut, counts, counts, *given)
        return found.settled()

    def undivided(self) -> np.ndarray:
        """Of every group, the one that it was before long tails were divided."""
        home = np.zeros(self.groups, np.int64)
        home[self.lut] = self.whole
        return home

    def joined(self, mass: np.ndarray) -> Coarse:
        """With long tails in one piece; inside it, groups that were its parts have these masses."""
        made = self.settled(mass)
        share = mass[self.lut] * made.inside
        held = np.bincount(self.whole, share)[self.whole]
        even = 1.0 / np.bincount(self.whole)[self.whole]
        inside = np.where(held > 0, share / np.maximum(held, 1e-300), even)
        home, variance = self.undivided(), np.square(self.sigma)
        sigma = np.sqrt(np.bincount(home, variance))
        return replace(made, lut=self.whole, inside=inside, counts=np.bincount(home, self.counts), sigma=sigma)

    def settled(self, mass: np.ndarray | None = None) -> Coarse:
        """With shares and slopes that follow from the masses of the groups, once all tables have told them."""
        grid, width = self.grid, self.grid.width
        if grid.column.whole:  # a single value is as wide as any other
            width = np.where(np.arange(grid.cells) == grid.null, 0.0, np.maximum(width, grid.column.step or 1))
        given = (*self.fine, self.lut, width if grid.ordered else None, grid.null)
        slope = grouping.slopes(grouping.shares(*given, mass), width)
        return replace(self, inside=grouping.inside(*given, mass), slope=slope)


def with_spikes(schema: Schema) -> Schema:
    """The schema with cells for likely spikes: what is counted, not what the release states."""
    return replace(schema, columns={name: column.spiked() for name, column in schema.columns.items()})
