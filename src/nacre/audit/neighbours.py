"""Tables one row away from a given one, chosen to hurt: what a careless synthesizer trips over."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.errors import DataError, NacreError

NEW_TEXT = "a text that nobody else has"


def neighbours(table: Any, relation: str = "add_or_remove_one") -> dict[str, Any]:
    """Name -> neighbouring table, of the kind that was given: pandas, Arrow, or a two-dimensional array of numbers.

    Rows taken away at both ends, and one row more (`replace_one`: in the place of the last) that repeats another,
    lies far outside, holds a new text, or is empty. Raises DataError for a table of fewer than two rows.
    """
    if relation not in ("add_or_remove_one", "replace_one"):
        raise NacreError(f"relation={relation!r}: expected add_or_remove_one or replace_one")
    rows = len(table)
    if rows < 2:
        raise DataError(f"the table has {rows} rows; expected two or more to make neighbours of")
    return _of_array(table, relation) if isinstance(table, np.ndarray) else _of_table(table, relation)


def _of_array(table: np.ndarray, relation: str) -> dict[str, Any]:
    if table.ndim != 2 or table.dtype.kind not in "iuf":
        raise DataError(f"an array of shape {table.shape}, type {table.dtype}: expected numbers, one row per record")
    holds = np.iinfo(table.dtype) if table.dtype.kind in "iu" else np.finfo(table.dtype)
    far = np.abs(table.astype(np.float64)).max(axis=0) * 10 + 100
    far = np.where(far < float(holds.max), far, holds.max) if table.dtype.kind == "f" else _whole(far, holds.max)
    new = {"a row twice": table[0], "outlier": far, "outlier below": -far if table.dtype.kind != "u" else far}
    rest = table[:-1] if relation == "replace_one" else table
    found = {name: np.concatenate([rest, row.astype(table.dtype)[None]]) for name, row in new.items()}
    gone = {"first row removed": table[1:], "last row removed": table[:-1]}
    return found if relation == "replace_one" else {**gone, **found}


def _whole(far: np.ndarray, most: int) -> np.ndarray:
    return np.array([int(min(int(x), int(most))) for x in far], object)


def _of_table(table: object, relation: str) -> dict[str, Any]:
    import pyarrow as pa

    arrow = isinstance(table, pa.Table)
    base = table if arrow else pa.Table.from_pandas(table, preserve_index=False)
    rest = base.slice(0, base.num_rows - 1) if relation == "replace_one" else base
    found = {name: _with(rest, row) for name, row in _rows(base).items()}
    if relation != "replace_one":
        gone = {"first row removed": base.slice(1), "last row removed": base.slice(0, base.num_rows - 1)}
        found = {**gone, **found}
    return found if arrow else {name: t.to_pandas() for name, t in found.items()}


def _rows(base: Any) -> dict[str, dict[str, Any]]:
    """Rows to add: the first again; numbers far outside; a new text; nothing at all."""
    import pyarrow as pa

    first = {name: base[name][0].as_py() for name in base.column_names}
    found = {"a row twice": first}
    numbers = [f.name for f in base.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    texts = [f.name for f in base.schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    if numbers:
        seen = {n: [v for v in base[n].to_pylist() if v is not None] or [0] for n in numbers}
        found["outlier"] = {**first, **{n: _far(v, base.schema.field(n).type) for n, v in seen.items()}}
    if texts:
        found["new text"] = {**first, **dict.fromkeys(texts, NEW_TEXT)}
    return {**found, "row of nulls": dict.fromkeys(first, None)}


def _far(values: list[Any], kind: Any) -> Any:
    """Ten times the largest and 100 more, or the last number that the type holds."""
    import pyarrow as pa

    far = 10 * max(map(abs, values)) + 100
    if pa.types.is_integer(kind):
        return int(min(far, np.iinfo(kind.to_pandas_dtype()).max))
    return float(min(far, np.finfo(kind.to_pandas_dtype()).max))


def _with(table: object, row: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.concat_tables([table, pa.Table.from_pylist([row], schema=table.schema)]).combine_chunks()
