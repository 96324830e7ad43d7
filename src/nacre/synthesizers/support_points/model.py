"""The model of support points: places of the numbers, probabilities of the labels, and a kernel around each point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.synthesizers.base import Model, expect_sound, reading_parts
from nacre.synthesizers.parts.conditioning import BATCH, draw_until
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid

ROUNDS = 500  # batches drawn for a condition before giving up


class PointModel(Model):
    """Draws a point, its labels, and numbers from a normal of width `bandwidth` around it, reflected into the bounds.

    Every point is used as often as its weight says, up to one row more or less: asked for as many rows as there are
    points of equal weight, it gives each of them once. `where` keeps the rows that meet a condition.
    """

    def __init__(
        self,
        layout: Layout,
        numbers: np.ndarray,
        labels: np.ndarray,
        bandwidth: float,
        rows: int,
        weights: np.ndarray | None = None,
    ):
        self.layout, self.numbers, self.labels = layout, numbers, labels
        self.bandwidth, self.rows = float(bandwidth), rows
        self.weights = np.full(len(numbers), 1 / max(len(numbers), 1)) if weights is None else weights

    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]:
        """`rows` rows that satisfy `where`; ConvergenceError when next to none do."""
        if not where:
            return self._rows(rows, rng)
        schema = self.layout.schema
        grids = {name: Grid.of(schema.columns[name]) for name in schema.modelled}
        return draw_until(rows, where, grids, lambda n: self._rows(n, rng), BATCH, ROUNDS)

    def _rows(self, rows: int, rng: np.random.Generator) -> dict[str, Values]:
        upto = np.cumsum(self.weights) / self.weights.sum() * rows  # systematic: one uniform number for all rows
        spots = np.arange(rows) + rng.random()
        which = rng.permutation(np.minimum(np.searchsorted(upto, spots, side="right"), len(upto) - 1))
        step = self.bandwidth * rng.standard_normal((rows, self.numbers.shape[1]))
        place = np.mod(np.abs(self.numbers[which] + step), 2.0)
        codes, start = [], 0
        for _, size in self.layout.blocks:
            upto = np.cumsum(self.labels[which, start : start + size], axis=1)
            codes.append(np.minimum((rng.random((rows, 1)) * upto[:, -1:] > upto).sum(axis=1), size - 1))
            start += size
        return self.layout.decode(np.where(place > 1, 2 - place, place), codes, np.zeros(rows, np.int64))

    # ------------------------------------------------------------------ in and out

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts = {"rows": self.rows, "bandwidth": self.bandwidth}
        return facts, {"numbers": self.numbers, "labels": self.labels, "weights": self.weights}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PointModel:
        with reading_parts():
            layout = Layout.of(schema, None, "this release")
            arrays = {name: np.asarray(arrays[name]) for name in ("numbers", "labels", "weights")}
            bandwidth, rows = float(facts["bandwidth"]), int(facts["rows"])
            model = cls(layout, arrays["numbers"], arrays["labels"], bandwidth, rows, arrays["weights"])
            expect_sound(model._sound())
        return model

    def _sound(self) -> bool:
        """Shapes, types and ranges."""
        n, layout = len(self.numbers), self.layout
        shapes = self.numbers.shape == (n, len(layout.numbers)) and self.labels.shape == (n, layout.edges[-1])
        if not (shapes and n and self.weights.shape == (n,) and self.rows >= 0):
            return False
        arrays = (self.numbers, self.labels, self.weights)
        if not all(a.dtype.kind == "f" and bool(np.isfinite(a).all()) and bool((a >= 0).all()) for a in arrays):
            return False
        blocks = np.split(self.labels, layout.edges[1:-1], axis=1) if layout.blocks else []
        filled = all(bool((b.sum(axis=1) > 0).all()) for b in blocks)
        return filled and bool((self.numbers <= 1).all()) and self.weights.sum() > 0 and 0 <= self.bandwidth <= 1
