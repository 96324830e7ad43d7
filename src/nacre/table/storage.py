"""How a source stores its columns: a public fact, fixed before rows are looked at, that decides how values are read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.columns import Boolean, Datetime, Numeric
from nacre.table.labels import is_binary, is_text
from nacre.table.schema import Schema

NOTHING = "nothing but missing values"
_AS_WRITTEN = {b"nacre.storage": b"as written"}


_INDEX = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__|rownames")


def is_index(name: str) -> bool:
    """Whether a library gives this name to row numbers that it saves with a table."""
    return _INDEX.fullmatch(name) is not None


def as_written(name: str) -> pa.Field:
    """A column of a source without types, such as CSV: texts that may stand for numbers, dates or truth values."""
    return pa.field(name, pa.string(), metadata=_AS_WRITTEN)


def is_as_written(field: pa.Field) -> bool:
    """Whether what a text stands for is open. In sources with types a text is a text and a number a number."""
    return (field.metadata or {}).items() >= _AS_WRITTEN.items()


def texts_stay(schema: Schema, fields: pa.Schema) -> Schema:
    """The schema in which numbers, dates and truth values that a typed source stores as texts come out as texts."""
    columns = dict(schema.columns)
    for name, column in schema.columns.items():
        if not isinstance(column, (Numeric, Datetime, Boolean)) or column.text or name not in fields.names:
            continue
        field = fields.field(name)
        if family(field.type) == "text" and not is_as_written(field):
            columns[name] = dataclasses.replace(column, text=True)
    return dataclasses.replace(schema, columns=columns)


def family(kind: pa.DataType) -> str:
    """What values of a physical type are: two types of one family read the same value in the same way."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name if kind.extension_name == "arrow.uuid" else family(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return family(kind.value_type)
    if pa.types.is_null(kind):
        return NOTHING
    if is_text(kind) or is_binary(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return "text"
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_float64(kind):
        return "numbers"
    if pa.types.is_floating(kind):
        return f"numbers of {kind.bit_width} bits"
    if pa.types.is_boolean(kind):
        return "truth values"
    if pa.types.is_date(kind):
        return "dates"
    if pa.types.is_time(kind):
        return "times of day"
    if pa.types.is_timestamp(kind):
        return "moments" if kind.tz is None else "moments in a time zone"
    return "arrays" if pa.types.is_nested(kind) else str(kind)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without views and runs, which few of Arrow's functions know: the same values, one by one."""
    kinds = batch.schema.types
    if not any(map(exotic, kinds)):
        return batch
    arrays = [_unrolled(array) if exotic(kind) else array for array, kind in zip(batch.columns, kinds)]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def exotic(kind: pa.DataType) -> bool:
    """Whether values come as views or as runs of equal ones."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_run_end_encoded(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)


def _unrolled(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return _unrolled(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        found = pc.run_end_decode(array)
        return _unrolled(found) if exotic(found.type) else found
    return array.cast(pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary())


def told(fields: Iterable[pa.Field]) -> str:
    """The columns by how they are stored, in words: what a certificate says is public."""
    found: dict[str, list[str]] = {}
    for field in fields:
        found.setdefault(family(field.type), []).append(field.name)
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in found.items())
