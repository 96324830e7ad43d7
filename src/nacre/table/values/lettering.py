"""Values as the texts they are written as, and what a text file has to know to write a typed column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.columns import Boolean, Column, Datetime, Numeric
from nacre.table.formats import DateFormat, Format, NumberFormat, TruthFormat
from nacre.table.values import labels

_KEY = b"nacre.writing"  # of a field of an Arrow schema
_CLOCKS = {"day": "%Y-%m-%d", "hour": "%Y-%m-%d %H:%M:%S", "minute": "%Y-%m-%d %H:%M:%S", "s": "%Y-%m-%d %H:%M:%S"}
_FORMATS: dict[str, type[Format]] = {"number": NumberFormat, "date": DateFormat, "truth": TruthFormat}


def as_text(column: Column) -> bool:
    """Whether the column comes out as texts though its values are none."""
    return isinstance(column, (Numeric, Boolean, Datetime)) and column.text


def format_of(column: Numeric | Boolean | Datetime) -> Format:
    """The declared format, or the plain one of the kind."""
    if column.format is not None:
        return column.format
    if isinstance(column, Numeric):
        return NumberFormat()
    if isinstance(column, Boolean):
        return TruthFormat()
    return DateFormat(_CLOCKS.get(column.unit, "%Y-%m-%d %H:%M:%S.%f"))


def texts(values: np.ndarray, null: np.ndarray | None, column: Column) -> pa.Array:
    """The values of a column as texts in its own writing."""
    assert isinstance(column, (Numeric, Boolean, Datetime))
    format = format_of(column)
    if isinstance(format, DateFormat):
        return format.write(values, null, column.tz)  # type: ignore[union-attr]
    if isinstance(format, NumberFormat):
        return format.write(values, null, column.decimals)  # type: ignore[union-attr]
    return format.write(values == 1, null)


def writing_of(column: Column) -> dict[bytes, bytes] | None:
    """What a text file needs beside the Arrow type: the word for null, the format of a typed column.

    It travels as metadata of the Arrow field, so that whoever writes a table to CSV writes it as it was read.
    """
    told: dict[str, Any] = {}
    if column.null_words:
        told["null"] = column.null_words[0]
    if isinstance(column, (Numeric, Boolean, Datetime)) and not column.text and (found := _typed_format(column)):
        told[found[0]] = found[1].to_json()
    return {_KEY: json.dumps(told, ensure_ascii=False).encode()} if told else None


def _typed_format(column: Numeric | Boolean | Datetime) -> tuple[str, Format] | None:
    """The format that differs from what Arrow itself writes."""
    if isinstance(column, Datetime):
        written = column.tz is None and (column.format is not None or column.unit in ("s", "minute", "hour"))
        return ("date", format_of(column)) if written else None
    if column.format is None:
        return None
    return ("number" if isinstance(column, Numeric) else "truth", column.format)


def lettered(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table of that Arrow schema as a text file shows it: typed columns in their own writing, null as its word."""
    arrays = [_lettered(field, table.column(i)) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, names=table.schema.names)


def lettered_schema(schema: pa.Schema) -> pa.Schema:
    """Names and types of what `lettered` makes."""
    return pa.schema([pa.field(f.name, pa.string() if _told(f) else f.type) for f in schema])


def _told(field: pa.Field) -> Mapping[str, Any]:
    return json.loads((field.metadata or {}).get(_KEY, b"{}"))


def _lettered(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    told = _told(field)
    for name, kind in _FORMATS.items():
        if name in told:
            format = kind.given(told[name])
            parts = [_written(chunk, format) for chunk in column.chunks]
            column = pa.chunked_array(parts, pa.string())
    if told and not labels.is_text(column.type):
        column = column.cast(pa.string())
    return pc.fill_null(column, told["null"]) if "null" in told else column


def _written(array: pa.Array, format: Format) -> pa.Array:
    null = array.is_null().to_numpy(zero_copy_only=False)
    if isinstance(format, DateFormat):
        whole = array.cast(pa.timestamp("us")).cast(pa.int64())
    else:
        whole = array.cast(pa.int8()) if isinstance(format, TruthFormat) else array
    return format.write(pc.fill_null(whole, 0).to_numpy(zero_copy_only=False), null)
