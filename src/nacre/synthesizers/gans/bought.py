"""What the private adversarial methods buy before they train: one-way tables of all columns.

From them come the place and spread of every number (bounds may be far wider than the data), the class shares, and where
the generator starts: at the noisy shares of all labels. All of it is post-processing of the door `counts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.privacy.curator import Curator
from nacre.privacy.plan import Plan
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.grouping import simplex
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.parts.one_way import CLIP, NAME, place
from nacre.table.grid import Grid

FLOOR = 1e-4  # the least share a label starts with


@dataclass(frozen=True)
class Bought:
    """The coding of rows, the class shares, the raw outputs at which a generator of such rows starts, and the mean and
    mean square of every coordinate of a row."""

    coding: Coding
    shares: np.ndarray
    outset: np.ndarray
    moments: np.ndarray

    def begun(self, generator: dict[str, Any]) -> dict[str, Any]:
        """The generator's weights with its outputs moved to the outset; labels depend little on the noise at first."""
        numbers = self.coding.heads(0).numbers
        pull = np.where(np.arange(len(self.outset)) < numbers, 1.5, 0.3).astype(np.float32)
        return {
            **generator,
            "out.bias": generator["out.bias"] + self.outset.astype(np.float32),
            "out.weight": generator["out.weight"] * pull,
        }


def buy(curator: Curator, plan: Plan, layout: Layout) -> Bought:
    """Open the door: one noisy table per modelled column."""
    entry, columns = plan[NAME], list(curator.schema.modelled)
    tables = dict(zip(columns, curator.counts(entry, [(c,) for c in columns])))
    places = [place(_grid(layout, n), tables[n], entry.sigmas[0]) for n in layout.numbers]
    mean, scale = np.array([p[0] for p in places]), np.array([p[1] for p in places])
    names = tuple(n for n in columns if n != layout.target)
    coding = Coding(layout, (names,), mean, scale, clip=CLIP)
    outset = [np.zeros(len(layout.numbers))]
    held = [_moments(_grid(layout, n), tables[n], *p) for n, p in zip(layout.numbers, places)]
    for name, _ in layout.blocks:
        share = _shares(tables[name])
        if name in layout.numbers:  # present, missing
            missing = share[_grid(layout, name).null]
            share = np.array([1 - missing, missing])
        outset.append(np.log(np.maximum(share, FLOOR)))
        held += [(p, p) for p in share]
    classes = np.ones(1) if layout.target is None else _shares(tables[layout.target])
    return Bought(coding, classes, np.concatenate(outset), np.reshape(np.array(held, np.float32), (-1, 2)).T)


def _grid(layout: Layout, name: str) -> Grid:
    return Grid.of(layout.schema.columns[name])


def _moments(grid: Grid, counts: np.ndarray, mean: float, scale: float) -> tuple[float, float]:
    """Mean and mean square of a standardised number, from the middles of the cells."""
    low, high = grid.low.astype(np.float64), np.maximum(grid.high, grid.low).astype(np.float64)
    share = _shares(counts[: len(low)])
    middle = ((low + high) / 2 - low[0]) / max(high[-1] - low[0], 1e-300)
    standard = np.clip((middle - mean) / scale, -CLIP, CLIP)
    return float(share @ standard), float(share @ standard**2)


def _shares(counts: np.ndarray) -> np.ndarray:
    """The nearest shares to noisy counts; even ones where nothing is left of them."""
    total = float(counts.sum())
    return simplex(counts / total, 1.0) if total > 0 else np.full(len(counts), 1 / len(counts))
