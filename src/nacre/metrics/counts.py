"""How far apart two tables are: total variation of tables of counts, Kendall's rank correlations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.metrics.domain import MISSING, UNKNOWN, Domain, Variable

if TYPE_CHECKING:
    import pandas as pd

BINS = 20
DENSE = 4_000_000  # cells of a table counted directly; larger ones hold only the cells that occur
KENDALL_ROWS = 1_000_000  # about 7 s for the 45 pairs of ten columns


@dataclass(frozen=True)
class Marginals:
    """Total variation distance (half the L1) of every one-way and two-way table, each in [0, 1]."""

    one: Mapping[str, float]
    two: Mapping[tuple[str, str], float]

    @property
    def tvd1(self) -> float:
        return float(np.mean(list(self.one.values())))

    @property
    def tvd1_max(self) -> float:
        return float(np.max(list(self.one.values())))

    @property
    def tvd2(self) -> float:
        """Mean over all pairs; NaN for a table of one column, which has none."""
        return float(np.mean(list(self.two.values()))) if self.two else float("nan")


@dataclass(frozen=True)
class Distances:
    """Total variation distances of sets of columns, with the standard error of each and of their mean.

    Errors are those of the delta method over the rows of both tables. They say how far the figure would move with
    other rows; they do not take away that equal distributions have a distance above 0 in finite tables.
    """

    values: Mapping[tuple[str, ...], float]
    errors: Mapping[tuple[str, ...], float]
    mean_error: float

    @property
    def mean(self) -> float:
        """NaN when no set of columns was asked for."""
        return float(np.mean(list(self.values.values()))) if self.values else float("nan")


@dataclass(frozen=True)
class Cells:
    """A table reduced to the cell number of every value: what the marginals are counted from."""

    codes: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    rows: int

    def take(self, rows: np.ndarray) -> Cells:
        """The rows at these positions, which may repeat."""
        return Cells({name: codes[rows] for name, codes in self.codes.items()}, self.sizes, len(rows))


@dataclass(frozen=True)
class Taus:
    """Kendall's tau-b for every pair of numeric columns (strict upper triangle, in column order).

    `rows` were used; `error` bounds the standard error that sampling them added (0 when all were used).
    A pair in which one column is constant has no tau: NaN.
    """

    pairs: tuple[tuple[str, str], ...]
    values: np.ndarray
    rows: int
    error: float


def cells(table: pd.DataFrame, description: Any, bins: int = BINS) -> Cells:
    """Numbers fall in `bins` equal-width bins on the public range. Nulls, numbers below and above the range and
    labels outside the list get cells of their own: a table gains nothing by leaving values out or overshooting."""
    domain = Domain.of(description)
    domain.check(table, "compared")
    coded = {v.name: _cells_of(v, table[v.name], bins) for v in domain}
    return Cells({n: c for n, (c, _) in coded.items()}, {n: k for n, (_, k) in coded.items()}, len(table))


def _cells_of(variable: Variable, values: Any, bins: int) -> tuple[np.ndarray, int]:
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


def marginals(a: Cells, b: Cells) -> Marginals:
    """All one-way and two-way distances between two tables reduced by `cells` on the same description."""
    one = distances(a, b, [(c,) for c in a.sizes]).values
    two = distances(a, b, combinations(a.sizes, 2)).values
    return Marginals({c: value for (c,), value in one.items()}, {(c, d): value for (c, d), value in two.items()})


def distances(a: Cells, b: Cells, sets: Iterable[tuple[str, ...]]) -> Distances:
    """Total variation of the table of every set of columns, between two tables reduced by `cells` alike.

    With s = sign(p - q) per cell, 1/2 sum |p - q| = 1/2 (mean of s over the rows of a - mean over those of b) for s
    held fixed: the variance is that of the two means (delta method), per set and for the mean over all sets.
    """
    if a.sizes != b.sizes:
        raise ValueError("the two tables were reduced with different descriptions or bins; use one for both")
    values, errors, count = {}, {}, 0
    sum_a, sum_b = np.zeros(a.rows), np.zeros(b.rows)
    for columns in sets:
        x, y, size = _joint(a, b, columns)
        gap = np.bincount(x, minlength=size) / a.rows - np.bincount(y, minlength=size) / b.rows
        sign = np.sign(gap)
        sign_a, sign_b = sign[x], sign[y]
        values[columns] = 0.5 * float(np.abs(gap).sum())
        errors[columns] = _error(sign_a, sign_b)
        sum_a += sign_a
        sum_b += sign_b
        count += 1
    return Distances(values, errors, _error(sum_a, sum_b) / max(count, 1))


def _error(a: np.ndarray, b: np.ndarray) -> float:
    return 0.5 * float(np.sqrt(a.var() / len(a) + b.var() / len(b)))


def _joint(a: Cells, b: Cells, columns: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers of the joint cells of both tables, and how many there are."""
    x, y, size = np.zeros(a.rows, np.int64), np.zeros(b.rows, np.int64), 1
    for c in columns:
        x, y, size = x * a.sizes[c] + a.codes[c], y * b.sizes[c] + b.codes[c], size * a.sizes[c]
    if size <= DENSE:
        return x, y, size
    distinct, both = np.unique(np.concatenate([x, y]), return_inverse=True)
    return both[: a.rows], both[a.rows :], len(distinct)


def taus(table: pd.DataFrame, description: Any, limit: int | None = KENDALL_ROWS, seed: int = 0) -> Taus:
    """Tau-b of all pairs of numeric columns, over the rows where both are present.

    A table of more than `limit` rows is sampled without replacement (by `seed`). The variance of a
    sample tau of n rows is at most 2 (1 - tau^2) / n (Kendall 1948), hence `error` = sqrt(2 / n):
    0.0045 at 100,000 rows, as an upper bound; at tau = 0 it is near 2 / (3 sqrt(n)) = 0.0021.
    """
    from scipy.stats import kendalltau

    domain = Domain.of(description)
    domain.check(table, "compared")
    error = 0.0
    if limit is not None and len(table) > limit:
        keep = np.random.default_rng(seed).choice(len(table), size=limit, replace=False)
        table, error = table.iloc[np.sort(keep)], float(np.sqrt(2 / limit))
    columns = {v.name: v.numbers(table[v.name]) for v in domain.numbers}
    pairs = tuple(combinations(columns, 2))
    values = np.array([_tau(kendalltau, columns[c], columns[d]) for c, d in pairs])
    return Taus(pairs, values, len(table), error)


def _tau(kendalltau: Any, x: np.ndarray, y: np.ndarray) -> float:
    present = ~(np.isnan(x) | np.isnan(y))
    if present.sum() < 2:
        return float("nan")
    if not present.all():
        x, y = x[present], y[present]
    return float(kendalltau(x, y, variant="b").statistic)


def kendall_error(a: Taus, b: Taus) -> dict[str, float]:
    """`kendall_rmse` and `kendall_mae` over the pairs defined in both tables, and how many were not.

    NaN when no pair is defined. `kendall_undefined` belongs beside the errors: a synthetic table with a
    constant column is judged on fewer pairs.
    """
    if a.pairs != b.pairs:
        raise ValueError("the two tables have different numeric columns; describe both the same way")
    gap = a.values - b.values
    defined = gap[~np.isnan(gap)]
    rmse = float(np.sqrt(np.mean(defined**2))) if len(defined) else float("nan")
    mae = float(np.mean(np.abs(defined))) if len(defined) else float("nan")
    return {"kendall_rmse": rmse, "kendall_mae": mae, "kendall_undefined": float(len(gap) - len(defined))}
