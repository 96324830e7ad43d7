"""Who is protected."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.errors import SchemaError
from nacre.table.checking import keyed
from nacre.table.rules.base import Rule

if TYPE_CHECKING:
    from nacre.table.columns import Column

MOST_CAP = 10**9


@dataclasses.dataclass(frozen=True)
class Unit(Rule):
    """Who is protected: the person named in `column`, with at most `cap` rows each."""

    column: str
    cap: int

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise SchemaError(f"unit: column is {self.column!r}; write the name of an identifier column")
        if not isinstance(self.cap, int) or isinstance(self.cap, bool) or not 1 <= self.cap <= MOST_CAP:
            raise SchemaError(
                f"unit: cap is {self.cap!r}; write a whole number of rows per person, at least 1 and at most 10^9"
            )

    def check(self, columns: Mapping[str, Column]) -> Unit:
        column = columns.get(self.column)
        if column is None or column.learnt:
            found = "no column of the schema" if column is None else f"a {column.kind} column"
            raise SchemaError(
                f"unit: column {self.column!r} is {found}; name an identifier column, one name per person"
            )
        if column.null_words:
            raise SchemaError(
                f"unit: column {self.column!r} has null words, which would be one person; declare them for the whole "
                "table (--null, Options.null_words), so that such rows are nobody's"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "cap": self.cap}

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Unit:
        return cls(*keyed(raw, where, ("column", "cap")))
