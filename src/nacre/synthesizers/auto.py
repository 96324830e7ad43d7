"""`method="auto"`: which method a run takes, by a written rule on public facts alone (docs/methods/auto.md).

The facts are those of the schema and of the promise, known before a row is read: the choice tells nothing of the rows
and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from nacre.errors import BudgetError

if TYPE_CHECKING:
    from nacre.privacy.budget import Budget
    from nacre.table import Schema

AUTO = "auto"
FAINT, CLEAR = 250, 700  # rows in noise units of one table, below which points tell more than tables of pairs
SOME, MOST = 1 / 3, 2 / 3  # share of numbers among the columns: from SOME on points see enough, from MOST on the most
_DECLARED = "all columns are declared; there are fewer rows than"
RULES: Mapping[str, str] = {
    "support-points": f"{_DECLARED} {FAINT} times the noise of one table, and one number or more in three columns or a "
    f"number as the target; or fewer than {CLEAR} times, a target, and two numbers or more in three columns",
    "pearl": f"{_DECLARED} {FAINT} times the noise of one table, fewer than one number in three columns, and no number "
    "as the target",
    "sketch": "there are more rows than that for the noise; or something is not declared, nothing is promised, or "
    "other shares are asked for",
}


class Choice(NamedTuple):
    """A method, the rule that takes it, and the rows over the noise where both are known."""

    method: str
    rule: str
    signal: float | None


def choose(schema: Schema, budget: Budget, target: str | None, shares: bool = False) -> Choice:
    """The method for a table of that (inner) schema; `shares`: whether other shares of a column than the table's are
    asked for, which need its tables by class."""
    signal = _signal(schema, budget)
    method = "sketch" if shares or signal is None or schema.undeclared() else _taken(schema, signal, target)
    return Choice(method, RULES[method], signal)


def _signal(schema: Schema, budget: Budget) -> float | None:
    """Rows over the noise of one table that has the whole budget; None where one of the two is not known."""
    from nacre.privacy.plan import gaussian_share
    from nacre.synthesizers.base import scope_of

    if schema.rows is None or budget.epsilon is None:
        return None
    try:
        return schema.rows * math.sqrt(gaussian_share(budget, scope_of(schema, budget)))
    except BudgetError:  # which the plan of the sketch raises in its own words
        return None


def _taken(schema: Schema, signal: float, target: str | None) -> str:
    """The sketch, unless its tables would drown."""
    columns = [schema.columns[name] for name in schema.modelled]
    if any(c.shape for c in columns):
        return "sketch"
    numbers = sum(c.measured for c in columns) / max(len(columns), 1)
    if signal >= (CLEAR if target is not None and numbers >= MOST else FAINT):
        return "sketch"
    number = target in schema.modelled and schema.columns[str(target)].measured
    return "support-points" if numbers >= SOME or number else "pearl"
