"""What rules that are bought ask of their columns: every value is a cell of its own in a table that can be counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.cells import ONE_BY_ONE

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.typed import Value

MOST_CELLS = 1_000_000


def cell_values(column: Column) -> list[Value]:
    """The value of every cell of a column, in order; None for null."""
    return [*column.every_value(), *([None] if column.nullable else [])]


def check_table(rule: str, columns: Mapping[str, Column]) -> None:
    """SchemaError unless the table of these columns can be counted, cell by value."""
    for name, column in columns.items():
        if not column.finite:
            raise SchemaError(
                f"{rule}: to be bought, but column {name!r} is {column.kind}; name labels, truth values or whole "
                "numbers, or declare the rule"
            )
        if column.missing:
            raise DomainNotDeclared(
                f"{rule}: the {column.missing[0]} of column {name!r} are not declared; a rule that is bought needs "
                "them: declare them, or buy them first (`nacre schema buy`)"
            )
        if not column.labelled and column.limits[1] - column.limits[0] > ONE_BY_ONE:
            raise SchemaError(
                f"{rule}: to be bought, but column {name!r} has more than {ONE_BY_ONE} values; declare the rule"
            )
    if (cells := math.prod(len(cell_values(c)) for c in columns.values())) > MOST_CELLS:
        raise SchemaError(f"{rule}: to be bought from a table of {cells:,} cells; at most {MOST_CELLS:,}: declare it")
