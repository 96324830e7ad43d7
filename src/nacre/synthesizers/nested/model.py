"""What a fit of a database leaves: a mixture of units, and laws of the rows that they own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.base import expect_sound, reading_parts
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.nested import drawing
from nacre.synthesizers.nested.cells import Cells, Grouped, member_of
from nacre.synthesizers.nested.drawing import Ints, Laws
from nacre.synthesizers.nested.fit import LOGITS, fits
from nacre.synthesizers.nested.shape import Shape
from nacre.table import Condition
from nacre.table.database import Database
from nacre.table.database.forms import Form
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.typed import Json

CHUNK = 50_000  # units whose classes are found at a time
Logits = Mapping[str, NDArray[np.float32]]


class Facts(TypedDict):
    """What a file says of a model beside its arrays."""

    units: int
    types: int
    root: Mapping[str, Json]


@dataclass(frozen=True)
class Drawn:
    """Rows of one table: the columns that its inner schema has, and the place of each row's parent among the parents.
    Rows of one parent stand together, in order. `references`: the labels of keys to public tables."""

    columns: dict[str, Values]
    parent: Ints | None
    references: dict[str, Values]


@dataclass(frozen=True)
class Table:
    """The laws of the rows of one table below the unit's, and the cells of its columns."""

    logits: Logits
    cells: Mapping[str, Cells]


@dataclass(frozen=True)
class NestedModel:
    """`root` draws the rows of the unit table, the numbers of their rows among their columns; `tables` what hangs on
    them, top-down, in groups and classes as `shapes` says. `units` is how many units the database has, as far as the
    release knows."""

    forms: Mapping[str, Form]
    root: TableModel
    shapes: Mapping[str, Shape]
    tables: Mapping[str, Table]
    units: int

    def draw(
        self, units: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Drawn]:
        """So many units whose own columns satisfy `where`, with all that is theirs."""
        return self.complete(self.root.draw(units, rng, where), rng)

    def complete(self, units: Mapping[str, Values], rng: np.random.Generator) -> dict[str, Drawn]:
        """Units whose own columns were drawn, with all that is theirs."""
        top = next(iter(self.forms))
        values = {top: dict(units)}
        classes = {top: self._classes(units, rng)}
        parents: dict[str, Ints | None] = {top: None}
        for name, table in self.tables.items():
            shape, over = self._shapes_of(name)
            numbers = values[over.name][self.forms[over.name].count[name]].values.astype(np.int64)
            laws = Laws.of(shape, over, table.logits)
            drawn = drawing.draw(shape, laws, classes[over.name], numbers, rng)
            classes[name], parents[name] = drawn.classes, drawn.parent
            values[name] = _values(table, drawn, len(numbers), rng)
        return {name: self._told(name, values, parents) for name in self.forms}

    def _shapes_of(self, name: str) -> tuple[Shape, Shape]:
        """A table below the root, and its parent."""
        shape = self.shapes[name]
        assert shape.parent is not None
        return shape, self.shapes[shape.parent]

    def _classes(self, units: Mapping[str, Values], rng: np.random.Generator) -> Ints:
        """The class of each unit, drawn given its columns."""
        particles = self.root.particles
        logs = [np.log(np.maximum(particles.block(j), 1e-30)) for j in range(len(particles.luts))]
        groups = [
            lut[np.maximum(grid.codes(units[name]), 0)]
            for name, grid, lut in zip(self.root.columns, self.root.grids, particles.luts)
        ]
        rows = len(groups[0]) if groups else 0
        found = np.empty(rows, np.int64)
        for start in range(0, rows, CHUNK):
            here = slice(start, min(start + CHUNK, rows))
            score = np.log(particles.shares())[None] + sum(log[:, g[here]].T for log, g in zip(logs, groups))
            law = np.exp(score - score.max(1, keepdims=True)).cumsum(1)
            u = rng.random(len(law)) * law[:, -1]
            found[here] = np.minimum((law < u[:, None]).sum(1), law.shape[1] - 1)
        return found

    def _told(self, name: str, values: Mapping[str, dict[str, Values]], parents: Mapping[str, Ints | None]) -> Drawn:
        """The columns of the table, times among them."""
        form, own, parent = self.forms[name], values[name], parents[name]
        columns = {column: own[column] for column in form.stored}
        if form.clock is not None:
            columns[form.clock.order] = self._times(name, values, parents)
        return Drawn(columns, parent, {column: own[column] for column in form.references})

    def _times(self, name: str, values: Mapping[str, dict[str, Values]], parents: Mapping[str, Ints | None]) -> Values:
        clock, parent, over = self.forms[name].clock, parents[name], self.shapes[name].parent
        assert clock is not None and parent is not None and over is not None
        base = self._times(over, values, parents) if clock.base is not None else None
        return clock.times(values[over][clock.start], values[name][clock.gap], parent, base)

    # -- in and out -----------------------------------------------------------------------------------------

    def parts(self) -> tuple[Facts, dict[str, NDArray]]:
        """Facts as JSON has them, and arrays."""
        facts, arrays = self.root.parts()
        arrays = {f"root.{name}": array for name, array in arrays.items()}
        for i, table in enumerate(self.tables.values()):
            arrays |= {f"table.{i}.{name}": logits for name, logits in table.logits.items()}
            for j, cells in enumerate(table.cells.values()):
                arrays |= cells.to_arrays(f"table.{i}.cells.{j}")
        return {"units": self.units, "types": self.shapes[next(iter(self.forms))].types, "root": facts}, arrays

    @classmethod
    def from_parts(
        cls, database: Database, forms: Mapping[str, Form], facts: Facts, arrays: Mapping[str, NDArray]
    ) -> NestedModel:
        """The model that `parts` describes; ReleaseFileError where that is none."""
        with reading_parts():
            own = {n.removeprefix("root."): a for n, a in arrays.items() if n.startswith("root.")}
            root = TableModel.from_parts(forms[database.unit].schema, facts["root"], own)
            units, types = int(facts["units"]), int(facts["types"])
            every = len(root.particles.blocks)
            expect_sound(units >= 0 and 0 < types <= every and every % types == 0)
            cells = {database.unit: {name: _groups_of(root, j) for j, name in enumerate(root.columns)}}
            shapes = {
                database.unit: shape_of(database, forms, database.unit, cells[database.unit], every // types, types)
            }
            tables = {}
            for i, name in enumerate(database.owned[1:]):
                columns = forms[name].columns.items()
                own = {
                    c: Cells.from_arrays(Grid.of(d), f"table.{i}.cells.{j}", arrays) for j, (c, d) in enumerate(columns)
                }
                expect_sound(all(c.sound() for c in own.values()))
                logits = {n: arrays[f"table.{i}.{n}"] for n in LOGITS if f"table.{i}.{n}" in arrays}
                shapes[name] = shape_of(database, forms, name, own, len(logits["own"]), types)
                over = shapes[shapes[name].parent or database.unit]
                expect_sound(fits(shapes[name], logits, over.classes))
                tables[name] = Table(logits, own)
        return cls(forms, root, shapes, tables, units)


def _groups_of(root: TableModel, j: int) -> Cells:
    particles = root.particles
    return Cells(root.grids[j], particles.luts[j], particles.insides[j], root.slopes[j])


def shape_of(
    database: Database, forms: Mapping[str, Form], name: str, cells: Mapping[str, Grouped], classes: int, types: int
) -> Shape:
    """One table in groups."""
    form, key, names = forms[name], database.owner(name), list(forms[name].columns)
    made = {*form.count.values(), *(clock.start for clock in form.clocks.values())}
    gap = None
    if form.clock is not None:
        made.add(form.clock.gap)
        own = cells[form.clock.gap]
        assert own.grid.null is not None
        gap = names.index(form.clock.gap), int(own.lut[own.grid.null])
    return Shape(
        name,
        None if key is None else key.parent,
        1 if key is None or key.cap is None else key.cap,
        key is not None and key.order is not None,
        tuple(int(cells[c].lut.max()) + 1 for c in names),
        classes,
        types,
        {child: (names.index(column), member_of(cells[column])) for child, column in form.count.items()},
        gap,
        tuple(c not in made for c in names),
    )


def _values(table: Table, drawn: drawing.Drawn, parents: int, rng: np.random.Generator) -> dict[str, Values]:
    """The values of drawn groups. A label that a parent keeps is the same in all its rows; of numbers, the group is."""
    found = {}
    for (name, cells), groups, kept in zip(table.cells.items(), drawn.groups, drawn.kept):
        places, u = cells.place(groups, rng)
        here = np.flatnonzero(kept)
        if len(here) and cells.grid.column.labelled:
            keeper = np.full(parents, -1)
            keeper[drawn.parent[here[::-1]]] = here[::-1]  # the first that keeps it
            source = keeper[drawn.parent[here]]
            places[here], u[here] = places[source], u[source]
        found[name] = cells.values(places, u)
    return found
