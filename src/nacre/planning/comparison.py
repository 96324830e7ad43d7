"""Beside a plan: other methods and budgets, and what would help. Functions of public facts; no row is read.

A line holds the distances that are expected on average over the columns and over the measured pairs. They are distances
on groups of cells: with coarser groups they fall, and so does the detail, which is why the groups stand beside them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.errors import NacreError
from nacre.planning.costs import Place
from nacre.planning.forecast import Forecast, by_resolution, forecast
from nacre.privacy import discovery
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import up
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Schema

BUDGETS = (0.5, 1.0, 2.0)  # times the epsilon asked for


@dataclass(frozen=True)
class Line:
    """One plan in short. Distances are None where the forecast has none; `pairs` 0 where no pair is kept."""

    what: str
    method: str
    epsilon: float
    rows: int
    groups: float | None
    column: float | None
    pair: float | None
    pairs: int
    verdict: str
    seconds: float


@dataclass(frozen=True)
class Case:
    """What a plan is made of."""

    schema: Schema
    budget: Budget
    method: str
    options: Mapping[str, Any]
    place: Place = field(default_factory=Place)

    def seen(self) -> Forecast:
        """The forecast of this case; NacreError where it cannot be planned."""
        synthesizer = make(self.method, dict(self.options))
        synthesizer.supports(self.schema.inner)
        before = discovery.entries(self.schema, self.budget)
        plan = synthesizer.plan(self.schema.inner, self.schema.rows, self.budget, before)
        return forecast(plan, self.schema, self.schema.rows, synthesizer, self.place)

    def line(self, what: str, seen: Forecast | None = None) -> Line:
        seen = seen or self.seen()
        return Line(
            what, self.method, self.budget.epsilon or 0.0, self.schema.rows or 0, _mean(c.groups for c in seen.columns),
            _mean(c.expected.value for c in seen.columns), _mean(p.expected.value for p in seen.each_pair),
            seen.pairs, seen.verdict, seen.seconds,
        )  # fmt: skip

    def with_budget(self, factor: float) -> Case:
        epsilon = factor * (self.budget.epsilon or 0.0)
        return dataclasses.replace(self, budget=dataclasses.replace(self.budget, epsilon=epsilon, large=True))

    def with_rows(self, factor: float) -> Case:
        rows = round(factor * (self.schema.rows or 0))
        return dataclasses.replace(self, schema=dataclasses.replace(self.schema, rows=rows))

    def with_groups(self, groups: int) -> Case:
        return dataclasses.replace(self, options={**self.options, "groups": groups})


def comparable(case: Case) -> bool:
    """Whether there is anything to compare: a budget and a declared number of rows."""
    return case.budget.epsilon is not None and bool(case.schema.rows)


def compare(case: Case) -> tuple[Line, ...]:
    """The method at half, once and twice the budget, then the other methods at the budget."""
    found = [case.with_budget(f).line(f"{case.method}, epsilon {up(f * case.budget.epsilon, 6)}") for f in BUDGETS]  # type: ignore[operator]
    target = {"target": case.options.get("target")}
    for method, listed in METHODS.items():
        if method == case.method or not listed.compared:
            continue
        try:
            found.append(dataclasses.replace(case, method=method, options=target).line(f"{method}, the same epsilon"))
        except NacreError:  # a table that this method does not take
            continue
    return tuple(found)


def what_helps(case: Case, seen: Forecast) -> tuple[Line, ...]:
    """The plan as it is, and with twice the rows, twice the budget, half the groups, or all of the domain declared."""
    changes: dict[str, Callable[[], Case]] = {
        "as planned": lambda: case,
        "twice the rows": lambda: case.with_rows(2),
        "twice the budget": lambda: case.with_budget(2),
    }
    widest = max((c.groups for c in seen.columns), default=0)
    if "groups" in METHODS[case.method].load().options() and widest > 4:
        half = widest // 2
        changes[f"half the groups (--option groups={half}), coarser"] = lambda: case.with_groups(half)
    found = [change().line(what) for what, change in changes.items()]
    if seen.domain is not None:
        found.append(_declared(found[0], seen))
    return tuple(found)


def _declared(now: Line, seen: Forecast) -> Line:
    """Without what a bought domain loses; what it costs of the budget is left in."""
    bought = sum(c.cells is None for c in seen.columns) / max(len(seen.columns), 1)
    drowned = any(c.expected.value >= 1 for c in seen.columns)  # cut off at 1: what was added cannot be taken away
    column = None if now.column is None or drowned else max(0.0, now.column - bought * (seen.domain or 0.0))
    verdict = now.verdict if seen.resolution is None else by_resolution(seen.resolution)
    return dataclasses.replace(now, what="a schema that declares the domain", column=column, verdict=verdict)


def _mean(values: Any) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
