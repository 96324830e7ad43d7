"""Tables as the evaluation reads them: any source, in one pass, at most so many rows, values by the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.engines import open_rows
from nacre.errors import SchemaError
from nacre.table import Schema
from nacre.table.columns.base import Column
from nacre.table.encoding import Values

if TYPE_CHECKING:
    import pandas as pd

OUTSIDE = "\0outside"  # a label that no schema can declare: stands for values outside the declared categories


@dataclass(frozen=True)
class Sample:
    """Rows of one table: the Arrow table, the same as a frame with the schema's types, and how many there were."""

    what: str
    table: Any
    frame: pd.DataFrame
    total: int

    @property
    def rows(self) -> int:
        return self.table.num_rows

    @property
    def note(self) -> str | None:
        """What a reader must know when not all rows were used."""
        if self.rows == self.total:
            return None
        error = 0.5 * np.sqrt((1 - self.rows / self.total) / self.rows)
        return (
            f"The {self.what} table has {self.total:,} rows; figures rest on {self.rows:,} of them drawn at random. "
            f"That adds a standard error of at most {error:.4f} to any share of rows."
        )


def read(source: object, schema: Schema, columns: Sequence[str], what: str, limit: int | None, seed: int) -> Sample:
    """At most `limit` rows drawn uniformly without replacement, in their order; memory does not grow with the table."""
    rows = open_rows(source)
    lacking = [name for name in columns if name not in rows.column_names]
    if lacking:
        raise SchemaError(
            f"the {what} table lacks the column(s) {', '.join(lacking[:8])}, which the schema describes; "
            "give tables of the same columns, or a schema without them"
        )
    table, total = draw(rows, list(columns), limit, np.random.default_rng(seed))
    if total == 0:
        raise SchemaError(f"the {what} table has no rows")
    return Sample(what, table, frame_of(table, schema), total)


def draw(rows: Any, columns: list[str], limit: int | None, rng: np.random.Generator) -> tuple[Any, int]:
    """The rows with the `limit` smallest of independent uniform keys: a uniform sample in one pass."""
    import pyarrow as pa

    parts: list[Any] = []
    keys = np.empty(0)
    total = 0
    for batch in rows.batches(columns):
        drawn = rng.random(batch.num_rows)
        total += batch.num_rows
        parts.append(pa.Table.from_batches([batch]))
        keys = np.append(keys, drawn)
        if limit is not None and len(keys) > 2 * limit:
            parts, keys = _smallest(parts, keys, limit)
    if limit is not None and len(keys) > limit:
        parts, keys = _smallest(parts, keys, limit)
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({}), total


def _smallest(parts: list[Any], keys: np.ndarray, limit: int) -> tuple[list[Any], np.ndarray]:
    import pyarrow as pa

    keep = np.sort(np.argpartition(keys, limit - 1)[:limit])
    return [pa.concat_tables(parts, promote_options="permissive").take(keep)], keys[keep]


def frame_of(table: Any, schema: Schema) -> pd.DataFrame:
    """The table with the types of the schema: a CSV file of text and a typed table give the same frame.

    Numbers and dates outside the schema's bounds stay as they are; a label outside its list is OUTSIDE.
    """
    import pandas as pd

    found = {}
    for name in table.column_names:
        column = schema.columns[name]
        found[name] = _series(column.unbounded().encode(table.column(name)), column)
    return pd.DataFrame(found)


def _series(v: Values, column: Column) -> pd.Series | pd.Categorical | np.ndarray:
    import pandas as pd

    if column.labelled:
        names = column.labels
        codes = np.where(v.null, -1, np.where(v.values < 0, len(names), v.values))
        return pd.Categorical.from_codes(codes.tolist(), categories=[*names, OUTSIDE])
    if column.moments:
        instants = np.where(v.null, np.datetime64("NaT"), v.values.astype("datetime64[us]"))
        return pd.Series(instants).dt.tz_localize("UTC")
    return np.where(v.null, np.nan, v.values.astype(np.float64))
