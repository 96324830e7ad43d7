"""Which rows break what the schema says across columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacre.table.conditions import Condition
from nacre.table.encoding import Encoded
from nacre.table.schema import Schema

Rule = Sequence[tuple[str, Condition]]  # conditions that together are impossible


def violations(encoded: Encoded, schema: Schema, rules: Sequence[Rule] | None = None) -> np.ndarray:
    """bool [rows]: rows in which an impossible combination occurs, as the schema declares them or as `rules` say.

    Rules on dependent columns must have been turned to the columns that determine them (`Release` does).
    """
    rules = [list(rule.items()) for rule in schema.impossible] if rules is None else rules
    broken = np.zeros(encoded.rows, bool)
    for rule in rules:
        broken |= np.logical_and.reduce([condition.matches(encoded[name]) for name, condition in rule])
    return broken
