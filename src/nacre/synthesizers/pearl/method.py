"""`pearl`: our form of PEARL. One-way tables and one characteristic-function sketch, and particles fitted to both.

Round one buys one-way tables on the fine public grid: they give the groups of each column, the class shares, the
number of rows and, for ordered columns, the place of each group among the others (the frequency scale of every
column at once). Round two buys, per class of the target, the values of k low-order characters of the groups in one
sum of vectors of norm 1 (specs/pearl.md 3.1, E4, 10.2, 10.3). All the rest is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Total, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent, target_place
from nacre.synthesizers.basis import FromSum, bought_sum
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.options import (
    MOST_FREQUENCIES,
    MOST_GROUPS,
    MOST_PARTICLES,
    MOST_STEPS,
    expect,
    given,
    truth,
    whole,
)
from nacre.synthesizers.parts.grouping import simplex
from nacre.synthesizers.pearl.characters import Characters, choose
from nacre.synthesizers.pearl.columns import Groups, row_count
from nacre.synthesizers.pearl.records import character_map
from nacre.synthesizers.pearl.shrinking import project, shrink
from nacre.synthesizers.sketch.method import MAX_CLASSES
from nacre.table import Schema
from nacre.table.grid import Grid

FIRST = 0.2  # of μ²: one-way tables


def _checked_orders(name: str, orders: Sequence[float]) -> tuple[float, ...]:
    good = len(orders) == 3 and all(isinstance(o, int | float) and 0 <= o < math.inf for o in orders) and orders[0] > 0
    expect(good, name, orders, "three shares of at least 0, the first above 0")
    return tuple(orders)


@dataclass(frozen=True)
class Pearl(Synthesizer):
    """Hyperparameters; how they were set: docs/methods/pearl.md.

    `target`: the column whose classes are sketched apart. `frequencies`: k; `orders`: how the sketch's energy is
    divided over characters of one, two and three columns; `groups`: most groups per column; `particles`, `steps`:
    size and length of the fit; `network`: particles made by a network instead of free ones; `critic`: re-weighting
    of the frequencies; `shrinking`: whether what exceeds independence given the class is shrunk first.
    """

    name: ClassVar[str] = "pearl"
    model: ClassVar[type[TableModel]] = TableModel

    frequencies: int = whole(1000, most=MOST_FREQUENCIES)
    orders: tuple[float, float, float] = given((0.3, 0.7, 0.0), "list", _checked_orders)
    groups: int = whole(20, most=MOST_GROUPS)
    particles: int = whole(1024, most=MOST_PARTICLES)
    steps: int = whole(300, most=MOST_STEPS)
    network: bool = truth(False)
    critic: bool = truth(False)
    shrinking: bool = truth(True)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        columns = schema.modelled
        scope = scope_of(schema, budget)
        mu2 = gaussian_share(budget, scope, before)
        first = Counts("one-way", sigmas=(math.sqrt(len(columns) / (FIRST * mu2)),) * len(columns))
        sigma = scope.sum / scope.table / math.sqrt((1 - FIRST) * mu2)
        sketch = Total("sketch", size=2 * self.frequencies, sigma=sigma, parts=self._classes(schema))
        return Plan(self.name, (*before, first, sketch), budget, scope.cap, rows)

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromSum:
        return FromSum(bought_sum(plan), particles=self.steps * self.particles)

    def _classes(self, schema: Schema) -> int:
        """Parts of the sketch: groups of the target as far as its domain is known."""
        if self.target is None:
            return 1
        column = schema.columns[self.target]
        return MAX_CLASSES if column.missing else max(1, min(MAX_CLASSES, Grid.of(column).cells))

    # ------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> TableModel:
        import jax

        from nacre.synthesizers.pearl.fitting import Effort, Measured, fit

        columns = list(curator.schema.modelled)
        target = target_place(columns, self.target)
        progress("counting one-way tables", 0, None)
        coarse, total = self._first_round(curator, plan, columns, target)
        characters = self._characters(curator, columns, coarse, target, seed)
        progress("summing characters", 0, None)
        phi, sigma = self._second_round(curator, plan, coarse, target, characters, total)
        shares = [simplex(c.counts / total, 1.0) for c in coarse]
        mass = np.ones(1) if target is None else shares[target]
        phi = (shrink if self.shrinking else lambda p, m, s, c: project(p, m))(phi, mass, sigma, characters)
        share_sigma = [np.broadcast_to(c.sigma / total, c.counts.shape) for c in coarse]
        effort = Effort(particles=self.particles, steps=self.steps, network=self.network, critic=self.critic)
        measured = Measured(phi, sigma, shares, share_sigma, target)
        key = jax.random.key(seed)
        blocks = fit(measured, characters, effort, key, lambda done, of: progress("fitting", done, of))
        particles = Particles(blocks, [c.lut for c in coarse], [c.inside for c in coarse])
        return TableModel(curator.schema, particles, [c.slope for c in coarse], plan.rows or round(total))

    def _first_round(self, curator: Curator, plan: Plan, columns: list[str], target: int | None) -> Any:
        """Groups of every column from fine one-way counts, and the number of rows that these agree on."""
        entry = plan["one-way"]
        noisy = curator.counts(entry, [(c,) for c in columns])
        found = []
        for j, (name, counts, sigma) in enumerate(zip(columns, noisy, entry.sigmas)):
            grid = curator.grids[name]
            limit = MAX_CLASSES if j == target else self.groups
            whole = j == target and grid.cells <= MAX_CLASSES
            found.append(Groups.of(grid, counts, sigma, limit, whole))
        return found, float(plan.rows or row_count(noisy, entry.sigmas))

    def _characters(self, curator: Curator, columns, coarse, target: int | None, seed: int) -> Characters:
        grids = [curator.grids[c] for c in columns]
        angle = [c.angle for c in coarse]
        features = [j for j in range(len(columns)) if j != target]
        rng = np.random.default_rng([seed, 20211])
        return choose(angle, [g.ordered for g in grids], features, self.frequencies, rng, self.orders)

    def _second_round(
        self,
        curator: Curator,
        plan: Plan,
        coarse: list[Groups],
        target: int | None,
        characters: Characters,
        total: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """phi [classes, k] as shares of all rows, and the noise of its real and imaginary parts."""
        entry, columns = plan["sketch"], list(curator.schema.modelled)
        luts, grids = [c.lut for c in coarse], [curator.grids[c] for c in columns]
        features, public = character_map(characters, columns, grids, luts, target, (entry.parts, entry.size))
        answer = np.atleast_2d(curator.total(entry, features, public))
        classes = 1 if target is None else len(coarse[target].counts)
        k = len(characters.members)
        scale = characters.amplitude * total
        phi = (answer[:classes, :k] + 1j * answer[:classes, k : 2 * k]) / scale
        return phi, entry.sigma / scale
