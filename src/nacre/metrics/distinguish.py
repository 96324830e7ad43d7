"""Can a classifier tell synthetic rows from real ones? Area under the ROC curve on rows it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.domain import Domain
from nacre.metrics.features import Features
from nacre.metrics.metric import COMPARED, SHARE, Metric
from nacre.metrics.models import build
from nacre.metrics.pair import Pair
from nacre.metrics.predictions import RESAMPLES, interval, ranking, resamples
from nacre.metrics.score import Measured, Score

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20_000  # of each table at most
CELLS = 20_000_000  # of the feature matrix at most
FOLDS = 2


def p_value(auc: float, rows: int, folds: int = FOLDS) -> float:
    """Of the AUC against chance, one-sided: the normal approximation of the Mann-Whitney statistic.

    `rows` of each table in `folds` tests of h rows a side: the AUC of one has mean 1/2 and variance (2h + 1) / (12 h^2)
    when both tables are of one law. The tests are not independent: each fold trains the model of another, so a chance
    difference that both share lifts all their AUCs together. Their mean is therefore given the variance of one, which
    it cannot exceed. Ties make that smaller still: the p-value errs on the high side.
    """
    from scipy.stats import norm

    h = rows / folds
    return float(norm.sf((auc - 0.5) / np.sqrt((2 * h + 1) / (12 * h * h))))


def two_sample(
    real: pd.DataFrame, synthetic: pd.DataFrame, domain: Domain, seed: int = 0, limit: int = ROWS
) -> tuple[np.ndarray, int]:
    """AUC of gradient boosting, cross-fitted, as [figure, bootstrap figures...], and the rows used of each table.

    As many rows of either table; every row is scored by a model that did not see it, and the AUC is the mean over
    the folds, so that it is 0.5 in expectation when both tables are drawn from one distribution.
    """
    features = Features.of(real, domain, None)
    size = min(len(real), len(synthetic), limit, max(200, CELLS // max(1, 2 * features.width)))
    rng = np.random.default_rng(seed)
    if size < 2 * FOLDS:
        return np.array([np.nan]), size
    pick = [np.sort(rng.choice(len(t), size, replace=False)) for t in (real, synthetic)]
    found = [features(t.iloc[rows]) for t, rows in zip((real, synthetic), pick, strict=True)]
    return cross_fitted(found[0], found[1], rng, seed), size


def cross_fitted(real: np.ndarray, synthetic: np.ndarray, rng: np.random.Generator, seed: int) -> np.ndarray:
    """The AUC and its bootstrap, for as many rows of features of either table."""
    size = len(real)
    x, y = np.vstack([real, synthetic]), np.repeat([0, 1], size)
    fold = np.concatenate([rng.permutation(np.arange(size) % FOLDS) for _ in range(2)])
    parts = []
    for k in range(FOLDS):
        inside = fold == k
        score = build("hgb").fit(x[~inside], y[~inside]).predict_proba(x[inside])[:, 1]
        weights = resamples(int(inside.sum()), RESAMPLES, seed + k).astype(np.float64)
        parts.append(ranking(y[inside] == 1, score, weights)[0])
    return np.mean(parts, axis=0)


def _told_apart(pair: Pair) -> Measured:
    auc, size = two_sample(pair.real.frame, pair.ours.frame, pair.domain, pair.seed)
    value, (low, high) = float(auc[0]), interval(auc[1:]) or (None, None)
    scores = (
        Score("c2st_auc", value, low=low, high=high, rows=2 * size),
        Score("c2st_p", p_value(value, size), rows=2 * size),
    )
    note = f"Telling rows apart (c2st_auc) was tried on {size:,} rows of each table drawn at random."
    return Measured(scores, (note,) if size < pair.rows else ())


METRICS = (
    Metric("c2st_auc", "lower", SHARE, "1", COMPARED,
           "how well gradient boosting tells synthetic rows from real ones it never saw; 0.5 or below: not at all",
           _told_apart, whole_rows=True, headline=4),
    Metric("c2st_p", "higher", SHARE, "1", COMPARED, "p-value of c2st_auc: small says that the tables differ",
           _told_apart, whole_rows=True, chance=True),
)  # fmt: skip
