"""One key: a column of a child table that names rows of a parent table."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Self

from nacre.errors import SchemaError
from nacre.table.checking import HIDDEN, as_object, short
from nacre.typed import Json

MOST_ROWS = 10_000  # under one parent row: noise grows with what one unit may hold
_LONGEST = 4_000  # characters of a key that is written as text
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PLAIN = r'(?:(?!->)[^".,()\\])+'
_NAME = rf"\s*{_QUOTED}\s*|{_PLAIN}"
_KEY = re.compile(rf"({_NAME})\.({_NAME})->({_NAME})\.({_NAME})")
_HINT = "write it as 'child.column -> parent.column', names with other characters in double quotes"


@dataclasses.dataclass(frozen=True, init=False)
class Key:
    """`child.column` holds the `parent.parent_column` of the row above: Key("stays.patient -> patients.id", cap=8).

    `cap` is the most rows that count under one parent row: the first ones by the column `order`, or, without it, by a
    secret order of their own. Both belong to keys by which rows are owned. Names with dots, commas, brackets or quotes
    stand in double quotes.
    """

    child: str
    column: str
    parent: str
    parent_column: str
    cap: int | None
    order: str | None

    def __init__(self, key: str, cap: int | None = None, order: str | None = None):
        self._set(_names(key), cap, order)

    @classmethod
    def of(
        cls, child: tuple[str, str], parent: tuple[str, str], cap: int | None = None, order: str | None = None
    ) -> Self:
        """The key between two (table, column), whatever characters their names hold."""
        made = cls.__new__(cls)
        made._set((*child, *parent), cap, order)
        return made

    def _set(self, names: tuple[str, ...], cap: int | None, order: str | None) -> None:
        for name in names:
            if not isinstance(name, str) or not name or HIDDEN.search(name):
                raise SchemaError(f"a key names {short(name)}; expected tables and columns by name")
        for field, name in zip(("child", "column", "parent", "parent_column"), names, strict=True):
            object.__setattr__(self, field, name)
        if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= MOST_ROWS):
            raise SchemaError(
                f"key {self}: cap is {short(cap)}; write the most rows of {self.child!r} that count under one row of "
                f"{self.parent!r}, from 1 to {MOST_ROWS:,}"
            )
        if order is not None and (not isinstance(order, str) or not order):
            raise SchemaError(f"key {self}: order is {short(order)}; name a column of {self.child!r}, or leave it out")
        object.__setattr__(self, "cap", cap)
        object.__setattr__(self, "order", order)

    def __str__(self) -> str:
        child, column, parent, parent_column = map(_text, (self.child, self.column, self.parent, self.parent_column))
        return f"{child}.{column} -> {parent}.{parent_column}"

    def __repr__(self) -> str:
        more = "".join(f", {n}={v!r}" for n, v in (("cap", self.cap), ("order", self.order)) if v is not None)
        return f"Key({str(self)!r}{more})"

    def capped(self, cap: int | None) -> Self:
        """The same key with another cap."""
        return self.of((self.child, self.column), (self.parent, self.parent_column), cap, self.order)

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {"key": str(self)}
        return found | {n: v for n, v in (("cap", self.cap), ("order", self.order)) if v is not None}

    @classmethod
    def from_json(cls, raw: object, where: str) -> Self:
        found = as_object(raw, where, ("key", "cap", "order"))
        if "key" not in found:
            raise SchemaError(f"{where} has no 'key'; {_HINT}")
        try:
            return cls(found["key"], found.get("cap"), found.get("order"))
        except SchemaError as error:
            raise SchemaError(f"{where}: {error}") from None


def _names(key: object) -> tuple[str, ...]:
    if not isinstance(key, str) or len(key) > _LONGEST:
        raise SchemaError(f"a key is {short(key)}; {_HINT}")
    found = _KEY.fullmatch(key)
    if found is None:
        outside = re.sub(_QUOTED, "", key)
        if any(c in outside for c in ",()"):
            raise SchemaError(
                f"key {short(key)} seems to be of several columns, which nacre does not read; make one column that "
                "joins them on both sides (a name with commas or brackets stands in double quotes)"
            )
        raise SchemaError(f"key {short(key)} cannot be read; {_HINT}")
    return tuple(_name(part.strip(), key) for part in found.groups())


def _name(text: str, key: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise SchemaError(f"key {short(key)}: {short(text)} is no name in double quotes; {_HINT}") from None


def _text(name: str) -> str:
    plain = re.fullmatch(_PLAIN, name) and name == name.strip()
    return name if plain else json.dumps(name, ensure_ascii=False)
