"""Columns of moments: dates and times."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from nacre.table.checking import UNNAMED, check_ends, need, sequence
from nacre.table.columns.base import Column, Measured
from nacre.table.columns.measures import Measure, MomentMeasure
from nacre.table.formats import DateFormat
from nacre.table.formats.stated import check_two_digit_years, stated_format
from nacre.table.grid import Grid, IntegerGrid
from nacre.table.values import casting, labels
from nacre.table.values.instants import UNITS, check_zone, is_date_only, microseconds
from nacre.table.values.stored import Values
from nacre.table.votes import spans

if TYPE_CHECKING:
    from nacre.table.draft import Look

_CLOCKS = {"day": "%Y-%m-%d", "hour": "%Y-%m-%d %H:%M:%S", "minute": "%Y-%m-%d %H:%M:%S", "s": "%Y-%m-%d %H:%M:%S"}

_LAST = {"hour": "T23:00", "minute": "T23:59", "s": "T23:59:59", "ms": "T23:59:59.999", "us": "T23:59:59.999999"}


@dataclasses.dataclass(frozen=True)
class Datetime(Measured):
    """Instants between `bounds` (ISO 8601, UTC unless they carry an offset), in whole steps of `unit`.

    With `tz`, values without an offset are local times of that zone, and synthetic values come out in it.
    `unit="day"` is a date: it has no zone. `format` says how they are written (the unit is as coarse as that); with
    `text`, or where it is not ISO 8601, they come out as texts.
    """

    bounds: tuple[str, str] | None = None
    tz: str | None = None
    unit: str = "s"
    format: DateFormat | None = None
    text: bool = False

    kind: ClassVar[str] = "datetime"
    moments = True
    spelt = True
    probe = "month"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "format", "nullable", "null_words")

    def _check(self) -> None:
        need(
            isinstance(self.unit, str) and self.unit in UNITS,
            f"unit is {self.unit!r}; choose one of {', '.join(UNITS)}",
        )
        self._set(**stated_format(self, DateFormat))
        if self.format is not None and UNITS[self.format.unit] > self.step:
            self._set(unit=self.format.unit)
        if self.tz is not None:
            need(isinstance(self.tz, str), f"tz is {self.tz!r}; write the name of a zone, such as 'UTC'")
            check_zone(self.tz, UNNAMED)
            need(self.unit != "day", f"unit 'day' is a date and has no zone, but tz is {self.tz!r}; drop one")
        if self.bounds is None:
            return
        bounds = tuple(sequence("bounds", self.bounds))
        ends = check_ends(tuple(microseconds(b, f"{UNNAMED}: bounds") for b in bounds), shown=bounds)
        for end, text in zip(ends, bounds, strict=True):
            need(
                end % self.step == 0,
                f"bound {text!r} is not a whole {self.unit}; round it, or use a finer unit",
            )
        self._set(bounds=tuple(b if isinstance(b, str) else b.isoformat() for b in bounds))
        check_two_digit_years(self.format, self.bounds)

    @property
    def step(self) -> int:
        """The unit in microseconds."""
        return UNITS[self.unit]

    @property
    def ends(self) -> tuple[int, int] | None:
        """The bounds in microseconds since the epoch, UTC."""
        if self.bounds is None:
            return None
        return microseconds(self.bounds[0], UNNAMED), microseconds(self.bounds[1], UNNAMED)

    @property
    def stated_ends(self) -> tuple[str, str] | None:
        return self.bounds

    @property
    def zone(self) -> str | None:
        return self.tz

    def domain_words(self, most: int | None = 8) -> str:
        if self.bounds is None:
            return super().domain_words(most)
        return " .. ".join(self.bounds if self.format is None else self.spelled(np.array(self.ends)).to_pylist())

    @classmethod
    def drafted(cls, look: Look) -> Column | None:
        found = look.found
        return dataclasses.replace(found, tz=look.tz or found.tz) if isinstance(found, cls) else None

    def measure(self, name: str) -> Measure:
        return MomentMeasure(name, self)

    def bounded_by(self, histogram: np.ndarray, sigma: float) -> Column:
        """Whole days as bounds of the unit; two digits of a year stand for a hundred years."""
        low, high = spans.month_bounds(histogram, sigma)
        if self.format is not None and any(t.directive == "y" for t in self.format.tokens):
            first = self.format.first_year
            ends = f"{first:04d}-01-01", f"{first + 99:04d}-12-31"
            low, high = (min(max(day, ends[0]), ends[1]) for day in (low, high))
        return self.bought((low, high + _LAST.get(self.unit, "")))

    # -- reading and writing ----------------------------------------------------------------------------------

    def read(self, array: pa.Array) -> casting.Parts:
        array = self.without_null_words(array)
        if self.format is not None and labels.is_text(array.type):
            return self.format.read(array, self.tz)
        return casting.instants(array, self.tz)

    def fitted(self, values: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Values:
        if self.step > 1:
            values = values - values % self.step  # floor: whole units, also before 1970
        return super().fitted(values, null, bad)

    @property
    def typed(self) -> pa.DataType:
        moments = self.unit != "day" or (self.format is not None and self.format.clock)
        return pa.timestamp("us", self.tz) if moments else pa.date32()

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        if self.typed == pa.date32():
            return pa.array((values // self.step).astype(np.int32), pa.int32(), mask=null).cast(pa.date32())
        return pa.array(values, pa.int64(), mask=null).cast(self.typed)

    @property
    def format_given(self) -> DateFormat | None:
        return self.format

    @property
    def format_of_typed(self) -> DateFormat | None:
        written = self.tz is None and (self.format is not None or self.unit in ("s", "minute", "hour"))
        return self._format if written else None

    @property
    def _format(self) -> DateFormat:
        return self.format or DateFormat(_CLOCKS.get(self.unit, "%Y-%m-%d %H:%M:%S.%f"))

    def spelled(self, values: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        return self._format.write(values, null, self.tz)

    # -- cells and conditions ---------------------------------------------------------------------------------

    def grid(self) -> Grid:
        assert self.ends is not None  # `Grid.of` refuses a column without
        return IntegerGrid.over(self, self.ends)

    def place_of(self, value: Any, where: str) -> int:
        return self.inside(microseconds(value, where), where, value, self.bounds)

    def end_of(self, value: Any, where: str, upper: bool) -> int:
        whole_day = upper and is_date_only(value)  # up to a day means to its end
        return microseconds(value, where) + (UNITS["day"] - 1 if whole_day else 0)
