"""Reading tables from files as streams of record batches, in memory that does not grow with the file.

A file is not trusted: names, types and sizes are checked before any row is decoded, and every problem is a
DataError that names the file, what was found and what to do. Such errors are for the owner of the data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from nacre.errors import DataError

BATCH_ROWS = 131_072
# What the libraries raise on damaged files, names that are not UTF-8 and absurd sizes included.
READ_ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


@dataclasses.dataclass(frozen=True)
class Options:
    """How to read, and how large a file may declare itself to be.

    Streaming keeps memory bounded, so that many rows are no danger in themselves; what gives a bomb away
    is a few bytes that stand for very many cells. Real tables hold fewer than ten cells per byte even when
    most of them are constant; beyond `cells_per_byte`, files of more than `small_cells` cells are refused.
    Whoever owns such a file raises the limit.
    """

    delimiter: str | None = None  # None: a comma, unless the header line has none and has semicolons or tabs
    encoding: str = "utf-8"
    batch_rows: int = BATCH_ROWS
    max_cells: int = 50_000_000_000
    cells_per_byte: int = 100
    small_cells: int = 20_000_000
    max_columns: int = 20_000
    max_batch_bytes: int = 2**30  # what one compressed piece of a file may unpack to
    max_value_bytes: int = 2**20  # the longest text or tensor in one cell, on average over a piece


class Source(Protocol):
    """One open file."""

    path: Path
    arrow_schema: pa.Schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...


def format_of(path: Path, format: str | None = None) -> str:
    """The format of a file, by what was asked or by the ending of its name."""
    known = sorted(set(FORMATS.values()))
    if format is not None:
        if format not in known:
            raise DataError(f"format {format!r} is not known; choose one of {', '.join(known)}")
        return format
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise DataError(
            f"{path}: the ending {ending!r} is not one that nacre knows ({', '.join(FORMATS)}); "
            "rename the file or say its format"
        )
    return FORMATS[ending]


def open_file(
    path: Path, format: str | None = None, options: Options | None = None, groups: range | None = None
) -> Source:
    """Open one file for streaming: check that it can be read and is not empty, read names and types. `groups` names
    row groups of a Parquet file that alone are read."""
    from nacre.table.arrow_files import ArrowSource
    from nacre.table.csv_files import CsvSource
    from nacre.table.parquet_files import ParquetSource

    kind = format_of(path, format)
    check_readable(path)
    if kind == "parquet":
        return ParquetSource(path, options or Options(), groups)
    return {"csv": CsvSource, "arrow": ArrowSource}[kind](path, options or Options())


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
