"""Reversible changes of columns, of which the map of a schema's rules is made.

Every step is a function of one row and of public facts: it reads no other row, and nothing that was learnt from rows
(docs/proofs/rules.md). It is applied to many rows at once, by arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nacre.table.conditions import Between, Condition
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.rules.base import RowRule

Impossible = dict[str, Condition]  # conditions on modelled columns that never hold together


class Edge(NamedTuple):
    """`low <= high` in every row, or `low < high`."""

    low: str
    high: str
    strict: bool
    rule: RowRule


class Step:
    """`encode` adds what is modelled, and what of the row had to be moved, to its values; `decode` the values of the
    table to what was drawn. Both take and change a mapping of whole columns by name."""

    @property
    def takes(self) -> tuple[str, ...]:
        """Columns of the table that are not modelled any more."""
        return ()

    @property
    def makes(self) -> Mapping[str, Column]:
        """Columns that are modelled in their place."""
        return {}

    def encode(self, values: dict[str, Values]) -> None:
        raise NotImplementedError

    def decode(self, values: dict[str, Values]) -> None:
        """Nothing, where a step only moves rows that break a rule."""

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], set[str]]:
        """(conditions on modelled columns without which these ones, on columns of the table, cannot hold; names of
        those that then hold). The others are seen to when rows are drawn."""
        return {}, set()

    def impossible(self) -> list[Impossible]:
        """What cannot hold together in a modelled row that came from one of the table."""
        return []


class Split(Step):
    """Columns of the table that are modelled by others which stand for each value whole: only these say whether it is
    null."""

    @property
    def carrier(self) -> str:
        """What is modelled and null exactly where they are."""
        raise NotImplementedError


def any_value(column: Column, place: str) -> Condition:
    """Any value but null."""
    if column.labelled:
        return Condition.of(column.every_value(), column, place)
    low, high = column.limits
    return Condition(column, ((low, high),), False, Between(low, high), place)


def others(condition: Condition) -> Condition | None:
    """What does not meet a condition, null included; None where that is nothing, or cannot be stated."""
    column = condition.column
    if not condition.spans:  # null alone
        return any_value(column, condition.place)
    if not column.labelled:
        return None
    values = column.every_value()
    met = condition.matches(Values.of(np.array([column.place_of(v, condition.place) for v in values])))
    left = [v for v, good in zip(values, met) if not good]
    left += [None] if column.nullable and not condition.null else []
    return Condition.of(left, column, condition.place) if left else None
