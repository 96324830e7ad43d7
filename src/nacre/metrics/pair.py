"""Two tables beside each other: what the computation of a metric is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nacre.metrics.cells import Cells, cells
from nacre.metrics.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

Found = TypeVar("Found")
KENDALL_WORK = 2_000_000  # rows times pairs of columns at most, never under 2,000 rows a pair


@dataclass(frozen=True)
class Limits:
    """What bounds the work. `kendall_rows`: the most rows behind a rank correlation; None: as many as KENDALL_WORK
    leaves to the pairs there are."""

    pairs: int = 5_000  # two-way tables: all pairs of 100 columns
    triples: int = 200
    matrix_columns: int = 100
    kendall_rows: int | None = None

    def rows_of_a_tau(self, pairs: int) -> int:
        return self.kendall_rows or max(2_000, KENDALL_WORK // max(pairs, 1))


@dataclass(frozen=True)
class Side:
    """One table, and what is computed of it alone: once, where many are compared with it."""

    frame: pd.DataFrame
    cells: Cells
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, frame: pd.DataFrame, domain: Domain) -> Side:
        return cls(frame, cells(frame, domain))

    def __len__(self) -> int:
        return len(self.frame)

    def redrawn(self, seed: int) -> Side:
        """As many of its rows, drawn with replacement."""
        rows = np.random.default_rng([seed, 1]).integers(0, len(self), len(self))
        return Side(self.frame.iloc[rows], self.cells.take(rows))

    def once(self, what: tuple, compute: Callable[[pd.DataFrame], Found]) -> Found:
        if what not in self._known:
            self._known[what] = compute(self.frame)
        return self._known[what]


@dataclass(frozen=True)
class Pair:
    """The synthetic table, or what stands in its place, beside real rows."""

    ours: Side
    real: Side
    domain: Domain
    seed: int = 0
    limits: Limits = field(default_factory=Limits)

    @property
    def rows(self) -> int:
        return min(len(self.ours), len(self.real))

    @property
    def narrow(self) -> Domain:
        """The columns of matrices: all, or a random choice that a page can show."""
        count, most = len(self.domain.names), self.limits.matrix_columns
        if count <= most:
            return self.domain
        keep = np.sort(np.random.default_rng([self.seed, 4]).choice(count, most, replace=False))
        return Domain(tuple(self.domain.variables[i] for i in keep))
