"""A table reduced to the cell number of every value: what tables of counts are counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.domain import MISSING, UNKNOWN, Domain, Variable

if TYPE_CHECKING:
    import pandas as pd

BINS = 20


@dataclass(frozen=True)
class Cells:
    """`codes` of every row and how many cells there are, by column."""

    codes: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    rows: int

    def counts(self, column: str) -> np.ndarray:
        """How many rows are in every cell of a column."""
        return np.bincount(self.codes[column], minlength=self.sizes[column])

    def take(self, rows: np.ndarray) -> Cells:
        """The rows at these positions, which may repeat."""
        return Cells({name: codes[rows] for name, codes in self.codes.items()}, self.sizes, len(rows))


def cells(table: pd.DataFrame, description: object, bins: int = BINS) -> Cells:
    """Numbers fall in `bins` equal-width bins on the public range. Nulls, numbers below and above the range and
    labels outside the list get cells of their own: a table gains nothing by leaving values out or overshooting."""
    domain = Domain.of(description)
    domain.check(table, "compared")
    return coded(table, domain, bins)


def coded(table: pd.DataFrame, domain: Domain, bins: int = BINS) -> Cells:
    """The same of a table that was checked, and may be empty."""
    found = {v.name: _cells_of(v, table[v.name], bins) for v in domain}
    return Cells({n: c for n, (c, _) in found.items()}, {n: k for n, (_, k) in found.items()}, len(table))


def _cells_of(variable: Variable, values: object, bins: int) -> tuple[np.ndarray, int]:
    if variable.categories is not None:
        k = len(variable.categories)
        codes = variable.codes(values)
        return np.where(codes == MISSING, k, np.where(codes == UNKNOWN, k + 1, codes)), k + 2
    assert variable.bounds is not None
    low, high = variable.bounds
    x = variable.raw(values)
    null, (below, above) = np.isnan(x), variable.beyond(x)
    place = (np.clip(np.where(null, low, x), low, high) - low) / ((high - low) or 1.0) * bins
    inside = np.clip(place.astype(np.int64), 0, bins - 1)
    return np.select([null, below, above], [bins, bins + 1, bins + 2], inside), bins + 3
