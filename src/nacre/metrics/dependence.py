"""How columns depend on one another, in both tables: Kendall's tau-b, Pearson's correlation, Cramer's V."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.counts import Cells, Taus
from nacre.metrics.domain import Domain
from nacre.report.report import Matrix

if TYPE_CHECKING:
    import pandas as pd


def kendall_matrix(real: Taus, synthetic: Taus, names: tuple[str, ...]) -> Matrix:
    """The taus of both tables as symmetric matrices with ones on the diagonal."""
    place = {name: i for i, name in enumerate(names)}
    both = []
    for taus in (real, synthetic):
        full = np.eye(len(names))
        for (c, d), value in zip(taus.pairs, taus.values, strict=True):
            full[place[c], place[d]] = full[place[d], place[c]] = value
        both.append(full)
    return Matrix("kendall", names, *both)


def pearson(table: pd.DataFrame, domain: Domain) -> np.ndarray:
    """Pearson's correlation of all pairs of numeric columns, over the rows where both have a value.

    NaN where a column is constant or fewer than two rows have both.
    """
    columns = np.array([v.numbers(table[v.name]) for v in domain.numbers])
    if not np.isnan(columns).any():
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.atleast_2d(np.corrcoef(columns))
    full = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        full[i, j] = full[j, i] = _correlation(columns[i], columns[j])
    return full


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def cramers_v(table: Cells, names: tuple[str, ...]) -> np.ndarray:
    """Cramer's V of all pairs, sqrt(chi^2 / (n (min(r, c) - 1))) over the r x c cells that occur; NaN if r or c is 1.

    Numbers are binned and null is a value of its own, as in `cells`.
    """
    full = np.eye(len(names))
    for (i, c), (j, d) in combinations(enumerate(names), 2):
        k, l = table.sizes[c], table.sizes[d]  # noqa: E741 - k, l are the two sides of the table
        counts = np.bincount(table.codes[c] * l + table.codes[d], minlength=k * l).reshape(k, l)
        full[i, j] = full[j, i] = _v(counts.astype(np.float64))
    return full


def _v(counts: np.ndarray) -> float:
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, smaller = counts.sum(), min(counts.shape)
    if smaller < 2:
        return float("nan")
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0)[None, :] / n
    return float(np.sqrt(((counts - expected) ** 2 / expected).sum() / (n * (smaller - 1))))


def upper(matrix: Matrix) -> np.ndarray:
    """Synthetic minus real over the pairs (strict upper triangle) that have a value in both."""
    rows, columns = np.triu_indices(len(matrix.names), 1)
    gap = (matrix.synthetic - matrix.real)[rows, columns]
    return gap[~np.isnan(gap)]
