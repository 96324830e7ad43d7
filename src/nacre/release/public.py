"""Public tables inside a release: their rows as plain arrays, from which nothing can run.

What a file says of them is checked against what its arrays hold; only plain types are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, ReleaseFileError
from nacre.table import Column, Schema
from nacre.table.sources.storage import is_as_written
from nacre.typed import Json

_NUMBERS = {str(t): t for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
                                pa.uint64(), pa.float32(), pa.float64(), pa.bool_())}  # fmt: skip
_DAYS = {"date32[day]": pa.date32()}
_MOMENT = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([\w+:/-]{1,60}))?\]", re.ASCII)
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), (\d{1,2})\)")
Arrays = dict[str, np.ndarray]


def kept(table: pa.Table, name: str, schema: Schema | None = None) -> pa.Table:
    """A public table in types that a release can hold; DataError for others. What a source without types has written
    stands for what `schema` says, where all of it can be read so."""
    columns = {}
    for field in table.schema:
        kind, column = field.type, table.column(field.name).combine_chunks()
        if schema is not None and is_as_written(field):
            column = _meant(column, schema.columns[field.name])
            kind = column.type
        if pa.types.is_dictionary(kind):
            kind, column = kind.value_type, column.dictionary_decode()
        plain = {pa.large_string(): pa.string(), pa.string_view(): pa.string(), pa.date64(): pa.date32(),
                 pa.float16(): pa.float32(), pa.null(): pa.string()}.get(kind, kind)  # fmt: skip
        if _type(str(plain)) is None:
            raise DataError(
                f"public table {name!r}: column {field.name!r} is stored as {kind}, which no release can hold; store "
                "it as texts, numbers, dates or truth values"
            )
        columns[field.name] = column.cast(plain)
    return pa.table(columns)


def _meant(texts: pa.Array, column: Column) -> pa.Array:
    """What texts stand for in a column of that kind; the texts where some stand for nothing of it."""
    texts = column.without_null_words(texts)
    if not column.learnt:
        numbers = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")
        whole = not column.text and pc.all(numbers.fill_null(True)).as_py() is not False
        return texts.cast(pa.int64()) if whole else texts
    if column.text or column.labelled or column.shape:
        return texts
    values, null, bad = column.read(texts)
    return texts if bad.any() else column.written(values, null if null.any() else None)


def to_parts(tables: Mapping[str, pa.Table]) -> tuple[dict[str, Json], Arrays]:
    """What a release file holds of public tables: facts as JSON has them, and arrays."""
    arrays: Arrays = {}
    facts: dict[str, Json] = {}
    for i, (name, table) in enumerate(tables.items()):
        facts[name] = {"rows": table.num_rows, "columns": [[f.name, str(f.type)] for f in table.schema]}
        for j, column in enumerate(table.columns):
            arrays |= _packed(f"public.{i}.{j}", column)
    return facts, arrays


def from_parts(facts: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, pa.Table]:
    """The tables in the parts of a file; ReleaseFileError where it holds none."""
    try:
        tables = {}
        for i, (name, told) in enumerate(facts.items()):
            rows, columns = told["rows"], told["columns"]
            made = [_unpacked(f"public.{i}.{j}", kind, rows, arrays) for j, (_, kind) in enumerate(columns)]
            tables[name] = pa.table(made, names=[column for column, _ in columns])
        return tables
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, pa.ArrowException) as error:
        raise ReleaseFileError(f"release file: its public tables do not hold what they should ({error})") from None


def _packed(place: str, column: pa.ChunkedArray) -> Arrays:
    array = pa.chunked_array(column.chunks, column.type).combine_chunks()
    found = {f"{place}.null": array.is_null().to_numpy(zero_copy_only=False).astype(np.uint8)}
    if pa.types.is_string(array.type) or pa.types.is_decimal(array.type):
        texts = [b"" if text is None else text.encode() for text in array.cast(pa.string()).to_pylist()]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return {**found, f"{place}.text": np.frombuffer(b"".join(texts), np.uint8), f"{place}.ends": ends}
    kind = _stored(array.type)
    numbers = array.cast(kind).fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
    return {**found, f"{place}.values": numbers.astype(np.uint8) if numbers.dtype == bool else numbers}


def _unpacked(place: str, told: str, rows: int, arrays: Mapping[str, np.ndarray]) -> pa.Array:
    kind, null = _type(told), arrays[f"{place}.null"]
    if kind is None or null.dtype != np.uint8 or null.shape != (rows,):
        raise ValueError(f"{place}: {rows} values of {str(told)[:40]!r}")
    missing = null != 0
    if pa.types.is_string(kind) or pa.types.is_decimal(kind):
        text, ends = arrays[f"{place}.text"], arrays[f"{place}.ends"]
        fits = ends.dtype == np.int64 and ends.shape == (rows + 1,) and text.dtype == np.uint8 and text.ndim == 1
        if not fits or ends[0] != 0 or ends[-1] != len(text) or (np.diff(ends) < 0).any():
            raise ValueError(f"{place}: texts that do not end where they should")
        data = text.tobytes()
        words = [None if m else data[a:b].decode() for m, a, b in zip(missing, ends[:-1], ends[1:])]
        return pa.array(words, pa.string()).cast(kind)
    values, stored = arrays[f"{place}.values"], _stored(kind)
    wanted = np.dtype(np.uint8) if pa.types.is_boolean(stored) else np.dtype(stored.to_pandas_dtype())
    if values.dtype != wanted or values.shape != (rows,):
        raise ValueError(f"{place}: {values.dtype} {values.shape}, expected {rows} of {wanted}")
    values = values != 0 if pa.types.is_boolean(stored) else values
    return pa.array(values, stored, mask=missing).cast(kind)


def _stored(kind: pa.DataType) -> pa.DataType:
    """As which numbers values of this type are kept."""
    return pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind


def _type(told: object) -> pa.DataType | None:
    """The type that is called so; None for one that no release holds."""
    if not isinstance(told, str):
        return None
    if told == "string":
        return pa.string()
    if found := _MOMENT.fullmatch(told):
        return pa.timestamp(found[1], found[2])
    if (found := _DECIMAL.fullmatch(told)) and 1 <= int(found[1]) <= 38:
        return pa.decimal128(int(found[1]), int(found[2]))
    return {**_NUMBERS, **_DAYS}.get(told)
