"""Counts over joins: how many rows meet conditions on columns of several tables, in both databases.

After the protocol of relational benchmarks: the median over random queries of the relative error, for conditions over
two keys (or one, where there is no second) and for conditions on a row above and on a public row referred to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.databases.linked import Linked, LinkedPair
from nacre.metrics.metric import COMPARED, INF, Metric
from nacre.metrics.predictions import interval
from nacre.metrics.score import Measured, Score

QUERIES = 200  # of each kind of join
LEAST = 0.001  # share of the joined rows that a query must find in the real database, and at least _FEW rows
_FEW = 20
_TRIES = 20  # draws for a query that finds so many
RESAMPLES = 50


@dataclass(frozen=True)
class Joined:
    """The rows of one table with those that they lead to, by name of the table: cells, and places in them."""

    sides: tuple[tuple[str, Cells, np.ndarray], ...]
    unit: np.ndarray

    def meets(self, conditions: Sequence[tuple[int, str, np.ndarray]]) -> np.ndarray:
        """Which rows meet all conditions: number of the side, column, truth by cell."""
        good = np.ones(len(self.unit), bool)
        for side, column, which in conditions:
            _, cells, places = self.sides[side]
            good &= which[cells.codes[column][places]]
        return good


def _joins(tables: Linked) -> Iterator[tuple[str, Joined]]:
    """Kind and rows: each table with the farthest of its ancestors that a query names, or with public rows."""
    for level in tables.children:
        rows = np.arange(len(level))
        above = tables.ancestors(level)
        own = (level.name, level.cells, rows)
        far = above[1:] or above
        for other, places in far:
            yield "two hops" if above[1:] else "one hop", Joined(((other.name, other.cells, places), own), level.unit)
        for key in tables.database.references(level.name):
            place = level.points[key.column]
            known = np.flatnonzero(place >= 0)
            for other, places in above:
                side = (other.name, other.cells, places[known])
                public = (key.parent, tables.public[key.parent], place[known])
                yield "cross-parent", Joined((side, public), level.unit[known])


def _join_error(pair: LinkedPair) -> Measured:
    rng = np.random.default_rng([pair.seed, 8])
    errors: dict[str, list[np.ndarray]] = {}
    for (kind, ours), (_, real) in zip(_joins(pair.ours), _joins(pair.real), strict=True):
        if all(cells.codes for _, cells, _ in real.sides):
            errors.setdefault(kind, []).append(_errors(ours, real, pair, rng))
    each = {kind: np.concatenate(found, axis=1) for kind, found in errors.items()}
    known = {kind: found for kind, found in each.items() if found.shape[1]}
    if not known:
        return Measured(())
    scores = [_median("join_error", np.concatenate(list(known.values()), axis=1), pair.units)]
    scores += [_median("join_error", found, pair.units, (kind,)) for kind, found in known.items()]
    count = sum(found.shape[1] for found in known.values())
    return Measured(
        tuple(scores), (f"join_error: {count:,} random counts over joined tables, as far as they find rows.",)
    )


def _median(name: str, errors: np.ndarray, units: int, columns: tuple[str, ...] = ()) -> Score:
    """Of the first row; the others are resamples of units."""
    middle = np.median(errors, axis=1)
    low, high = interval(middle[1:]) or (None, None)
    return Score(name, float(middle[0]), columns=columns, low=low, high=high, rows=units)


def _errors(ours: Joined, real: Joined, pair: LinkedPair, rng: np.random.Generator) -> np.ndarray:
    """Relative errors [1 + RESAMPLES, queries]: of the figure, and of units of both databases drawn again."""
    least = max(_FEW, LEAST * len(real.unit))
    queries = [q for _ in range(QUERIES) if (q := _query(real, least, rng)) is not None]
    if not queries:
        return np.empty((1 + RESAMPLES, 0))
    counts = [
        _counts(side, queries, units, rng)
        for side, units in ((ours, pair.ours.units), (real, pair.real.units))
    ]  # fmt: skip
    expected = np.maximum(counts[1], 1.0) / pair.real.units
    errors = counts[0] / pair.ours.units / expected - 1
    return errors * np.where(errors[0] < 0, -1, 1)  # held fixed: absolute errors of resamples would all be larger


def _query(real: Joined, least: float, rng: np.random.Generator) -> list[tuple[int, str, np.ndarray]] | None:
    """A condition on a column of each side; None where none was found that enough rows meet."""
    for _ in range(_TRIES):
        conditions = []
        for side, (_, cells, _) in enumerate(real.sides):
            column = rng.choice(list(cells.codes))
            conditions.append((side, str(column), _condition(cells.sizes[str(column)], rng)))
        if real.meets(conditions).sum() >= least:
            return conditions
    return None


def _condition(size: int, rng: np.random.Generator) -> np.ndarray:
    """A stretch of cells: about half of them on average. The order of labels is that of the schema."""
    first, last = np.sort(rng.integers(0, size, 2))
    which = np.zeros(size, bool)
    which[first : last + 1] = True
    return which


def _counts(
    joined: Joined, queries: Sequence[list[tuple[int, str, np.ndarray]]], units: int, rng: np.random.Generator
) -> np.ndarray:
    """How many rows meet each query, in the database and in RESAMPLES of as many units."""
    again = [np.bincount(rng.integers(0, units, units), minlength=units) for _ in range(RESAMPLES)]
    weights = np.array([np.ones(units), *again], dtype=np.float32)
    hits = [np.bincount(joined.unit[joined.meets(q)], minlength=units).astype(np.float32) for q in queries]
    return (weights @ np.array(hits).T).astype(np.float64)


METRICS = (
    Metric("join_error", "lower", (0.0, INF), "1", COMPARED,
           "relative error of random counts with conditions on two tables joined by keys, median over queries",
           linked=_join_error, headline=27),
)  # fmt: skip
