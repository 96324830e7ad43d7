"""The ids of public tables, which are the labels of the columns that name their rows."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError
from nacre.table.columns.categorical import MAX_CATEGORIES
from nacre.table.database.database import Database
from nacre.table.database.rows import Rows
from nacre.table.values import labels


def public_ids(database: Database, sources: Mapping[str, Rows]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(public table, its id) -> its labels in the order of its rows, for every public table that owned ones name.
    DataError for ids that are missing or stand twice."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in database.owned:
        for key in database.references(name):
            if (place := (key.parent, key.parent_column)) not in found:
                found[place] = labels_of(sources, *place)
    return found


def labels_of(sources: Mapping[str, Rows], table: str, column: str) -> tuple[str, ...]:
    """The ids of one public table."""
    if table not in sources:
        raise DataError(f"the public table {table!r} is not there; its ids are needed: open it with the others")
    if column not in sources[table].column_names:
        raise DataError(f"the public table {table!r} has no column {column!r}; its ids are needed: check its name")
    found: dict[str, None] = {}
    rows = 0
    for batch in sources[table].batches([column]):
        texts = labels.as_text(_plain(batch.column(0)))
        if texts.null_count:
            raise DataError(f"the public table {table!r} has rows without {column!r}, its id; remove or name them")
        rows += len(texts)
        found |= dict.fromkeys(texts.to_pylist())
        if len(found) < rows:
            twice = pc.value_counts(texts)
            label = next((v["values"].as_py() for v in twice if v["counts"].as_py() > 1), "an id")
            raise DataError(
                f"the public table {table!r} has {label!r} twice as its id {column!r}; an id names one row: keep one"
            )
        if len(found) > MAX_CATEGORIES:
            raise DataError(f"the public table {table!r} has more than {MAX_CATEGORIES:,} rows; a reference is a label")
    return tuple(found)


def _plain(array: pa.Array) -> pa.Array:
    array = labels.unpack(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
