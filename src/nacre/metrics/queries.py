"""Random range queries: the share of rows in a box of three columns, in both tables (pearl.md 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.domain import MISSING, Domain, Variable
from nacre.metrics.metric import lower
from nacre.metrics.pair import Pair
from nacre.metrics.score import Figure, Measured

if TYPE_CHECKING:
    import pandas as pd

QUERIES = 1_000
COLUMNS = 3


def range_queries(a: pd.DataFrame, b: pd.DataFrame, domain: Domain, count: int = QUERIES, seed: int = 0) -> Figure:
    """Mean over random queries of |share of rows of a - share of rows of b|, with its standard error over rows.

    A query names three columns (fewer if there are fewer); of a number it asks for a random interval of the public
    range, of a category for a random non-empty set of labels, null being one of them where the column may be null.
    """
    rng = np.random.default_rng(seed)
    variables = list(domain)
    ours, theirs = ([_plain(v, t[v.name]) for v in variables] for t in (a, b))
    total, sum_a, sum_b = 0.0, np.zeros(len(a)), np.zeros(len(b))
    for _ in range(count):
        chosen = rng.choice(len(variables), size=min(COLUMNS, len(variables)), replace=False)
        conditions = [(i, _condition(variables[i], rng)) for i in chosen]
        x, y = (np.logical_and.reduce([_meets(t[i], c) for i, c in conditions]) for t in (ours, theirs))
        gap = x.mean() - y.mean()
        total += abs(gap)
        sum_a += np.sign(gap) * x
        sum_b += np.sign(gap) * y
    return Figure(total / count, float(np.sqrt(sum_a.var() / len(a) + sum_b.var() / len(b))) / count)


def _plain(variable: Variable, values: object) -> np.ndarray:
    """Numbers, or codes with null after the last label."""
    if variable.categories is None:
        return variable.numbers(values)
    codes = variable.codes(values)
    return np.where(codes == MISSING, len(variable.categories), codes)


def _condition(variable: Variable, rng: np.random.Generator) -> tuple[float, float] | np.ndarray:
    """An interval, or one truth value per label and two false ones: for a null that cannot be, and the unknown."""
    if variable.bounds is not None:
        low, high = np.sort(rng.uniform(*variable.bounds, size=2))
        return float(low), float(high)
    size = len(variable.categories or ()) + variable.nullable
    chosen = rng.random(size) < 0.5
    while not chosen.any():
        chosen = rng.random(size) < 0.5
    return np.append(chosen, [False, False])


def _meets(values: np.ndarray, condition: tuple[float, float] | np.ndarray) -> np.ndarray:
    if isinstance(condition, tuple):
        return (values >= condition[0]) & (values <= condition[1])
    return condition[values]  # UNKNOWN is -2: one of the two false ones at the end


def _range_query(pair: Pair) -> Measured:
    found = range_queries(pair.ours.frame, pair.real.frame, pair.domain, seed=pair.seed)
    note = f"range_query: {QUERIES:,} random queries of three columns."
    return Measured((found.score("range_query", pair.rows),), (note,))


METRICS = (
    lower("range_query", 1.0, "mean error of 1,000 random counts over ranges of three columns, as a share of rows",
          _range_query),
)  # fmt: skip
