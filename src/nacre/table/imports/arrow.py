"""The schema of an Arrow or Parquet file: names, types and metadata. What was computed from rows is not looked at, be
it the dictionaries of Arrow or the smallest and largest values of Parquet: only lists that a type itself declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.table.imports.base import DAY, INTEGER, MOMENT, NUMBER, TEXT, TRUTH, Described, Document, Told
from nacre.table.naming import is_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_ENUM = b"_PL_ENUM_VALUES2"  # polars: the list of an Enum, declared before there are rows
_MOST = 1_000_000


def claims(raw: object) -> bool:
    return not isinstance(raw, dict | list | str | int | float | bool | None)


def describe(raw: pa.Schema, name: str) -> Document:
    found = Described(name)
    for field in raw:
        index = is_index(field.name)  # of pandas: row numbers
        found.add(field.name, Told(INTEGER, unique=True, nullable=False) if index else _told(found, field))
    for key in raw.metadata or {}:
        if key not in (b"pandas", b"ARROW:schema"):
            found.leave(f"metadata under {key.decode(errors='replace')!r}")
    return Document({name: found})


def _told(found: Described, field: pa.Field) -> Told:
    import pyarrow as pa

    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        uuid = kind.extension_name == "arrow.uuid"
        return Told(TEXT, surrogate="uuid", nullable=field.nullable) if uuid else Told(None)
    values, ordered = None, False
    if pa.types.is_dictionary(kind):
        values, ordered, kind = _enum(field.metadata), bool(kind.ordered), kind.value_type
        if values is None:
            found.leave("its dictionary, which comes with rows: declare the labels", field.name)
    told = Told(_kind(kind), values=values, ordered=ordered and values is not None, nullable=field.nullable)
    if pa.types.is_timestamp(kind):
        told.tz = kind.tz
    elif pa.types.is_decimal(kind):
        told.decimals = kind.scale if 0 < kind.scale <= 15 else None
        told.kind = INTEGER if kind.scale == 0 else NUMBER
    elif told.kind in (INTEGER, NUMBER):
        found.leave(f"the width of numbers stored as {kind}", field.name)
    return told


def _kind(kind: pa.DataType) -> str | None:
    import pyarrow as pa

    tests = (
        (pa.types.is_boolean, TRUTH), (pa.types.is_integer, INTEGER), (pa.types.is_floating, NUMBER),
        (pa.types.is_decimal, NUMBER), (pa.types.is_date, DAY), (pa.types.is_timestamp, MOMENT),
        (pa.types.is_string, TEXT), (pa.types.is_large_string, TEXT), (pa.types.is_string_view, TEXT),
    )  # fmt: skip
    return next((own for test, own in tests if test(kind)), None)


def _enum(metadata: Mapping[bytes, bytes] | None) -> list[str] | None:
    """polars writes the length of each label, a semicolon and the label, one after the other."""
    data, at = (metadata or {}).get(_ENUM, b""), 0
    values: list[str] = []
    while at < len(data) and len(values) < _MOST:
        mark = data.find(b";", at, at + 12)
        size = data[at:mark] if mark > at else b""
        if not size.isdigit():
            return None
        at = mark + 1 + int(size)
        values.append(data[mark + 1 : at].decode())
    return values or None
