"""What every source checks before a row is decoded: paths, names, declared sizes.

A file is not trusted, and every problem is a DataError that names the file, what was found and what to do. Such errors
are for the owner of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources.options import Options

# What the libraries raise on damaged files, names that are not UTF-8 and absurd sizes included.
READ_ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)


def check_readable(path: Path) -> None:
    """Raise DataError unless the path is a file with something in it that may be read."""
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder, not a file; name a file in it")
        if path.exists() and not path.is_file():
            raise DataError(f"{path} is not a plain file; copy the table to one")
        with path.open("rb") as file:
            empty = file.read(1) == b""
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise DataError(f"{path}: cannot be read ({error}); check the path and its permissions") from None
    if empty:
        raise DataError(f"{path}: the file is empty; expected column names and rows")


def check_names(path: Path, names: Sequence[str], options: Options) -> None:
    """Raise DataError for columns without a name, names that occur twice, or too many of them."""
    if not names:
        raise DataError(f"{path}: the file has no columns; expected at least one")
    if len(names) > options.max_columns:
        raise DataError(
            f"{path}: the file has {len(names):,} columns; at most {options.max_columns:,} are read: split the file"
        )
    seen: set[str] = set()
    for i, name in enumerate(names, 1):
        if name == "":
            raise DataError(f"{path}: column {i} has no name (an index saved with the table?); name or remove it")
        if name in seen:
            raise DataError(f"{path}: the column name {name!r} occurs twice; rename one of them")
        seen.add(name)


def texts_of(schema: pa.Schema) -> list[str]:
    """The names. Raises ValueError where a name or a time zone is not UTF-8: whoever asks later would stumble."""
    pending = [field.type for field in schema]
    while pending:
        kind = pending.pop()
        if pa.types.is_timestamp(kind):
            kind.tz  # noqa: B018
        if pa.types.is_dictionary(kind):
            pending.append(kind.value_type)
        pending += [kind.field(i).type for i in range(kind.num_fields)]
    return schema.names


def check_cells(path: Path, rows: int, columns: int, options: Options) -> None:
    """Raise DataError when the file declares more cells than it may, outright or for its size in bytes."""
    cells, size = rows * columns, path.stat().st_size
    if cells > options.max_cells:
        raise DataError(f"{path}: the file declares {cells:,} cells; at most {options.max_cells:,} (option max_cells)")
    if cells > options.small_cells and cells > options.cells_per_byte * size:
        raise DataError(
            f"{path}: {size:,} bytes declare {cells:,} cells, more than {options.cells_per_byte} per byte: "
            "the file looks made to exhaust memory; if it is yours, raise the option cells_per_byte"
        )


def slices(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most `rows` rows, without copying."""
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def first_line(error: BaseException) -> str:
    """The gist of a library's error message."""
    return (str(error).strip().splitlines() or ["unknown error"])[0][:200].rstrip(".")
