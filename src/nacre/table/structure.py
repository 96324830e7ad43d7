"""Which rows break what the schema says across columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.table.columns import Column
from nacre.table.encoding import Encoded, Values
from nacre.table.instants import UNITS, is_date_only
from nacre.table.rules import Between, position
from nacre.table.schema import Schema


def violations(encoded: Encoded, schema: Schema) -> np.ndarray:
    """bool [rows]: rows in which a combination declared impossible occurs. Rules on dependents or on
    columns that are not encoded are checked through `encode` on the decoded table; here they raise
    KeyError."""
    broken = np.zeros(encoded.rows, bool)
    for rule in schema.impossible:
        hit = np.ones(encoded.rows, bool)
        for name, condition in rule.items():
            hit &= matches(encoded[name], schema.columns[name], condition)
        broken |= hit
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
