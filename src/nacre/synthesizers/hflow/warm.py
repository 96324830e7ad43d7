"""A start for the flow from noisy pairwise tables: the sketch is bought first, and rows drawn from it teach the flow.

DP-SGD then begins where the sketch ends and spends what is left (specs/dphflow.md 10.6). Only the tables of the sketch
see rows: its rows, the widths of the cells and the weights learned from them are post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacre.errors import BudgetError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Scope, gaussian_share
from nacre.synthesizers.base import Progress
from nacre.synthesizers.parts.one_way import FLOOR
from nacre.synthesizers.sketch.method import Sketch
from nacre.table import Schema
from nacre.table.encoding import Values

ROWS = 200_000  # drawn from the sketch; nothing but memory speaks against more
BATCH, RATE = 1024, 3e-3  # of plain descent on them
_HALVINGS = 40


def entries(
    target: str | None, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...], share: float
) -> tuple[Entry, ...]:
    """`before` and the tables of the sketch, for `share` of what is left of μ²."""
    scope = Scope(budget.neighbours, schema.unit.cap if schema.unit else 1)
    return Sketch(target=target).plan(schema, rows, _part(budget, scope, before, share), before).entries


def _part(budget: Budget, scope: Scope, before: tuple[Entry, ...], share: float) -> Budget:
    """The budget with an ε that leaves that share of μ² for tables."""
    if budget.epsilon is None:
        return budget
    wanted, low, high = share * gaussian_share(budget, scope, before), 0.0, budget.epsilon
    for _ in range(_HALVINGS):
        middle = replace(budget, epsilon=(low + high) / 2)
        try:
            enough = gaussian_share(middle, scope, before) >= wanted
        except BudgetError:  # spent before the tables
            enough = False
        low, high = (low, middle.epsilon or high) if enough else (middle.epsilon or low, high)
    return replace(budget, epsilon=high)


def drawn(curator: Curator, plan: Plan, target: str | None, seed: int, progress: Progress) -> dict[str, Values]:
    """Rows of the sketch that the plan's tables give."""
    model = Sketch(target=target).fit(curator, plan, seed, progress)
    return model.draw(ROWS, np.random.default_rng([seed, 20231]))


def shares(rows: Mapping[str, Values], grids: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The shares of the cells of every column among these rows, all above 0."""
    found = {}
    for name, values in rows.items():
        codes = grids[name].codes(values)
        counts = np.bincount(codes[codes >= 0], minlength=grids[name].cells)
        found[name] = (1 - FLOOR) * counts / max(counts.sum(), 1) + FLOOR / len(counts)
    return found
