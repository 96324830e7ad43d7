"""The co-occurrence sketch: every pairwise table once, with noise, and particles fitted to them (the default).

Round one buys one-way tables on the fine public grid, by class of the target where one is declared. Post-processing
groups the cells of each column (`grouping`): runs of about equal mass, spikes alone, rare categories together. Round
two buys the tables of all pairs (with the target: all triples) on those groups or, for wide tables, of the pairs that
a noisy selection found to matter. The rest never sees a row. A record lands in one cell of each table, so tables with
noise σ_j cost μ² = Σ σ_j⁻².
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.errors import SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Scope, Select, gaussian_share
from nacre.synthesizers import grouping, wide
from nacre.synthesizers.base import Progress, refuse_tensors, silent
from nacre.synthesizers.drawing import Particles
from nacre.synthesizers.table_model import TableModel
from nacre.table import Schema
from nacre.table.grid import Grid

MAX_CLASSES = 12  # a target with more cells than this is grouped before it multiplies other tables


@dataclass(frozen=True)
class Sketch:
    """Hyperparameters of the sketch, tuned on other tables than the reported ones (docs/methods/sketch.md).

    `target`: the column whose relation to all pairs is kept. `first`: share of μ² for round one. `groups`: at most so
    many groups per column. `floor`: least mass of a group, in standard errors of a group's count. `wide`: with more
    columns than this, pairs are selected instead of all measured.
    """

    name: ClassVar[str] = "sketch"
    model: ClassVar[type[TableModel]] = TableModel

    target: str | None = None
    first: float = 0.10
    groups: int = 20
    floor: float = 6.0
    particles: int = 1024
    steps: int = 400
    wide: int = 48

    def supports(self, schema: Schema) -> None:
        refuse_tensors(schema, self.name)
        if self.target is not None and self.target not in schema.modelled:
            raise SchemaError(
                f"target {self.target!r} is not a modelled column; choose among {', '.join(schema.modelled[:12])}"
            )

    # ------------------------------------------------------------------ plan

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        """One-way tables, then all pairs or triples (narrow) or selected pairs (wide): from the column names alone."""
        columns = list(schema.modelled)
        cap = schema.unit.cap if schema.unit else 1
        scope = Scope(budget.neighbours, cap)
        mu2 = gaussian_share(budget, scope, before)
        if self._is_wide(schema, rows, mu2):
            entries = self._wide_entries(len(columns), budget, scope, before)
        else:
            entries = self._narrow_entries(len(columns), mu2)
        return Plan(self.name, (*before, *entries), budget, cap, rows)

    def _is_wide(self, schema: Schema, rows: int | None, mu2: float) -> bool:
        """Whether pairs are selected: more columns than `wide`, unless public facts show that all pairs can be paid.

        All pairs are measured when the raw tables would be off by at most a quarter of the rows (a table of c cells
        with noise σ has an expected total variation error of c·σ/(n·sqrt(2π))) and the particles stay small.
        """
        columns = schema.modelled
        if len(columns) <= self.wide:
            return False
        if rows is None or schema.undeclared():
            return True
        sizes = np.array([min(self.groups, Grid.of(schema.columns[c]).cells) for c in columns], dtype=float)
        pairs = len(columns) * (len(columns) - 1) / 2
        cells = (sizes.sum() ** 2 - (sizes**2).sum()) / 2 / pairs
        if self.target is not None:
            cells *= min(MAX_CLASSES, Grid.of(schema.columns[self.target]).cells)
        sigma = math.sqrt(pairs / ((1 - self.first) * mu2))
        return sizes.sum() > 1500 or cells * sigma / (rows * math.sqrt(2 * math.pi)) > 0.25

    def _narrow_entries(self, columns: int, mu2: float) -> list[Entry]:
        others = columns - (self.target is not None)
        pairs = others * (others - 1) // 2
        if not pairs:
            return [_counts("one-way", columns, mu2)]
        return [
            _counts("one-way", columns, self.first * mu2),
            _counts("tables", pairs, (1 - self.first) * mu2),
        ]

    def _wide_entries(self, columns: int, budget: Budget, scope: Scope, before: tuple[Entry, ...]) -> list[Entry]:
        """A tenth of the budget chooses a spanning tree and as many pairs again; the rest measures them."""
        picks = 2 * columns
        whole = gaussian_share(budget, scope, before)
        # k choices of range ε₀ are k·ε₀²/8-zCDP; a tenth of ρ = μ²/2 goes to them.
        select = Select("pairs", picks=picks, epsilon=math.sqrt(0.4 * whole * scope.table**2 / picks))
        mu2 = gaussian_share(budget, scope, (*before, select))
        return [
            _counts("one-way", columns, self.first * mu2),
            select,
            _counts("tables", picks, (1 - self.first) * mu2),
        ]

    # ------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> TableModel:
        import jax

        from nacre.synthesizers.particles import Config, fit

        columns = list(curator.schema.modelled)
        target = columns.index(self.target) if self.target in columns else None
        progress("counting one-way tables", 0, None)
        coarse = self._first_round(curator, plan, columns, target)
        tables = [c.table for c in coarse]
        progress("counting pairs", 0, None)
        tables += self._second_round(curator, plan, columns, target, coarse)
        total = max(1.0, total_rows(tables))
        blocks = fit(
            [c.groups for c in coarse],
            tables,
            total,
            target,
            Config(particles=self.particles, steps=self.steps),
            jax.random.key(seed),
            lambda done, of: progress("fitting particles", done, of),
        )
        particles = Particles(blocks, [c.lut for c in coarse], [c.inside for c in coarse], target)
        return TableModel(curator.schema, particles, [c.slope for c in coarse], plan.rows or round(total))

    def _first_round(self, curator: Curator, plan: Plan, columns: list[str], target: int | None) -> list[Coarse]:
        """Fine one-way counts of every column, by class where the target has few, and the groups they suggest."""
        grids = [curator.grids[c] for c in columns]
        classes = grids[target].cells if target is not None else 0
        by_class = 0 < classes <= MAX_CLASSES
        cliques = [(c, str(self.target)) if by_class and j != target else (c,) for j, c in enumerate(columns)]
        entry = plan["one-way"]
        noisy = curator.counts(entry, cliques)
        least = self.floor * self._group_error(plan, len(columns), classes if by_class else 1)
        found = []
        for j, (grid, counts, sigma) in enumerate(zip(grids, noisy, entry.sigmas)):
            limit = MAX_CLASSES if j == target else self.groups
            keep = j == target and by_class
            found.append(Coarse.of(j, grid, counts, sigma, limit, least, target if counts.ndim == 2 else None, keep))
        return found

    def _group_error(self, plan: Plan, columns: int, classes: int) -> float:
        """Standard error of one group's count as round two will know it, from all tables that hold its column."""
        tables = [e for e in plan.entries if e.name == "tables"]
        if not tables:
            return plan["one-way"].sigmas[0]
        each = max(1.0, 2 * len(tables[0].sigmas) / columns)  # tables per column
        return tables[0].sigmas[0] * math.sqrt(self.groups * classes / each)

    def _second_round(
        self, curator: Curator, plan: Plan, columns: list[str], target: int | None, coarse: list[Coarse]
    ) -> list:
        """The tables of pairs, with the target where one is declared, on the groups."""
        from nacre.synthesizers.particles import Table

        names = [e.name for e in plan.entries]
        if "tables" not in names:
            return []
        entry = plan["tables"]
        if "pairs" in names:
            # A target with few classes was measured with every column in round one.
            known = target if any(c.table.counts.ndim == 2 for c in coarse) else None
            chosen = wide.choose_pairs(curator, plan, columns, [j for j in range(len(columns)) if j != known], coarse)
        else:
            others = [j for j in range(len(columns)) if j != target]
            tail = () if target is None else (target,)
            chosen = [(a, b, *tail) for a, b in itertools.combinations(others, 2)]
        groups = {columns[j]: c.lut for j, c in enumerate(coarse)}
        noisy = curator.counts(entry, [tuple(columns[j] for j in clique) for clique in chosen], groups)
        return [Table(c, t.astype(np.float64), s) for c, t, s in zip(chosen, noisy, entry.sigmas)]


def _counts(name: str, tables: int, mu2: float) -> Counts:
    """Equal noise on every table: σ = sqrt(m/μ²)."""
    return Counts(name, sigmas=(math.sqrt(tables / mu2),) * tables)


@dataclass(frozen=True)
class Coarse:
    """What round one says of a column: groups of fine cells, shares inside a group, slopes inside a cell."""

    lut: np.ndarray
    inside: np.ndarray
    slope: np.ndarray
    table: object  # the fine counts summed into groups, with their noise

    @property
    def groups(self) -> int:
        return int(self.lut.max()) + 1

    @staticmethod
    def of(j: int, grid, counts, sigma: float, limit: int, least: float, target: int | None, keep: bool) -> Coarse:
        """`counts` is [cells], or [cells, classes] with the target; `keep` leaves every cell a group of its own."""
        from nacre.synthesizers.particles import Table

        counts = counts.astype(np.float64)
        one = counts if counts.ndim == 1 else counts.sum(1)
        spread = sigma if counts.ndim == 1 else sigma * math.sqrt(counts.shape[1])
        width = grid.width if grid.ordered else None
        if keep:
            lut = np.arange(grid.cells, dtype=np.int32)
        else:
            floor = least if grid.ordered else max(least, 3 * spread)
            lut = grouping.group(one, spread, grid.ordered, limit, floor, grid.null)
        summed = np.zeros((int(lut.max()) + 1, *counts.shape[1:]))
        np.add.at(summed, lut, counts)
        noise = sigma * np.sqrt(np.bincount(lut))
        noise = noise if counts.ndim == 1 else np.repeat(noise[:, None], counts.shape[1], axis=1)
        table = Table((j,) if counts.ndim == 1 else (j, target), summed, noise)
        shares = grouping.shares(one, spread, lut, width, grid.null)
        return Coarse(
            lut,
            grouping.inside(counts, sigma, lut, width, grid.null),
            grouping.slopes(shares, grid.width),
            table,
        )


def total_rows(tables: list) -> float:
    """The number of rows that all noisy tables agree on: inverse-variance mean of their sums."""
    sums = np.array([t.counts.sum() for t in tables])
    variances = np.array([np.broadcast_to(np.square(t.sigma), t.counts.shape).sum() for t in tables])
    return float((sums / variances).sum() / (1 / variances).sum())
