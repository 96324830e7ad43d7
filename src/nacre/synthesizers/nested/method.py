"""The sketch of a database: noisy tables over units and the rows they own, nested particles fitted to them.

Round one counts every column by itself on its fine public grid; its cells are then grouped (`cells`). Round two counts
pairs on those groups: of columns of a unit, of columns within a row, of a row and its ancestors, of a row and the one
after it, of rows of two tables (`views`). Only the counting sees rows; all tables of a round are one entry, by which a
unit moves at most `mu` noise standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.doors.nested import Nested
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.plan import Entry, Plan, Scope, gaussian_share
from nacre.progress import Progress, silent
from nacre.synthesizers.base import Configured
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.nested import gathering, views
from nacre.synthesizers.nested.cells import Cells, of_column, settled
from nacre.synthesizers.nested.expected import Nested as Expected
from nacre.synthesizers.nested.fit import Effort, Parameters, Seen, fit
from nacre.synthesizers.nested.model import NestedModel, Table, shape_of
from nacre.synthesizers.nested.shape import Shape
from nacre.synthesizers.nested.tape import Array, Node
from nacre.synthesizers.options import between, whole
from nacre.synthesizers.sketch.allocation import Allocation
from nacre.synthesizers.sketch.coarse import Coarse
from nacre.table.database import Database
from nacre.table.database.forms import Form
from nacre.table.grid import Grid
from nacre.table.naming import choices

FIRST, LITTLE = 0.1, 0.03  # of μ² for single columns: all on fine grids, all with few cells
FINE = 24  # cells from which on a column is grouped by what is counted first
TYPES = 4  # of units, where rows hang on rows
USUAL = 12_000.0, 192  # units in noise units, and classes of rows that are fitted then
FEW_AND_MANY = 64, 256  # classes of rows
LEAST = 0.02  # of an even share: what is not less likely to begin with


@dataclass(frozen=True)
class NestedSketch(Configured):
    """Hyperparameters (docs/methods/nested.md).

    `target`: "table.column", whose tables are known better. `types` of units, whose effect on all their rows is the
    same whatever their class; None: four where rows hang on rows of units, one where they do not. `rows`: classes of
    the rows of each table below, of all types together; None: as many as the noise lets tell apart. `classes`: those of
    units; None: half as many. `steps`: of the fit. `pull`: how strongly classes are held to the one-way shares.
    """

    name: ClassVar[str] = "nested"

    types: int | None = whole(None, most=256)
    classes: int | None = whole(None, most=4096)
    rows: int | None = whole(None, most=4096)
    steps: int = whole(600, most=1_000_000)
    pull: float = between(1e5, 0.0, 1e9)

    def plan(
        self, database: Database, forms: Mapping[str, Form], budget: Budget, before: tuple[Entry, ...] = ()
    ) -> Plan:
        """Both rounds: noise from the columns and the budget alone."""
        if self.target is not None and self.target not in _columns(forms):
            known = choices(self.target, _columns(forms))
            raise SchemaError(
                f"target {self.target!r} is not a modelled column, written table.column; choose among {known}"
            )
        if not _columns(forms):
            raise SchemaError("the database has no column to model: all are identifiers or follow from others")
        mu2 = gaussian_share(budget, Scope(budget.neighbours), before)
        tables = views.tables(database, forms, self.target)
        share = _first(forms) if tables else 1.0
        entries: list[Entry] = [views.entry("one-way", views.singles(database, forms), database, share * mu2)]
        if tables:
            entries.append(views.entry("tables", tables, database, (1 - share) * mu2))
        return Plan(self.name, (*before, *entries), budget, 1, database.units)

    def fit(self, curator: NestedCurator, plan: Plan, seed: int, progress: Progress = silent) -> NestedModel:
        database, forms = curator.database, curator.forms
        progress("counting single columns", 0, None)
        first = plan["one-way"]
        alone = curator.nested(first)
        units = float(plan.rows or max(1.0, _units(first, alone, database)))
        coarse = _coarse(curator, plan, alone)
        types = self.types or (TYPES if any(len(database.path(t)) > 2 for t in forms) else 1)
        rows = self.rows or _classes(units * max(e.mu for e in plan.entries if isinstance(e, Nested)))
        every = {t: rows if t != database.unit else self.classes or (rows + 1) // 2 for t in forms}
        classes = {t: max(1, every[t] // types) for t in forms}
        shapes = {t: shape_of(database, forms, t, coarse[t], classes[t], types) for t in forms}
        seen = gathering.singles(first, alone, shapes, coarse, units)
        if any(e.name == "tables" for e in plan.entries):
            progress("counting tables", 0, None)
            groups = {f"{t}.{c}": found.lut for t, own in coarse.items() for c, found in own.items()}
            seen += gathering.pairs(plan["tables"], curator.nested(plan["tables"], groups), shapes, coarse, units)
        rng = np.random.default_rng(seed)
        effort = Effort(steps=self.steps, pull=self.pull / units**2)
        logits = fit(shapes, _shares(seen, shapes), seen, effort, rng, lambda *at: progress("fitting", *at))
        return _model(curator, logits, shapes, seen, coarse, units)


def _first(forms: Mapping[str, Form]) -> float:
    """The share of μ² for single columns: small cells need no groups, and their tables tell the rest."""
    columns = [c for form in forms.values() for c in form.columns.values()]
    fine = np.mean([bool(c.missing) or Grid.of(c).cells >= FINE for c in columns])
    return LITTLE + (FIRST - LITTLE) * float(fine)


def _classes(signal: float) -> int:
    """Of rows, where tables are known so well: units in noise units."""
    return int(np.clip(USUAL[1] * math.sqrt(signal / USUAL[0]), *FEW_AND_MANY))


def _columns(forms: Mapping[str, Form]) -> list[str]:
    return [f"{table}.{column}" for table, form in forms.items() for column in form.columns]


def _units(entry: Nested, alone: gathering.Answers, database: Database) -> float:
    """How many units there are, by the sums of all tables of their own columns."""
    for view, counts, sigmas in zip(entry.views, alone, entry.sigmas):
        if view.table == database.unit:
            precision = [1 / (s**2 * c.size) for s, c in zip(sigmas, counts)]
            return float(np.average([c.sum() for c in counts], weights=precision))
    raise NacreError(f"table {database.unit!r} has nothing that could be counted; give it a column or a table below")


def _coarse(curator: NestedCurator, plan: Plan, alone: gathering.Answers) -> dict[str, dict[str, Coarse]]:
    """The groups of every column, by table."""
    forms, first, found = curator.forms, plan["one-way"], {}
    deep = plan["tables"] if any(e.name == "tables" for e in plan.entries) else None
    for view, counts, sigmas in zip(first.views, alone, first.sigmas):
        form, rows = forms[view.table], max(1.0, float(np.mean([c.sum() for c in counts])))
        columns = {}
        for name, own, sigma in zip(form.columns, counts, sigmas):
            held = _held(deep, f"{view.table}.{name}")
            parts = Allocation(sigma, None, _noise(held), 1, float(len(held)), rows)
            number = name in form.count.values()
            apart = form.clock is not None and name == form.clock.gap
            columns[name] = of_column(curator.grids[f"{view.table}.{name}"], own, sigma, parts, number, apart)
        found[view.table] = columns
    return {table: found.get(table, {}) for table in forms}


def _held(entry: Nested | None, column: str) -> list[float]:
    """The noise of all tables that hold a column."""
    if entry is None:
        return []
    listed = zip(entry.cliques, entry.sigmas)
    return [s for cliques, sigmas in listed for c, s in zip(cliques, sigmas) if column in c or f"{column}+" in c]


def _noise(sigmas: list[float]) -> float | None:
    return math.sqrt(len(sigmas) / math.fsum(s**-2 for s in sigmas)) if sigmas else None


def _shares(seen: Sequence[Seen], shapes: Mapping[str, Shape]) -> dict[str, Array]:
    """Positive one-way shares of every table."""
    found = {name: np.ones(shape.cells, np.float32) for name, shape in shapes.items()}
    for one in seen:
        if one.kind == "single":
            found[one.table] = np.maximum(one.found[0], 0)
    for name, shape in shapes.items():
        for spot in shape.spots:
            own = found[name][spot]
            own = np.maximum(own, LEAST * max(float(own.sum()), 1e-9) / len(own))
            found[name][spot] = own / own.sum()
    return found


def _model(
    curator: NestedCurator, logits: Parameters, shapes: Mapping[str, Shape], seen: Sequence[Seen],
    coarse: gathering.Groups, units: float,
) -> NestedModel:  # fmt: skip
    database, forms, top = curator.database, curator.forms, curator.database.unit
    law = Expected(shapes, {n: {k: Node(v) for k, v in own.items()} for n, own in logits.items()})
    cells: dict[str, dict[str, Cells]] = {table: {} for table in forms}
    for one in seen:
        if one.kind == "single":
            mass = units * one.expected(law)[0].value.astype(np.float64)
            spots = shapes[one.table].spots
            cells[one.table] = {n: settled(c, mass[s]) for (n, c), s in zip(coarse[one.table].items(), spots)}
    own = cells[top].values()
    weights = law.share.value.astype(np.float64) * len(law.share.value)
    particles = Particles(law.own.value, [c.lut for c in own], [c.inside for c in own], weights)
    root = TableModel(forms[top].schema, particles, [c.slope for c in own], round(units))
    tables = {table: Table(logits[table], cells[table]) for table in database.owned[1:]}
    return NestedModel(forms, root, shapes, tables, round(units))
