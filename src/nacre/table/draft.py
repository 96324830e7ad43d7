"""A first schema from the data itself. Everything in it is marked `read`: it is a draft to review, not a promise.

It goes by the same classes of texts and the same decision as a schema that is bought, with exact counts.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table.columns import Categorical, Column, Datetime, Identifier, Numeric, Tensor
from nacre.table.schema import MAX_COLUMNS, Schema
from nacre.table.sources.frames import to_arrow
from nacre.table.sources.storage import is_as_written, is_index
from nacre.table.values import casting, labels, reading
from nacre.table.values.instants import UNITS, isoformat
from nacre.table.votes import cells
from nacre.table.votes.decision import decide

MAX_LABELS = 100_000  # text with more distinct values than this is taken for names
FEW_ROWS = 50  # below this, all-different text may still be categories
_OFTEN = 5  # how often a label occurs in a list of categories; one that hardly repeats is free text
_LONG = 80  # characters of a text that is a sentence, on average
_UNIQUE = 0.9  # share of distinct numbers from which they may be names
_IDENTIFIER = re.compile(r"(^|[_\s-])(id|ID|Id|uuid|guid|key)$|[a-z]I[Dd]$")


def draft(table: Any, exclude: Iterable[str] = ()) -> Schema:
    """Guess kind, writing, domain and nullability of every column of a table or of Rows, in two passes.

    Raises SchemaError for too many columns and DataError for a column that cannot be modelled.
    """
    left_out = set(exclude)
    rows = table if hasattr(table, "batches") else to_arrow(table)
    names = list(rows.column_names)
    for name in left_out - set(names):
        raise SchemaError(f"exclude names {name!r}, which is not a column of the table; check its name")
    kept = [name for name in names if name not in left_out]
    if not kept:
        raise SchemaError("every column is excluded; keep at least one")
    if len(kept) > MAX_COLUMNS:
        raise SchemaError(
            f"the table has {len(kept):,} columns; at most {MAX_COLUMNS:,} can be modelled: leave columns out"
        )
    fields = rows.arrow_schema if hasattr(rows, "batches") else rows.schema
    looks = {name: _Look(name, is_as_written(fields.field(name))) for name in kept}
    for batch in _batches(rows):
        for name, look in looks.items():
            look.add(batch.column(name))
    columns = {name: look.column() for name, look in looks.items()}
    measures = {n: _Measure(n, c) for n, c in columns.items() if isinstance(c, (Numeric, Datetime))}
    for batch in _batches(rows) if measures else ():
        for name, measure in measures.items():
            measure.add(batch.column(name))
    columns |= {name: measure.column() for name, measure in measures.items()}
    return Schema({name: _read(column) for name, column in columns.items()})


def _batches(rows: Any) -> Iterable[Any]:
    return rows.batches() if hasattr(rows, "batches") else rows.to_batches()


def _read(column: Column) -> Column:
    return dataclasses.replace(column, provenance=dict.fromkeys(column.facts, "read"))


def _plain(array: pa.Array) -> pa.Array:
    array = labels.unpack(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


class _Look:
    """What is seen of one column at first: its classes, its labels, its arrays."""

    def __init__(self, name: str, untyped: bool):
        self.name, self.untyped = name, untyped
        self.votes = np.zeros(cells.COUNT, np.int64)
        self.labels: Counter[str] | None = Counter()
        self.arrays: _Arrays | None = None
        self.tz: str | None = None

    def add(self, array: pa.Array) -> None:
        array = _plain(array)
        kind = array.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            self.arrays = self.arrays or _Arrays(self.name)
            self.arrays.add(array)
            return
        self.votes += np.bincount(cells.of_column(array, self.untyped), minlength=cells.COUNT)
        if pa.types.is_timestamp(kind):
            self.tz = kind.tz
        if self.labels is not None and (labels.is_text(kind) or pa.types.is_time(kind)):
            found = pc.value_counts(labels.as_text(array).drop_null())
            self.labels.update(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist())))
            self.labels = None if len(self.labels) > MAX_LABELS else self.labels

    def column(self) -> Column:
        """The column without bounds; whole where it needs none."""
        if self.arrays is not None:
            return self.arrays.column()
        if is_index(self.name):
            return Identifier()
        found = decide(self.votes, 0.0, self.untyped)
        column = found.column("read")
        if isinstance(column, Datetime) and self.tz is not None:
            column = dataclasses.replace(column, tz=self.tz)
        if not isinstance(column, Categorical) or column.categories is not None:
            return column
        if self.labels is not None and not self.labels:
            raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")
        if self._free_text():
            return Identifier(text=True)
        return Categorical(tuple(sorted(self.labels or ())), nullable=column.nullable)

    def _free_text(self) -> bool:
        """Whether most texts hardly repeat, or are sentences."""
        if self.labels is None:
            return True
        rows = sum(self.labels.values())
        length = sum(len(label) * n for label, n in self.labels.items()) / rows
        often = sum(n for n in self.labels.values() if n >= _OFTEN)
        return rows > FEW_ROWS and (often < rows / 2 or length > _LONG)


class _Arrays:
    """What is seen of a column of arrays: one size for all, and the span of its numbers."""

    def __init__(self, name: str):
        self.name, self.size, self.good, self.nullable = name, None, True, False
        self.low, self.high = np.inf, -np.inf

    def add(self, array: pa.Array) -> None:
        self.nullable = self.nullable or array.null_count > 0
        sizes = pc.unique(pc.list_value_length(array).drop_null()).to_pylist()
        if not sizes:
            return
        self.size = sizes[0] if self.size is None else self.size
        values, null, bad = casting.floats(labels.unpack(pc.list_flatten(array)))
        self.good = self.good and sizes == [self.size] and not null.any() and not bad.any()
        if self.good and len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))

    def column(self) -> Column:
        if not self.good or not self.size or not np.isfinite([self.low, self.high]).all():
            raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")
        return Tensor((self.size,), (self.low, self.high), nullable=self.nullable)


class _Measure:
    """What is seen of a column of numbers or moments once its writing is known."""

    def __init__(self, name: str, start: Numeric | Datetime):
        self.name, self.start = name, start
        self.low: Any = None
        self.high: Any = None
        self.rows, self.unread = 0, False
        self.step = UNITS["day"]
        self.consecutive = True
        self.numbers: set[float] | None = set() if _IDENTIFIER.search(name) else None

    def add(self, array: pa.Array) -> None:
        if isinstance(self.start, Numeric):
            free = dataclasses.replace(self.start, integer=False, provenance={})
            values, null, bad = reading.numbers(_plain(array), free)
            seen = values[~null & np.isfinite(values)]
        else:
            values, null, bad = reading.instants(_plain(array), self.start)
            seen = values[~null]
        self.unread = self.unread or bool((null & bad).any())
        if not len(seen):
            return
        first = seen[0] if self.low is None else self.low
        whole = isinstance(self.start, Numeric) and len(seen) == len(values)
        self.consecutive = self.consecutive and whole and bool((seen == first + self.rows + np.arange(len(seen))).all())
        self.low = seen.min() if self.low is None else min(self.low, seen.min())
        self.high = seen.max() if self.high is None else max(self.high, seen.max())
        self.rows += len(seen)
        if isinstance(self.start, Datetime):
            self.step = next(s for s in sorted(UNITS.values(), reverse=True) if s <= self.step and not (seen % s).any())
        elif self.numbers is not None and len(self.numbers) <= MAX_LABELS:
            self.numbers.update(np.unique(seen).tolist())

    def column(self) -> Column:
        """The column with its bounds; names of rows and of persons as identifiers."""
        if self.low is None:
            raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")
        nullable = self.start.nullable or self.unread
        if isinstance(self.start, Datetime):
            return self._moments(self.start, nullable)
        whole = self.start.integer and bool(max(abs(self.low), abs(self.high)) < 2.0**53)
        if whole and self._names_rows():
            return Identifier()
        bounds = (int(self.low), int(self.high)) if whole else (float(self.low), float(self.high))
        return dataclasses.replace(self.start, bounds=bounds, integer=whole, nullable=nullable, provenance={})

    def _moments(self, start: Datetime, nullable: bool) -> Column:
        unit = start.unit
        if start.format is None or start.format.plain:
            fitting = [name for name, step in UNITS.items() if step == self.step]
            unit = "s" if start.tz is not None and fitting[0] == "day" else fitting[0]
            if start.format is None and start.unit != "day" and unit == "day":
                unit = start.unit  # moments, if all at midnight, are no dates
        bounds = tuple(isoformat(int(v), unit) for v in (self.low, self.high))
        return dataclasses.replace(start, bounds=bounds, unit=unit, nullable=nullable, provenance={})

    def _names_rows(self) -> bool:
        """Whether whole numbers are names: they count the rows from 0 or 1, or the column is called so and they rarely
        repeat."""
        if self.consecutive and self.low in (0, 1) and self.rows > FEW_ROWS:
            return True
        distinct = 0 if self.numbers is None else len(self.numbers)
        return distinct > 1_000 or (self.rows > FEW_ROWS and distinct >= _UNIQUE * self.rows)
