"""One-way tables only, every column drawn on its own: the floor that every other method must beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Scope, gaussian_share
from nacre.synthesizers.base import Progress, refuse_tensors, refuse_unknown_target, silent
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.parts import grouping
from nacre.table import Schema


@dataclass(frozen=True)
class Independent:
    """All of μ² on the one-way tables, shared equally. `target` is accepted and plays no part."""

    name: ClassVar[str] = "independent"
    model: ClassVar[type[TableModel]] = TableModel
    target: str | None = None

    def supports(self, schema: Schema) -> None:
        refuse_tensors(schema, self.name)
        refuse_unknown_target(schema, self.target)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        columns = list(schema.modelled)
        cap = schema.unit.cap if schema.unit else 1
        share = gaussian_share(budget, Scope(budget.neighbours, cap), before) / len(columns)
        entry = Counts("one-way", sigmas=(1 / math.sqrt(share),) * len(columns))
        return Plan(self.name, (*before, entry), budget, cap, rows)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> TableModel:
        entry = plan["one-way"]
        columns = list(curator.schema.modelled)
        tables = curator.counts(entry, [(c,) for c in columns])
        luts, insides, slopes, blocks = [], [], [], []
        for name, counts, sigma in zip(columns, tables, entry.sigmas):
            grid = curator.grids[name]
            width = grid.width if grid.ordered else None
            lut = grouping.group(counts, sigma, grid.ordered, 64, 3 * sigma, grid.null)
            mass = np.bincount(lut, counts.astype(np.float64))
            blocks.append(grouping.simplex(mass / max(counts.sum(), 1), 1.0))
            insides.append(grouping.inside(counts, sigma, lut, width, grid.null))
            slopes.append(grouping.slopes(grouping.shares(counts, sigma, lut, width, grid.null), grid.width))
            luts.append(lut)
        particle = np.concatenate(blocks)[None].astype(np.float32)
        total = plan.rows or max(1, round(float(np.mean([t.sum() for t in tables]))))
        return TableModel(curator.schema, Particles(particle, luts, insides), slopes, total)
