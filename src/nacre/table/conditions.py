"""What may be asked of a column, with one meaning wherever it is asked.

`where=`, the shares of `rebalance=` and `target_shares=`, impossible combinations, the command line and the files all
spell conditions in the same ways: one value, several values (None among them for null), or `Between`. They are read
once, where they are asked for, into a `Condition`, which answers everything else itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.table.naming import choices
from nacre.typed import Json

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.grid import Grid
    from nacre.table.values.stored import Values

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
        cls, asked: object, column: Column, place: str = "condition", key: bool = False, beyond: bool = False
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
        free = column.unbounded() if beyond else column
        spots = {v: free.place_of(v, place) for v in wanted if v is not None}
        first, last = column.limits
        spans = tuple((spot, spot) for spot in sorted(set(spots.values())) if first <= spot <= last)
        if isinstance(asked, set | frozenset):  # in no order of its own
            wanted = sorted(wanted, key=lambda v: (v is None, spots.get(v, 0)))
        return cls(column, spans, None in wanted, tuple(wanted) if many else asked, place)

    def refuse_beyond(self) -> None:
        """SchemaError for a range that meets nothing because an end lies beyond the bounds."""
        if isinstance(self.asked, Between) and not self.spans:
            for end in (self.asked.low, self.asked.high):
                if end is not None:
                    self.column.place_of(end, self.place)

    # -- what meets it --------------------------------------------------------------------------------------

    def mask(self, grid: Grid) -> np.ndarray:
        """The share of every cell of the column's grid that meets the condition, float64 [cells].

        Inside a cell the share is prorated. SchemaError where nothing of the declared domain meets it.
        """
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
        same = [v for v in self.listed if v is not None and self.column.place_of(v, self.place) == spot]
        return (
            f"the single value {_word(same[0])} of a continuous column has probability 0; ask for a range, or declare "
            "the value as an atom"
        )

    def matches(self, values: Values) -> np.ndarray:
        """bool [rows]: which encoded values of the column meet the condition."""
        stored = values.values
        if self.ranged:
            found = np.zeros(len(stored), bool)
            for low, high in self.spans:
                found |= (stored >= low) & (stored <= high)
        else:
            found = np.isin(stored, np.array([spot for spot, _ in self.spans], dtype=stored.dtype))
        found &= ~values.null
        return found | values.null if self.null else found

    def holds(self, value: object) -> bool:
        """Whether one value of the column, as Python has it, meets the condition; None is null."""
        if value is None:
            return self.null
        spot = self.column.place_of(value, self.place)
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

    def to_json(self) -> dict[str, Json]:
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


def parsed(asked: object, columns: Mapping[str, Column], option: str) -> dict[str, Condition]:
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


def plain(value: Any) -> Any:
    """A value of a column as JSON has it: NumPy's numbers as Python's, dates as ISO 8601 texts."""
    if hasattr(value, "item"):
        return value.item()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _word(value: object) -> str:
    return repr(plain(value))


def _two_meanings(pair: tuple, place: str, key: bool) -> str:
    a, b = map(_word, pair)
    two = f"frozenset({{{a}, {b}}})" if key else f"[{a}, {b}]"
    every = "every value" if pair == (None, None) else f"Between({a}, {b}) for all from the one to the other"
    return f"{place}: ({a}, {b}) may mean a range or two values; write {every}, or {two} for the two values"


def _ends(column: Column, asked: Between, place: str) -> Span:
    """The stored values at the ends of a range; an end beyond the bounds is moved to them."""
    if not column.ordered:
        raise SchemaError(f"{place}: a range needs an ordered column; list the values instead")
    first, last = column.limits
    low = first if asked.low is None else max(column.end_of(asked.low, place, upper=False), first)
    high = last if asked.high is None else min(column.end_of(asked.high, place, upper=True), last)
    return low, high
