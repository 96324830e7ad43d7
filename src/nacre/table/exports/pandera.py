"""A schema for pandera (`pandera.io.from_yaml`), of the pandas table that `Release.sample` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.errors import SchemaError
from nacre.table.columns import Boolean, Column, Datetime, Identifier, Tensor, Text
from nacre.table.exports.base import Export, Subject, told
from nacre.table.schema import Schema

if TYPE_CHECKING:
    from nacre.typed import Json


def write(schema: Schema, subject: Subject) -> Export:
    try:
        import yaml
    except ImportError:
        raise SchemaError("YAML is written by PyYAML, which is not installed: pip install 'nacre[yaml]'") from None
    left: dict[str, list[str]] = {}
    columns = {name: _column(name, column, left) for name, column in schema.columns.items()}
    document = {"schema_type": "dataframe", "columns": columns, "checks": None, "index": None, "coerce": False,
                "strict": True, "name": subject.name, "ordered": True}  # fmt: skip
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return told(text, left, schema)


def _column(name: str, column: Column, left: dict[str, list[str]]) -> dict[str, Json]:
    checks: dict[str, Json] = {}
    if column.labels and not isinstance(column, Boolean):
        checks["isin"] = list(column.labels)
    elif isinstance(column, Boolean) and column.text:
        words = column.format
        checks["isin"] = [words.true, words.false] if words else ["true", "false"]
    elif column.ends is not None and not column.text and column.zone is None and dtype(column) is not None:
        low, high = map(_moment, column.ends) if column.moments else column.ends
        checks["in_range"] = {"min_value": low, "max_value": high}
    if column.ends is not None and not checks:
        left.setdefault("its range", []).append(name)
    unique = isinstance(column, Identifier) or (isinstance(column, Text) and column.unique)
    return {"dtype": dtype(column), "nullable": column.nullable, "unique": unique, "coerce": False, "required": True,
            **({"checks": checks} if checks else {})}  # fmt: skip


def dtype(column: Column) -> str | None:
    """The type of the column in pandas; None for Python objects, be they days or arrays."""
    if isinstance(column, Tensor):
        return None
    if column.text or (column.labelled and not isinstance(column, Boolean)):
        return "str"
    if isinstance(column, Boolean):
        return "boolean" if column.nullable else "bool"
    if isinstance(column, Datetime):
        zone = f", {column.zone}" if column.zone else ""
        days = column.unit == "day" and not (column.format is not None and column.format.clock)
        return None if days else f"datetime64[us{zone}]"
    whole = column.whole or not column.measured
    return ("Int64" if column.nullable else "int64") if whole else "float64"


def _moment(value: int) -> str:
    import numpy as np

    return str(np.datetime64(value, "us")).replace("T", " ")
