"""Columns in which no value comes twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.rules.base import RowRule
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column


@dataclasses.dataclass(frozen=True)
class Unique(RowRule):
    """No value of `column` comes twice: an identifier, which is made anew. That a column which is learnt has no value
    twice is not for a row to keep."""

    column: str

    name: ClassVar[str] = "unique"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        if not columns[self.column].unique:
            raise SchemaError(
                f"{self}: values of this {columns[self.column].kind} column may come twice, for rows are drawn one by "
                "one; declare it as an identifier, which is made anew, or leave the rule out"
            )
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        return np.zeros(0, bool)  # a fact of the whole table: `nacre schema check` counts it apart

    def __str__(self) -> str:
        return f"unique {self.column}"
