"""A column that is the sum of others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.line import Line
from nacre.table.rules.steps import Edge, Step
from nacre.table.values.instants import UNITS
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column

Terms = dict[str, int]  # column -> its sign
_LONGEST = 2.0**60  # microseconds


@dataclasses.dataclass(frozen=True)
class Total(RowRule):
    """`column` is the sum of the columns `plus`, less those in `minus`; null where one of them is.

    It is not modelled, but computed. Dates may take part: the difference of two dates is a number of `unit` (us, ms, s,
    minute, hour, day), and a date plus a number of them is a date.
    """

    column: str
    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()
    unit: str | None = None

    name: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        for side, least in (("plus", 1), ("minus", 0)):
            value = named(vars(self)[side], f"a rule 'sum': {side}", least)
            object.__setattr__(self, side, value)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column, *self.plus, *self.minus)

    @property
    def signs(self) -> Terms:
        return {**dict.fromkeys(self.plus, 1), **dict.fromkeys(self.minus, -1)}

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        for name in self.names:
            if not columns[name].measured:
                raise SchemaError(f"{self}: column {name!r} is {columns[name].kind}; name columns of numbers or dates")
        moments = [n for n in self.names if columns[n].moments]
        if self.unit is not None and (not isinstance(self.unit, str) or self.unit not in UNITS):
            raise SchemaError(f"{self}: unit is {short(self.unit)}; choose one of {', '.join(UNITS)}")
        if not moments and self.unit is not None:
            raise SchemaError(f"{self}: unit is for dates, and there are none; leave it out")
        if moments and self.unit is None and len(moments) < len(self.names):
            raise SchemaError(f"{self}: dates and numbers; say in which unit the numbers count time (unit='day', ...)")
        balance = sum(sign for name, sign in self.signs.items() if columns[name].moments)
        if moments and balance != int(columns[self.column].moments):
            raise SchemaError(
                f"{self}: dates do not add up; the difference of two is a number, date plus number a date"
            )
        for name in self.signs:
            if columns[name].nullable and not columns[self.column].nullable:
                raise SchemaError(f"{self}: {name!r} may be null but {self.column!r} may not; declare it nullable")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        step, own = Computed(self, columns), values[self.column]
        wanted = step.value(values)
        off = np.abs(own.values.astype(np.float64) - wanted.values) > step.tolerance(own.values)
        return np.where(own.null | wanted.null, own.null != wanted.null, off)

    def __str__(self) -> str:
        minus = "".join(f" - {name}" for name in self.minus)
        return f"{self.column} = {' + '.join(self.plus)}{minus}"


@dataclasses.dataclass(frozen=True, eq=False)
class Computed(Step):
    """The column of a sum is left out, and computed from its terms."""

    rule: Total
    columns: Mapping[str, Column]

    @property
    def takes(self) -> tuple[str, ...]:
        return (self.rule.column,)

    @property
    def upper(self) -> str:
        return self.rule.column

    @property
    def line(self) -> Line:
        return Line(self.columns[self.rule.column])

    @property
    def _time(self) -> int:
        """Microseconds in the unit of the numbers; 1 without dates."""
        return 1 if self.rule.unit is None else UNITS[self.rule.unit]

    def _factor(self, name: str) -> int:
        """What a value of this column is multiplied by: dates count microseconds."""
        return 1 if self.columns[name].moments else self._time

    def value(self, values: Mapping[str, Values]) -> Values:
        total, null = 0, np.zeros(len(values[self.rule.plus[0]]), bool)
        for name, sign in self.rule.signs.items():
            part, factor = values[name], self._factor(name)
            own = part.values if factor == 1 else np.rint(part.values * float(factor)).astype(np.int64)
            total, null = total + sign * own, null | part.null
        inside = np.clip(self._fitted(np.asarray(total)), *self.line.ends)  # they hold every sum, but for rounding
        return Values.of(np.where(null, self.line.ends[0], inside), null)

    def _fitted(self, total: np.ndarray) -> np.ndarray:
        factor = self._factor(self.rule.column)
        return self.line.nearest(total if factor == 1 else total / factor)

    def tolerance(self, values: np.ndarray) -> np.ndarray:
        """How far a value of the table may be off for rounding alone: floats, and numbers that stand for moments."""
        own = 1e-9 * np.maximum(1.0, np.abs(values.astype(np.float64)))
        if self._time == 1:
            return own
        rounded = [Line(self.columns[n]) for n in self.rule.signs if not self.columns[n].moments]
        steps = [self._time * (line.column.step or 1.0 / (line.scale or np.inf)) for line in rounded]
        return own + (sum(steps) / 2 + (self.line.column.step or 0)) / self._factor(self.rule.column)

    def check(self, edges: Sequence[Edge]) -> None:
        """Every sum lies in the bounds of the column, and above what it is said to lie above."""
        for name in self.rule.signs:
            if self._factor(name) > 1 and max(map(abs, Line(self.columns[name]).ends)) * self._time > _LONGEST:
                raise SchemaError(f"{self.rule}: {name!r} counts more time than dates can hold; narrow its bounds")
        low, high = (float(self._fitted(np.asarray([end]))[0]) for end in self._range(self.rule.signs, edges))
        first, last = self.line.ends
        slack = 1e-9 * max(1.0, abs(first), abs(last)) if self.line.column.step is None else 0.0
        if low < first - slack or high > last + slack:
            over = low - first, high - last
            ends = "" if self.line.column.moments else f" {low:,.10g} .. {high:,.10g}"
            days = f" ({over[0] / UNITS['day']:+,.1f} and {over[1] / UNITS['day']:+,.1f} days)" if not ends else ""
            raise SchemaError(
                f"{self.rule}: sums may lie outside the bounds of {self.rule.column!r} "
                f"({self.line.column.domain_words()}); it is computed, so wider bounds cost nothing: declare"
                f"{ends or ' them wider' + days}"
            )
        for edge in edges:
            if edge.high == self.rule.column:
                self._check_above(edge, edges)

    def _check_above(self, edge: Edge, edges: Sequence[Edge]) -> None:
        rest: Terms = dict(self.rule.signs)
        if edge.low in rest and rest[edge.low] == 1:
            del rest[edge.low]
        else:
            rest[edge.low] = -1
        least, _ = self._range(rest, edges)
        if least < 0 or (edge.strict and least == 0):
            raise SchemaError(
                f"{edge.rule}: {edge.high!r} is computed ({self.rule}), and its terms do not keep it above "
                f"{edge.low!r}; bounds that imply the rule do, or let another column be the sum"
            )

    def _range(self, terms: Mapping[str, int], edges: Sequence[Edge]) -> tuple[float, float]:
        """The least and largest sum of these terms; of two that are ordered, the difference is what has ends."""
        left, low, high = dict(terms), 0.0, 0.0
        for edge in edges:
            sign = left.get(edge.high, 0)
            if sign and left.get(edge.low) == -sign and self._factor(edge.low) == self._factor(edge.high):
                most = (Line(self.columns[edge.high]).ends[1] - Line(self.columns[edge.low]).ends[0]) * float(
                    self._factor(edge.high)
                )
                low, high = low + min(0.0, sign * most), high + max(0.0, sign * most)
                del left[edge.high], left[edge.low]
        for name, sign in left.items():
            ends = [sign * float(self._factor(name)) * end for end in Line(self.columns[name]).ends]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def encode(self, values: dict[str, Values]) -> None:
        values[self.rule.column] = self.value(values)

    def decode(self, values: dict[str, Values]) -> None:
        values[self.rule.column] = self.value(values)
