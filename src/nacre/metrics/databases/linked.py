"""The tables of a database put together by their keys: every row under its parent, in order, with its unit.

Rows whose key leads nowhere hang on nothing: they are in no figure but `integrity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.domain import Domain
from nacre.metrics.pair import Limits

if TYPE_CHECKING:
    import pandas as pd

    from nacre.metrics.databases.events import Event
    from nacre.table.database import Database, Key


@dataclass(frozen=True)
class Level:
    """One owned table. Rows of one parent stand together, in the order of the key; `parent` and `unit` are places in
    the parent's rows and in those of the unit table. `points` are the places that references lead to, by column."""

    name: str
    key: Key | None
    frame: pd.DataFrame
    domain: Domain
    cells: Cells
    parent: np.ndarray
    unit: np.ndarray
    points: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def ordered(self) -> bool:
        return self.key is not None and self.key.order is not None

    @cached_property
    def per_parent(self) -> np.ndarray:
        """How many rows the parent of each row has."""
        return np.bincount(self.parent, minlength=1)[self.parent] if len(self) else self.parent

    @cached_property
    def place(self) -> np.ndarray:
        """0, 1, 2, ... under each parent."""
        first = np.flatnonzero(np.r_[True, self.parent[1:] != self.parent[:-1]])[: len(self)]
        return np.arange(len(self)) - np.repeat(first, np.diff(np.r_[first, len(self)]))

    @property
    def successive(self) -> np.ndarray:
        """The rows that have a next one under the same parent."""
        return np.flatnonzero(self.parent[1:] == self.parent[:-1])

    def taken(self, rows: np.ndarray, parent: np.ndarray, unit: np.ndarray) -> Level:
        points = {column: found[rows] for column, found in self.points.items()}
        return replace(
            self, frame=self.frame.iloc[rows], cells=self.cells.take(rows), parent=parent, unit=unit, points=points
        )


@dataclass(frozen=True)
class Linked:
    """The owned tables from the unit table down; the public ones as they are, with `domains` of theirs."""

    database: Database
    levels: Mapping[str, Level]
    public: Mapping[str, Cells]
    domains: Mapping[str, Domain]  # of all tables, without columns that are references
    kept: Mapping[str, float]  # what was found of keys: shares of rows or of parents, by the names of metrics

    @property
    def root(self) -> Level:
        return self.levels[self.database.unit]

    @property
    def units(self) -> int:
        return len(self.root)

    @property
    def children(self) -> tuple[Level, ...]:
        return tuple(level for level in self.levels.values() if level.key is not None)

    def above(self, level: Level) -> Level:
        assert level.key is not None
        return self.levels[level.key.parent]

    def ancestors(self, level: Level) -> list[tuple[Level, np.ndarray]]:
        """The tables above, the nearest first, with the place there of every row of `level`."""
        found, places = [], np.arange(len(level))
        while level.key is not None:
            places = level.parent[places]
            level = self.above(level)
            found.append((level, places))
        return found

    def owned_rows(self, child: Level) -> np.ndarray:
        """How many rows of `child` each row of its parent has."""
        return np.bincount(child.parent, minlength=len(self.above(child)))

    def taken(self, units: np.ndarray) -> Linked:
        """The units at these places, which may repeat, with all that is theirs."""
        levels: dict[str, Level] = {}
        came: dict[str, np.ndarray] = {}  # the row here that each new row was
        for name, level in self.levels.items():
            if level.key is None:
                rows, parent = units, np.arange(len(units))
                unit = parent
            else:
                rows, parent = _under(self.owned_rows(level), came[level.key.parent])
                unit = levels[level.key.parent].unit[parent]
            levels[name], came[name] = level.taken(rows, parent, unit), rows
        return replace(self, levels=levels)

    def redrawn(self, seed: int) -> Linked:
        """As many of its units, drawn with replacement."""
        return self.taken(np.random.default_rng([seed, 1]).integers(0, self.units, self.units))


@dataclass(frozen=True)
class LinkedPair:
    """The synthetic database, or what stands in its place, beside the real one. `asked` is what models predict."""

    ours: Linked
    real: Linked
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    asked: tuple[Event, ...] = ()

    @property
    def units(self) -> int:
        return min(self.ours.units, self.real.units)


def _under(count: np.ndarray, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that hang on these parents, which may repeat, and the new place of the parent of each."""
    start = np.cumsum(count) - count
    each = count[parents]
    parent = np.repeat(np.arange(len(parents)), each)
    within = np.arange(len(parent)) - np.repeat(np.cumsum(each) - each, each)
    return start[parents][parent] + within, parent
