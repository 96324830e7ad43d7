"""From records to boxes in [0, 1]^d and back: every column becomes one or more axes, by public facts alone.

A record is a box: on an axis of cells the interval of its cell, shrunk to a whole number's part of the cell or to one
point for real values; a whole axis where the record says nothing about it. The probability of a record is the mass of
its box, so uniform dequantisation is a uniform point of the box (dphflow.md 3.1, 3.2, E5, E14).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nacre.errors import DomainNotDeclared
from nacre.privacy.discovery import Undeclared
from nacre.synthesizers.base import refuse_tensors, refuse_unknown_target
from nacre.table import Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

ENCODINGS = ("codes", "binary", "one-hot")


@dataclass(frozen=True)
class Axis:
    """`kind`: "cells" (the column's grid, or its labels), "choice" (an ordinary value, or which special one), "bit" or
    "one-hot" number `place` of a nominal label. `size`: how many intervals it has."""

    column: str
    kind: str
    size: int
    place: int = 0


@dataclass(frozen=True, eq=False)
class Axes:
    """`edges`: where the cells of a column begin and end on its axis [cells + 1], from 0 to 1; `bought`: whether noisy
    tables say so."""

    schema: Schema
    order: tuple[str, ...]
    axes: tuple[Axis, ...]
    edges: Mapping[str, np.ndarray]
    encoding: str
    bought: bool

    @staticmethod
    def of(
        schema: Schema, target: str | None, encoding: str, shares: Mapping[str, np.ndarray] | None, method: str
    ) -> Axes:
        """The target comes first. `shares`: bought shares of the cells of every column; without them all cells are
        equally wide, and zero, declared atoms and null of a number get an axis of their own."""
        refuse_tensors(schema, method)
        refuse_unknown_target(schema, target)
        for name, fact in schema.undeclared():
            fact = "kind" if isinstance(schema.columns[name], Undeclared) else fact
            raise DomainNotDeclared(
                f"column {name!r}: {fact} not declared; method {method!r} needs the whole schema before it plans: "
                "write one (`nacre schema draft`, reviewed), or use a method that buys what is lacking (sketch, pearl)"
            )
        order = tuple(sorted(schema.modelled, key=lambda name: name != target))
        axes: list[Axis] = []
        for name in order:
            grid = Grid.of(schema.columns[name])
            if encoding == "binary" and _nominal(grid):
                bits = math.ceil(math.log2(grid.cells))
                axes += [Axis(name, "bit", 2, bits - 1 - bit) for bit in range(bits)]
            elif encoding == "one-hot" and _nominal(grid):
                axes += [Axis(name, "one-hot", 1, place) for place in range(grid.cells)]
            else:
                special = len(_special(grid)) if shares is None else 0
                axes += [Axis(name, "choice", 1 + special)] if special else []
                axes.append(Axis(name, "cells", grid.cells))
        edges = {n: _edges(Grid.of(schema.columns[n]).cells, None if shares is None else shares[n]) for n in order}
        return Axes(schema, order, tuple(axes), edges, encoding, shares is not None)

    @cached_property
    def grids(self) -> dict[str, Grid]:
        return {name: Grid.of(self.schema.columns[name]) for name in self.order}

    @property
    def labels(self) -> tuple[int, ...]:
        """For every axis how many labels its column has, where it is one axis of labels; 0 elsewhere."""
        return tuple(a.size if a.kind == "cells" and _is_label(self.grids[a.column]) else 0 for a in self.axes)

    @property
    def one_hots(self) -> tuple[tuple[int, int], ...]:
        """(first axis, size) of every column that is encoded one-hot."""
        firsts = [i for i, a in enumerate(self.axes) if a.kind == "one-hot" and a.place == 0]
        return tuple((i, self.grids[self.axes[i].column].cells) for i in firsts)

    @cached_property
    def specials(self) -> dict[str, np.ndarray]:
        """The cells of a column that its choice axis names, in order."""
        return {a.column: _special(self.grids[a.column]) for a in self.axes if a.kind == "choice"}

    # ------------------------------------------------------------------ records

    def encode(self, records: Mapping[str, Values]) -> dict[str, np.ndarray]:
        """{"low", "width"}: [n, axes] the box of every record, float32; {"codes"}: [n, columns] label numbers of the
        columns that have labels, in order, -1 for none."""
        rows = len(next(iter(records.values())).values)
        low, width = np.zeros((rows, len(self.axes))), np.ones((rows, len(self.axes)))
        cells = {name: self.grids[name].codes(records[name]).astype(np.int64) for name in self.order}
        for i, axis in enumerate(self.axes):
            low[:, i], width[:, i] = self._interval(axis, records[axis.column], cells[axis.column])
        codes = [cells[n] for n in self.order if _is_label(self.grids[n])]
        return {
            "low": low.astype(np.float32),
            "width": width.astype(np.float32),
            "codes": np.stack(codes, axis=1).astype(np.int32) if codes else np.zeros((rows, 0), np.int32),
        }

    def _interval(self, axis: Axis, values: Values, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        grid, somewhere = self.grids[axis.column], cell >= 0
        cell = np.where(somewhere, cell, 0)
        special = self.specials.get(axis.column, np.zeros(0, np.int64))
        if axis.kind == "one-hot":
            return np.zeros(len(cell)), np.ones(len(cell))
        if axis.kind == "bit":
            low, width = ((cell >> axis.place) & 1) / 2, np.full(len(cell), 0.5)
        elif axis.kind == "choice":
            which = (cell[:, None] == special) @ np.arange(1, len(special) + 1)
            low, width = which / axis.size, np.full(len(cell), 1 / axis.size)
        else:
            somewhere = somewhere & ~np.isin(cell, special)
            edges = self.edges[axis.column]
            inside, part = grid.within(cell, values.values)
            mass = edges[cell + 1] - edges[cell]
            low, width = edges[cell] + inside * mass, part * mass
        return np.where(somewhere, low, 0.0), np.where(somewhere, width, 1.0)

    def log_scale(self, records: Mapping[str, Values]) -> np.ndarray:
        """Σ log dy/dx over the axes on which a record is a point: the density of real columns is per their unit."""
        total = np.zeros(len(next(iter(records.values())).values))
        for axis in (a for a in self.axes if a.kind == "cells"):
            grid, values = self.grids[axis.column], records[axis.column]
            cell = grid.codes(values).astype(np.int64)
            point = (cell >= 0) & (grid.within(np.maximum(cell, 0), values.values)[1] == 0)
            point &= ~np.isin(cell, self.specials.get(axis.column, []))
            cell = np.where(point, cell, 0)
            mass = np.diff(self.edges[axis.column])[cell]
            total += np.where(point, np.log(mass) - np.log(np.where(point, grid.width[cell], 1.0)), 0.0)
        return total

    def code(self, axis: int, y: np.ndarray) -> np.ndarray:
        """The cell on an axis of cells at every y."""
        edges = self.edges[self.axes[axis].column]
        return np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)

    def decode(self, y: np.ndarray) -> dict[str, Values]:
        """Values of the schema from points of [0, 1]^d."""
        found = {}
        for name in self.order:
            grid, mine = self.grids[name], [i for i, a in enumerate(self.axes) if a.column == name]
            kind = self.axes[mine[-1]].kind
            inside = np.zeros(len(y))
            if kind == "bit":  # strings that no label has stand for the label they exceed the number of labels by
                bits = np.array([1 << self.axes[i].place for i in mine])
                cell = ((y[:, mine] >= 0.5) @ bits) % grid.cells
            elif kind == "one-hot":
                cell = y[:, mine].argmax(axis=1)
            else:
                cell = self.code(mine[-1], y[:, mine[-1]])
                edges = self.edges[name]
                inside = np.clip((y[:, mine[-1]] - edges[cell]) / (edges[cell + 1] - edges[cell]), 0, 1 - 1e-12)
            if name in self.specials:
                choice = np.clip((y[:, mine[0]] * self.axes[mine[0]].size).astype(np.int64), 0, None)
                named = np.append(self.specials[name], 0)[np.minimum(choice, self.axes[mine[0]].size - 1) - 1]
                cell, inside = np.where(choice > 0, named, cell), np.where(choice > 0, 0.0, inside)
            found[name] = grid.place(cell, inside)
        return {name: found[name] for name in self.schema.modelled}


def _is_label(grid: Grid) -> bool:
    return grid.column.labelled


def _nominal(grid: Grid) -> bool:
    return _is_label(grid) and not grid.ordered and grid.cells > 2


def _special(grid: Grid) -> np.ndarray:
    """Cells of a number with a mass of their own: null, zero and declared atoms where they are single cells."""
    if _is_label(grid):
        return np.zeros(0, np.int64)
    single = np.flatnonzero(grid.width[: len(grid.low)] == 0)
    wanted = {0, *getattr(grid.column, "atoms", ())}
    found = [int(c) for c in single if grid.low[c] in wanted] if len(single) < len(grid.low) else []
    return np.array(found + ([grid.null] if grid.null is not None else []), np.int64)


def _edges(cells: int, shares: object) -> np.ndarray:
    share = np.full(cells, 1 / cells) if shares is None else np.asarray(shares, np.float64)
    edges = np.concatenate([[0.0], np.cumsum(share)])
    return edges / edges[-1]
