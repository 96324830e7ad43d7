"""What the one-way tables say of a column: groups of fine cells, shares inside a group, slopes inside a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacre.synthesizers.parts import grouping
from nacre.table.grid import Grid

FLOOR = 3.0  # standard errors that a group's count must reach


def row_count(tables: Sequence[np.ndarray], sigmas: Sequence[float]) -> float:
    """The number of rows that noisy one-way tables agree on, at least 1.

    A table's sum has the noise of all its cells, σ²·cells, so that of few cells says most: inverse variances.
    """
    weight = np.array([1.0 / (t.size * s**2) for t, s in zip(tables, sigmas, strict=True)])
    return max(1.0, float(np.average([float(t.sum()) for t in tables], weights=weight)))


@dataclass(frozen=True)
class Groups:
    """`lut`: fine cell -> group; `counts`, `sigma`: noisy count of each group and its noise; `angle`: its place."""

    lut: np.ndarray
    inside: np.ndarray
    slope: np.ndarray
    counts: np.ndarray
    sigma: np.ndarray
    angle: np.ndarray

    @staticmethod
    def of(grid: Grid, counts: np.ndarray, sigma: float, limit: int, whole: bool) -> Groups:
        """At most `limit` groups of the fine cells; `whole` leaves every cell a group of its own."""
        counts = counts.astype(np.float64)
        width = grid.width if grid.ordered else None
        if whole:
            lut = np.arange(grid.cells, dtype=np.int32)
        else:
            lut = grouping.group(counts, sigma, grid.ordered, limit, FLOOR * sigma, grid.null)
        shares = grouping.shares(counts, sigma, lut, width, grid.null)
        mass = np.bincount(lut, counts)
        return Groups(
            lut=lut,
            inside=grouping.inside(counts, sigma, lut, width, grid.null),
            slope=grouping.slopes(shares, grid.width),
            counts=mass,
            sigma=sigma * np.sqrt(np.bincount(lut)),
            angle=_angles(mass, grid.ordered),
        )


def _angles(mass: np.ndarray, ordered: bool) -> np.ndarray:
    """Lattice of an unordered column; half a turn across an ordered one, each group at its middle rank (null last)."""
    if not ordered:
        return 2 * math.pi * np.arange(len(mass)) / len(mass)
    share = grouping.simplex(mass, max(float(mass.sum()), 1.0))
    upto = np.cumsum(share)
    return math.pi * (upto - share / 2) / upto[-1]
