"""Total variation of tables of counts: one, two and three columns at a time, and shares of categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from nacre.metrics.cells import Cells, cells
from nacre.metrics.metric import TRAINED, lower
from nacre.metrics.pair import Pair
from nacre.metrics.score import Figure, Measured

DENSE = 4_000_000  # cells of a table counted directly; larger ones hold only the cells that occur
TEN = 10  # bins of marginal_l1
FINITE = (
    "Distances of tables of counts are above 0 even between two samples of one population: compare them with those "
    "of a bootstrap of the private table. Intervals are for other rows, not for another run of the method."
)


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


def sampled(names: tuple[str, ...], size: int, limit: int, seed: int) -> list[tuple[str, ...]]:
    """All sets of `size` columns in order, or `limit` of them drawn at random."""
    if comb(len(names), size) <= limit:
        return list(combinations(names, size))
    rng = np.random.default_rng([seed, size])
    found: set[tuple[int, ...]] = set()
    while len(found) < limit:
        found.add(tuple(sorted(rng.choice(len(names), size, replace=False).tolist())))
    return [tuple(names[i] for i in chosen) for chosen in sorted(found)]


# ---------------------------------------------------------------------------------------------------------- metrics


def _sets(pair: Pair, size: int) -> list[tuple[str, ...]]:
    limit = {2: pair.limits.pairs, 3: pair.limits.triples}.get(size)
    names = pair.domain.names
    return sampled(names, size, comb(len(names), size) if limit is None else limit, pair.seed)


def _marginals(name: str, size: int, each: bool = False) -> Callable[[Pair], Measured]:
    """The mean over sets of columns, and where asked the worst and each of them."""

    def computation(pair: Pair) -> Measured:
        sets = _sets(pair, size)
        found = distances(pair.ours.cells, pair.real.cells, sets)
        if not sets:
            return Measured(())
        scores = [Figure(found.mean, found.mean_error).score(name, pair.rows)]
        if each and size == 1:
            worst = max(found.values, key=lambda one: found.values[one])
            scores.append(Figure(found.values[worst], found.errors[worst]).score(f"{name}_max", pair.rows))
        if each:
            scores += [Figure(v, found.errors[c]).score(name, pair.rows, c) for c, v in found.values.items()]
        return Measured(tuple(scores), tuple(_notes(pair, size, len(sets))))

    return computation


def _notes(pair: Pair, size: int, compared: int) -> list[str]:
    if size == 1:
        return [FINITE]
    if compared == comb(len(pair.domain.names), size):
        return []
    if size == 2:
        return [f"Of all pairs of columns {compared:,} drawn at random were compared."]
    return [f"Three-way tables: {compared} triples of columns drawn at random."]


def _l1(pair: Pair) -> Measured:
    a, b = (cells(side.frame, pair.domain, TEN) for side in (pair.ours, pair.real))
    found = distances(a, b, _sets(pair, 2))
    doubled = Figure(2 * found.mean, 2 * found.mean_error)
    return Measured((doubled.score("marginal_l1", pair.rows),) if found.values else ())


_one = _marginals("tvd1", 1, each=True)
METRICS = (
    lower("tvd1", 1.0, "total variation of one-way tables, mean over columns", _one, headline=1),
    lower("tvd1_holdout", 1.0, "tvd1 against the real holdout instead", _marginals("tvd1_holdout", 1), reads=TRAINED),
    lower(
        "tvd2", 1.0, "total variation of two-way tables, mean over all pairs", _marginals("tvd2", 2, True), headline=2
    ),
    lower("tvd2_holdout", 1.0, "tvd2 against the real holdout instead", _marginals("tvd2_holdout", 2), reads=TRAINED),
    lower(
        "tvd3", 1.0, "total variation of three-way tables, mean over a random sample of triples", _marginals("tvd3", 3)
    ),
    lower("tvd1_max", 1.0, "total variation of the worst one-way table", _one),
    lower("marginal_l1", 2.0, "sum of differences of two-way tables with ten bins, mean over all pairs", _l1),
)
