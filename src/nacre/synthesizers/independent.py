"""One-way tables only, every column drawn on its own: the floor that every other method must beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.basis import FromTables
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.parts import grouping
from nacre.table import Schema

GROUPS = 64  # of a column, at most


@dataclass(frozen=True)
class Independent(Synthesizer):
    """All of μ² on the one-way tables, shared equally. `target` is accepted and plays no part."""

    name: ClassVar[str] = "independent"
    model: ClassVar[type[TableModel]] = TableModel

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        columns = list(schema.modelled)
        scope = scope_of(schema, budget)
        share = gaussian_share(budget, scope, before) / len(columns)
        entry = Counts("one-way", sigmas=(1 / math.sqrt(share),) * len(columns))
        return Plan(self.name, (*before, entry), budget, scope.cap, rows)

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromTables:
        sigma = plan["one-way"].sigmas[0]
        return FromTables((GROUPS,) * len(schema.modelled), least=3 * sigma, first=sigma)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> TableModel:
        entry = plan["one-way"]
        columns = list(curator.schema.modelled)
        tables = curator.counts(entry, [(c,) for c in columns])
        luts, insides, slopes, blocks, counted = [], [], [], [], []
        for name, counts, sigma in zip(columns, tables, entry.sigmas):
            grid = curator.grids[name]
            width = grid.width if grid.ordered else None
            lut = grouping.group(counts, sigma, grid.ordered, GROUPS, 3 * sigma, grid.null)
            mass = np.bincount(lut, counts.astype(np.float64))
            blocks.append(grouping.simplex(mass / max(counts.sum(), 1), 1.0))
            insides.append(grouping.inside(counts, sigma, lut, width, grid.null))
            slopes.append(grouping.slopes(grouping.shares(counts, sigma, lut, width, grid.null), grid.width))
            luts.append(lut)
            counted.append(Table((len(counted),), mass.astype(np.float64), sigma * np.sqrt(np.bincount(lut))))
        particle = np.concatenate(blocks)[None].astype(np.float32)
        total = plan.rows or max(1, round(float(np.mean([t.sum() for t in tables]))))
        return TableModel(curator.schema, Particles(particle, luts, insides), slopes, total).keeping(counted)
