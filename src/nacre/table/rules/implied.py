"""If some columns have these values, another has one of those."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.rules.base import RowRule
from nacre.table.rules.impossible import Impossible as Together
from nacre.table.rules.steps import Impossible, Step, others
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.encoding import Encoded


@dataclasses.dataclass(frozen=True)
class IfThen(RowRule):
    """Where the columns of `when` all meet their conditions, the column of `then` meets its own:
    `when={column: values}`, `then={column: values}`, as in `impossible`. Rows that do not are drawn again: a model of
    tables knows that such cells are empty, so that they are few."""

    when: object
    then: object

    name: ClassVar[str] = "if"

    @property
    def names(self) -> tuple[str, ...]:
        return (*_columns(self.when, "when"), *_columns(self.then, "then"))

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        sides = {s: Together.of(vars(self)[s], columns, f"{self}, {s}") for s in ("when", "then")}
        if len(sides["then"].terms) != 1:
            raise SchemaError(f"{self}: then names {len(sides['then'].terms)} columns; write a rule for each")
        return dataclasses.replace(self, **sides)

    def _misses(self, values: Mapping[str, Values]) -> np.ndarray:
        met = np.logical_and.reduce([c.matches(values[n]) for n, c in self.when.terms])
        ((name, condition),) = self.then.terms
        return met & ~condition.matches(values[name])

    def broken(self, encoded: Encoded) -> np.ndarray:
        return self._misses(encoded.columns)

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        return self._misses(values)

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (Moved(self, columns),)

    @classmethod
    def from_json(cls, raw: Any, where: str) -> RowRule:
        raw = {k: Together.from_json(v, f"{where}, {k}") if k in ("when", "then") else v for k, v in raw.items()}
        return super().from_json(raw, where)

    def __str__(self) -> str:
        if isinstance(self.when, Together) and isinstance(self.then, Together):
            return f"if {self.when} then {self.then}"
        return f"if {', '.join(_columns(self.when, 'when'))} then {', '.join(_columns(self.then, 'then'))}"


def _columns(side: object, where: str) -> tuple[str, ...]:
    if isinstance(side, Together):
        return side.columns
    if not isinstance(side, Mapping) or not side:
        raise SchemaError(f"a rule 'if': {where} is {side!r}; write {{column: values}}")
    return tuple(side)


@dataclasses.dataclass(frozen=True, eq=False)
class Moved(Step):
    """A row of the table that breaks such a rule has the nearest of the values that are allowed."""

    rule: IfThen
    columns: Mapping[str, Column]

    def encode(self, values: dict[str, Values]) -> None:
        wrong = self.rule.misses(values, self.columns)
        if not wrong.any():
            return
        ((name, condition),) = self.rule.then.terms
        own = values[name]
        if not condition.spans:  # null alone is allowed
            values[name] = Values.of(own.values, own.null | wrong)
            return
        lost = own.values[wrong]
        low, high = np.array(condition.spans, own.values.dtype).T  # in increasing order
        after = np.minimum(np.searchsorted(high, lost), len(high) - 1)
        below, above = (np.clip(lost, low[i], high[i]) for i in (np.maximum(after - 1, 0), after))
        far = [np.abs(end.astype(np.float64) - lost) for end in (below, above)]
        moved = own.values.copy()
        moved[wrong] = np.where(far[0] <= far[1], below, above)
        values[name] = Values.of(moved, own.null & ~wrong)

    def impossible(self) -> list[Impossible]:
        """Where the labels that are not allowed can be listed."""
        ((name, condition),) = self.rule.then.terms
        left = others(condition)
        return [{**dict(self.rule.when.terms), name: left}] if left else []
