"""The sizes of a flow and of its network, without JAX: training and sampling read the same ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LINEAR = ("low-rank", "plu", "none")
ACTIVATIONS = ("relu", "tanh")
MOST_SIZE, MOST_BOUND, MOST_BINS = 4096, 1000.0, 500  # a bin of a spline takes at least a thousandth of the axis


@dataclass(frozen=True)
class Shape:
    """A flow of `blocks` blocks over `columns` numbers.

    `bins`, `bound`: of the splines. `linear`: the map after each, of `rank` where it is of low rank. `hidden`, `depth`,
    `embedding`, `activation`: of the network that all blocks share. `cells[i]`: labels of column i that the network
    also gets one-hot in the first block, 0 for none. `seed` draws the permutations of "plu".
    """

    columns: int
    bins: int = 8
    bound: float = 4.0
    linear: str = "low-rank"
    rank: int = 1
    blocks: int = 3
    hidden: int = 128
    depth: int = 2
    embedding: int = 16
    activation: str = "relu"
    cells: tuple[int, ...] = ()
    seed: int = 0

    @property
    def outputs(self) -> int:
        """Raw numbers of one spline: widths, heights and inner slopes."""
        return 3 * self.bins - 1

    @property
    def group(self) -> int:
        """Hidden units of one degree."""
        return math.ceil(self.hidden / max(self.columns - 1, 1))

    @property
    def width(self) -> int:
        """Hidden units of one layer: as many as asked for, rounded up to whole groups."""
        return self.group * max(self.columns - 1, 1)

    def layers(self) -> list[str]:
        """The layers that lead from columns to outputs, in order."""
        return ["made/in", *(f"made/hidden{i}" for i in range(1, self.depth)), "made/out"]

    def degrees(self) -> np.ndarray:
        """Of the hidden units, ascending: a unit of degree k sees columns 1..k."""
        return np.repeat(np.arange(1, max(self.columns - 1, 1) + 1), self.group)

    def masks(self) -> dict[str, np.ndarray]:
        """What each layer may use [out, in]: outputs of column i see columns before i only."""
        columns, hidden = np.arange(1, self.columns + 1), self.degrees()
        found = dict.fromkeys(self.layers()[1:-1], hidden[:, None] >= hidden)
        found |= {"made/in": hidden[:, None] >= columns}
        found["made/out"] = np.repeat(columns, self.outputs)[:, None] > hidden
        if any(self.cells):
            found["made/cells"] = hidden[:, None] >= np.repeat(columns, self.cells)
        return found

    def order(self, block: int) -> np.ndarray:
        """The permutation of block's PLU map, from public randomness: entry i of P y is y[order[i]]."""
        return np.random.default_rng([self.seed, block, self.columns]).permutation(self.columns)

    def sizes(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """layer -> part -> shape of every parameter; a layer that is one array has the part "value"."""
        d, wide, e = self.columns, self.width, self.embedding
        into = [d, *[wide] * self.depth]
        out = [*[wide] * self.depth, d * self.outputs]
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        for name, a, b in zip(self.layers(), into, out):
            found[name] = {"weight": (b, a), "bias": (b,)}
            if self.blocks > 1:
                found[f"{name}/block"] = {"weight": (b, e)}
        if any(self.cells):
            found["made/cells"] = {"weight": (wide, sum(self.cells))}
        if self.blocks > 1:
            found["made/blocks"] = {"value": (self.blocks, e)}
        for block in range(self.blocks):
            name = f"linear{block}"
            if self.linear == "low-rank":
                found[name] = {"raw": (d,), "a": (d, self.rank), "b": (self.rank, d), "shift": (d,)}
            elif self.linear == "plu":
                found |= {f"{name}/lower": {"weight": (d, d)}, f"{name}/upper": {"weight": (d, d)}}
                found[f"{name}/diagonal"] = {"raw": (d,), "shift": (d,)}
        return found
