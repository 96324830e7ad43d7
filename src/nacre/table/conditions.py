"""What may be asked of a column, with one meaning wherever it is asked.

`where=`, the shares of `rebalance=` and `target_shares=`, impossible combinations, the command line and the files all
spell conditions in the same ways: one value, several values (None among them for null), or `Between`. They are read
once, where they are asked for, into a `Condition`, which answers everything else itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nacre.errors import NacreError, SchemaError
from nacre.table.checking import finite
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Numeric
from nacre.table.naming import choices
from nacre.table.values.instants import UNITS, is_date_only, microseconds

if TYPE_CHECKING:
    import numpy as np

    from nacre.table.encoding import Values
    from nacre.table.grid import Grid

Span = tuple[float, float]  # stored values, both ends included


@dataclasses.dataclass(frozen=True)
class Between:
    """All values from `low` to `high`, both included; None leaves that side open."""

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise SchemaError("a range needs a low or a high end; both are missing")


@dataclasses.dataclass(frozen=True)
class Condition:
    """What is asked of one column: made by `Condition.of`, equal where it means the same.

    `spans` are the stored values that meet it, in increasing order; one for a range, one for every single value.
    `asked` is how it was spelled: a value, a tuple of values, or `Between`; `place` begins the messages about it, and
    `words` name it there where it was not spelled in Python.
    """

    column: Column = dataclasses.field(hash=False, repr=False)
    spans: tuple[Span, ...]
    null: bool
    asked: Any = dataclasses.field(compare=False)
    place: str = dataclasses.field(compare=False, repr=False)
    words: str = dataclasses.field(default="", compare=False, repr=False)

    @classmethod
    def of(
        cls, asked: Any, column: Column, place: str = "condition", key: bool = False, beyond: bool = False
    ) -> Condition:
        """The condition that was spelled so; SchemaError, beginning with `place`, for one that the column cannot meet.

        A list, set or array is the set of its values, and so is a tuple, but for a pair on an ordered column, which
        some read as a range: it is refused. `key`: asked for as a key, where a list cannot stand. `beyond`: values
        beyond the bounds are never met, instead of refused.
        """
        if isinstance(asked, Condition):
            same = asked.column is column or asked.column == column
            return asked if same else cls.of(asked._respelled, column, asked.place, key, beyond)
        if isinstance(asked, Between):
            low, high = _ends(column, asked, place)
            return cls(column, ((low, high),) if low <= high else (), False, asked, place)
        if hasattr(asked, "tolist"):  # arrays, and the numbers in them
            asked = asked.tolist()
        if isinstance(asked, tuple) and len(asked) == 2 and column.ordered:
            raise SchemaError(_two_meanings(asked, place, key))
        many = isinstance(asked, list | tuple | set | frozenset)
        wanted = asked if many else (asked,)
        if not wanted:
            raise SchemaError(f"{place}: the list of values is empty; name at least one")
        free = _without_bounds(column) if beyond else column
        spots = {v: position(free, v, place) for v in wanted if v is not None}
        first, last = _limits(column)
        spans = tuple((spot, spot) for spot in sorted(set(spots.values())) if first <= spot <= last)
        if isinstance(asked, set | frozenset):  # in no order of its own
            wanted = sorted(wanted, key=lambda v: (v is None, spots.get(v, 0)))
        return cls(column, spans, None in wanted, tuple(wanted) if many else asked, place)

    # -- what meets it --------------------------------------------------------------------------------------

    def mask(self, grid: Grid) -> np.ndarray:
        """The share of every cell of the column's grid that meets the condition, float64 [cells].

        Inside a cell the share is prorated. SchemaError where nothing of the declared domain meets it.
        """
        import numpy as np

        if self.null and grid.null is None:
            raise SchemaError(f"{self.place}: null is asked for but the column is not nullable")
        if not self.spans and not self.null:
            raise SchemaError(
                f"{self.place}: nothing of the declared domain lies in {self}; write the lower end first, inside the "
                "column's bounds"
            )
        share = np.zeros(len(grid.low))
        for low, high in self.spans:
            part = grid.share(low, high)
            if not part.any():
                raise SchemaError(f"{self.place}: {self._improbable(low)}")
            share += part
        share = np.minimum(share, 1.0)
        return share if grid.null is None else np.append(share, float(self.null))

    def _improbable(self, spot: float) -> str:
        if self.ranged:
            return f"no value of the column lies in {self}; widen it"
        same = [v for v in self.listed if v is not None and position(self.column, v, self.place) == spot]
        return (
            f"the single value {_word(same[0])} of a continuous column has probability 0; ask for a range, or declare "
            "the value as an atom"
        )

    def matches(self, values: Values) -> np.ndarray:
        """bool [rows]: which encoded values of the column meet the condition."""
        import numpy as np

        stored = values.values
        if self.ranged:
            found = np.zeros(len(stored), bool)
            for low, high in self.spans:
                found |= (stored >= low) & (stored <= high)
        else:
            found = np.isin(stored, np.array([spot for spot, _ in self.spans], dtype=stored.dtype))
        found &= ~values.null
        return found | values.null if self.null else found

    def holds(self, value: Any) -> bool:
        """Whether one value of the column, as Python has it, meets the condition; None is null."""
        if value is None:
            return self.null
        spot = position(self.column, value, self.place)
        return any(low <= spot <= high for low, high in self.spans)

    # -- how it is spelled ----------------------------------------------------------------------------------

    @property
    def ranged(self) -> bool:
        return isinstance(self.asked, Between)

    @property
    def _respelled(self) -> Any:
        return list(self.asked) if isinstance(self.asked, tuple) else self.asked

    @property
    def listed(self) -> tuple[Any, ...]:
        """The values that are named, None for null; nothing for a range."""
        if self.ranged:
            return ()
        return self.asked if isinstance(self.asked, tuple) else (self.asked,)

    def to_json(self) -> dict[str, Any]:
        """As releases and certificates state it; `spelled` reads it."""
        if self.ranged:
            return {"from": plain(self.asked.low), "to": plain(self.asked.high)}
        if isinstance(self.asked, tuple):
            return {"any": sorted(map(plain, self.asked), key=lambda v: (v is not None, str(v)))}
        return {"is": plain(self.asked)}

    def to_rule_json(self) -> Any:
        """As schemas state it."""
        if self.ranged:
            return {"low": plain(self.asked.low), "high": plain(self.asked.high)}
        return [plain(v) for v in self.listed]

    def __str__(self) -> str:
        """The condition as it was typed, or as Python spells it."""
        if self.words:
            return self.words
        if self.ranged:
            return f"Between({_word(self.asked.low)}, {_word(self.asked.high)})"
        if isinstance(self.asked, tuple):
            return f"[{', '.join(map(_word, self.asked))}]"
        return _word(self.asked)


def spelled(found: Mapping[str, Any]) -> Any:
    """How the condition of a `to_json` was spelled: what `Condition.of` takes. A saved pair is a set of two values."""
    if "any" in found:
        return frozenset(found["any"])
    return found["is"] if "is" in found else Between(found["from"], found["to"])


def parsed(asked: Any, columns: Mapping[str, Column], option: str) -> dict[str, Condition]:
    """{column: condition}, each read; SchemaError, beginning with `option`, for a column that is not there."""
    if not isinstance(asked, Mapping):
        raise NacreError(f"{option}={asked!r}: expected {{column: condition}}")
    for name in asked:
        if name not in columns:
            raise SchemaError(f"{option}: there is no column {name!r}; choose among {choices(name, columns)}")
    return {name: Condition.of(c, columns[name], f"{option}: column {name!r}") for name, c in asked.items()}


def overlapping(conditions: Sequence[Condition]) -> Condition | None:
    """One of these conditions on a column that shares a value with another of them; both ends belong to a range."""
    nulls = [c for c in conditions if c.null]
    if len(nulls) > 1:
        return nulls[1]
    spans = sorted(((*span, i) for i, c in enumerate(conditions) for span in c.spans), key=lambda s: s[:2])
    for before, after in pairwise(spans):
        if after[0] <= before[1]:
            return conditions[max(before[2], after[2])]
    return None


def position(column: Column, value: Any, where: str) -> float | int:
    """Where `value` stands in the column's encoded values: a label's code, 0 or 1, a number, microseconds.

    Raises SchemaError, beginning with `where`, when the value is not in the declared domain.
    """
    if isinstance(column, Categorical):
        if column.missing:
            raise SchemaError(f"{where}: the column has no declared categories; declare them first")
        if not isinstance(value, str) or value not in column.code_of:
            raise SchemaError(f"{where}: {value!r} is not a category; it is one of {some(column.labels)}")
        return column.code_of[value]
    if isinstance(column, Boolean):
        if isinstance(value, bool) or (hasattr(value, "item") and isinstance(value.item(), bool)):
            return int(value)
        raise SchemaError(f"{where}: {value!r} is not a truth value; write true or false")
    if isinstance(column, Datetime):
        return _inside(microseconds(value, where), column.ends, where, value, column.bounds)
    if isinstance(column, Numeric):
        try:
            number = column.number(value)
        except SchemaError as error:
            raise SchemaError(f"{where}: {str(error).removeprefix('column: ')}") from None
        return _inside(number, column.bounds, where, value, column.bounds)
    raise SchemaError(f"{where}: columns of kind {column.kind} take no conditions on their values")


def some(labels: Sequence[str]) -> str:
    """The first of many labels, for a message."""
    shown = ", ".join(repr(label) for label in labels[:8])
    return shown if len(labels) <= 8 else f"{shown}, ... ({len(labels)} in all)"


def plain(value: Any) -> Any:
    """A value of a column as JSON has it: NumPy's numbers as Python's, dates as ISO 8601 texts."""
    if hasattr(value, "item"):
        return value.item()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _word(value: Any) -> str:
    return repr(plain(value))


def _two_meanings(pair: tuple, place: str, key: bool) -> str:
    a, b = map(_word, pair)
    two = f"frozenset({{{a}, {b}}})" if key else f"[{a}, {b}]"
    every = "every value" if pair == (None, None) else f"Between({a}, {b}) for all from the one to the other"
    return f"{place}: ({a}, {b}) may mean a range or two values; write {every}, or {two} for the two values"


def _inside(number: Any, ends: tuple | None, where: str, value: Any, shown: tuple | None) -> Any:
    if ends is not None and not ends[0] <= number <= ends[1]:
        raise SchemaError(f"{where}: {value!r} lies outside the bounds {list(shown or ())}; choose a value inside")
    return number


def _ends(column: Column, asked: Between, place: str) -> Span:
    """The stored values at the ends of a range; an end beyond the bounds is moved to them."""
    if not column.ordered:
        raise SchemaError(f"{place}: a range needs an ordered column; list the values instead")
    first, last = _limits(column)
    low = first if asked.low is None else max(_end(column, asked.low, place), first)
    high = last if asked.high is None else min(_end(column, asked.high, place, upper=True), last)
    return low, high


def _limits(column: Column) -> Span:
    """The smallest and the largest stored value; infinite while no bounds are declared."""
    if isinstance(column, Categorical):
        return 0, len(column.labels) - 1
    if isinstance(column, Boolean):
        return 0, 1
    ends = column.ends if isinstance(column, Datetime) else column.bounds if isinstance(column, Numeric) else None
    return ends or (-math.inf, math.inf)


def _without_bounds(column: Column) -> Column:
    if isinstance(column, Numeric):
        return dataclasses.replace(column, bounds=None, edges=None, atoms=(), provenance={})
    return dataclasses.replace(column, bounds=None, provenance={}) if isinstance(column, Datetime) else column


def _end(column: Column, value: Any, place: str, upper: bool = False) -> float | int:
    """Where an end of a range stands; unlike a value it may lie beyond the bounds, or between two values."""
    if isinstance(column, Datetime):
        whole_day = upper and is_date_only(value)  # up to a day means to its end
        return microseconds(value, place) + (UNITS["day"] - 1 if whole_day else 0)
    if not isinstance(column, Numeric):
        return position(column, value, place)
    try:
        number = finite("value", value)
    except SchemaError as error:
        raise SchemaError(f"{place}: {str(error).removeprefix('column: ')}") from None
    if column.integer:  # 17.5 and up is 18 and up
        return math.floor(number) if upper else math.ceil(number)
    return float(number)
