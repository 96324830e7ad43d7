"""Which rows break what the schema says across columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.table.columns import Column
from nacre.table.encoding import Encoded, Values
from nacre.table.instants import UNITS, is_date_only
from nacre.table.rules import Between, position
from nacre.table.schema import Schema

Rule = list[tuple[str, Any]]  # conditions that together are impossible


def violations(encoded: Encoded, schema: Schema, rules: list[Rule] | None = None) -> np.ndarray:
    """bool [rows]: rows in which an impossible combination occurs, as the schema declares them or as `rules` say.

    Rules on dependent columns must have been turned to the columns that determine them (`Release` does).
    """
    rules = [list(rule.items()) for rule in schema.impossible] if rules is None else rules
    broken = np.zeros(encoded.rows, bool)
    for rule in rules:
        broken |= np.logical_and.reduce([matches(encoded[c], schema.columns[c], v) for c, v in rule])
    return broken


def matches(values: Values, column: Column, condition: Any) -> np.ndarray:
    """bool [rows]: where a value meets a condition (a value, a list of values with None for null, or
    Between)."""
    if isinstance(condition, Between):
        return _in_range(values, column, condition)
    wanted = condition if isinstance(condition, (list, tuple, set, frozenset)) else (condition,)
    spots = [position(column, v, "condition") for v in wanted if v is not None]
    found = ~values.null & np.isin(values.values, np.array(spots, dtype=values.values.dtype))
    return found | values.null if None in wanted else found


def _in_range(values: Values, column: Column, condition: Between) -> np.ndarray:
    found = ~values.null
    if column.kind == "categorical":
        found = found & (values.values >= 0)
    if condition.low is not None:
        found = found & (values.values >= position(column, condition.low, "condition"))
    if condition.high is not None:
        end = position(column, condition.high, "condition")
        if column.kind == "datetime" and is_date_only(condition.high):
            end += UNITS["day"] - 1  # up to a day means to its end, as in Grid.mask
        found = found & (values.values <= end)
    return found
