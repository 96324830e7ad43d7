"""Records and points as vectors: numbers in [0, 1], labels as one-hot blocks scaled by 1/√2, so that a column of either
kind is at most 1 wide and the diameter is the root of the number of columns (specs/support_points.md 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.synthesizers.parts.layout import Layout
from nacre.typed import Array

if TYPE_CHECKING:
    from nacre.privacy.passes.feature_sums import Features
    from nacre.table.encoding import Values

CORNER = math.sqrt(0.5)


@dataclass(frozen=True)
class Geometry:
    layout: Layout

    @property
    def numbers(self) -> int:
        return len(self.layout.numbers)

    @property
    def width(self) -> int:
        return self.layout.width

    @property
    def diameter(self) -> float:
        return math.sqrt(max(1, self.numbers + len(self.layout.blocks)))

    @property
    def centre(self) -> np.ndarray:
        """The middle of the numbers and the centroid of every block of labels."""
        found = np.full(self.width, 0.5)
        for start, size in self.blocks:
            found[start : start + size] = CORNER / size
        return found

    @property
    def radius(self) -> float:
        """Largest distance of a record from the centre; half the diameter where no block has more than two labels."""
        blocks = sum(max(0.5 * (1 - 1 / size), 0.5 / size) for _, size in self.blocks)
        return math.sqrt(max(0.25, self.numbers / 4 + blocks))

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """(start, size) of every block of labels."""
        edges = self.layout.edges
        return tuple((self.numbers + a, size) for a, (_, size) in zip(edges, self.layout.blocks))

    @property
    def top(self) -> tuple[float, ...]:
        """The largest value of every coordinate; the smallest is 0."""
        return (1.0,) * self.numbers + (CORNER,) * (self.width - self.numbers)

    def public(self) -> dict[str, Any]:
        """What the maps of records need besides the record."""
        return {"numbers": self.layout.numbers, "blocks": self.layout.blocks}

    def record_map(self) -> Features:
        """Encoded records to vectors [n, width]; a label outside its list has a block of zeros."""
        layout = self.layout

        def vectors(records: Mapping[str, Values], public: Any) -> np.ndarray:
            numbers, codes = layout.encode(records)
            hot = [(code[:, None] == np.arange(size)) * CORNER for (_, size), code in zip(public["blocks"], codes)]
            return np.concatenate([numbers, *hot], axis=1)

        return vectors

    def probabilities(self, points: np.ndarray) -> np.ndarray:
        """Blocks of points at corners as 0/1 probabilities [n, labels]."""
        found = np.zeros((len(points), self.width - self.numbers))
        for start, size in self.blocks:
            code = points[:, start : start + size].argmax(axis=1)
            found[np.arange(len(points)), start - self.numbers + code] = 1.0
        return found

    def scattered(self, points: int, seed: int) -> np.ndarray:
        """Public points all over the space: low-discrepancy numbers, labels drawn uniformly."""
        from scipy.stats import qmc

        rng = np.random.default_rng([seed, 77])
        found = np.zeros((points, self.width))
        if self.numbers:
            power = max(0, math.ceil(math.log2(points)))
            found[:, : self.numbers] = qmc.Sobol(self.numbers, rng=rng).random_base2(power)[:points]
        for start, size in self.blocks:
            found[np.arange(points), start + rng.integers(0, size, points)] = CORNER
        return found


def near(columns: Any, point: Any) -> Any:
    """−‖x − y‖ of every record, with NumPy and with JAX: a record's utility of a point."""
    total = 0.0
    for c in range(columns.shape[0]):
        total = total + (columns[c] - point[c]) ** 2
    return -(total**0.5)


def apart(points: Array, point: Array) -> Any:
    """‖y_l − y‖: what a pair of points is worth."""
    return -near(points, point)
