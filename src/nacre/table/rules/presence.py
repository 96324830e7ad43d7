"""Columns that are null together, or exactly where another column says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import as_object
from nacre.table.conditions import Condition
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.impossible import Impossible as Together
from nacre.table.rules.steps import Impossible, Step, any_value, others
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column


_DONORS = 2_048  # rows drawn beside


@dataclasses.dataclass(frozen=True)
class AllOrNone(RowRule):
    """All of `columns` are null, or none is."""

    columns: tuple[str, ...]

    name: ClassVar[str] = "all_or_none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'all_or_none': columns", 2))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        for name in self.columns:
            if not columns[name].nullable:
                raise SchemaError(f"{self}: {name!r} is never null; declare it nullable, or leave it out")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        nulls = np.sum([values[name].null for name in self.columns], axis=0)
        return (nulls > 0) & (nulls < len(self.columns))

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (Presence(self, self.columns[0], self.columns[1:], columns, None, True),)

    def __str__(self) -> str:
        return f"all or none of {', '.join(map(str, self.columns))}"


@dataclasses.dataclass(frozen=True)
class NullIff(RowRule):
    """`column` is null exactly in the rows where another one meets a condition: `when={other: values}`, or, for the
    rows where it does not, `unless={other: values}`. `unless={other: None}`: exactly where the other has a value."""

    column: str
    when: object = None
    unless: object = None

    name: ClassVar[str] = "null_iff"

    def __post_init__(self) -> None:
        if (self.when is None) == (self.unless is None):
            raise SchemaError("a rule 'null_iff' takes one of when and unless: {column: values}")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column, self._carrier)

    @property
    def _stated(self) -> Any:
        return self.when if self.unless is None else self.unless

    @property
    def _carrier(self) -> str:
        stated = self._stated
        terms = [n for n, _ in stated.terms] if isinstance(stated, Together) else [*as_object(stated, str(self.column))]
        if len(terms) != 1:
            raise SchemaError(f"null_iff {self.column!r}: names {len(terms)} columns beside it; name one")
        return terms[0]

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        if not columns[self.column].nullable:
            raise SchemaError(f"{self}: {self.column!r} is never null; declare it nullable, or leave the rule out")
        side = "when" if self.unless is None else "unless"
        return dataclasses.replace(self, **{side: Together.of(self._stated, columns, f"{self}, {side}")})

    @property
    def _condition(self) -> Condition:
        return self._stated.terms[0][1]

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        met = self._condition.matches(values[self._carrier])
        return values[self.column].null != (met if self.unless is None else ~met)

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (Presence(self, self._carrier, (self.column,), columns, self._condition, self.unless is None),)

    @classmethod
    def from_json(cls, raw: Any, where: str) -> RowRule:
        raw = {k: Together.from_json(v, f"{where}, {k}") if k in ("when", "unless") else v for k, v in raw.items()}
        return super().from_json(raw, where)

    def __str__(self) -> str:
        stated = self._stated
        told = stated if isinstance(stated, Together) else self._carrier
        return f"{self.column} is null exactly {'where' if self.unless is None else 'unless'} {told}"


class Donors:
    """Modelled rows drawn beside, under no condition and always as many, when they are first needed: their values stand
    where a value must be and none was drawn. So every row has one law, whatever was asked of the others."""

    def __init__(self, draw: Callable[[int], Mapping[str, Values]]):
        self._draw = draw

    @cached_property
    def rows(self) -> Mapping[str, Values]:
        return self._draw(_DONORS)


@dataclasses.dataclass(frozen=True, eq=False)
class Presence(Step):
    """`members` are null where the carrier is (no `condition`), or where it meets the condition or, unless `met`, does
    not. All stay modelled as they are: a member of the table that is null and may not be has its `filler`, and one that
    was drawn so the value of a row like it that was drawn beside."""

    rule: RowRule
    carrier: str
    members: tuple[str, ...]
    columns: Mapping[str, Column]  # modelled ones
    condition: Condition | None
    met: bool

    def _absent(self, values: Mapping[str, Values]) -> np.ndarray:
        own = values[self.carrier]
        if self.condition is None:
            return own.null
        return self.condition.matches(own) == self.met

    def filler(self, name: str) -> int | float:
        """What stands for a missing value: zero, or what is nearest to it."""
        low, high = self.columns[name].limits
        return low if self.columns[name].moments else min(max(low, 0), high)

    def encode(self, values: dict[str, Values]) -> None:
        if self.condition is None:  # as most of them are
            nulls = np.sum([values[name].null for name in (self.carrier, *self.members)], axis=0)
            absent = 2 * nulls > len(self.members)
            self._put(values, self.carrier, absent)
        self.settle(values, None)

    def settle(self, values: dict[str, Values], donors: Donors | None) -> None:
        """Make the members of whole columns null where they have to be, and nowhere else."""
        absent = self._absent(values)
        for name in self.members:
            self._put(values, name, absent, donors)

    def _put(self, values: dict[str, Values], name: str, absent: np.ndarray, donors: Donors | None = None) -> None:
        own = values[name]
        if not (own.null != absent).any():
            return
        filled, lacking = own.values.copy(), own.null & ~absent
        filled[lacking] = self.filler(name)
        if donors is not None and lacking.any():
            given = np.flatnonzero(~donors.rows[name].null & ~self._absent(donors.rows))
            if len(given):
                like = self._nearest(donors.rows[self.carrier].values[given], values[self.carrier].values[lacking])
                filled[lacking] = donors.rows[name].values[given[like]]
        values[name] = Values.of(filled, absent)

    def _nearest(self, given: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """For each wanted value of the carrier the place of a donor with the nearest one; those with the same take
        turns."""
        order = np.argsort(given, kind="stable")
        known = given[order]
        after = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.abs(known[before] - wanted) < np.abs(known[after] - wanted)
        value = np.where(nearer, known[before], known[after])
        first, last = np.searchsorted(known, value), np.searchsorted(known, value, side="right")
        return order[first + np.arange(len(wanted)) % (last - first)]

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], set[str]]:
        found: dict[str, Condition] = {}
        for name in set(self.members) & set(where):
            condition = where[name]
            side = self._sides[0] if not condition.spans else None if condition.null else self._sides[1]
            if side is not None:
                found[self.carrier] = side
        return found, set()

    @cached_property
    def _sides(self) -> tuple[Condition | None, Condition | None]:
        """(where members are null, where they are not) as conditions on the carrier, as far as they can be stated."""
        column = self.columns[self.carrier]
        at = self.condition or Condition.of(None, column, str(self.rule))
        return (at, others(at)) if self.met else (others(at), at)

    def impossible(self) -> list[Impossible]:
        """As far as both sides of the carrier's condition can be stated."""
        absent, present = self._sides
        found: list[Impossible] = []
        for name in self.members:
            none = Condition.of(None, self.columns[name], str(self.rule))
            found += [{self.carrier: absent, name: any_value(none.column, none.place)}] if absent else []
            found += [{self.carrier: present, name: none}] if present else []
        return found


class Carried(Presence):
    """Parts of one value: the carrier alone says whether it is null."""

    def encode(self, values: dict[str, Values]) -> None:
        self.settle(values, None)
