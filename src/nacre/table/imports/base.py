"""What a document of another format says, in the terms that all formats share, and the columns that follow from it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from nacre.errors import SchemaError
from nacre.table.checking import UNNAMED, short
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Text
from nacre.table.columns.text import KEYS
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat

if TYPE_CHECKING:
    from nacre.table.rules import RowRule
    from nacre.typed import Value

Raw: TypeAlias = "Any"  # part of a document from anybody: that it is not what its format has is found by using it
_LONG = 300  # characters of what could not be expressed
INTEGER, NUMBER, TEXT, TRUTH, DAY, MOMENT, KEY = "integer", "number", "text", "truth", "day", "moment", "key"


@dataclasses.dataclass
class Told:
    """What a document says of one column. `kind` is one of the above; None is a column that no schema can hold.

    `low` and `high` are ends that may be left open. Unless a document says otherwise, values may be missing: to allow
    for that takes nothing away.
    """

    kind: str | None = TEXT
    low: Value = None
    high: Value = None
    open_low: bool = False  # the end itself does not occur
    open_high: bool = False
    values: Sequence[Raw] | None = None  # no others occur
    ordered: bool = False
    nullable: bool = True
    unique: bool = False
    surrogate: str | None = None  # of `nacre.Text`
    decimals: int | None = None
    tz: str | None = None
    format: NumberFormat | DateFormat | TruthFormat | str | None = None
    null_words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Relation:
    """A foreign key: columns of a child table name a row of a parent."""

    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in (self.child, *self.columns, self.parent, *self.parent_columns):
            if not isinstance(name, str):
                raise SchemaError(f"a foreign key names {short(name)}; expected tables and columns by name")

    def __str__(self) -> str:
        there = f"({', '.join(self.parent_columns)})" if self.parent_columns else ""
        return f"{self.child}({', '.join(self.columns)}) points into {self.parent}{there}"


class Described:
    """One table of a document, as it is read: its columns, and what of it a schema does not say."""

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise SchemaError(f"a table is called {short(name)}; expected its name as text")
        self.name = name
        self.columns: dict[str, Column] = {}
        self.rows: int | None = None
        self.rules: list[RowRule] = []
        self._left: dict[str, list[str]] = {}

    def leave(self, what: str, column: str | None = None) -> None:
        """List something that could not be expressed."""
        places = self._left.setdefault(what if len(what) <= _LONG else f"{what[: _LONG - 3]}...", [])
        if column is not None and column not in places:
            places.append(column)

    def left_out(self) -> tuple[str, ...]:
        """Each thing once, with its columns."""
        return tuple(f"{', '.join(names)}: {what}" if names else what for what, names in self._left.items())

    def add(self, name: object, told: Told) -> None:
        """The column that follows; what does not follow is listed."""
        if not isinstance(name, str):
            raise SchemaError(f"a column is called {short(name)}; expected its name as text")
        if name in self.columns:
            raise SchemaError(f"column {name!r} stands twice in the document; keep one")
        if told.kind is None:
            return self.leave("no kind of column holds such values; the column is not in the schema", name)
        try:
            self.columns[name] = self._column(name, told)
        except SchemaError as error:
            self.leave(f"its domain or format ({str(error).removeprefix(f'{UNNAMED}: ')})", name)
            bare = Told(told.kind, nullable=told.nullable, unique=told.unique, surrogate=told.surrogate)
            self.columns[name] = self._column(name, bare)

    def key(self, names: Sequence[str], what: str = "primary key") -> None:
        """A key of one column is a name of rows; of several, it is listed."""
        known = [n for n in names if n in self.columns]
        if len(names) != 1 or not known:
            return self.leave(f"{what} ({', '.join(map(str, names))}): a schema keeps no key of several columns")
        if self.columns[known[0]].learnt:
            self.columns[known[0]] = self._names(known[0], self.columns[known[0]])

    # -- columns ----------------------------------------------------------------------------------------------

    def _column(self, name: str, told: Told) -> Column:
        shared: dict[str, Raw] = {"nullable": told.nullable, "null_words": told.null_words}
        if told.kind == KEY:
            return Identifier(text=True, **shared)
        if told.surrogate is not None:
            if told.unique and told.surrogate not in KEYS:
                self.leave(f"that it is unique: {told.surrogate} values may come twice", name)
            return Text(surrogate=told.surrogate, unique=told.unique and told.surrogate in KEYS, **shared)
        if told.values is not None:
            return self._labels(name, told, shared)
        if told.unique:
            return self._names(name, self._plain(name, dataclasses.replace(told, unique=False), shared))
        return self._plain(name, told, shared)

    def _names(self, name: str, column: Column) -> Column:
        """A column of different values as one of names, made anew: whole numbers stay numbers, texts texts."""
        if column.whole or "categories" in column.missing:
            return Identifier(text=not column.whole, nullable=column.nullable)
        self.leave("that no value comes twice", name)
        return column

    def _plain(self, name: str, told: Told, shared: dict[str, Raw]) -> Column:
        if told.kind == TEXT:
            return Categorical(**shared)
        if told.kind == TRUTH:
            return Boolean(format=told.format, **shared)  # type: ignore[arg-type]
        if told.kind in (DAY, MOMENT):
            days = told.kind == DAY
            return Datetime(bounds=self._ends(name, told), tz=None if days else told.tz, unit="day" if days else "us",
                            format=told.format, **shared)  # type: ignore[arg-type]  # fmt: skip
        whole = told.kind == INTEGER
        return Numeric(bounds=self._ends(name, told), integer=whole, decimals=None if whole else told.decimals,
                       format=told.format, **shared)  # type: ignore[arg-type]  # fmt: skip

    def _ends(self, name: str, told: Told) -> tuple | None:
        """Both bounds, or none: of one end alone nothing follows."""
        low, high = told.low, told.high
        if (low is None) != (high is None):
            end = f"lower end of {low}" if high is None else f"upper end of {high}"
            self.leave(f"the {end} alone: bounds take both ends; add the other", name)
            return None
        if told.kind == INTEGER:
            low = None if low is None else _whole(low, math.ceil, +1 if told.open_low else 0)
            high = None if high is None else _whole(high, math.floor, -1 if told.open_high else 0)
        elif told.kind == NUMBER:
            low, high = _next(low, told, told.open_low, 1), _next(high, told, told.open_high, -1)
        elif (told.open_low and low is not None) or (told.open_high and high is not None):
            self.leave("an end of its range that does not occur itself: bounds of a schema do", name)
        return None if low is None else (low, high)

    def _labels(self, name: str, told: Told, shared: dict[str, Raw]) -> Column:
        """A list of all values. Whole numbers without a gap are a range, so that they stay numbers."""
        values = [v for v in told.values or () if v is not None]
        if len(values) < len(told.values or ()):
            shared["nullable"] = True
        if values and all(isinstance(v, bool) for v in values):
            return Boolean(**shared)
        if told.kind in (DAY, MOMENT):
            self.leave("a list of all its moments", name)
            return self._plain(name, told, shared)
        whole = told.kind in (INTEGER, NUMBER) and all(_is_whole(v) for v in values)
        numbers = sorted({int(v) for v in values}) if whole else []
        if numbers and told.kind == INTEGER:
            if numbers[-1] - numbers[0] + 1 == len(numbers):
                return Numeric((numbers[0], numbers[-1]), integer=True, **shared)
            self.leave("a list of numbers with gaps: labels, which come out as texts", name)
        texts = [str(v) for v in numbers] if whole else [_label(v) for v in values]
        words = {*shared["null_words"], ""}
        return Categorical(tuple(dict.fromkeys(t for t in texts if t not in words)), ordered=told.ordered, **shared)


def iso(told: Told, pattern: str) -> None:
    """Ends that are written as the values are, as ISO 8601. ValueError where they are not written so."""
    for end in ("low", "high"):
        if isinstance(text := getattr(told, end), str):
            moment = datetime.strptime(text, pattern)
            setattr(told, end, moment.date().isoformat() if told.kind == DAY else moment.isoformat())


def _whole(value: Raw, rounded: Callable[[float], int], step: int) -> int:
    number = rounded(value)
    return number + step if number == value else number


def _next(value: Raw, told: Told, opened: bool, step: int) -> float | None:
    """The end of a range, or where it is open the number next to it."""
    if value is None or not opened:
        return value
    if told.decimals is not None:
        return round(value + step * 10.0**-told.decimals, told.decimals)
    return math.nextafter(value, step * math.inf)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


def _label(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclasses.dataclass(frozen=True)
class Document:
    """All that a document describes: its tables by name, and the keys between them."""

    tables: Mapping[str, Described]
    relations: tuple[Relation, ...] = ()
