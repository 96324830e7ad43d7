"""Shares of all categories of all columns together."""

from __future__ import annotations

import numpy as np

from nacre.metrics.metric import lower
from nacre.metrics.pair import Pair
from nacre.metrics.score import Measured


def dimension_wise(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    """Root mean square difference of the shares of rows of every category of every column (null is a category).

    Takes the counts per category of each column. NaN when there is no categorical column.
    """
    gaps = [a[name] / a[name].sum() - b[name] / b[name].sum() for name in a]
    return float(np.sqrt(np.mean(np.concatenate(gaps) ** 2))) if gaps else float("nan")


def _categories(pair: Pair) -> Measured:
    a, b = ({v.name: side.cells.counts(v.name) for v in pair.domain.classes} for side in (pair.ours, pair.real))
    return Measured.of(pair.rows, dwp_rmse=dimension_wise(a, b))


METRICS = (
    lower("dwp_rmse", 1.0, "root mean square difference of the shares of all categories (dimension-wise)", _categories),
)
