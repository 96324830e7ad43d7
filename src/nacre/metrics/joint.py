"""Distances between whole rows, as features: squared MMD and energy distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.domain import Domain
from nacre.metrics.features import Features
from nacre.metrics.metric import COMPARED, INF, SHARE, Metric
from nacre.metrics.pair import Pair
from nacre.metrics.score import Measured

if TYPE_CHECKING:
    import pandas as pd

ROWS = 3_000  # of each table: both distances look at all pairs of rows
KL_ROWS = 20_000
PERMUTATIONS = 200
NEIGHBOURS = 5


def row_distances(
    real: pd.DataFrame, other: pd.DataFrame, domain: Domain, seed: int = 0, limit: int = ROWS
) -> tuple[dict[str, float], int]:
    """`mmd2` (unbiased, Gaussian kernel, median heuristic), its `mmd_p` and `energy` of at most `limit` rows of each.

    Numbers are standardised with the moments of the real table, categories are 0/1 columns (pearl.md 5). NaN for a
    table of fewer than two rows, 0 where all rows of both tables are one and the same.
    """
    from nacre.distances import energy_distance, mmd2, mmd_test

    features = Features.of(real, domain, None)
    rng = np.random.default_rng([seed, 5])
    size = min(len(real), len(other), limit)
    if size < 2:
        return dict.fromkeys(("mmd2", "mmd_p", "energy"), float("nan")), size
    x, y = (features(t.iloc[np.sort(rng.choice(len(t), size, replace=False))]) for t in (real, other))
    if (x == x[0]).all() and (y == x[0]).all():
        return {"mmd2": 0.0, "mmd_p": 1.0, "energy": 0.0}, size  # one and the same row everywhere: no scale
    p = mmd_test(y, x, permutations=PERMUTATIONS, seed=seed).p_value
    return {"mmd2": mmd2(y, x), "mmd_p": p, "energy": energy_distance(y, x)}, size


def divergence(
    real: pd.DataFrame, other: pd.DataFrame, domain: Domain, seed: int = 0, limit: int = KL_ROWS
) -> tuple[float, int]:
    """`kl_knn` from the real to the other table over the numeric columns, standardised, and the rows it rests on: at
    most `limit` of each table, of those with all values.

    NaN without numeric columns or with too few distinct rows. Whole numbers with few values say little here.
    """
    from nacre.distances import kl_knn

    rng, samples = np.random.default_rng([seed, 6]), []
    for t in (real, other):
        x = np.array([v.numbers(t[v.name]) for v in domain.numbers]).reshape(-1, len(t)).T
        x = x[~np.isnan(x).any(axis=1)]
        samples.append(x[rng.choice(len(x), min(len(x), limit), replace=False)])
    a, b = samples
    if not a.shape[1] or min(len(np.unique(s, axis=0)) for s in samples) <= NEIGHBOURS:
        return float("nan"), min(len(a), len(b))
    scale = np.where(a.std(axis=0) > 0, a.std(axis=0), 1.0)
    return kl_knn(a / scale, b / scale, NEIGHBOURS), min(len(a), len(b))


# ---------------------------------------------------------------------------------------------------------- metrics


def _rows(pair: Pair) -> Measured:
    figures, size = row_distances(pair.real.frame, pair.ours.frame, pair.domain, pair.seed)
    least = 1 / (1 + PERMUTATIONS)
    notes = [f"mmd_p: {PERMUTATIONS} permutations; no p-value of so many is below {least:.3f}."]
    if size < pair.rows:
        notes.insert(0, (
            f"mmd2 and energy look at all pairs of rows: {size:,} rows of each table drawn at "
            "random. Beside them stands the holdout against the private table."
        ))  # fmt: skip
    return Measured(Measured.of(size, **figures).scores, tuple(notes))


def _divergence(pair: Pair) -> Measured:
    value, size = divergence(pair.real.frame, pair.ours.frame, pair.domain, pair.seed)
    note = (
        f"kl_knn looks at the numeric columns of at most {KL_ROWS:,} rows of each table drawn at random, of "
        "those without a missing number; repeated rows count once."
    )
    return Measured(Measured.of(size, kl_knn=value).scores, (note,))


METRICS = (
    Metric("mmd2", "lower", (-INF, INF), "1", COMPARED,
           "squared MMD of encoded rows: unbiased, one Gaussian kernel; in iw-synthetic the V form (never negative, "
           "above 0 for equal laws) of a sum of kernels, as published", _rows, whole_rows=True),
    Metric("mmd_p", "none", SHARE, "1", COMPARED, "p-value of mmd2 by permutations: small says that they differ",
           _rows, whole_rows=True, chance=True),
    Metric("energy", "lower", (0.0, INF), "1", COMPARED, "energy distance of encoded rows", _rows, whole_rows=True),
    Metric("kl_knn", "lower", (-INF, INF), "nats", COMPARED,
           "divergence of the numeric columns from the real to the synthetic table, by nearest neighbours",
           _divergence, whole_rows=True, suite="joint"),
)  # fmt: skip
