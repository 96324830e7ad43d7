"""Columns of names: of rows, of persons, of anything that is not to be learnt."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.checking import need
from nacre.table.columns.base import Column
from nacre.table.naming import is_index

if TYPE_CHECKING:
    from nacre.table.draft import Look
    from nacre.table.surrogates import Fresh


@dataclasses.dataclass(frozen=True)
class Identifier(Column):
    """A name for a row or a person: never learnt, made anew as 1, 2, 3, ... or, with `text`, as a
    UUID-like text."""

    person: bool = False
    text: bool = False

    kind: ClassVar[str] = "identifier"
    learnt = False
    unique = True
    counted = False

    def _check(self) -> None:
        for name in ("person", "text"):
            need(
                isinstance(getattr(self, name), bool),
                f"{name} is {getattr(self, name)!r}; write true or false",
            )

    def domain_words(self, most: int | None = 8) -> str:
        return "not learnt, made anew"

    @classmethod
    def drafted(cls, look: Look) -> Column | None:
        if look.arrays is None and is_index(look.name):
            return cls()
        return cls(text=True) if look.free_text() else None

    @property
    def typed(self) -> pa.DataType:
        return pa.int64()

    def anew(self, fresh: Fresh) -> pa.Array:
        numbers = pa.array(fresh.numbers)
        if not self.text:
            return numbers
        # The shape of a UUID of version 4 around a plain counter: unique by construction, tells nothing.
        digits = pc.utf8_lpad(numbers.cast(pa.string()), 12, "0")
        return pc.binary_join_element_wise("00000000-0000-4000-8000-", digits, "")
