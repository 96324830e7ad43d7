"""What a fit knows of the tables of a database: how many groups every column has, and how rows hang together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LONG = 8  # rows under one parent from which on the law of a row depends on the one before it alone
ONLY, FIRST, MIDDLE, LAST = range(4)  # places of a row among those of its parent


@dataclass(frozen=True)
class Shape:
    """One owned table, in groups of cells.

    `classes`: those of its rows in each of the `types` of units. `counts`: for each child table, the column that counts
    its rows, and per group the share of each number of rows. `gap`: the column that is null where a row is the first of
    its parent, and that group. `lasting`: columns whose values a parent may keep from row to row.
    """

    name: str
    parent: str | None
    cap: int
    ordered: bool
    sizes: tuple[int, ...]
    classes: int
    types: int = 1
    counts: Mapping[str, tuple[int, NDArray[np.float32]]] = field(default_factory=dict)
    gap: tuple[int, int] | None = None
    lasting: tuple[bool, ...] = ()

    @cached_property
    def edges(self) -> list[int]:
        return np.cumsum([0, *self.sizes]).tolist()

    @cached_property
    def spots(self) -> list[slice]:
        return [slice(a, b) for a, b in itertools.pairwise(self.edges)]

    @property
    def cells(self) -> int:
        return self.edges[-1]

    @cached_property
    def column_of(self) -> NDArray[np.int64]:
        """The column of every group, all columns side by side."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def every_type(self) -> NDArray[np.float32]:
        """[types * classes, classes]: a class in every type of units; types one after the other."""
        return np.tile(np.eye(self.classes, dtype=np.float32), (self.types, 1))

    @cached_property
    def of_type(self) -> NDArray[np.float32]:
        """[types * classes, types]: the type of each."""
        return np.repeat(np.eye(self.types, dtype=np.float32), self.classes, axis=0)

    @cached_property
    def walk(self) -> Walk:
        return Walk.of(self.cap, self.ordered)


@dataclass(frozen=True)
class Walk:
    """How often a parent with m = 0..cap rows has a row at each place of the chain.

    Places are counted up to `LONG`; beyond, the law of a middle row no longer changes. `middle[t]`, `last[t]`: rows at
    place t + 2; `to_middle[t]`, `to_last[t]`: pairs of rows whose first stands at place t + 1.
    """

    middle: NDArray[np.float32]
    last: NDArray[np.float32]
    to_middle: NDArray[np.float32]
    to_last: NDArray[np.float32]

    @staticmethod
    def of(cap: int, ordered: bool) -> Walk:
        m = np.arange(cap + 1)
        end = min(cap, LONG) if ordered else min(cap, 2)  # without an order, all rows after the first are alike

        def counted(first: NDArray, most: NDArray, places: int, start: int) -> NDArray[np.float32]:
            """Of rows at `first`..`most`, how many stand at each place; the last place stands for all beyond."""
            found = np.zeros((places, cap + 1), np.float32)
            for t in range(places):
                place = t + start
                if t < places - 1:
                    found[t] = (first <= place) & (place <= most)
                else:
                    found[t] = np.maximum(most - np.maximum(first, place) + 1, 0)
            return found

        middle = counted(np.full(cap + 1, 2), m - 1, max(end - 1, 0), 2) if end > 1 else np.zeros((0, cap + 1), "f4")
        to_middle = counted(np.ones(cap + 1, int), m - 2, end, 1)
        last, to_last = np.zeros((end, cap + 1), np.float32), np.zeros((end, cap + 1), np.float32)
        for rows in range(2, cap + 1):
            last[min(rows, end + 1) - 2, rows] = 1
            to_last[min(rows - 1, end) - 1, rows] = 1
        return Walk(middle, last, to_middle, to_last)
