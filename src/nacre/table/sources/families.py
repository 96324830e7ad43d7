"""Families of physical types: within one, equal values have equal labels and names; parts of one table must agree.

What a value is called follows from how it is stored. Were one part of a table to store persons as text and another as
numbers, one person could go by two names, and a cap on rows per person would hold for each of them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nacre.errors import DataError

_FAMILIES = (
    ("text", (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
              pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)),
    ("numbers", (pa.types.is_integer, pa.types.is_decimal, pa.types.is_float64)),
    ("short floats", (pa.types.is_float32, pa.types.is_float16)),
    ("truth values", (pa.types.is_boolean,)),
    ("dates", (pa.types.is_date,)),
    ("times of day", (pa.types.is_time,)),
    ("lengths of time", (pa.types.is_duration, pa.types.is_interval)),
    ("nested values", (pa.types.is_nested,)),
)  # fmt: skip


def family(kind: pa.DataType) -> str | None:
    """The family of a type; None for the type null, which fits any."""
    if isinstance(kind, pa.BaseExtensionType):
        return family(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return family(kind.value_type)
    if pa.types.is_null(kind):
        return None
    if pa.types.is_timestamp(kind):
        return "times without a zone" if kind.tz is None else "times with a zone"
    return next((name for name, tests in _FAMILIES if any(test(kind) for test in tests)), str(kind))


class Agreement:
    """The parts of a table seen so far; `add` raises DataError for one that stores a column in another family."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, pa.DataType, Any]] = {}

    def add(self, schema: pa.Schema, where: Any) -> None:
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
