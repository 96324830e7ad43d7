"""From arrays back to Arrow. Types come from the schema alone, never from the file that was read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Tensor
from nacre.table.conditions import position
from nacre.table.encoding import Encoded, Values
from nacre.table.rules import Dependency, domain
from nacre.table.schema import Schema
from nacre.table.values.lettering import as_text, texts, writing_of
from nacre.table.values.reading import on_step


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type in which a column of this kind is written."""
    if as_text(column):
        return pa.string()
    if isinstance(column, Numeric):
        return pa.int64() if column.integer else pa.float64()
    if isinstance(column, Boolean):
        return pa.bool_()
    if isinstance(column, Datetime):
        moments = column.unit != "day" or (column.format is not None and column.format.clock)
        return pa.timestamp("us", column.tz) if moments else pa.date32()
    if isinstance(column, Tensor):
        return pa.list_(pa.float32(), int(np.prod(column.shape)))
    if isinstance(column, Identifier):
        return pa.string() if column.text else pa.int64()
    return pa.string()


def arrow_schema(schema: Schema) -> pa.Schema:
    """Names, types and nullability of the tables that `decode` makes."""
    return pa.schema([
        pa.field(n, arrow_type(c), nullable=c.nullable, metadata=writing_of(c)) for n, c in schema.columns.items()
    ])  # fmt: skip


def decode(encoded: Encoded, schema: Schema, start: int = 1) -> pa.Table:
    """A table of all columns of the schema, in its order: the modelled ones from `encoded`, dependents
    through their mapping, identifiers made anew from `start` on (give the next number when rows come in
    chunks).

    Raises DataError when a column that is not nullable has rows without a value.
    """
    rules = {rule.dependent: rule for rule in schema.dependencies}
    arrays = []
    for name, column in schema.columns.items():
        if isinstance(column, Identifier):
            arrays.append(_identifiers(column, start, encoded.rows))
        elif name in rules:
            source = schema.columns[rules[name].determinant]
            arrays.append(_dependent(rules[name], source, column, encoded[rules[name].determinant]))
        else:
            arrays.append(decode_column(encoded[name], column, name))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


def decode_column(values: Values, column: Column, name: str = "") -> pa.Array:
    """One column as Arrow, null where the values are null."""
    null = values.null
    if isinstance(column, (Categorical, Boolean)):
        null = null | (values.values < 0)
    if not column.nullable and null.any():
        raise DataError(
            f"column {name!r}: {int(null.sum())} row(s) have no value but the column is not nullable; "
            "declare it nullable, or give every row a value"
        )
    mask = null if null.any() else None
    if isinstance(column, Categorical):
        index = pa.array(values.values.astype(np.int32, copy=False), mask=mask)
        return pa.array(column.labels, pa.string()).take(index)
    if as_text(column):
        return texts(values.values, null, column)
    if isinstance(column, Boolean):
        return pa.array(values.values == 1, mask=mask)
    if isinstance(column, Datetime):
        return _moments(values.values, column, mask)
    if isinstance(column, Tensor):
        size = int(np.prod(column.shape))
        flat = pa.array(np.ascontiguousarray(values.values, dtype=np.float32).reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(flat, size)
        return lists if mask is None else pc.if_else(pa.array(mask), pa.scalar(None, lists.type), lists)
    numbers = values.values
    if isinstance(column, Numeric) and column.decimals is not None:
        numbers = on_step(numbers, column.decimals)
    return pa.array(numbers, arrow_type(column), mask=mask)


def _moments(values: np.ndarray, column: Datetime, mask: np.ndarray | None) -> pa.Array:
    if arrow_type(column) == pa.date32():
        return pa.array((values // column.step).astype(np.int32), pa.int32(), mask=mask).cast(pa.date32())
    return pa.array(values, pa.int64(), mask=mask).cast(arrow_type(column))


def _identifiers(column: Identifier, start: int, rows: int) -> pa.Array:
    numbers = np.arange(start, start + rows, dtype=np.int64)
    if not column.text:
        return pa.array(numbers)
    # The shape of a UUID of version 4 around a plain counter: unique by construction, tells nothing.
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 12, "0")
    return pc.binary_join_element_wise("00000000-0000-4000-8000-", digits, "")


def _dependent(rule: Dependency, source: Column, target: Column, values: Values) -> pa.Array:
    """The dependent through a lookup table over the determinant's domain; its last entry is for null."""
    keys = domain(source, str(rule))
    low = source.bounds[0] if isinstance(source, Numeric) and source.bounds else 0
    entries = [rule.mapping[key] for key in keys] + [rule.mapping.get(None)]
    spots = [0 if v is None else position(target, v, str(rule)) for v in entries]
    missing = np.array([v is None for v in entries])
    table = Values.of(np.array(spots), missing)
    index = values.values - low
    outside = values.null | (index < 0) | (index >= len(keys))
    return decode_column(table.take(np.where(outside, len(keys), index)), target, rule.dependent)
