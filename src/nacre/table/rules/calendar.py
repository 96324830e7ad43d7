"""Moments that are modelled by what the calendar and the clock say of them, so that their shapes are kept: times of the
day, days of the week, seasons."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.cells import ONE_BY_ONE
from nacre.table.conditions import Between, Condition
from nacre.table.rules.base import RowRule
from nacre.table.rules.presence import Carried
from nacre.table.rules.steps import Split, Step
from nacre.table.values.civil import DAY, Civil
from nacre.table.values.instants import UNITS
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEKS = 53  # of a year, at most (ISO 8601)
_QUARTER = 15 * UNITS["minute"]
_MONDAY = 3  # days from a Monday to 1970-01-01


@dataclasses.dataclass(frozen=True)
class Calendar(RowRule):
    """The moments of `column` are modelled as week, day of the week and time of the day of its zone; where their bounds
    span more weeks than have a cell each, as year and week of the year. Every row keeps it."""

    column: str

    name: ClassVar[str] = "calendar"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def told(self) -> str:
        return ""

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        column = columns[self.column]
        if not column.moments:
            raise SchemaError(f"{self}: column {self.column!r} is {column.kind}; name a column of dates or moments")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        return np.zeros(len(values[self.column]), bool)

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        parts = Parts(self, columns[self.column])
        if not columns[self.column].nullable:
            return (parts,)
        first, *others = parts.makes
        return parts, Carried(self, first, tuple(others), columns, None, True)

    def __str__(self) -> str:
        return f"calendar of {self.column}"


@dataclasses.dataclass(frozen=True, eq=False)
class Parts(Split):
    """A column of moments as weeks, days of the week and times of the day. The first part carries its nulls."""

    rule: Calendar
    column: Column

    @property
    def takes(self) -> tuple[str, ...]:
        return (self.rule.column,)

    @property
    def carrier(self) -> str:
        return next(iter(self.makes))

    @functools.cached_property
    def _ends(self) -> tuple[int, int]:
        assert self.column.ends is not None  # rules refuse a column without
        return self.column.ends

    @functools.cached_property
    def _civil(self) -> Civil:
        return Civil(self.column.zone, *self._ends)

    @functools.cached_property
    def _days(self) -> tuple[int, int]:
        """The first and the last day."""
        first, last = (int(self._civil.shown(np.array([end]))[0]) // DAY for end in self._ends)
        return first, last

    @property
    def _unit(self) -> int:
        return self.column.step or 1

    @functools.cached_property
    def _step(self) -> int:
        """The unit of time of day, of which what clocks show is always a multiple."""
        return math.gcd(self._unit, *(abs(o) for o in self._civil.offsets))

    @property
    def _clock(self) -> bool:
        """Whether there is a time of day: not for dates."""
        return self._step < DAY

    @functools.cached_property
    def _by_year(self) -> bool:
        first, last = (_week(np.array(self._days)) // 7).tolist()
        return last - first > ONE_BY_ONE

    @functools.cached_property
    def _most(self) -> int:
        """The largest time of day. Those that clocks show for the second time on a day come after all others."""
        times = self._civil.repeated
        again = 0 if times is None else times[1] - times[0]
        return (DAY + again) // self._step - 1

    @functools.cached_property
    def makes(self) -> Mapping[str, Column]:  # type: ignore[override]
        from nacre.table.columns import Categorical, Numeric

        name, null = self.rule.column, self.column.nullable
        whole = functools.partial(Numeric, integer=True, nullable=null)
        first, last = self._days
        found: dict[str, Column] = {}
        if self._by_year:
            years, _ = _iso(np.array([first, last]))
            found[f"{name}, year"] = whole((int(years[0]), int(years[1])))
            found[f"{name}, week of the year"] = whole((1, WEEKS))
        else:
            found[f"{name}, week"] = whole((0, (_monday(last) - _monday(first)) // 7))
        found[f"{name}, day of the week"] = Categorical(WEEKDAYS, nullable=null)
        if self._clock:
            cells = self._quarters()
            edges = (*cells, self._most) if cells else None
            found[f"{name}, time of day"] = whole((0, self._most), edges=edges, atoms=cells)
        return found

    def _quarters(self) -> tuple[int, ...]:
        """Where the cells of times begin: quarters of an hour, whose first moments, at which times of day pile up, are
        cells of their own. Nothing where every time has a cell."""
        if self._most < ONE_BY_ONE or _QUARTER % self._step:
            return ()
        return tuple(range(0, self._most, _QUARTER // self._step))

    # -- rows ---------------------------------------------------------------------------------------------------

    def encode(self, values: dict[str, Values]) -> None:
        own = values[self.rule.column]
        moments = np.where(own.null, self._ends[0], own.values)
        shown = self._civil.shown(moments)
        day = shown // DAY
        if self._by_year:
            found = [*_iso(day)]
        else:
            found = [(day - _monday(self._days[0])) // 7]
        found.append(((day + _MONDAY) % 7).astype(np.int32))
        if self._clock:
            found.append(self._times(moments, shown))
        for name, part in zip(self.makes, found):
            values[name] = Values.of(part, own.null)

    def _times(self, moments: np.ndarray, shown: np.ndarray) -> np.ndarray:
        time = shown % DAY
        if (among := self._civil.repeated) is not None:
            time = np.where(self._civil.second(moments, shown), DAY + time - among[0], time)
        return time // self._step

    def decode(self, values: dict[str, Values]) -> None:
        own = [values[name] for name in self.makes]
        null = own[0].null
        parts = [np.where(null, 0, part.values).astype(np.int64) for part in own]
        day = self._inside(_day(parts[0], parts[1], parts[2]) if self._by_year else
                           _monday(self._days[0]) + 7 * parts[0] + parts[1])  # fmt: skip
        moments = self._at(day, parts[-1] * self._step) if self._clock else self._civil.moments(day * DAY)
        moments = np.clip(moments - moments % self._unit, *self._ends)
        values[self.rule.column] = Values.of(moments, null)

    def _inside(self, day: np.ndarray) -> np.ndarray:
        """Days within the bounds: the nearest same day of the week, where there is one."""
        first, last = self._days
        early, late = first + (day - first) % 7, last - (last - day) % 7
        return np.clip(np.where(day < first, early, np.where(day > last, late, day)), first, last)

    def _at(self, day: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Moments at which clocks show these times of these days."""
        if (among := self._civil.repeated) is None:
            return self._civil.moments(day * DAY + time)
        second = time >= DAY
        return self._civil.moments(day * DAY + np.where(second, time - DAY + among[0], time), second)

    # -- conditions ---------------------------------------------------------------------------------------------

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], set[str]]:
        """Null at once; of a range, the weeks (or years) that it meets."""
        condition = where.get(self.rule.column)
        if condition is None or (condition.null and condition.spans):
            return {}, set()
        name, column = next(iter(self.makes.items()))
        if not condition.spans:
            none = Condition.of(None, column, condition.place)
            return {name: none}, {self.rule.column} if condition.null else set()
        ends = np.array([condition.spans[0][0], condition.spans[-1][1]], np.int64)
        held: dict[str, Values] = {self.rule.column: Values.of(ends)}
        self.encode(held)
        low, high = held[name].values.tolist()
        return {name: Condition(column, ((low, high),), False, Between(low, high), condition.place)}, set()


def _week(day: np.ndarray) -> np.ndarray:
    """The Monday on or before a day."""
    return day - (day + _MONDAY) % 7


def _monday(day: int) -> int:
    return day - (day + _MONDAY) % 7


def _iso(day: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(year, week of the year from 1 on) of ISO 8601: a week is of the year that has its Thursday."""
    thursday = _week(day) + 3
    year = thursday.astype("datetime64[D]").astype("datetime64[Y]")
    first = year.astype("datetime64[D]").astype(np.int64)
    return year.astype(np.int64) + 1970, (thursday - first) // 7 + 1


def _day(year: np.ndarray, week: np.ndarray, weekday: np.ndarray) -> np.ndarray:
    """The day of a week of a year; in years of 52 weeks, the last week is also the 53rd."""
    fourth = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64) + 3  # of January
    monday = _week(fourth) + 7 * (week - 1)
    return np.where(_iso(monday)[0] == year, monday, monday - 7) + weekday
