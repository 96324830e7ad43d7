"""Rows that satisfy a condition, from a model that draws whole rows: draw, keep what fits, draw again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.errors import ConvergenceError, SchemaError
from nacre.table import Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

BATCH = 16_384
ROUNDS = 2_000  # batches drawn for a condition before giving up


class RowsByRejection:
    """A model with `schema` and `some_rows`. Conditions are exact, but slow where they are rare (a single value of a
    number that comes by rounding is)."""

    @property
    def schema(self) -> Schema:
        raise NotImplementedError

    def some_rows(self, rows: int, rng: np.random.Generator, fixed: Any) -> dict[str, Values]:
        """`rows` rows; `fixed` is what `settle` made of the conditions it could meet directly."""
        raise NotImplementedError

    def settle(self, where: dict[str, Any]) -> Any:
        """Take out of `where` what the model can condition on directly."""
        return None

    def draw(self, rows: int, rng: np.random.Generator, where: Mapping[str, Any] | None = None) -> dict[str, Values]:
        """`rows` rows that satisfy `where`; SchemaError for a column that is not modelled or cannot be met."""
        where = dict(where or {})
        for name in where:
            if name not in self.schema.modelled:
                shown = ", ".join(self.schema.modelled)
                raise SchemaError(f"where: {name!r} is not a modelled column; choose among {shown}")
        fixed = self.settle(where)
        grids = {name: self.grid(name) for name in where}
        masks = {name: grids[name].mask(condition) for name, condition in where.items()}
        parts, found = [], 0
        for _ in range(ROUNDS if masks else -(-rows // BATCH) + 1):
            if found >= rows and parts:
                break
            some = self.some_rows(BATCH if masks else min(BATCH, max(rows - found, 1)), rng, fixed)
            keep = np.ones(len(next(iter(some.values()))), bool)
            for name, mask in masks.items():
                share = np.append(mask, 0.0)[grids[name].codes(some[name])]
                keep &= rng.random(len(share)) < share
            parts.append({name: v.take(np.flatnonzero(keep)) for name, v in some.items()})
            found += int(keep.sum())
        if found < rows:
            names = ", ".join(map(repr, masks))
            raise ConvergenceError(f"only {found} of {ROUNDS * BATCH:,} rows meet the condition on {names}; widen it")
        return {
            name: Values.of(
                np.concatenate([p[name].values for p in parts])[:rows],
                np.concatenate([p[name].null for p in parts])[:rows],
            )
            for name in parts[0]
        }

    def grid(self, name: str) -> Grid:
        return Grid.of(self.schema.columns[name])


def pick(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One category per row by inversion."""
    upto = np.cumsum(p, axis=1)
    return np.minimum((rng.random((len(p), 1)) * upto[:, -1:] > upto).sum(axis=1), p.shape[1] - 1)
