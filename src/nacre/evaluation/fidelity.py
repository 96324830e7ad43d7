"""How far apart two tables are: one-way and two-way total variation, Kendall's rank correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.evaluation.domain import MISSING, UNKNOWN, Domain, Variable

if TYPE_CHECKING:
    import pandas as pd

BINS = 20
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
class Cells:
    """A table reduced to the cell number of every value: what the marginals are counted from."""

    codes: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    rows: int


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
    """Numbers fall in `bins` equal-width bins on the public range; nulls and unknown labels get cells of
    their own, so that a table cannot gain by leaving values out."""
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
    x = variable.numbers(values)
    null = np.isnan(x)
    place = (np.where(null, low, x) - low) / ((high - low) or 1.0) * bins
    return np.where(null, bins, np.clip(place.astype(np.int64), 0, bins - 1)), bins + 1


def marginals(a: Cells, b: Cells) -> Marginals:
    """All one-way and two-way distances between two tables reduced by `cells` on the same description."""
    if a.sizes != b.sizes:
        raise ValueError("the two tables were reduced with different descriptions or bins; use one for both")
    one = {c: _tvd(a, b, a.codes[c], b.codes[c], a.sizes[c]) for c in a.sizes}
    two = {}
    for c, d in combinations(a.sizes, 2):
        k, l = a.sizes[c], a.sizes[d]  # noqa: E741 - k, l are the two sides of the table
        two[c, d] = _tvd(a, b, a.codes[c] * l + a.codes[d], b.codes[c] * l + b.codes[d], k * l)
    return Marginals(one, two)


def _tvd(a: Cells, b: Cells, x: np.ndarray, y: np.ndarray, size: int) -> float:
    p = np.bincount(x, minlength=size) / a.rows
    q = np.bincount(y, minlength=size) / b.rows
    return 0.5 * float(np.abs(p - q).sum())


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
