"""How columns depend on one another, in both tables: Kendall's tau-b, Pearson's correlation, Cramer's V."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.domain import Domain
from nacre.metrics.metric import COMPARED, INF, Metric, lower
from nacre.metrics.pair import Pair, Side
from nacre.metrics.score import Matrix, Measured

if TYPE_CHECKING:
    import pandas as pd


KENDALL_ROWS = 1_000_000  # about 7 s for the 45 pairs of ten columns


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


def taus(table: pd.DataFrame, description: object, limit: int | None = KENDALL_ROWS, seed: int = 0) -> Taus:
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


# ---------------------------------------------------------------------------------------------------------- metrics


def _kendall(pair: Pair) -> Measured:
    domain = pair.narrow
    names = tuple(v.name for v in domain.numbers)
    pairs = len(names) * (len(names) - 1) // 2
    if not pairs:
        return Measured(())
    limit = pair.limits.rows_of_a_tau(pairs)

    def of(table: pd.DataFrame) -> Taus:
        return taus(table, domain, limit, pair.seed)

    fake, real = (side.once(("taus", names, limit, pair.seed), of) for side in (pair.ours, pair.real))
    rows, error, notes = min(real.rows, fake.rows), max(real.error, fake.error), []
    if error:
        notes.append(
            f"Kendall's tau was computed on {rows:,} rows of each table drawn at random: standard "
            f"error at most {error:.4f} each."
        )
    found = Measured.of(rows, **kendall_error(real, fake))
    return Measured(found.scores, tuple(notes), (kendall_matrix(real, fake, names),))


def _pearson(pair: Pair) -> Measured:
    domain = pair.narrow
    if len(domain.numbers) < 2:
        return Measured(())
    matrix = Matrix("pearson", tuple(v.name for v in domain.numbers), *(pearson(s.frame, domain) for s in _sides(pair)))
    gap = np.abs(upper(matrix))
    if not len(gap):
        return Measured((), matrices=(matrix,))
    figures = {"rmse": np.sqrt(np.mean(gap**2)), "mae": gap.mean(), "max": gap.max()}
    scores = Measured.of(pair.rows, **{f"correlation_{name}": float(value) for name, value in figures.items()}).scores
    return Measured(scores, matrices=(matrix,))


def _association(pair: Pair) -> Measured:
    names, all_of = pair.narrow.names, len(pair.domain.names)
    matrix = Matrix("cramers_v", names, *(cramers_v(side.cells, names) for side in _sides(pair)))
    gap = np.abs(upper(matrix))
    scores = Measured.of(pair.rows, cramers_v_mae=float(np.mean(gap))).scores if len(gap) else ()
    told = f"Dependence is shown for {len(names)} columns drawn at random of {all_of:,}."
    return Measured(scores, (told,) if len(names) < all_of else (), (matrix,))


def _sides(pair: Pair) -> tuple[Side, Side]:
    return pair.real, pair.ours


_NUMBERS = "over pairs of numeric columns"
METRICS = (
    lower("kendall_rmse", 2.0, f"root mean square error of Kendall's tau-b {_NUMBERS}", _kendall, headline=3),
    lower("kendall_mae", 2.0, f"mean absolute error of Kendall's tau-b {_NUMBERS}", _kendall),
    Metric("kendall_undefined", "lower", (0.0, INF), "pairs", COMPARED,
           "pairs of numeric columns without a tau because one is constant; left out of the errors", _kendall),
    lower("correlation_rmse", 2.0, f"root mean square error of Pearson's correlation {_NUMBERS}", _pearson),
    lower("correlation_mae", 2.0, f"mean absolute error of Pearson's correlation {_NUMBERS}", _pearson),
    lower("correlation_max", 2.0, f"largest absolute error of Pearson's correlation {_NUMBERS}", _pearson),
    lower("cramers_v_mae", 1.0, "mean absolute error of Cramer's V over all pairs, numbers in 20 bins", _association),
)  # fmt: skip
