"""Can a classifier tell synthetic units from real ones, by their own columns and those of all their rows together?"""

from __future__ import annotations

import numpy as np

from nacre.metrics.databases.linked import Level, Linked, LinkedPair
from nacre.metrics.distinguish import CELLS, FOLDS, ROWS, cross_fitted, p_value
from nacre.metrics.domain import MISSING, UNKNOWN, Variable
from nacre.metrics.features import Features
from nacre.metrics.metric import COMPARED, SHARE, Metric
from nacre.metrics.predictions import interval
from nacre.metrics.score import Measured, Score

LABELS = 40  # of a column whose shares among a unit's rows are features


def aggregated(tables: Linked, features: Features) -> np.ndarray:
    """[units, features] of float32: `features` of the unit, and of every table below the number of rows, the means of
    numbers and the shares of labels among the unit's rows (0 where it has none)."""
    root = tables.root
    blocks = [features(root.frame)] if root.domain.names else []
    for level in tables.children:
        count = np.bincount(level.unit, minlength=tables.units)
        blocks.append(count[:, None])
        blocks += [_summed(level, v, tables.units) / np.maximum(count, 1)[:, None] for v in level.domain]
    return np.hstack([b.astype(np.float32) for b in blocks])


def _summed(level: Level, variable: Variable, units: int) -> np.ndarray:
    values = level.frame[variable.name]
    if variable.numeric:
        numbers = variable.numbers(values)
        null = np.isnan(numbers)
        sums = [np.bincount(level.unit, w, units) for w in (np.where(null, 0.0, numbers), null)]
        return np.stack(sums[: 1 + variable.nullable], axis=1)
    codes = variable.codes(values)
    k = min(len(variable.categories or ()), LABELS)
    cells = np.where((codes == MISSING) | (codes == UNKNOWN), k, np.minimum(codes, k))
    return np.bincount(level.unit * (k + 1) + cells, minlength=units * (k + 1)).reshape(units, k + 1)


def _told_apart(pair: LinkedPair) -> Measured:
    root = pair.real.root
    features = Features.of(root.frame, root.domain, None)  # one map for both
    real, ours = (aggregated(tables, features) for tables in (pair.real, pair.ours))
    size = min(len(real), len(ours), ROWS, max(200, CELLS // max(1, 2 * real.shape[1])))
    if size < 2 * FOLDS:
        return Measured(())
    rng = np.random.default_rng(pair.seed)
    x, y = (found[np.sort(rng.choice(len(found), size, replace=False))] for found in (real, ours))
    auc = cross_fitted(x, y, rng, pair.seed)
    value, (low, high) = float(auc[0]), interval(auc[1:]) or (None, None)
    note = (f"Telling units apart (c2st_units) was tried on {size:,} units of each database drawn at random.",)
    scores = (
        Score("c2st_units", value, low=low, high=high, rows=2 * size),
        Score("c2st_units_p", p_value(value, size), rows=2 * size),
    )
    return Measured(scores, note if size < pair.units else ())


METRICS = (
    Metric("c2st_units", "lower", SHARE, "1", COMPARED,
           "how well gradient boosting tells synthetic units, with their rows summed up, from real ones; 0.5: not at "
           "all", whole_rows=True, linked=_told_apart, headline=29),
    Metric("c2st_units_p", "higher", SHARE, "1", COMPARED, "p-value of c2st_units: small says that the units differ",
           whole_rows=True, chance=True, linked=_told_apart),
)  # fmt: skip
