"""Rows beside other rows of the same unit, and how far their tables of counts are apart in two databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.counts import DENSE
from nacre.metrics.databases.linked import Linked, LinkedPair
from nacre.metrics.score import Figure, Measured

NAMED = "{}.{}"


@dataclass(frozen=True)
class Join:
    """Rows of `a` beside rows of `b`, each with its unit and its weight. `sets` are the pairs of columns to compare;
    the names of both stand in figures."""

    a: Cells
    i: np.ndarray
    b: Cells
    j: np.ndarray
    unit: np.ndarray
    units: int
    names: tuple[str, str]
    sets: Sequence[tuple[str, str]]
    weight: np.ndarray | None = None

    def codes(self, pair: tuple[str, str]) -> np.ndarray:
        a, b = pair
        return self.a.codes[a][self.i].astype(np.int64) * self.b.sizes[b] + self.b.codes[b][self.j]

    def size(self, pair: tuple[str, str]) -> int:
        return self.a.sizes[pair[0]] * self.b.sizes[pair[1]]

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.unit)) if self.weight is None else self.weight


Family = Callable[[Linked], Iterator[Join]]


@dataclass(frozen=True)
class Apart:
    """Distances of pairs of columns, the mean, and the errors of all over the units of both databases."""

    each: dict[tuple[str, str], Figure]
    mean: Figure

    def measured(self, metric: str, units: int) -> Measured:
        """The mean, and each pair."""
        if not self.each:
            return Measured(())
        each = (f.score(metric, units, tuple(dict.fromkeys(columns))) for columns, f in self.each.items())
        return Measured((self.mean.score(metric, units), *each))


def apart(pair: LinkedPair, family: Family, keep: Callable[[str, str], bool] = lambda a, b: True) -> Apart:
    """Total variation of the table of every pair of columns in every join of `family`.

    Rows of one unit go together: with s = sign(p - q) held fixed, a unit adds the sum of its rows' s less the mean of s
    to half the distance, and the error is that of a sum over units (delta method, rows per unit being random too).
    """
    each: dict[tuple[str, str], Figure] = {}
    sums = [np.zeros(side.units) for side in (pair.ours, pair.real)]
    for joins in zip(family(pair.ours), family(pair.real), strict=True):
        if any(len(join.unit) for join in joins):
            each |= _compared(joins, keep, sums)
    mean = float(np.mean([f.value for f in each.values()])) if each else float("nan")
    return Apart(each, Figure(mean, _error(sums) / max(len(each), 1)))


def _compared(
    joins: tuple[Join, Join], keep: Callable[[str, str], bool], sums: list[np.ndarray]
) -> dict[tuple[str, str], Figure]:
    """The distances of one join by the names of columns. `sums` grow by what each unit of both sides adds to them."""
    alone = not all(len(join.unit) for join in joins)  # one side has no such rows: nothing in common
    weights = [join.weights / max(join.weights.sum(), 1e-300) for join in joins]
    found = {}
    for pair in joins[0].sets:
        if not keep(*pair):
            continue
        codes = [join.codes(pair) for join in joins]
        size = joins[0].size(pair)
        if size > DENSE:
            distinct, both = np.unique(np.concatenate(codes), return_inverse=True)
            codes, size = np.split(both, [len(codes[0])]), len(distinct)
        p, q = (np.bincount(c, w, minlength=size) for c, w in zip(codes, weights, strict=True))
        sign, own = np.sign(p - q), []
        for join, c, w, share in zip(joins, codes, weights, (p, q), strict=True):
            adds = w * (sign[c] - float(sign @ share))
            own.append(np.bincount(join.unit, adds, minlength=join.units))
        for total, unit in zip(sums, own, strict=True):
            total += unit
        columns = tuple(NAMED.format(*name) for name in zip(joins[0].names, pair))
        value = 1.0 if alone else 0.5 * float(np.abs(p - q).sum())
        found[columns[0], columns[1]] = Figure(value, 0.0 if alone else _error(own))
    return found


def _error(sums: Sequence[np.ndarray]) -> float:
    return 0.5 * float(sum((unit**2).sum() for unit in sums)) ** 0.5
