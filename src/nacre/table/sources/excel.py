"""Excel files, one sheet, every cell as text by its own type: dates as ISO dates, whole numbers without a point.

A sheet is parsed once, when it is looked at, and kept as text in a temporary file without a name: parsing is slow, and
damage far down is found before anything is spent. The first row is the header; a row of nothing is no row.
"""

from __future__ import annotations

import datetime
import itertools
import mmap
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources.checks import READ_ERRORS, check_names, slices
from nacre.table.sources.compression import check_directory, check_methods
from nacre.table.sources.options import Options
from nacre.table.sources.storage import as_written

if TYPE_CHECKING:
    import os

_ROWS = 1_048_576  # of a sheet, by the format
_CHUNK = 4_096
_PROLOG = 2**12
# What a cell shows whose formula went wrong.
_ERRORS = frozenset(("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA", "#SPILL!"))


class ExcelSource:
    """One sheet of an Excel file, opened: its header row has been read."""

    def __init__(self, path: Any, options: Options):
        self.path, self.options = path, options
        self._kept: Any = None
        _check_archive(path, options)
        header = self._guarded(lambda: next(self._rows(), []))
        names = ["" if name is None else name for name in header]
        while names and names[-1] == "":  # formatted cells beside the table
            names.pop()
        check_names(path, names, options)
        self.arrow_schema = pa.schema([as_written(name, options.decimal) for name in names])

    def _guarded(self, read: Callable[[], Any]) -> Any:
        """What a library of many kinds of errors finds wrong, as ours."""
        try:
            return read()
        except DataError:
            raise
        except MemoryError:
            raise DataError(f"{self.path}: the Excel file does not fit into memory; save it as .csv") from None
        except Exception as error:
            raise DataError(
                f"{self.path}: not a readable Excel file ({type(error).__name__}); open it and save it again, or as "
                ".csv"
            ) from None

    def _rows(self) -> Iterator[list[str | None]]:
        """The rows as texts, from the header on."""
        with self.path.open("rb") as file:
            book = _openpyxl().load_workbook(file, read_only=True, data_only=True, keep_links=False)
            names = [sheet.title for sheet in book.worksheets]
            if not names or (self.options.sheet is not None and self.options.sheet not in names):
                told = ", ".join(map(repr, names[:20])) or "none"
                raise DataError(f"{self.path}: there is no sheet {self.options.sheet!r}; it has {told}")
            sheet = book[self.options.sheet or names[0]]
            sheet.reset_dimensions()  # what the file says of its own size is not to be trusted
            words = frozenset(self.options.null_words)
            rows = sheet.iter_rows(values_only=True)
            for i, row in enumerate(itertools.islice(rows, self.options.skip_lines or 0, None)):
                if i >= _ROWS:
                    raise DataError(f"{self.path}: the sheet has more rows than an Excel sheet can have")
                if row or i == 0:  # the library makes up rows that the file leaves out
                    yield [_text(value, words) for value in row]

    def look(self) -> None:
        """Parse the sheet and keep it."""
        if self._kept is None:
            self._kept = self._guarded(self._parsed)

    def _parsed(self) -> Any:
        schema, width = self.arrow_schema, len(self.arrow_schema)
        file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - kept as long as the source
        with pa.PythonFile(file, mode="w") as sink, pa.ipc.new_stream(sink, schema) as out:
            rows = itertools.islice(self._rows(), 1, None)
            while chunk := list(itertools.islice(rows, _CHUNK)):
                cut = ([*row[:width], *[None] * (width - len(row))] for row in chunk)
                full = [row for row in cut if any(v is not None for v in row)]
                columns = zip(*full, strict=True) if full else [()] * width
                out.write_batch(pa.record_batch([pa.array(c, pa.string()) for c in columns], schema=schema))
            out.close()
            file.flush()
            return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        self.look()
        wanted = list(columns) if columns is not None else self.arrow_schema.names
        try:
            for batch in pa.ipc.open_stream(self._kept):
                yield from slices(batch.select(wanted), self.options.batch_rows)
        except READ_ERRORS:
            raise DataError(f"{self.path}: the temporary file of the sheet was changed; start again") from None


def _text(value: object, words: frozenset[str]) -> str | None:
    """One cell: a function of its own type and value."""
    if isinstance(value, str):
        text = None if value in _ERRORS else value
    elif value is None:
        return None
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2.0**53
        text = str(int(value)) if whole else repr(value)
    elif isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        text = value.date().isoformat() if midnight else value.isoformat()
    elif isinstance(value, datetime.date | datetime.time):
        text = value.isoformat()
    elif isinstance(value, datetime.timedelta):
        text = _text(value.total_seconds(), frozenset())
    else:
        text = str(value)
    return None if text == "" or text in words else text


def _check_archive(path: str | os.PathLike, options: Options) -> None:
    """Raise DataError, before anything is unpacked, for what is no archive or unpacks to far more than it is."""
    try:
        with path.open("rb") as file:
            check_directory(file, path)
            with zipfile.ZipFile(file) as archive:
                check_methods(archive, path)
                for member in archive.infolist():
                    _check_member(archive, member, path, options)
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError, OSError, zipfile.zlib.error):
        raise DataError(f"{path}: not a readable Excel file (.xlsx); open it and save it again, or as .csv") from None


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str | os.PathLike, options: Options) -> None:
    size, packed = member.file_size, max(member.compress_size, 1)
    if size > options.max_batch_bytes or (size > options.small_text and size > options.text_ratio * packed):
        raise DataError(
            f"{path}: a part of the file unpacks to {size:,} bytes and looks made to exhaust memory; if it is yours, "
            "save the sheet as .csv"
        )
    if member.filename.endswith((".xml", ".rels")):
        with archive.open(member) as part:
            if b"<!" in part.read(_PROLOG).replace(b"<!--", b""):
                raise DataError(f"{path}: the file declares entities, which no Excel file does; save it again")


def _openpyxl() -> Any:
    try:
        import openpyxl  # pyright: ignore[reportMissingImports, reportMissingModuleSource]
    except ImportError:
        raise DataError(
            "reading Excel files needs openpyxl: pip install 'nacre[excel]', or save the sheet as .csv"
        ) from None
    return openpyxl
