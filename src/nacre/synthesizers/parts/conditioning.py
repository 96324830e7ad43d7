"""Conditions met by drawing again: exact for any model that draws whole rows, slow where the condition is rare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacre.errors import ConvergenceError, SchemaError
from nacre.synthesizers.base import Model
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.table.naming import choices

BATCH = 16_384
ROUNDS = 2_000  # batches drawn for a condition before giving up


def draw_until(
    rows: int,
    where: Mapping[str, Condition],
    grids: Mapping[str, Grid],
    draw: Callable[[int], dict[str, Values]],
    batch: int,
    rounds: int = ROUNDS,
) -> dict[str, Values]:
    """`rows` rows of `draw(n)` that satisfy `where`; SchemaError for what is not modelled or not declared,
    ConvergenceError when too few of many rows do."""
    masks = {}
    for name, condition in where.items():
        if name not in grids:
            raise SchemaError(f"where: {name!r} is not a modelled column; choose among {choices(name, grids)}")
        masks[name] = condition.mask(grids[name])
    parts, found = [], 0
    for _ in range(rounds if masks else -(-max(rows, 1) // batch)):
        some = draw(batch if masks else min(batch, max(rows - found, 1)))
        keep = np.ones(len(next(iter(some.values()))), bool)
        for name, mask in masks.items():
            keep &= _meets(grids[name], some[name], where[name], mask)
        parts.append({name: v.take(np.flatnonzero(keep)) for name, v in some.items()})
        found += int(keep.sum())
        if found >= rows:
            break
    if found < rows:
        names = ", ".join(map(repr, masks))
        raise ConvergenceError(f"only {found} of {rounds * batch:,} rows meet the condition on {names}; widen it")
    return {
        name: Values.of(
            np.concatenate([p[name].values for p in parts])[:rows],
            np.concatenate([p[name].null for p in parts])[:rows],
        )
        for name in parts[0]
    }


def _meets(grid: Grid, values: Values, condition: Condition, mask: np.ndarray) -> np.ndarray:
    """Which values meet the condition: by their cells, and by themselves in a cell that meets it in part."""
    share = np.append(mask, 0.0)[grid.codes(values)]
    found = share == 1
    part = np.flatnonzero((share > 0) & (share < 1))
    if len(part):
        found[part] = condition.matches(values.take(part))
    return found


class RowsByRejection(Model):
    """A model with `schema` and `some_rows`. Conditions are exact, but slow where they are rare (a single value of a
    number that comes by rounding is)."""

    batch = BATCH

    @property
    def schema(self) -> Schema:
        raise NotImplementedError

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: object) -> dict[str, Values]:
        """`rows` rows; `fixed` is what `take_direct` made of the conditions it could meet directly."""
        raise NotImplementedError

    def take_direct(self, where: dict[str, Condition]) -> Any:
        """Take out of `where` what the model can condition on directly."""
        return None

    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]:
        """`rows` rows that satisfy `where`; SchemaError for a column that is not modelled or cannot be met."""
        where = dict(where or {})
        fixed = self.take_direct(where)
        columns = self.schema.columns
        grids = {n: Grid.of(columns[n]) for n in self.schema.modelled if columns[n].counted}
        return draw_until(rows, where, grids, lambda n: self.some_rows(n, rng, fixed), self.batch)


def pick(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One category per row by inversion."""
    upto = np.cumsum(p, axis=1)
    return np.minimum((rng.random((len(p), 1)) * upto[:, -1:] > upto).sum(axis=1), p.shape[1] - 1)
