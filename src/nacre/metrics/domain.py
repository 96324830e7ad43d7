"""The public description of columns on which tables are compared: ranges and category lists, no data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table import Schema

if TYPE_CHECKING:
    import pandas as pd

    from nacre.table import Schema

MISSING = -1  # code of a null
UNKNOWN = -2  # code of a value outside the declared categories


@dataclass(frozen=True)
class Variable:
    """One column: a number (or date) with a public range, or a category with a public list of labels."""

    name: str
    bounds: tuple[float, float] | None = None
    categories: tuple[str, ...] | None = None
    integer: bool = False
    nullable: bool = False
    time: bool = False
    zone: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        if (self.bounds is None) == (self.categories is None):
            raise DomainNotDeclared(
                f"column {self.name!r}: evaluation compares tables on a public domain; "
                "declare either bounds (low, high) or categories"
            )
        if self.bounds is not None and not self.bounds[0] <= self.bounds[1]:
            raise SchemaError(f"column {self.name!r}: bounds {self.bounds} are reversed; write (low, high)")

    @property
    def numeric(self) -> bool:
        return self.bounds is not None

    def numbers(self, values: object) -> np.ndarray:
        """`raw` values clipped to the bounds: what models, correlations and queries read."""
        assert self.bounds is not None
        return np.clip(self.raw(values), *self.bounds)

    def beyond(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the `raw` values lie below and above the bounds. A millionth of the range is forgiven: float32."""
        assert self.bounds is not None
        low, high = self.bounds
        hair = 1e-6 * (high - low)
        return raw < low - hair, raw > high + hair

    def outside(self, values: object) -> np.ndarray:
        """Which values are neither null nor in the public range or list (nor covered by a label for all others)."""
        if self.numeric:
            below, above = self.beyond(self.raw(values))
            return below | above
        return self.codes(values) == UNKNOWN

    def raw(self, values: Any) -> np.ndarray:
        """float64 values as they are, rounded where the column is integer; null is NaN.

        Text that is not a number counts as null. Dates become seconds since 1970 in UTC; values of a
        datetime type without a zone are local times of the column's zone, UTC if it has none.
        """
        import pandas as pd

        if self.time:
            local = self.zone is not None and values.dtype.kind == "M" and values.dt.tz is None
            values = values.dt.tz_localize(self.zone, ambiguous="NaT", nonexistent="NaT") if local else values
            stamps = pd.to_datetime(values, utc=True, errors="coerce")
            raw = stamps.astype("datetime64[us, UTC]").astype("int64").to_numpy() / 1e6
            raw = np.where(stamps.isna().to_numpy(), np.nan, raw)
        else:
            parsed: Any = pd.to_numeric(values, errors="coerce")
            raw = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.round(raw) if self.integer else raw

    def codes(self, values: Any) -> np.ndarray:
        """Position of every value in `categories`; MISSING for a null. Any other value is UNKNOWN, or takes
        the label declared for such values."""
        import pandas as pd

        assert self.categories is not None
        null = values.isna().to_numpy()
        # Labels are compared as text, so that 1, "1" and np.int8(1) are the same category.
        if isinstance(values.dtype, pd.CategoricalDtype):
            distinct, inverse = [str(c) for c in values.cat.categories], values.cat.codes.to_numpy()[~null]
        else:
            found = values[~null].astype(object).map(str).to_numpy(dtype=str)
            distinct, inverse = np.unique(found, return_inverse=True)
        place = pd.Index(self.categories).get_indexer(pd.Index(distinct))
        codes = np.full(len(values), MISSING, dtype=np.int64)
        outside = UNKNOWN if self.other is None else self.categories.index(self.other)
        codes[~null] = np.where(place < 0, outside, place)[inverse]
        return codes


@dataclass(frozen=True)
class Domain:
    """The columns that are compared, in order."""

    variables: tuple[Variable, ...]

    @classmethod
    def of(cls, description: Any) -> Domain:
        """From a `Domain`, a `nacre.Schema`, or a mapping of column to (low, high) or a list of labels.

        Identifiers and tensors are left out: neither has a table of counts to compare. A column without
        declared bounds or categories is a `DomainNotDeclared` error.
        """
        if isinstance(description, Domain):
            return description
        if isinstance(description, Mapping):
            return cls(tuple(_from_plain(name, fact) for name, fact in description.items()))
        return cls(tuple(_from_schema(description)))

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise SchemaError(f"no column {name!r}; the description has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)

    @property
    def numbers(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.numeric)

    @property
    def classes(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if not v.numeric)

    def check(self, table: pd.DataFrame, what: str) -> None:
        """Refuse a table that lacks a described column, or has no rows, before any work is done."""
        lacking = [n for n in self.names if n not in table.columns]
        if lacking:
            raise SchemaError(f"the {what} table lacks the column(s) {', '.join(lacking)}")
        if len(table) == 0:
            raise SchemaError(f"the {what} table has no rows")


def _from_plain(name: str, fact: Any) -> Variable:
    """(low, high) is a range; a list, or a tuple of text, is a list of labels; null is always allowed."""
    if isinstance(fact, Variable):
        return fact
    if isinstance(fact, tuple) and len(fact) == 2 and not any(isinstance(x, str) for x in fact):
        return Variable(name, bounds=(float(fact[0]), float(fact[1])), nullable=True)
    return Variable(name, categories=tuple(str(label) for label in fact), nullable=True)


def _from_schema(schema: Schema) -> Iterator[Variable]:
    for name, column in schema.columns.items():
        null = column.nullable
        if column.labelled:
            yield Variable(name, categories=column.labels or None, nullable=null, other=column.others)
        elif column.measured:
            unit = 1e6 if column.moments else 1  # microseconds become seconds
            ends = None if column.ends is None else (column.ends[0] / unit, column.ends[1] / unit)
            yield Variable(name, ends, None, column.whole, null, column.moments, column.zone)
