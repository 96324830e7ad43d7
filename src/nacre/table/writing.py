"""Writing files whole or not at all: a temporary file beside the target, flushed to disk, then renamed."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from nacre.errors import DataError


def check_target(path: str | os.PathLike, force: bool) -> Path:
    """The path, if a file can be put there. Existing files are kept unless `force`. Raises DataError."""
    path = Path(path)
    folder = path.parent
    if "\0" in str(path):
        raise DataError(f"{str(path)!r}: a path cannot hold NUL characters")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    if not folder.is_dir():
        raise DataError(f"{path}: there is no folder {folder}; create it first")
    if path.exists() and not force:
        raise DataError(f"{path} exists already and is kept; choose another name, or force overwriting")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the folder {folder} cannot be written to; check its permissions")
    return path


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, force: bool = False, private: bool = False) -> Iterator[Path]:
    """A temporary path in the same folder, that becomes `path` if the block ends well and is removed if not,
    also on Ctrl-C. Without `force`, a file that appeared in the meantime is kept and DataError raised. A `private` file
    can be read by its owner alone, from the first byte on."""
    target = check_target(path, force)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror}); check the folder") from None
    part = Path(name)
    try:
        yield part
        _finish(part, target, force, private)
    except OSError as error:
        raise DataError(f"{target}: writing failed ({error.strerror or error}); nothing was written") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _finish(part: Path, target: Path, force: bool, private: bool) -> None:
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(part, 0o600 if private else 0o666 & ~mask)
    _flush(part)
    if force:
        os.replace(part, target)
    else:
        try:
            os.link(part, target)  # unlike a rename, refuses to replace
        except FileExistsError:
            raise DataError(f"{target} appeared while it was being written and is kept; choose another name") from None
        except OSError:  # file systems without hard links
            os.replace(part, target)
    with contextlib.suppress(OSError):  # some file systems cannot flush folders
        _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | os.PathLike, text: str, force: bool = False) -> None:
    """Write a UTF-8 text file whole or not at all."""
    with whole_file(path, force) as part:
        part.write_text(text, encoding="utf-8", newline="")


def written_kind(path: str | os.PathLike, format: str | None = None) -> Any:
    """What a table of this name is written as: a `Kind`. Raises DataError for what is only read."""
    from nacre.table.sources import PACKED, kind_of

    ending = Path(path).suffix.lower()
    if PACKED.get(ending) in ("zip", "bz2"):
        raise DataError(f"{path}: tables are written packed as .gz or .zst, not as {ending}")
    kind = kind_of(path, format)
    if kind.format in ("jsonl", "excel"):
        raise DataError(
            f"{path}: tables are read from {kind.format} files but not written to them; use .csv or .parquet"
        )
    return kind


class TableWriter:
    """Writes a table in chunks, as a context manager: `with TableWriter(path, arrow_schema) as out:
    out.write(t)`.

    The file appears under its name only when the block ends without an error. `schema` is an Arrow schema.
    `spreadsheet`: in CSV, texts and names that a spreadsheet would run as formulas get an apostrophe in front; it
    alters them, so it is off unless asked for.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        schema: Any,
        format: str | None = None,
        force: bool = False,
        spreadsheet: bool = False,
    ):
        import pyarrow as pa

        self.path, self.schema = check_target(path, force), schema
        self.kind = written_kind(self.path, format)
        self.format = self.kind.format
        self.spreadsheet = spreadsheet
        if spreadsheet and self.format != "csv":
            raise DataError(f"{path}: spreadsheet alters the texts of CSV files alone; leave it out, or write .csv")
        if self.format == "csv":
            for field in schema:
                if pa.types.is_nested(field.type):
                    raise DataError(f"{path}: column {field.name!r} holds arrays, which CSV cannot; use Parquet")
        self._stack = contextlib.ExitStack()
        self._force = force

    def __enter__(self) -> TableWriter:
        part = self._stack.enter_context(whole_file(self.path, self._force))
        try:
            self._writer = self._stack.enter_context(self._open(part))
        except BaseException:
            # With the error, not close(): a block that ends well would put the unfinished file in place.
            self._stack.__exit__(*sys.exc_info())
            raise
        return self

    def _open(self, part: Path) -> Any:
        import pyarrow as pa

        if self.format == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(part, self.schema, compression="zstd")
        if self.format == "arrow":
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            sink = self._stack.enter_context(pa.OSFile(str(part), "wb"))
            return pa.ipc.new_file(sink, self.schema, options=options)
        import pyarrow.csv as pacsv

        from nacre.table.formulas import marked
        from nacre.table.values.lettering import lettered_schema

        sink = self._stack.enter_context(pa.OSFile(str(part), "wb"))
        if self.kind.packing is not None:
            sink = self._stack.enter_context(pa.CompressedOutputStream(sink, self.kind.packing))
        delimiter = "\t" if self.kind.ending == ".tsv" else ","
        names = [marked(name) for name in self.schema.names] if self.spreadsheet else self.schema.names
        sink.write(_header(names, delimiter))
        options = pacsv.WriteOptions(include_header=False, delimiter=delimiter)
        return pacsv.CSVWriter(sink, lettered_schema(self.schema), write_options=options)

    def write(self, table: object) -> None:
        """Append the rows of an Arrow table of the writer's schema."""
        if self.format == "csv":
            from nacre.table.formulas import guarded
            from nacre.table.values.lettering import lettered

            table = lettered(table, self.schema)
            table = guarded(table) if self.spreadsheet else table
        self._writer.write_table(table)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def _header(names: list[str], delimiter: str) -> bytes:
    """Names that hold what could be taken for a delimiter or a comment stand in quotes."""
    line = io.StringIO()
    plain = not any(c in name for name in names for c in ",;\t|#")
    quoting = csv.QUOTE_MINIMAL if plain else csv.QUOTE_ALL
    csv.writer(line, delimiter=delimiter, lineterminator="\n", quoting=quoting).writerow(names)
    return line.getvalue().encode()


def write_table(table: Any, path: str | os.PathLike, format: str | None = None, force: bool = False) -> None:
    """Write one Arrow table to a CSV, Parquet or Arrow file, whole or not at all."""
    with TableWriter(path, table.schema, format, force) as out:
        out.write(table)
