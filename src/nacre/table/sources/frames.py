"""pandas, polars and Arrow tables in; any of them out. Libraries that are not asked for are not imported."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources.checks import first_line
from nacre.table.sources.pandas_columns import from_pandas

FRAMES = ("pandas", "polars", "pyarrow")


def to_arrow(frame: object) -> pa.Table:
    """An Arrow table from a pandas or polars frame, an Arrow table, batch or reader, or anything narwhals
    reads.

    The index of a pandas table is left out. Raises DataError for names that occur twice, for columns of Python objects
    other than texts and arrays of numbers, and for what is not a table.
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
    homes = {kind.__module__.partition(".")[0] for kind in type(frame).__mro__}
    if "pandas" in homes and hasattr(frame, "columns"):
        return from_pandas(frame)
    if "polars" in homes:
        return _from_polars(frame)
    if hasattr(frame, "__arrow_c_stream__") and "narwhals" not in homes:
        return _from_stream(frame)
    import narwhals as nw

    try:
        found = nw.from_native(frame, eager_only=True, pass_through=False)
    except TypeError:
        raise DataError(
            f"{type(frame).__name__} is not a table; give a pandas, polars or Arrow table, or the path of a file"
        ) from None
    # Libraries that hold Python objects as pandas does are read as pandas is: their own way to Arrow looks at all rows.
    return from_pandas(found.to_pandas()) if found.implementation.is_pandas_like() else _convert(found.to_native())


def _from_polars(frame: object) -> pa.Table:
    import polars

    if isinstance(frame, polars.LazyFrame):
        try:
            frame = frame.collect()
        except (polars.exceptions.PolarsError, OSError) as error:
            raise DataError(f"the polars query fails ({type(error).__name__}); collect it first") from None
    if not isinstance(frame, polars.DataFrame):
        raise DataError(f"a polars {type(frame).__name__} is not a table; give a DataFrame")
    for name, dtype in frame.schema.items():
        if dtype == polars.Object:  # Arrow would hand out the addresses of the objects
            raise DataError(
                f"column {name!r} holds Python objects; give it a type first, for example with .cast(pl.String)"
            )
    try:
        return frame.to_arrow()
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # polars' own, in Rust
            raise
        raise DataError(f"the polars table cannot be read as Arrow ({first_line(error)}); cast such columns") from None


def _from_stream(frame: object) -> pa.Table:
    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the {type(frame).__name__} cannot be read as Arrow ({first_line(error)})") from None


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
