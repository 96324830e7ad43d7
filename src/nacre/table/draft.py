"""A first schema from the data itself. Everything in it is marked `read`: it is a draft to review, not a promise.

It goes by the same classes of texts and the same decision as a schema that is bought, with exact counts.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, SchemaError
from nacre.table.columns import KINDS, Column
from nacre.table.columns.measures import FEW_ROWS
from nacre.table.schema import MAX_COLUMNS, Schema
from nacre.table.sources.frames import to_arrow
from nacre.table.sources.storage import decimal_of, is_as_written
from nacre.table.values import casting, labels
from nacre.table.votes import cells
from nacre.table.votes.decision import decide

MAX_LABELS = 100_000  # text with more distinct values than this is taken for names
_OFTEN = 5  # how often a label occurs in a list of categories; one that hardly repeats is free text
_LONG = 80  # characters of a text that is a sentence, on average


def draft(table: object, exclude: Iterable[str] = ()) -> Schema:
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
    looks = {name: Look(name, is_as_written(f), decimal_of(f)) for name in kept for f in [fields.field(name)]}
    for batch in _batches(rows):
        for name, look in looks.items():
            look.add(batch.column(name))
    columns = {name: look.column() for name, look in looks.items()}
    measures = {name: m for name, c in columns.items() if (m := c.measure(name)) is not None}
    for batch in _batches(rows) if measures else ():
        for name, measure in measures.items():
            measure.add(_plain(batch.column(name)))
    columns |= {name: measure.column() for name, measure in measures.items()}
    return Schema({name: column.sourced("read") for name, column in columns.items()})


def _batches(rows: Any) -> Iterable[Any]:
    return rows.batches() if hasattr(rows, "batches") else rows.to_batches()


def _plain(array: pa.Array) -> pa.Array:
    array = labels.unpack(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


class Look:
    """What is seen of one column at first: its classes, its labels, its arrays. Kinds say whether it is theirs."""

    def __init__(self, name: str, untyped: bool, decimal: str | None = None):
        self.name, self.untyped, self.decimal = name, untyped, decimal
        self.votes = np.zeros(cells.COUNT, np.int64)
        self.moments = np.zeros(cells.COUNT, np.int64)  # the votes of texts in sources with types, were they open
        self.labels: Counter[str] | None = Counter()
        self.arrays: Arrays | None = None
        self.tz: str | None = None

    def add(self, array: pa.Array) -> None:
        array = _plain(array)
        kind = array.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            self.arrays = self.arrays or Arrays()
            self.arrays.add(array)
            return
        self.votes += np.bincount(cells.of_column(array, self.untyped), minlength=cells.COUNT)
        if labels.is_text(kind) and not self.untyped:
            self.moments += np.bincount(cells.of_column(array, True), minlength=cells.COUNT)
        if pa.types.is_timestamp(kind):
            self.tz = kind.tz
        if self.labels is not None and (labels.is_text(kind) or pa.types.is_time(kind)):
            found = pc.value_counts(labels.as_text(array).drop_null())
            self.labels.update(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist())))
            self.labels = None if len(self.labels) > MAX_LABELS else self.labels

    @functools.cached_property
    def found(self) -> Column | None:
        """What the classes say, without bounds and labels; None for arrays.

        A text of a source with types is a text, unless it is a date: SQLite has no other way to store one.
        """
        if self.arrays is not None:
            return None
        if self.moments.any() and (column := decide(self.moments, 0.0, True)).moments:
            return column.sourced("read")
        return decide(self.votes, 0.0, self.untyped, self.decimal).sourced("read")

    def column(self) -> Column:
        """The column without bounds; whole where it needs none."""
        for kind in reversed(KINDS.values()):
            if (column := kind.drafted(self)) is not None:
                return column
        raise DataError(f"column {self.name!r} has no values that nacre can model; leave it out or convert it")

    def free_text(self) -> bool:
        """Whether it is text, and most texts hardly repeat or are sentences."""
        if self.found is None or not (self.found.labelled and self.found.missing):
            return False
        if not self.labels:
            return self.labels is None
        rows = sum(self.labels.values())
        length = sum(len(label) * n for label, n in self.labels.items()) / rows
        often = sum(n for n in self.labels.values() if n >= _OFTEN)
        return rows > FEW_ROWS and (often < rows / 2 or length > _LONG)


class Arrays:
    """What is seen of a column of arrays: one size for all, and the span of its numbers."""

    def __init__(self) -> None:
        self.size, self.good, self.nullable = None, True, False
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
