"""The engine: every metric of two tables that is registered, computed once for each pair of tables it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from nacre.metrics import METRICS, Metric, Score, metric
from nacre.metrics.domain import Domain
from nacre.metrics.metric import Computation, LinkedComputation
from nacre.metrics.pair import Limits, Pair, Side
from nacre.metrics.score import Measured

WHOSE = ("synthetic", "bootstrap", "real")
Asked = TypeVar("Asked", bound=Computation | LinkedComputation)
Jobs = dict[tuple[Computation, str], Callable[[], Measured]]


@dataclass(frozen=True)
class Sides:
    """The tables of one evaluation. `bootstrap` stands in the place of the synthetic table, for what chance leaves."""

    synthetic: Side
    private: Side
    holdout: Side | None
    bootstrap: Side | None
    domain: Domain
    seed: int = 0
    limits: Limits = field(default_factory=Limits)

    def pair(self, m: Metric, of: str) -> Pair | None:
        """What `m` compares for the figure of that name; None where a table is not there."""
        real = self.holdout if m.against == "holdout" else self.private
        other = self.private if m.against == "holdout" else self.holdout
        ours = {"synthetic": self.synthetic, "bootstrap": self.bootstrap, "real": other}[of]
        return Pair(ours, real, self.domain, self.seed, self.limits) if ours is not None and real is not None else None


def jobs(sides: Sides, asked: Collection[str] = (), names: Collection[str] | None = None) -> Jobs:
    """What can be done at once, by computation and whose figure it is; whole rows take longest and come first. `asked`
    are suites; with `names` only those metrics are computed, of the synthetic table."""
    known = [m for m in METRICS.values() if m.computation and (m.suite is None or m.suite in asked)]
    found: Jobs = {}
    for m in sorted(known, key=lambda m: not m.whole_rows):
        assert m.computation is not None
        for of in ("synthetic", m.beside) if names is None else ("synthetic",) if m.name in names else ():
            if (pair := sides.pair(m, of)) is not None:
                found.setdefault((m.computation, of), _job(m.computation, pair))
    return found


def _job(computation: Computation, pair: Pair) -> Callable[[], Measured]:
    return lambda: computation(pair)


def gathered(found: Mapping[tuple[Asked, str], Measured]) -> Measured:
    """All scores in the order of the registry, those of columns and pairs last; notes and matrices of the synthetic
    table. Figures that have no finite value are left out."""
    scores = [_cut(replace(s, of=of)) for (_, of), one in found.items() for s in one.scores if math.isfinite(s.value)]
    place = {name: i for i, name in enumerate(METRICS)}
    scores.sort(key=lambda s: (bool(s.columns), place[s.metric], WHOSE.index(s.of)))
    order = _computations()
    ours = [one for (_, of), one in sorted(found.items(), key=lambda item: order.index(item[0][0])) if of == WHOSE[0]]
    notes = dict.fromkeys(note for one in ours for note in one.notes)
    return Measured(tuple(scores), tuple(notes), tuple(m for one in ours for m in one.matrices))


def _computations() -> list[Computation | LinkedComputation]:
    return list(dict.fromkeys(c for m in METRICS.values() for c in (m.computation, m.linked) if c))


def _cut(s: Score) -> Score:
    """The interval inside the range of the metric."""
    least, most = metric(s.metric).range
    if s.low is None or s.high is None:
        return s
    return replace(s, low=max(least, s.low), high=min(most, s.high))
