"""How a source stores its columns: a public fact, fixed before rows are looked at, that decides how values are read.

What a value is called follows from how it is stored. Were one part of a table to store persons as text and another as
numbers, one person could go by two names, and a cap on rows per person would hold for each of them: hence families of
types within which equal values have equal labels and names, and parts of one table that must agree on them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.naming import QUOTED, quoted
from nacre.table.schema import Schema
from nacre.table.values import labels

KEYS = "the columns are the keys of the first line of the file: that all lines are written with these keys is public"
_AS_WRITTEN = {b"nacre.storage": b"as written"}
_DECIMAL = b"nacre.decimal"


def as_written(name: str, decimal: str | None = None) -> pa.Field:
    """A column of a source without types, such as CSV: texts that may stand for numbers, dates or truth values.
    `decimal`: the mark that its numbers are declared to have."""
    return pa.field(name, pa.string(), metadata=_AS_WRITTEN | ({} if decimal is None else {_DECIMAL: decimal.encode()}))


def is_as_written(field: pa.Field) -> bool:
    """Whether what a text stands for is open. In sources with types a text is a text and a number a number."""
    return (field.metadata or {}).items() >= _AS_WRITTEN.items()


def decimal_of(field: pa.Field) -> str | None:
    """The decimal mark that the numbers of a column were declared to have, if they were."""
    return (field.metadata or {}).get(_DECIMAL, b"").decode() or None


def as_stored(schema: Schema, fields: pa.Schema) -> Schema:
    """The schema in which numbers, dates and truth values that a typed source stores as texts come out as texts, and
    numbers that are written as texts have the decimal mark declared for the source, where they have no format."""
    columns = dict(schema.columns)
    for field in (f for f in fields if f.name in columns):
        if decimal := decimal_of(field):
            columns[field.name] = columns[field.name].marked(decimal)
        elif family(field.type) == "text" and not is_as_written(field):
            columns[field.name] = columns[field.name].as_texts()
    return dataclasses.replace(schema, columns=columns)


_FAMILIES = (
    ("text", (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
              pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)),
    ("numbers", (pa.types.is_integer, pa.types.is_decimal, pa.types.is_float64)),
    ("numbers of 32 bits", (pa.types.is_float32,)),
    ("numbers of 16 bits", (pa.types.is_float16,)),
    ("truth values", (pa.types.is_boolean,)),
    ("dates", (pa.types.is_date,)),
    ("times of day", (pa.types.is_time,)),
    ("lengths of time", (pa.types.is_duration, pa.types.is_interval)),
    ("nested values", (pa.types.is_nested,)),
)  # fmt: skip
_ZONES = {True: "times without a zone", False: "times with a zone"}  # by whether there is none
_NOTHING = "nothing but missing values"
_WORDS = "|".join([*(name for name, _ in _FAMILIES), *_ZONES.values(), _NOTHING])
_FAMILY, _NEXT = re.compile(rf"({_WORDS}|[^\s:;,]+): "), re.compile(rf", |; ({_WORDS}|[^\s:;,]+): ")


def family(kind: pa.DataType) -> str | None:
    """The family of a type; None for the type null, which fits any."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name if kind.extension_name == "arrow.uuid" else family(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return family(kind.value_type)
    if pa.types.is_null(kind):
        return None
    if pa.types.is_timestamp(kind):
        return _ZONES[kind.tz is None]
    return next((name for name, tests in _FAMILIES if any(test(kind) for test in tests)), str(kind))


class Agreement:
    """The parts of a table seen so far; `add` raises DataError for one that stores a column in another family."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, pa.DataType, Any]] = {}

    def add(self, schema: pa.Schema, where: object) -> None:
        for field in schema:
            if (found := family(field.type)) is None:
                continue
            known, kind, other = self._seen.setdefault(field.name, (found, field.type, where))
            if known != found:
                raise DataError(
                    f"{where}: column {field.name!r} is stored as {field.type}, but as {kind} in {other}; the parts of "
                    "one table must store a column in one way: write them again with one type, or as text"
                )


def type_of_all(schemas: list[pa.Schema], column: str) -> pa.DataType:
    """The type in the first part where the column is not all null by its type."""
    kinds = [schema.field(column).type for schema in schemas]
    return next((kind for kind in kinds if family(kind) is not None), kinds[0])


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
        found = labels.run_by_run(array)
        return _unrolled(found) if exotic(found.type) else found
    return labels.without_views(array)


def told(fields: Iterable[pa.Field]) -> str:
    """The columns by how they are stored, in words: what a certificate says is public."""
    found: dict[str, list[str]] = {}
    for field in fields:
        found.setdefault(family(field.type) or _NOTHING, []).append(quoted(field.name))
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in found.items())


def can_be_told(text: str, names: Iterable[str]) -> bool:
    """Whether a text could be what `told` says of some of these columns: families and names, no word of its own."""
    said = {quoted(name) for name in names}
    marks = _FAMILY.match(text)
    while marks is not None:
        name = QUOTED.match(text, marks.end())
        if name is None or name[0] not in said:
            return False
        if name.end() == len(text):
            return True
        marks = _NEXT.match(text, name.end())
    return False
