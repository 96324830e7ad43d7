"""Sketches that several sites can make apart and add: every choice is a function of public facts and a public seed.

The characters are those of the fine cells of the public grid (an ordered column's cells at equal distances), so that
nothing about the features depends on the rows. Tables and sums add cell by cell; each site's noise stays in.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacre.errors import SchemaError, SketchError
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.curator import Curator
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Plan
from nacre.synthesizers.base import Progress, silent
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.synthesizers.parts.grouping import simplex
from nacre.synthesizers.pearl.characters import Characters, choose, cut
from nacre.synthesizers.pearl.columns import Groups, row_count
from nacre.synthesizers.pearl.method import Pearl
from nacre.synthesizers.pearl.records import character_map
from nacre.synthesizers.pearl.shrinking import project, shrink
from nacre.synthesizers.sketch.method import MAX_CLASSES
from nacre.table import Schema
from nacre.table.grid import Grid


@dataclass(frozen=True)
class Recipe:
    """What must be equal for sketches to add: schema, target, frequencies and the seed they are drawn from."""

    schema: Schema
    target: str | None = None
    frequencies: int = 1000
    orders: tuple[float, float, float] = (0.3, 0.7, 0.0)
    seed: int = 0

    def __post_init__(self) -> None:
        self.method.supports(self.schema.inner)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise SketchError(f"seed={self.seed!r}: expected a whole number of at least 0, the same at all sites")
        cells = 1 if self.target is None else Grid.of(self.schema.inner.columns[self.target]).cells
        if cells > MAX_CLASSES:
            raise SchemaError(f"target {self.target!r} has {cells} cells; shared sketches take at most {MAX_CLASSES}")

    @property
    def method(self) -> Pearl:
        return Pearl(target=self.target, frequencies=self.frequencies, orders=self.orders)

    @property
    def grids(self) -> list[Grid]:
        return [Grid.of(self.schema.inner.columns[name]) for name in self.schema.inner.modelled]

    @property
    def place(self) -> int | None:
        """Number of the target's column."""
        return None if self.target is None else self.schema.inner.modelled.index(self.target)

    def characters(self) -> Characters:
        grids = self.grids
        angle = [_spread(g) if g.ordered else 2 * math.pi * np.arange(g.cells) / g.cells for g in grids]
        features = [j for j in range(len(grids)) if j != self.place]
        rng = np.random.default_rng([self.seed, 20213])
        return choose(angle, [g.ordered for g in grids], features, self.frequencies, rng, self.orders)

    def shortened(self) -> list[tuple[str, int, int]]:
        """(column, harmonics sketched, harmonics that tell all its categories apart) where the latter are more."""
        features = [j for j in range(len(self.grids)) if j != self.place]
        found = cut(self.characters(), [g.ordered for g in self.grids], features)
        return [(self.schema.inner.modelled[j], kept, whole) for j, kept, whole in found]

    def facts(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "frequencies": self.frequencies,
            "orders": list(self.orders),
            "seed": self.seed,
            "drawn": self._drawn(),
        }

    def _drawn(self) -> str:
        """Digest of the frequencies themselves: another version may draw others from the same seed."""
        chosen = self.characters()
        drawn = (chosen.column, chosen.harmonic, chosen.members)
        return hashlib.sha256(b"|".join(part.astype("<i8").tobytes() for part in drawn)).hexdigest()[:16]


def _spread(grid: Grid) -> np.ndarray:
    """Half a turn over the cells of an ordered column, null at the far end."""
    return math.pi * (np.arange(grid.cells) + 0.5) / grid.cells


@dataclass(frozen=True)
class Sums:
    """Noisy one-way tables and sums of characters [parts, 2k], in whole counts and whole grid steps, of `sites` sites
    that each added noise of scales `table_sigma` and `sum_sigma`."""

    tables: Sequence[np.ndarray]
    sums: np.ndarray
    table_sigma: float
    sum_sigma: float
    sites: int = 1

    @property
    def rows(self) -> float:
        """The number of rows that the tables agree on, at least 1."""
        return row_count(self.tables, [self.table_sigma] * len(self.tables))

    def plus(self, other: Sums) -> Sums:
        """The sketch of both sites' rows together."""
        if (self.table_sigma, self.sum_sigma) != (other.table_sigma, other.sum_sigma):
            raise SketchError(
                f"the sketches hold different noise ({exact(self.table_sigma)}, {exact(self.sum_sigma)} and "
                f"{exact(other.table_sigma)}, {exact(other.sum_sigma)}); make them with the same epsilon, delta and "
                "neighbours"
            )
        tables = [_added(a, b) for a, b in zip(self.tables, other.tables, strict=True)]
        return replace(self, tables=tables, sums=_added(self.sums, other.sums), sites=self.sites + other.sites)


def _added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b, never wrapped around."""
    total = a + b
    if (((a ^ total) & (b ^ total)) < 0).any():  # a sign that neither summand has
        raise SketchError("the sketches add up to more than 64 bits hold: one of them is damaged")
    return total


def measure(curator: Curator, plan: Plan, recipe: Recipe) -> Sums:
    """Open the two doors of the plan on one site's rows."""
    columns, grids, chosen = list(recipe.schema.inner.modelled), recipe.grids, recipe.characters()
    first, entry = plan["one-way"], plan["sketch"]
    tables = curator.counts(first, [(c,) for c in columns])
    luts = [np.arange(g.cells) for g in grids]
    features, public = character_map(chosen, columns, grids, luts, recipe.place, (entry.parts, entry.size))
    answer = np.atleast_2d(curator.total(entry, features, public))
    steps = np.rint(answer / feature_sums.grid_step(entry)).astype(np.int64)
    return Sums(tables, steps, first.sigmas[0], entry.sigma)


def fit(
    recipe: Recipe, sums: Sums, particles: int = 1024, steps: int = 300, groups: int = 20, progress: Progress = silent
) -> TableModel:
    """One model of the rows of all sites: post-processing. NacreError for settings that method `pearl` refuses."""
    replace(recipe.method, particles=particles, steps=steps, groups=groups)
    import jax

    from nacre.synthesizers.pearl.fitting import Effort, Measured
    from nacre.synthesizers.pearl.fitting import fit as fit_particles

    spread, chosen, place = math.sqrt(sums.sites), recipe.characters(), recipe.place
    # Categories that the harmonics of an unordered column tell apart stay apart: a joint group would mix their classes.
    apart = 2 * np.bincount(chosen.column[chosen.harmonic > 0], minlength=len(recipe.grids)) + 1
    limits = [groups if g.ordered else max(groups, int(m)) for g, m in zip(recipe.grids, apart)]
    found = [
        Groups.of(grid, table, sums.table_sigma * spread, limits[j], j == place)
        for j, (grid, table) in enumerate(zip(recipe.grids, sums.tables))
    ]
    total = sums.rows
    shares = [simplex(g.counts / total, 1.0) for g in found]
    k = len(chosen.members)
    values = sums.sums * (sums.sum_sigma / 2**14) / total
    sigma = sums.sum_sigma * spread / (chosen.amplitude * total)
    mass = np.ones(1) if place is None else shares[place]
    phi = (values[: len(mass), :k] + 1j * values[: len(mass), k : 2 * k]) / chosen.amplitude
    phi = shrink(project(phi, mass), mass, sigma, chosen)
    noise = [np.broadcast_to(g.sigma / total, g.counts.shape) for g in found]
    measured = Measured(phi, sigma, shares, noise, place, [_fold(g) for g in found])
    key = jax.random.key(recipe.seed)
    effort = Effort(particles=particles, steps=steps)
    blocks = fit_particles(measured, chosen, effort, key, lambda done, of: progress("fitting", done, of))
    mixture = Particles(blocks, [g.lut for g in found], [g.inside for g in found])
    return TableModel(recipe.schema.inner, mixture, [g.slope for g in found], round(total))


def _fold(group: Groups) -> np.ndarray:
    """Share of each fine cell in its group [groups, cells], rows summing to one."""
    fold = np.zeros((len(group.counts), len(group.lut)))
    fold[group.lut, np.arange(len(group.lut))] = group.inside.reshape(len(group.lut), -1).mean(axis=1)
    return fold / np.maximum(fold.sum(axis=1, keepdims=True), 1e-300)
