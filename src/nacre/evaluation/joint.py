"""Distances between whole rows, as features: squared MMD and energy distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.evaluation.domain import Domain
from nacre.evaluation.features import Features

if TYPE_CHECKING:
    import pandas as pd

ROWS = 3_000  # of each table: both distances look at all pairs of rows


def row_distances(
    real: pd.DataFrame, other: pd.DataFrame, domain: Domain, seed: int = 0, limit: int = ROWS
) -> tuple[dict[str, float], int]:
    """`mmd2` (unbiased, Gaussian kernel, median heuristic) and `energy` of at most `limit` rows of each table.

    Numbers are standardised with the moments of the real table, categories are 0/1 columns (pearl.md 5). NaN for a
    table of fewer than two rows, 0 where all rows of both tables are one and the same.
    """
    from nacre.distances import energy_distance, mmd2

    features = Features.of(real, domain, None)
    rng = np.random.default_rng([seed, 5])
    size = min(len(real), len(other), limit)
    if size < 2:
        return {"mmd2": float("nan"), "energy": float("nan")}, size
    x, y = (features(t.iloc[np.sort(rng.choice(len(t), size, replace=False))]) for t in (real, other))
    if (x == x[0]).all() and (y == x[0]).all():
        return {"mmd2": 0.0, "energy": 0.0}, size  # one and the same row everywhere, so no scale to compare on
    return {"mmd2": mmd2(y, x), "energy": energy_distance(y, x)}, size
