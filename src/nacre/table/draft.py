"""A first schema from the data itself. Everything in it is marked `read`: it is a draft to review, not a
promise."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table import casting, labels
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Tensor
from nacre.table.encoding import missing
from nacre.table.frames import to_arrow
from nacre.table.instants import UNITS, isoformat
from nacre.table.schema import MAX_COLUMNS, Schema

MAX_LABELS = 100_000  # text with more distinct values than this is taken for names
FEW_ROWS = 50  # below this, all-different text may still be categories
_UNIQUE = 0.9  # share of distinct values from which text is taken for names
_IDENTIFIER = re.compile(r"(^|[_\s-])(id|ID|Id|uuid|guid|key)$|[a-z]I[Dd]$")


def draft(table: Any, exclude: Iterable[str] = ()) -> Schema:
    """Guess the kind, domain and nullability of every column of a table or of Rows, in one pass.

    Raises SchemaError for too many columns and DataError for a column without a single value.
    """
    left_out = set(exclude)
    rows = table if hasattr(table, "batches") else to_arrow(table)
    batches = rows.batches() if hasattr(rows, "batches") else rows.to_batches()
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
    notes = {name: _Notes(name) for name in kept}
    for batch in batches:
        for name in kept:
            notes[name].add(batch.column(name))
    return Schema({name: note.column() for name, note in notes.items()})


class _Notes:
    """What has been seen of one column so far."""

    def __init__(self, name: str):
        self.name, self.rows, self.nulls = name, 0, 0
        self.spans: dict[str, tuple[Any, Any]] = {}  # smallest and largest value, by the way of reading
        self.blanks: set[str] = set()  # ways of reading by which some text means a missing value
        self.numbers: set[float] | None = set() if _IDENTIFIER.search(name) else None
        self.readers: list[str] | None = None  # ways to read the column that no value has contradicted yet
        self.labels: set[str] | None = set()
        self.whole, self.step, self.tz, self.size = True, UNITS["day"], None, None

    def add(self, array: pa.Array) -> None:
        array = labels.unpack(array)
        self.rows += len(array)
        self.nulls += int(missing(array).sum())
        if isinstance(array, pa.DictionaryArray):
            array = labels.unpack(array.dictionary.take(pc.unique(array.indices).drop_null()))
        if self.readers is None:
            self.readers = self._candidates(array.type)
        if len(array) > array.null_count:
            self.readers = [reader for reader in self.readers if getattr(self, f"_read_{reader}")(array)]

    def _candidates(self, kind: pa.DataType) -> list[str]:
        if pa.types.is_boolean(kind):
            return ["boolean"]
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return ["number"]
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return ["datetime"]
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            return ["tensor"]
        return ["boolean", "number", "datetime", "label"]

    # Each reader returns whether every value of the array can be read its way, and notes what it saw.

    def _read_boolean(self, array: pa.Array) -> bool:
        if labels.is_text(array.type) and not pc.all(pc.is_in(pc.ascii_lower(array.drop_null()), _WORDS)).as_py():
            return False  # 0 and 1 in text are numbers
        _, null, bad = casting.booleans(array)
        self._blank("boolean", null)
        return not bad.any()

    def _read_number(self, array: pa.Array) -> bool:
        values, null, bad = casting.floats(array)
        if bad.any():
            return False
        self._blank("number", null)
        seen = values[~null & np.isfinite(values)]
        if self.numbers is not None and len(self.numbers) <= MAX_LABELS:
            self.numbers.update(np.unique(seen).tolist())
        if len(seen):
            self.whole = self.whole and bool((np.rint(seen) == seen).all() and np.abs(seen).max() < 2.0**53)
            self._extend("number", seen.min(), seen.max())
        return True

    def _read_datetime(self, array: pa.Array) -> bool:
        values, null, bad = casting.instants(array, None)
        if bad.any():
            return False
        if pa.types.is_timestamp(array.type):
            self.tz = array.type.tz
            self.step = min(self.step, UNITS["s"])
        self._blank("datetime", null)
        seen = values[~null]
        if not len(seen):
            return True
        for step in sorted(UNITS.values(), reverse=True):
            if step <= self.step and not (seen % step).any():
                self.step = step
                break
        self._extend("datetime", seen.min(), seen.max())
        return True

    def _read_label(self, array: pa.Array) -> bool:
        if self.labels is not None:
            self.labels.update(pc.unique(labels.as_text(array)).drop_null().to_pylist())
            if len(self.labels) > MAX_LABELS:
                self.labels = None
        return True

    def _read_tensor(self, array: pa.Array) -> bool:
        sizes = pc.unique(pc.list_value_length(array).drop_null()).to_pylist()
        self.size = sizes[0] if self.size is None else self.size
        values, null, bad = casting.floats(labels.unpack(pc.list_flatten(array)))
        if sizes != [self.size] or null.any() or bad.any():
            return False
        self._extend("tensor", values.min(), values.max())
        return True

    def _extend(self, reader: str, low: Any, high: Any) -> None:
        old = self.spans.get(reader, (low, high))
        self.spans[reader] = (min(old[0], low), max(old[1], high))

    def _blank(self, reader: str, null: np.ndarray) -> None:
        if null.any():
            self.blanks.add(reader)

    def column(self) -> Column:
        """The guess, every fact marked `read`."""
        guess = self._guess()
        return dataclasses.replace(guess, provenance=dict.fromkeys(guess.facts, "read"))

    def _guess(self) -> Column:
        seen = self.rows - self.nulls
        if seen <= 0:
            raise DataError(
                f"column {self.name!r} has no values, only missing ones; leave it out, or write its kind by hand"
            )
        reader = (self.readers or ["none"])[0]
        nullable = self.nulls > 0 or reader in self.blanks
        if reader == "boolean":
            return Boolean(nullable=nullable)
        if reader == "label":
            return self._label(seen, nullable)
        if reader not in self.spans:
            raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")
        low, high = self.spans[reader]
        if reader == "datetime":
            return self._datetime((low, high), nullable)
        if reader == "tensor":
            return Tensor((self.size or 1,), (float(low), float(high)), nullable=nullable)
        if self._names_rows(seen):
            return Identifier()
        return Numeric((float(low), float(high)), integer=self.whole, nullable=nullable)

    def _names_rows(self, seen: int) -> bool:
        """Whether whole numbers are names: the column is called so and they rarely repeat."""
        distinct = 0 if self.numbers is None else len(self.numbers)
        return self.whole and (distinct > 1_000 or (seen > FEW_ROWS and distinct >= _UNIQUE * seen))

    def _datetime(self, span: tuple, nullable: bool) -> Datetime:
        unit = next(name for name, step in UNITS.items() if step == self.step)
        if self.tz is not None and unit == "day":
            unit = "s"
        low, high = (isoformat(int(v), unit) for v in span)
        return Datetime((low, high), tz=self.tz, unit=unit, nullable=nullable)

    def _label(self, seen: int, nullable: bool) -> Column:
        distinct = MAX_LABELS + 1 if self.labels is None else len(self.labels)
        unique = seen > FEW_ROWS and distinct >= _UNIQUE * seen
        if self.labels is None or unique:
            return Identifier(text=True)
        return Categorical(tuple(sorted(self.labels)), nullable=nullable)


_WORDS = pa.array(["true", "false", "t", "f", "yes", "no", "y", "n", ""])
