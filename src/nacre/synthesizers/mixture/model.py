"""The model behind `sketch` and `independent`: particles on groups of public cells, and values inside the cells."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from nacre.errors import ConvergenceError, NacreError, SchemaError
from nacre.synthesizers.base import Draw, Expected, Model, expect_sound, reading_parts
from nacre.synthesizers.mixture.bought import Bought, Counted
from nacre.synthesizers.mixture.density import log_density
from nacre.synthesizers.mixture.ranks import Ranks
from nacre.synthesizers.mixture.sampling import Masks, Particles
from nacre.synthesizers.parts.grouping import bend
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.table.naming import choices

RARE = 0.02  # a condition that so few rows of the groups it cuts through meet is met cell by cell
ROUNDS = 40  # of drawing such rows
CLOSE, SWEEPS = 1e-6, 200  # of raking: largest error of a share, most rounds


class TableModel(Model):
    """Draws rows: particle, then group, then cell, then a value inside the cell with a sloped density.

    `slopes[column]` is the slope of the density in each cell (`grouping.slopes`), so that no staircase shows. `spiked`:
    the cells are those of the columns with likely spikes (`Column.spiked`).
    """

    likelihood = True

    def __init__(self, schema: Schema, particles: Particles, slopes: list[np.ndarray], rows: int, spiked: bool = False):
        self.columns = list(schema.modelled)
        columns = [schema.columns[name] for name in self.columns]
        self.spiked = spiked
        self.grids = [Grid.of(c.spiked() if spiked else c) for c in columns]
        self.particles = particles
        self.slopes = slopes
        self.rows = rows
        self.ranks: Ranks | None = None
        self.bought: Bought | None = None
        self.single = False  # every row is drawn for itself

    def depending(self, tables: Sequence[Counted]) -> TableModel:
        """The model whose values depend on one another inside groups too, as noisy tables say."""
        self.ranks = Ranks.learn(self.particles, self.grids, tables)
        return self.keeping(tables)

    def keeping(self, tables: Sequence[Counted]) -> TableModel:
        """The model that tells noisy counts beside what it expects."""
        self.bought = Bought.of(tables, self.particles.sizes)
        return self

    def independent(self) -> TableModel:
        """The model whose rows are drawn each for itself: more alike to a sample of people, and its counts vary as
        theirs do."""
        other = copy.copy(self)
        other.single = True
        return other

    def draw(
        self,
        rows: int,
        rng: np.random.Generator,
        where: Mapping[str, Condition] | None = None,
        tilt: Mapping[int, np.ndarray] | None = None,
    ) -> dict[str, Values]:
        """`rows` rows that satisfy `where` exactly, of the mixture with its cells weighted by `tilt`."""
        conditions = {self._place(name): condition for name, condition in (where or {}).items()}
        masks = {j: self._mask(j, condition) for j, condition in conditions.items()} | dict(tilt or {})
        wide = (
            {} if self.ranks is None else {j: m for j in conditions if (m := self.ranks.whole(j, masks[j])) is not None}
        )
        if wide and not tilt:
            wide = masks | wide
            chance = self.particles.probability(masks) / max(self.particles.probability(wide), 1e-300)
            if chance > RARE:
                return self._drawn_of_wider(rows, rng, conditions, wide, chance)
        return self._drawn(rows, rng, conditions, masks)

    def _drawn_of_wider(
        self, rows: int, rng: np.random.Generator, conditions: dict[int, Condition], wide: Masks, chance: float
    ) -> dict[str, Values]:
        """Where a condition cuts through groups, what it says of other columns is known inside groups only: rows are
        drawn from the whole groups, and those that meet the condition are kept."""
        cut = [j for j in conditions if not np.array_equal(wide[j], self._mask(j, conditions[j]))]
        rest = {j: c for j, c in conditions.items() if j not in cut}
        parts, have = [], 0
        for _ in range(ROUNDS):
            drawn = self._drawn(int((rows - have) / chance * 1.05) + 16, rng, rest, wide, cut)
            kept = np.logical_and.reduce([conditions[j].matches(drawn[self.columns[j]]) for j in cut])
            here = np.flatnonzero(kept)[: rows - have]
            parts.append({name: Values.of(v.values[here], v.null[here]) for name, v in drawn.items()})
            have += len(here)
            if have == rows:
                break
        else:  # what the groups promise never comes: their cells
            masks = {j: self._mask(j, c) for j, c in conditions.items()}
            parts.append(self._drawn(rows - have, rng, conditions, masks))
        return {name: Values.joined([part[name] for part in parts]) for name in self.columns}

    def _drawn(
        self,
        rows: int,
        rng: np.random.Generator,
        conditions: Mapping[int, Condition],
        masks: Masks,
        free: Sequence[int] = (),
    ) -> dict[str, Values]:
        """Rows under masks; the cells of masked columns are those that the particles gave, unless they are `free`."""
        codes = self.particles.draw(rows, rng, masks or None, independent=self.single)
        fixed = [j for j in masks if j not in free]
        placed = {} if self.ranks is None else self.ranks.place(codes, fixed, rng)
        values = {}
        for j, (name, grid) in enumerate(zip(self.columns, self.grids)):
            cells = codes[:, j]
            if j in conditions:
                values[name] = _inside(grid, cells, rng, conditions[j])
            else:
                cells, u = placed.get(j) or (cells, rng.random(rows))
                values[name] = grid.place(cells, bend(u, self.slopes[j][cells]))
        return values

    def probability(self, where: Mapping[str, Condition]) -> float:
        """The share of synthetic rows that satisfy a condition, exactly."""
        return self.particles.probability({self._place(c): self._mask(self._place(c), w) for c, w in where.items()})

    def log_prob(self, records: Mapping[str, Values], samples: int = 1, seed: int = 0) -> np.ndarray:
        """The log-probability of each record under the mixture, exactly: `samples` and `seed` play no part. `ranks`,
        how numbers depend on one another inside their groups, is left out; single columns are the same without."""
        grids = dict(zip(self.columns, self.grids))
        return log_density(self.particles, grids, self.slopes, self.rows, records)

    def expected(self, cells: Mapping[str, np.ndarray]) -> Expected:
        """Exactly, of the mixture; with noisy counts where cells are made of whole groups that were counted."""
        places = [self._place(name) for name in cells]
        shares = self.particles.table(dict(zip(places, cells.values())))
        counts, errors = np.full(shares.shape, np.nan), np.full(shares.shape, np.nan)
        sums = [np.array([np.bincount(self.particles.luts[j], m) for m in of]) for j, of in zip(places, cells.values())]
        member = [part / np.bincount(self.particles.luts[j]) for j, part in zip(places, sums)]
        if self.bought is not None and (found := self.bought.count(places, [m.round() for m in member])) is not None:
            whole = [np.isclose(m, m.round()).all(1) for m in member]
            known = reduce(np.logical_and.outer, whole)
            counts[known], errors[known] = found[0][known], found[1][known]
        return Expected(shares, counts, errors)

    def cells(self, column: str) -> tuple[Grid, np.ndarray]:
        place = self._place(column)
        return self.grids[place], self.particles.luts[place]

    def tilted(self, asked: list, where: Mapping[str, Condition]) -> Draw | None:
        """By weights of cells: None where a range cuts a cell, for inside a cell weights cannot differ."""
        tilt = self.tilt(asked, where)
        return None if tilt is None else lambda rows, rng: self.draw(rows, rng, where, tilt)

    def tilt(self, asked: list, where: Mapping[str, Condition]) -> dict[int, np.ndarray] | None:
        """Weights of the cells of some columns that give the columns their shares, by raking on the mixture itself.

        `asked`: per column, (share, condition). The result is the nearest law to this model that has the shares:
        p(row)·∏ f_j(cell of column j).
        """
        base = {self._place(name): self._mask(self._place(name), c) for name, c in where.items()}
        columns = [[(share, *next(iter(fixed.items()))) for share, fixed in own] for own in asked]
        places = [self._place(own[0][1]) for own in columns]
        pieces = [[(share, self._mask(j, c)) for share, _, c in own] for j, own in zip(places, columns)]
        cells = [np.sum([mask for _, mask in own], axis=0) for own in pieces]
        if len(set(places)) < len(places) or any(not np.isin(c, (0.0, 1.0)).all() for own in pieces for _, c in own):
            return None
        if any((c > 1).any() for c in cells):
            raise NacreError("rebalance: two values of a column overlap; a row can count only once")
        factors = dict(zip(places, cells))
        for _ in range(SWEEPS):
            worst = 0.0
            for j, own in zip(places, pieces):
                held = np.array([self.particles.probability({**base, **factors, j: factors[j] * m}) for _, m in own])
                if not (held > 0).all():
                    raise NacreError(f"rebalance: a value of {self.columns[j]!r} has probability zero in this release")
                share = np.array([s for s, _ in own])
                worst = max(worst, float(np.abs(held / held.sum() - share / share.sum()).max()))
                scale = share / held
                factors[j] = sum((m * s for (_, m), s in zip(own, scale)), np.zeros(self.grids[j].cells)) * factors[j]
            if worst <= CLOSE:
                return factors
        raise ConvergenceError("rebalance: the shares of the columns contradict each other in this release")

    def _mask(self, j: int, condition: Condition) -> np.ndarray:
        return condition.mask(self.grids[j])

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise SchemaError(f"where: {name!r} is not a modelled column; choose among {choices(name, self.columns)}")
        return self.columns.index(name)

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = self.particles.to_arrays()
        arrays |= {f"slopes.{j}": s for j, s in enumerate(self.slopes)}
        arrays |= {} if self.ranks is None else self.ranks.to_arrays()
        arrays |= {} if self.bought is None else self.bought.to_arrays()
        return {"rows": self.rows} | ({"spiked": True} if self.spiked else {}), arrays

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TableModel:
        with reading_parts():
            particles = Particles.from_arrays(arrays)
            slopes = [np.asarray(arrays[f"slopes.{j}"]) for j in range(len(particles.luts))]
            model = cls(schema, particles, slopes, int(facts["rows"]), bool(facts.get("spiked", False)))
            expect_sound(model._sound())
            model.ranks = Ranks.from_arrays(arrays, particles, model.grids)
            model.bought = Bought.from_arrays(arrays, particles.sizes)
        return model

    def _sound(self) -> bool:
        """Shapes, types and ranges."""
        p = self.particles
        if not (len(p.luts) == len(self.grids) and p.blocks.ndim == 2 and len(p.blocks) > 0 and self.rows >= 0):
            return False
        if p.weights is not None and not (
            p.weights.shape == p.blocks.shape[:1] and _weights(p.weights) and p.weights.sum() > 0
        ):
            return False
        for grid, lut, slope in zip(self.grids, p.luts, self.slopes):
            if lut.dtype.kind not in "iu" or lut.shape != (grid.cells,) or slope.shape != (grid.cells,):
                return False
            if lut.min() < 0 or lut.max() >= grid.cells or not bool((np.abs(slope) <= 2).all()):
                return False
        if p.blocks.shape[1] != sum(p.sizes) or not _weights(p.blocks):
            return False
        return all(
            inside.shape == (grid.cells,) and _weights(inside) and bool((np.bincount(lut, inside) > 0).all())
            for grid, lut, inside in zip(self.grids, p.luts, p.insides)
        ) and all(bool((p.blocks[:, a:b].sum(1) > 0).all()) for a, b in pairwise(np.cumsum([0, *p.sizes]).tolist()))


def _weights(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.isfinite(array).all()) and bool((array >= 0).all())


def _inside(grid: Grid, cells: np.ndarray, rng: np.random.Generator, condition: Condition) -> Values:
    """A value of each row's cell that meets the condition, drawn uniformly from those that do."""
    if condition.ranged:
        return grid.draw(cells, rng, *condition.spans[0])
    if not condition.spans:
        return grid.draw(cells, rng)
    spots = np.array([spot for spot, _ in condition.spans])
    home = grid.codes(Values.of(spots))  # which cell each wanted value lies in; sorted, as the values are
    first, last = np.searchsorted(home, cells, side="left"), np.searchsorted(home, cells, side="right")
    pick = np.minimum(first + (rng.random(len(cells)) * (last - first)).astype(np.int64), len(spots) - 1)
    null = np.zeros(len(cells), bool) if grid.null is None else cells == grid.null
    return Values.of(spots[pick].astype(grid.dtype), null)
