"""What is seen of the values of a column once its writing is known: the bounds of a draft."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns.base import Column
from nacre.table.columns.identifier import Identifier
from nacre.table.values.instants import UNITS, isoformat

if TYPE_CHECKING:
    from nacre.table.columns.datetime import Datetime
    from nacre.table.columns.numeric import Numeric

FEW_ROWS = 50  # below this, all-different values may still be categories
MAX_NUMBERS = 100_000  # distinct numbers that are counted
_MANY = 1_000  # distinct whole numbers from which they are names, if the column is called so
_UNIQUE = 0.9  # and the share of rows that differ
_IDENTIFIER = re.compile(r"(^|[_\s-])(id|ID|Id|uuid|guid|key)$|[a-z]I[Dd]$")


class Measure:
    """The smallest and the largest value of a column, and whether some could not be read."""

    def __init__(self, name: str, start: Column):
        self.name, self.start = name, start
        self.low: Any = None
        self.high: Any = None
        self.rows, self.unread = 0, False

    def add(self, array: pa.Array) -> None:
        """Look at the values of an array that is no dictionary."""
        values, null, bad = self.start.read(array)
        self.unread = self.unread or bool((null & bad).any())
        seen = values[~null & np.isfinite(values)]
        if not len(seen):
            return
        self.low = seen.min() if self.low is None else min(self.low, seen.min())
        self.high = seen.max() if self.high is None else max(self.high, seen.max())
        self.see(seen, len(values))
        self.rows += len(seen)

    def see(self, seen: np.ndarray, rows: int) -> None:
        """Look at values, out of so many rows."""

    def column(self) -> Column:
        """The column with its bounds."""
        if self.low is None:
            raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")
        return self.bounded(self.start.nullable or self.unread)

    def bounded(self, nullable: bool) -> Column:
        raise NotImplementedError


class NumberMeasure(Measure):
    """Numbers; names of rows and of persons turn out as identifiers."""

    def __init__(self, name: str, start: Numeric):
        super().__init__(name, dataclasses.replace(start, integer=False, provenance={}))
        self.found, self.first = start, None
        self.consecutive = True
        self.numbers: set[float] | None = set() if _IDENTIFIER.search(name) else None

    def see(self, seen: np.ndarray, rows: int) -> None:
        self.first = seen[0] if self.first is None else self.first
        in_order = len(seen) == rows and bool((seen == self.first + self.rows + np.arange(rows)).all())
        self.consecutive = self.consecutive and in_order
        if self.numbers is not None and len(self.numbers) <= MAX_NUMBERS:
            self.numbers.update(np.unique(seen).tolist())

    def bounded(self, nullable: bool) -> Column:
        whole = self.found.integer and bool(max(abs(self.low), abs(self.high)) < 2.0**53)
        if whole and self._names_rows():
            return Identifier()
        bounds = (int(self.low), int(self.high)) if whole else (float(self.low), float(self.high))
        return dataclasses.replace(self.found, bounds=bounds, integer=whole, nullable=nullable, provenance={})

    def _names_rows(self) -> bool:
        """Whether whole numbers are names: they count the rows from 0 or 1, or the column is called so and they rarely
        repeat."""
        if self.consecutive and self.low in (0, 1) and self.rows > FEW_ROWS:
            return True
        distinct = 0 if self.numbers is None else len(self.numbers)
        return distinct > _MANY or (self.rows > FEW_ROWS and distinct >= _UNIQUE * self.rows)


class MomentMeasure(Measure):
    """Moments, and the coarsest unit of which all are whole ones."""

    def __init__(self, name: str, start: Datetime):
        super().__init__(name, start)
        self.found, self.step = start, UNITS["day"]

    def see(self, seen: np.ndarray, rows: int) -> None:
        self.step = next(s for s in sorted(UNITS.values(), reverse=True) if s <= self.step and not (seen % s).any())

    def bounded(self, nullable: bool) -> Column:
        start, unit = self.found, self.found.unit
        if start.format is None or start.format.plain:
            fitting = [name for name, step in UNITS.items() if step == self.step]
            unit = "s" if start.tz is not None and fitting[0] == "day" else fitting[0]
            if start.format is None and start.unit != "day" and unit == "day":
                unit = start.unit  # moments, if all at midnight, are no dates
        bounds = tuple(isoformat(int(v), unit) for v in (self.low, self.high))
        return dataclasses.replace(start, bounds=bounds, unit=unit, nullable=nullable, provenance={})
