"""pandas, polars and Arrow tables in; any of them out. Libraries that are not asked for are not imported."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nacre.errors import DataError

FRAMES = ("pandas", "polars", "pyarrow")


def to_arrow(frame: Any) -> pa.Table:
    """An Arrow table from a pandas or polars frame, an Arrow table, batch or reader, or anything narwhals
    reads.

    A pandas column of mixed Python objects is taken as text. The index is left out. Raises DataError for
    names that occur twice, and for what is not a table.
    """
    table = _convert(frame)
    seen: set[str] = set()
    for name in table.schema.names:
        if name in seen:
            raise DataError(f"the table has two columns named {name!r}; rename one of them")
        seen.add(name)
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"the Arrow table is damaged: {str(error).splitlines()[0]}") from None
    return table


def _convert(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()
    home = type(frame).__module__.partition(".")[0]
    if home == "pandas" and type(frame).__name__ == "DataFrame":
        return _from_pandas(frame)
    if home == "polars" and type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError:
        raise DataError(
            f"{type(frame).__name__} is not a table; give a pandas, polars or Arrow table, or the path of a file"
        ) from None


def _from_pandas(frame: Any) -> pa.Table:
    """Columns of Python objects must be of one type: were a stray value to turn a whole column into text, one row would
    change how every other row is read, and no sensitivity bound would hold."""
    names = [str(name) for name in frame.columns]
    arrays = []
    for i in range(len(names)):
        series = frame.iloc[:, i]
        try:
            arrays.append(pa.Array.from_pandas(series))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise DataError(
                f"column {names[i]!r} holds Python objects of several types, or numbers beyond 64 bits; "
                f"make it one type first, for example with frame[{names[i]!r}].astype(str)"
            ) from None
    return pa.Table.from_arrays([a if isinstance(a, pa.ChunkedArray) else pa.chunked_array([a]) for a in arrays], names)


def from_arrow(table: pa.Table, kind: str = "pandas") -> Any:
    """The table as "pandas", "polars" or "pyarrow". In pandas, integers and truth values that may be null
    use the nullable types whether or not a null occurs: types follow the declared columns, not the rows."""
    if kind not in FRAMES:
        raise DataError(f"{kind!r} is not a kind of table; choose one of {', '.join(FRAMES)}")
    if kind == "pyarrow":
        return table
    try:
        if kind == "polars":
            import polars

            return polars.from_arrow(table)
        import pandas
    except ImportError:
        raise DataError(f"{kind} is not installed; install it, or ask for 'pyarrow'") from None
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    columns = {}
    for field in table.schema:
        mapper = nullable.get if field.nullable else None
        columns[field.name] = table.column(field.name).to_pandas(types_mapper=mapper)
    return pandas.DataFrame(columns)
