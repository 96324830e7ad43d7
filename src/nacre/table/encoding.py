"""From Arrow to plain arrays by the schema, and back with types from the schema alone.

Encoding is a row-local map: a row encoded alone equals the same row encoded in any batch, and no value
raises. Numbers and instants outside their bounds are clamped, labels outside their list become `other` or
land nowhere; the flags that say so are for the owner of the data only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Numeric, Tensor
from nacre.table.schema import Schema
from nacre.table.values import casting, labels, reading
from nacre.table.values.misfits import Misfits


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """One column of n rows. What `values` holds where `null` is set means nothing.

    `outside` marks values that were not in the declared domain: clamped, sent to `other`, or, when they could
    not be read at all, null as well.
    """

    values: np.ndarray
    null: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, null: np.ndarray | None = None) -> Values:
        """Values inside the domain, null where `null` says so."""
        none = np.zeros(len(values), bool)
        return cls(values, none if null is None else null, none)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def unreadable(self) -> np.ndarray:
        """Where a value was there but could not be read."""
        return self.null & self.outside

    def take(self, rows: np.ndarray) -> Values:
        """The rows at these positions."""
        return Values(self.values[rows], self.null[rows], self.outside[rows])


@dataclasses.dataclass(frozen=True, slots=True)
class Encoded:
    """The modelled columns of some rows, by name."""

    columns: Mapping[str, Values]
    rows: int

    def __getitem__(self, name: str) -> Values:
        return self.columns[name]

    def outside(self) -> dict[str, Misfits]:
        """How many values of each column were outside the declared domain. For the owner only."""
        return {name: Misfits.of(v) for name, v in self.columns.items()}


def check_names(schema: Schema, found: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The columns found that the schema does not name (they are left alone).

    Raises SchemaError when a column that is needed, one to learn or the unit's, is not there.
    """
    needed = [*schema.modelled, *([schema.unit.column] if schema.unit else [])]
    lacking = [name for name in needed if name not in found]
    if lacking:
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        shown = ", ".join(repr(n) for n in list(found)[:8]) + (", ..." if len(found) > 8 else "")
        raise SchemaError(
            f"column {lacking[0]!r}{more} is in the schema but not in the table, which has {shown}; "
            "correct the name or remove the column from the schema"
        )
    return tuple(name for name in found if name not in schema.columns)


def encode(batch: pa.RecordBatch | pa.Table, schema: Schema) -> Encoded:
    """The modelled columns of a batch as arrays. Columns that the schema does not name are ignored."""
    check_names(schema, batch.schema.names)
    for name in schema.modelled:
        if schema.columns[name].missing == ("categories",):
            raise DomainNotDeclared(f"column {name!r}: categories are not declared; declare them, or have them bought")
    columns = {name: encode_column(batch.column(name), schema.columns[name]) for name in schema.modelled}
    return Encoded(columns, batch.num_rows)


def encode_column(array: pa.Array | pa.ChunkedArray, column: Column) -> Values:
    """One column as arrays. Without declared bounds nothing is clamped; categories must be declared."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    if not chunks:
        chunks = [pa.array([], array.type)]
    parts = [_encode_chunk(chunk, column) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    return Values(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("values", "null", "outside")))


def _encode_chunk(array: pa.Array, column: Column) -> Values:
    array = labels.unpack(array)
    if isinstance(column, Numeric):
        return _clamp(*_apply(lambda a: reading.numbers(a, column), array), column.bounds)
    if isinstance(column, Categorical):
        return _labels(array, column)
    if isinstance(column, Boolean):
        values, null, bad = _apply(lambda a: reading.booleans(a, column), array)
        return Values(np.where(null, np.int32(-1), values), null, bad)
    if isinstance(column, Datetime):
        values, null, bad = _apply(lambda a: reading.instants(a, column), array)
        if column.step > 1:
            values = values - values % column.step  # floor: whole units, also before 1970
        return _clamp(values, null, bad, column.ends)
    if isinstance(column, Tensor):
        return _tensor(array, column)
    raise SchemaError(f"a {column.kind} column is not encoded: it is made anew, never learnt")


def _apply(read: Callable[[pa.Array], casting.Parts], array: pa.Array) -> casting.Parts:
    """`read` on the array, or on its distinct values when it comes as a dictionary."""
    if not isinstance(array, pa.DictionaryArray):
        return read(array)
    words = labels.unpack(array.dictionary)
    values, null, bad = _apply(read, pa.concat_arrays([words, pa.nulls(1, words.type)]))
    last = len(words)  # the null added at the end stands for a null index
    index = pc.fill_null(array.indices.cast(pa.int64()), last).to_numpy(zero_copy_only=False)
    return values[index], null[index], bad[index]


def _clamp(values: np.ndarray, null: np.ndarray, bad: np.ndarray, ends: tuple | None) -> Values:
    anchor = 0 if ends is None else ends[0]
    if null.any():
        values = np.where(null, values.dtype.type(anchor), values)
    if ends is None:
        return Values(values, null, bad)
    low, high = values.dtype.type(ends[0]), values.dtype.type(ends[1])
    beyond = (values < low) | (values > high)
    if beyond.any():
        values = np.clip(values, low, high)
    return Values(values, null, bad | beyond)


def _labels(array: pa.Array, column: Categorical) -> Values:
    if column.categories is None:
        raise DomainNotDeclared("categories are not declared; declare them, or have them bought")

    def codes(words: pa.Array) -> casting.Parts:
        words = reading.without_null_words(words, column)
        text = labels.as_text(words)
        declared = labels.as_stored(column.labels, words.type)
        found = pc.index_in(text, value_set=pa.array(declared, text.type))
        code = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
        null = labels.nulls(words) | _blank(words)
        return code, null, (code < 0) & ~null

    code, null, bad = _apply(codes, array)
    if column.other is not None:
        code = np.where(bad, np.int32(column.code_of[column.other]), code)
    return Values(code.astype(np.int32, copy=False), null, bad)


def missing(array: pa.Array) -> np.ndarray:
    """Where a value is missing: null, NaN or the empty text."""

    def look(words: pa.Array) -> casting.Parts:
        found = labels.nulls(words) | _blank(words)
        return found, found, found

    return _apply(look, labels.unpack(array))[0]


def _blank(words: pa.Array) -> np.ndarray:
    """Values that mean missing: the empty text and NaN."""
    if labels.is_text(words.type):
        return casting.mask(pc.equal(words, ""))
    if pa.types.is_floating(words.type):
        return casting.mask(pc.is_nan(words))
    return np.zeros(len(words), bool)


def _tensor(array: pa.Array, column: Tensor) -> Values:
    size = int(np.prod(column.shape))
    values = np.zeros((len(array), size), np.float32)
    missing = labels.nulls(array)
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        array = array.cast(pa.large_list(kind.value_type))
    elif not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return Values(values.reshape(-1, *column.shape), np.ones(len(array), bool), ~missing)
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    cells, null, _ = casting.floats(labels.unpack(array.values))
    fits = ~missing & (np.diff(offsets) == size)
    index = offsets[:-1][fits][:, None] + np.arange(size)
    fits[fits] = ~null[index].any(axis=1)
    index = offsets[:-1][fits][:, None] + np.arange(size)
    values[fits] = cells[index]
    outside = ~missing & ~fits
    if column.bounds is not None:
        low, high = np.float32(column.bounds[0]), np.float32(column.bounds[1])
        outside |= fits & ((values < low) | (values > high)).any(axis=1)
        values = np.clip(values, low, high)
    return Values(values.reshape(-1, *column.shape), ~fits, outside)
