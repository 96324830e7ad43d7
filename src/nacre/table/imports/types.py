"""What the names of SQL types say."""

from __future__ import annotations

import re

from nacre.table.imports.base import DAY, INTEGER, MOMENT, NUMBER, TEXT, TRUTH, Told

_KINDS = {
    **dict.fromkeys(("smallint", "int", "integer", "bigint", "int2", "int4", "int8", "tinyint", "smallserial", "serial",
                     "bigserial", "int64", "hugeint", "mediumint"), INTEGER),
    **dict.fromkeys(("real", "double", "double precision", "float", "float4", "float8", "float64", "numeric", "decimal",
                     "number", "money", "bignumeric", "bigdecimal"), NUMBER),
    **dict.fromkeys(("text", "varchar", "character varying", "char", "character", "bpchar", "citext", "string",
                     "nvarchar", "nchar", "name", "enum"), TEXT),
    **dict.fromkeys(("boolean", "bool"), TRUTH),
    "date": DAY,
    **dict.fromkeys(("timestamp", "timestamp without time zone", "timestamptz", "timestamp with time zone", "datetime",
                     "timestamp_ntz", "timestamp_tz", "timestampntz"), MOMENT),
}  # fmt: skip
_TYPE = re.compile(r"([a-z_ ]+[0-9]*[a-z_ ]*)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?([a-z ]*)")
_ZONED = ("timestamptz", "timestamp with time zone", "timestamp_tz")


def of_sql(name: str) -> Told:
    """The column of this SQL type. Moments with a zone are kept in UTC, as databases do."""
    found = _TYPE.fullmatch(" ".join(name.lower().split()))
    if found is None:
        return Told(None)
    base = f"{found.group(1).strip()} {found.group(4).strip()}".strip()
    if base == "uuid":
        return Told(TEXT, surrogate="uuid")
    kind = _KINDS.get(base)
    if base in ("numeric", "decimal", "number") and found.group(2):
        scale = int(found.group(3) or 0)
        return Told(NUMBER, decimals=scale) if scale else Told(INTEGER)
    if base == "money":
        return Told(NUMBER, decimals=2)
    return Told(kind, tz="UTC" if base in _ZONED else None)
