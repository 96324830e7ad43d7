"""Columns of a pandas table as Arrow arrays, so that no row decides how another is read.

pandas gives a column its type by looking at all rows: one missing value turns whole numbers into floats, one stray
value turns texts into Python objects. Hence two rules. Numbers of NumPy's types are floats of 64 bits here whether or
not a value is missing, so that nothing depends on which of the two pandas chose. Objects of one
sort are read one by one; a column with several sorts is refused, because Arrow would infer one type for them all.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError

# What columns of objects of one sort are read as, value by value; every sort of number as floats, like NumPy's.
_SORTS = {
    "string": pa.large_string(), "bytes": pa.large_binary(), "boolean": pa.bool_(), "date": pa.date32(),
    "integer": pa.float64(), "floating": pa.float64(), "mixed-integer-float": pa.float64(), "decimal": pa.float64(),
    "empty": pa.large_string(),  # texts that are all missing: one more row with a text must not change the type
}  # fmt: skip


def from_pandas(frame: Any) -> pa.Table:
    """The columns of a pandas table, without its index. DataError for a column of objects that are no texts."""
    names = [str(name) for name in frame.columns]
    for name in names:
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise DataError(f"the column name {name!r} holds half of a character; rename it")
    arrays = [_column(frame.iloc[:, i], name) for i, name in enumerate(names)]
    return pa.Table.from_arrays([a if isinstance(a, pa.ChunkedArray) else pa.chunked_array([a]) for a in arrays], names)


def _column(series: Any, name: str) -> pa.Array | pa.ChunkedArray:
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        words = _column(dtype.categories.to_series(), name)
        words = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), words)
    if isinstance(dtype, pandas.SparseDtype):
        dense = np.asarray(series.array)
        return _column(pandas.Series(dense, dtype=dense.dtype), name)
    if isinstance(dtype, np.dtype) and (dtype.kind in "iu" or dtype == np.float64):
        return pa.array(series.to_numpy().astype(np.float64))  # NaN is a missing value wherever floats are read
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _objects(series, name)
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _refused(name, f"values of type {dtype}", f"frame[{name!r}].astype(str)") from None


def _objects(series: Any, name: str) -> pa.Array:
    import pandas

    try:
        missing = series.isna().to_numpy(dtype=bool)
    except ArithmeticError:  # of decimals, one that signals that it is no number
        raise _refused(name, "decimals that are no numbers", f"frame[{name!r}].astype(str)") from None
    values = series.to_numpy(dtype=object)
    sort = pandas.api.types.infer_dtype(values[~missing], skipna=False)
    if sort == "string":
        return _texts(values, missing)
    if sort == "date" and any(isinstance(v, dt.datetime) for v in values[~missing]):
        sort = "datetime"  # a moment is a date as well, to Python
    if sort in _SORTS:
        return _of_one_sort(values, missing, _SORTS[sort], name)
    if all(isinstance(v, (list, tuple, np.ndarray)) for v in values[~missing]):
        return pa.array([None if m else _numbers(v) for v, m in zip(values, missing)], pa.large_list(pa.float64()))
    fix = f"pd.to_datetime(frame[{name!r}])" if sort.startswith("datetime") else f"frame[{name!r}].astype(str)"
    raise _refused(name, f"Python objects ({sort})", fix)


def _of_one_sort(values: np.ndarray, missing: np.ndarray, kind: pa.DataType, name: str) -> pa.Array:
    try:
        if pa.types.is_floating(kind):
            return pa.array([np.nan if m else float(v) for v, m in zip(values, missing)], kind)
        return pa.array([None if m else v for v, m in zip(values, missing)], kind)
    except (pa.ArrowException, ValueError, OverflowError, TypeError):
        raise _refused(name, "values that cannot be stored", f"frame[{name!r}].astype(str)") from None


def _refused(name: str, held: str, fix: str) -> DataError:
    return DataError(
        f"column {name!r} holds {held}, where one row could change how all others are read; give it a type of its own "
        f"first, such as {fix}"
    )


def _texts(values: np.ndarray, missing: np.ndarray) -> pa.Array:
    try:
        found = pa.array(values, pa.large_string(), mask=missing)
    except UnicodeEncodeError:
        found = None
    if found is not None and not pc.any(pc.match_substring(found, "\0")).as_py():
        return found
    # Half of a surrogate pair is no text and is spelt out, behind a NUL; so is what holds a NUL: it may look like that.
    return pa.array([None if m else _spelt(v) for v, m in zip(values, missing)], pa.large_string())


def _spelt(text: str) -> str:
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        return text
    return "\0" + text.encode("utf-8", "surrogatepass").hex()


def _numbers(value: object) -> list[float] | None:
    """An array of numbers as one row of a tensor; None, a missing row, for what is none."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return found.ravel().tolist() if found.ndim else None
