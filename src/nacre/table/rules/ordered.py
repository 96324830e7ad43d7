"""Columns whose values lie one below the other in every row: numbers, dates, or chains of either."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.line import Line
from nacre.table.rules.steps import Edge, Step
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column


@dataclasses.dataclass(frozen=True)
class _Below(RowRule):
    """What both kinds share."""

    @property
    def _strict(self) -> bool:
        raise NotImplementedError

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        if not isinstance(self._strict, bool):
            raise SchemaError(f"{self}: strict is {short(self._strict)}; write true or false")
        for edge in self.edges():
            low, high = columns[edge.low], columns[edge.high]
            for name, column in ((edge.low, low), (edge.high, high)):
                if not column.measured:
                    raise SchemaError(f"{self}: column {name!r} is {column.kind}; name columns of numbers or of dates")
            if low.moments != high.moments:
                raise SchemaError(f"{self}: {edge.low!r} is {low.kind} and {edge.high!r} {high.kind}: not comparable")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        found = np.zeros(len(values[self.names[0]]), bool)
        for edge in self.edges():
            low, high = values[edge.low], values[edge.high]
            wrong = low.values >= high.values if edge.strict else low.values > high.values
            found |= wrong & ~low.null & ~high.null
        return found


@dataclasses.dataclass(frozen=True)
class Ordered(_Below):
    """Each of `columns` is at most the next one, or below it if `strict`. Where one is null, nothing is said."""

    columns: tuple[str, ...]
    strict: bool = False

    name: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'ordered': columns", 2))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def _strict(self) -> bool:
        return self.strict

    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(a, b, self.strict, self) for a, b in pairwise(self.columns))

    def __str__(self) -> str:
        return (" < " if self.strict else " <= ").join(map(str, self.columns))


@dataclasses.dataclass(frozen=True)
class Amid(_Below):
    """`column` lies between the values of two other columns, both included unless `strict`."""

    column: str
    low: str
    high: str
    strict: bool = False

    name: ClassVar[str] = "between"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.low, self.column, self.high)

    @property
    def _strict(self) -> bool:
        return self.strict

    def edges(self) -> tuple[Edge, ...]:
        return Edge(self.low, self.column, self.strict, self), Edge(self.column, self.high, self.strict, self)

    def __str__(self) -> str:
        return f"{self.column} between {self.low} and {self.high}" + (", both excluded" if self.strict else "")


@dataclasses.dataclass(frozen=True, eq=False)
class Gap(Step):
    """A column that lies above others is modelled as its distance from the highest of them (and from its own least
    value, which alone counts where those are null)."""

    upper: str
    edges: tuple[Edge, ...]
    columns: Mapping[str, Column]

    @property
    def takes(self) -> tuple[str, ...]:
        return (self.upper,)

    @cached_property
    def line(self) -> Line:
        return Line(self.columns[self.upper])

    @property
    def name(self) -> str:
        lows = ", ".join(dict.fromkeys(edge.low for edge in self.edges))
        return f"{self.upper} - {lows}" if "," not in lows else f"{self.upper} - max({lows})"

    @property
    def makes(self) -> Mapping[str, Column]:
        return {self.name: self._distances}

    @cached_property
    def _distances(self) -> Column:
        return self.line.distances(self._most)

    @property
    def _most(self) -> float:
        """The largest distance: from the least base there can be."""
        least = self.line.ends[0]
        if not any(self.columns[edge.low].nullable for edge in self.edges):
            firsts = (self.line.first(Line(self.columns[e.low]).ends[0], e.strict) for e in self.edges)
            least = max(least, *firsts)
        return self.line.ends[1] - least

    def check(self) -> None:
        """Every value of the lower columns leaves room above it."""
        for edge in self.edges:
            top = Line(self.columns[edge.low]).ends[1]
            if self.line.first(top, edge.strict) > self.line.ends[1]:
                raise SchemaError(
                    f"{edge.rule}: {edge.low!r} reaches {self.columns[edge.low].domain_words()}, beyond the largest "
                    f"{self.upper!r} ({self.columns[self.upper].domain_words()}); end its bounds where the rule does"
                )

    def _base(self, values: Mapping[str, Values]) -> np.ndarray:
        rows = len(values[self.edges[0].low])
        base = np.full(rows, self.line.ends[0], np.int64 if self.line.column.step else np.float64)
        for edge in self.edges:
            low = values[edge.low]
            least = self.line.from_(low.values, edge.strict)
            base = np.where(low.null, base, np.maximum(base, least))
        return base

    def encode(self, values: dict[str, Values]) -> None:
        own, base = values[self.upper], self._base(values)
        distance = np.maximum(self.line.apart(base, own.values), 0)
        distance = np.where(own.null, 0, np.minimum(distance, self._distances.limits[1]))
        distance = distance.astype(np.int64 if self.line.column.step else np.float64, copy=False)
        values[self.name] = Values.of(distance, own.null)
        values[self.upper] = Values.of(self.line.beyond(base, distance), own.null)

    def decode(self, values: dict[str, Values]) -> None:
        own = values[self.name]
        values[self.upper] = Values.of(self.line.beyond(self._base(values), own.values), own.null)
