"""Tables of three and more columns: all of them where columns are small, else those that the fit misses most.

What decides is public: sizes, the number of rows, the budget. A record lands in one cell of a table however many
columns it has, so that a table of four columns costs what one of two costs; held to maximum entropy, a fit gains from
deeper tables until their cells drown. Where pairs are known well, part of the budget goes to rounds: a noisy selection
of the cliques whose exact tables are farthest from the fitted ones, their tables, and a fit that goes on from the last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nacre.privacy.curator import Curator
from nacre.privacy.doors.select import Deviation
from nacre.privacy.plan import Counts, Entry, Plan, Select
from nacre.synthesizers.mixture.fit import Fitted
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.sketch.coarse import Coarse

DROWNED = {3: 0.4, 4: 0.2}  # expected distance of raw tables of so many columns from which on they gain nothing
MOST_CELLS, MOST_TABLES = 1 << 19, 2500  # of all tables of one order
CLEAR = 1500.0  # rows in noise units of a pair's cell from which on rounds pay
FIRST = 0.5  # of the budget, before the rounds
CHOOSING = 0.15  # of what a round spends
PENALTY = 0.25  # how much of a table's expected noise is taken off its gap
ROUNDS, PICKS = 4, 10
WIDEST = 16  # groups of a column in a clique
CLIQUE_CELLS = WIDEST**3
COUNTED = 2e8  # cells that all candidates of a round add up to, over all rows


def order_of(sizes: Sequence[int], rows: float, mu: float) -> int:
    """Of how many columns all tables are measured: two, and more where all columns are small."""
    best = 2
    for order, drowned in DROWNED.items():
        count = math.comb(len(sizes), order)
        if not count:
            break
        cells = float(_symmetric(sizes, order))
        noise = cells / count * math.sqrt(count) / mu / (rows * math.sqrt(2 * math.pi))
        if cells <= MOST_CELLS and count <= MOST_TABLES and noise <= drowned:
            best = order
    return best


def _symmetric(sizes: Sequence[int], order: int) -> int:
    """Cells of all tables of that many columns together: the elementary symmetric sum."""
    sums = [1] + [0] * order
    for size in sizes:
        for k in range(order, 0, -1):
            sums[k] += sums[k - 1] * size
    return sums[order]


@dataclass(frozen=True)
class Rounds:
    """How many rounds, cliques in each, and what each choice may cost."""

    count: int
    picks: int

    @staticmethod
    def planned(columns: int, order: int, tables: int, rows: float, mu: float) -> Rounds:
        """No rounds where the tables of all pairs are not clear, or where deeper ones are measured anyway."""
        signal = rows * mu / math.sqrt(max(tables, 1))
        triples = math.comb(columns, 3)
        pays = order == 2 and signal >= CLEAR and triples >= ROUNDS and triples * rows <= COUNTED
        return Rounds(ROUNDS if pays else 0, min(PICKS, triples // ROUNDS))

    @property
    def share(self) -> float:
        """Of the budget for tables, the part of the rounds; choices are paid apart."""
        late = (1 - FIRST) * (1 - CHOOSING)
        return late / (FIRST + late) if self.count else 0.0

    def selects(self, mu2: float, table: float) -> list[Select]:
        """Choices that cost their share: k picks of range ε₀ cost ρ = k·ε₀²/8, and μ² is 2ρ."""
        if not self.count:
            return []
        share = CHOOSING * (1 - FIRST) * mu2 / self.count
        epsilon = math.sqrt(4 * share * table**2 / self.picks)
        return [Select(f"choice {i + 1}", picks=self.picks, epsilon=epsilon) for i in range(self.count)]

    def counts(self, mu2: float) -> list[Entry]:
        """Tables of all rounds, for that much of the budget."""
        if not self.count:
            return []
        sigma = math.sqrt(self.count * self.picks / mu2)
        return [Counts(f"cliques {i + 1}", (sigma,) * self.picks) for i in range(self.count)]


def rounds_of(plan: Plan) -> int:
    return sum(e.name.startswith("cliques ") for e in plan.entries)


class Search:
    """Cliques on wider groups, and which of them a fit misses."""

    def __init__(self, curator: Curator, columns: Sequence[str], coarse: Sequence[Coarse], rows: float):
        self.columns, self.luts = columns, [c.lut for c in coarse]
        self.folds = [folded(c.counts, curator.grids[name].ordered) for name, c in zip(columns, coarse)]
        self.groups: Mapping[str, np.ndarray] = {
            name: fold[lut] if fold is not None else lut for name, fold, lut in zip(columns, self.folds, self.luts)
        }
        sizes = [int(self.groups[name].max()) + 1 for name in columns]
        self.open = _candidates(sizes, rows)

    def round(self, curator: Curator, plan: Plan, number: int, fitted: Fitted, total: float) -> list[Table]:
        """The cliques that the fit misses most, by a noisy choice, and their noisy tables."""
        entry = plan[f"cliques {number}"]
        sizes = [int(lut.max()) + 1 for lut in self.luts]
        told = [np.rint(total * fitted.table(sizes, c, self._folds(c))).astype(np.int64) for c in self.open]
        noise = PENALTY * math.sqrt(2 / math.pi) * entry.sigmas[0]
        score = Deviation(
            cliques=[tuple(self.columns[j] for j in c) for c in self.open],
            references=lambda i: told[i],
            handicaps=np.array([round(noise * t.size) for t in told], np.int64),
            groups=self.groups,
        )
        picked = [self.open[i] for i in curator.select(plan[f"choice {number}"], score)]
        self.open = [c for c in self.open if c not in picked]
        noisy = curator.counts(entry, [tuple(self.columns[j] for j in c) for c in picked], self.groups)
        return [
            Table(c, t.astype(np.float64), entry.sigmas[0], folds=self._folds(c), single=True)
            for c, t in zip(picked, noisy)
        ]

    def _folds(self, clique: Sequence[int]) -> tuple[np.ndarray | None, ...]:
        return tuple(self.folds[j] for j in clique)


def folded(mass: np.ndarray, ordered: bool) -> np.ndarray | None:
    """At most `WIDEST` wider groups: runs of about equal mass, or the largest and all others; None for few groups."""
    if mass.size <= WIDEST:
        return None
    mass = np.maximum(mass, 1e-9)
    if not ordered:
        rank = np.argsort(np.argsort(-mass, kind="stable"))
        return np.minimum(rank, WIDEST - 1).astype(np.int32)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    run = np.minimum((middle * WIDEST).astype(np.int64), WIDEST - 1)
    return np.unique(run, return_inverse=True)[1].astype(np.int32)


def _candidates(sizes: Sequence[int], rows: float) -> list[tuple[int, ...]]:
    """Cliques of three and four columns with few enough cells, as many orders as can be counted in reasonable time."""
    names = [j for j, s in enumerate(sizes) if s > 1]
    found: list[tuple[int, ...]] = []
    for order in (3, 4):
        own = [c for c in itertools.combinations(names, order) if math.prod(sizes[j] for j in c) <= CLIQUE_CELLS]
        if found and (len(found) + len(own)) * rows > COUNTED:
            break
        found += own
    return found
