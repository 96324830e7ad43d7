"""Values as the texts they are written as, and what a text file has to know to write a typed column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.formats import DateFormat, NumberFormat, TruthFormat
from nacre.table.values import labels

KEY = b"nacre.writing"  # of a field of an Arrow schema


def lettered(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table of that Arrow schema as a text file shows it: typed columns in their own writing, null as its word."""
    arrays = [_lettered(field, table.column(i)) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, names=table.schema.names)


def lettered_schema(schema: pa.Schema) -> pa.Schema:
    """Names and types of what `lettered` makes."""
    return pa.schema([pa.field(f.name, pa.string() if _told(f) else f.type) for f in schema])


def _told(field: pa.Field) -> Mapping[str, Any]:
    return json.loads((field.metadata or {}).get(KEY, b"{}"))


def _lettered(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    told = _told(field)
    for kind in (NumberFormat, DateFormat, TruthFormat):
        if kind.tag in told:
            format = kind.given(told[kind.tag])
            column = pa.chunked_array([format.write_typed(chunk) for chunk in column.chunks], pa.string())
    if told and not labels.is_text(column.type):
        column = column.cast(pa.string())
    return pc.fill_null(column, told["null"]) if "null" in told else column
