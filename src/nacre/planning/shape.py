"""The tables of a plan in numbers: cells and expected groups of every column, and the noise of each table.

Notation: a column j has c_j public cells and is expected to have g_j groups; σ₁, σ₂ are the noise of the one-way
tables and of the tables of pairs; k is the number of classes of the target in a table (1 without one).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

from nacre.planning.expected import Expected, expected
from nacre.synthesizers.basis import FromTables
from nacre.table import Schema
from nacre.table.grid import Grid

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)  # E|Z| of a standard normal


@dataclass(frozen=True)
class ColumnForecast:
    """One column: public cells, expected groups, and the error of a group's count and of the whole distribution."""

    name: str
    cells: int | None  # None while the domain is still to be bought
    groups: int
    count_error: float  # expected absolute error of one group's count
    relative_error: float  # the same, relative to an average group
    tvd: float  # expected total variation distance over the groups, at most; what a bought domain costs comes on top
    expected: Expected  # of the fit, with its spread


@dataclass(frozen=True)
class PairForecast:
    """Two columns: the groups of their table, the distance of the raw noisy table at most, and what is expected of the
    fit."""

    columns: tuple[str, str]
    groups: int
    tvd: float
    expected: Expected
    fine: int = 0  # of the two, those whose ordered cells are cut into groups of about equal mass


def tvd(cells: float, sigma: float, rows: float) -> float:
    """Expected total variation distance of a noisy table: ½·Σ|noise|/n = ½·c·σ·sqrt(2/π)/n, at most 1."""
    return min(1.0, 0.5 * cells * sigma * MEAN_ABSOLUTE / rows)


@dataclass(frozen=True)
class Shape:
    """What a method says of its tables, and what the schema says of their columns."""

    tables: FromTables
    names: tuple[str, ...]
    cells: tuple[int | None, ...]
    ordered: tuple[bool, ...]  # whether the cells of a column have an order

    @staticmethod
    def of(tables: FromTables, schema: Schema) -> Shape:
        columns = [schema.columns[n] for n in schema.modelled]
        cells = tuple(None if c.missing else Grid.of(c).cells for c in columns)
        return Shape(tables, tuple(schema.modelled), cells, tuple(c.ordered for c in columns))

    @property
    def bought(self) -> float:
        """The share of the columns whose domain is still to be bought."""
        return sum(c is None for c in self.cells) / len(self.cells)

    @property
    def free(self) -> list[int]:
        """The columns whose pairs are measured: all, but the target where it is in every table or in none."""
        single = self.tables.with_target or self.tables.apart
        return [j for j in range(len(self.cells)) if not (single and j == self.tables.target)]

    def groups(self, rows: float) -> list[int]:
        """At most so many groups per column: its cells, the method's limit, and what the noise lets one tell apart."""
        telling = 1 + int(rows / self.tables.least)
        found = [min(c or limit, limit, telling) for c, limit in zip(self.cells, self.tables.limits)]
        if self.tables.target is not None and self.tables.classes > 1:
            found[self.tables.target] = self.tables.classes  # a target with few classes keeps them all
        return found

    def layers(self, groups: list[int]) -> int:
        """How many classes of the target a table of a pair is summed over."""
        return groups[self.tables.target] if self.tables.with_target and self.tables.target is not None else 1

    def is_fine(self, j: int, groups: list[int]) -> bool:
        """Whether a column's ordered cells are cut into runs of about equal mass."""
        cells = self.cells[j]
        return self.ordered[j] and (cells is None or cells > groups[j])

    def column(self, j: int, groups: list[int], rows: int, lost: float) -> ColumnForecast:
        """`lost`: what buying a domain costs."""
        g, cells = groups[j], self.cells[j]
        precision = self._precision(j, groups)
        sigma = 1 / math.sqrt(precision) if precision else math.inf
        error = MEAN_ABSOLUTE * sigma
        more = lost if cells is None else 0.0
        raw = tvd(g, sigma, rows)
        found = expected(raw, "column").plus(more)
        return ColumnForecast(self.names[j], cells, g, error, error * g / rows, min(1.0, raw + more), found)

    def _precision(self, j: int, groups: list[int]) -> float:
        """Of the inverse-variance mean of what each table says of a group's count.

        Round one: the sum of about c_j/g_j cells, variance σ₁²·c_j/g_j (Cauchy: equal sizes are worst).
        Each table of j with another column: the sum over that column's groups and the classes, σ₂²·g·k.
        """
        t, g, cells = self.tables, groups[j], self.cells[j]
        known = g if cells is None and t.deep is None else cells  # to be bought: at least a cell for each group
        precision = 0.0 if known is None else 1 / (t.first**2 * known / g)
        if t.deep is None:
            return precision
        others = [h for i, h in enumerate(groups) if i != j and not (t.with_target and i == t.target)]
        mean = sum(others) / max(len(others), 1)
        if t.with_target and j == t.target:
            return precision + t.pairs / (t.deep**2 * max(mean * mean, 1))
        return precision + 2 * t.pairs / len(groups) / (t.deep**2 * max(mean * self.layers(groups), 1))

    def pairs(self, groups: list[int], rows: int) -> tuple[PairForecast, ...]:
        """Every pair of columns but those with the target: ½·g_a·g_b·σ·sqrt(2/π)/n; a table with the target is summed
        over its k classes first, which leaves σ = σ₂·sqrt(k). None where the data chooses the pairs."""
        if self.tables.deep is None or self.tables.measured is None:
            return ()
        found = []
        for (a, b), sigma in zip(itertools.combinations(self.free, 2), self.tables.measured):
            raw = tvd(groups[a] * groups[b], sigma * math.sqrt(self.layers(groups)), rows)
            fine = self.is_fine(a, groups) + self.is_fine(b, groups)
            names = (self.names[a], self.names[b])
            found.append(PairForecast(names, groups[a] * groups[b], raw, expected(raw, "pair", fine), fine))
        return tuple(found)

    def mean_of_any_pair(self, groups: list[int], rows: int) -> float | None:
        """The mean distance over all pairs where the data chooses among them: a wide table has a million, and few
        sizes."""
        sizes = Counter(groups[j] for j in self.free)
        if self.tables.deep is None or len(self.free) < 2:
            return None
        sigma = self.tables.deep * math.sqrt(self.layers(groups))
        total = 0.0
        for a, b in itertools.combinations_with_replacement(sizes, 2):
            times = sizes[a] * sizes[b] if a != b else math.comb(sizes[a], 2)
            total += times * tvd(a * b, sigma, rows)
        return total / math.comb(len(self.free), 2)
