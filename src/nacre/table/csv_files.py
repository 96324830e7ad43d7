"""CSV files. Every column is read as text: what a value means is for the schema to say, never for its
neighbours."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from nacre.errors import DataError
from nacre.table.files import Options, check_names, first_line, slices
from nacre.table.storage import as_written

_BLOCK = 8 * 2**20  # read at a time; a row must fit
_HEADER = 4 * 2**20  # the header line must fit
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class CsvSource:
    """One CSV file, opened: its header has been read and checked."""

    def __init__(self, path: Path, options: Options):
        self.path, self.options = path, options
        try:
            self._codec = codecs.lookup(options.encoding).name
        except LookupError:
            raise DataError(f"encoding {options.encoding!r} is not known; try 'utf-8' or 'latin-1'") from None
        self.delimiter, names = self._header()
        check_names(path, names, options)
        self.arrow_schema = pa.schema([as_written(name) for name in names])

    def _header(self) -> tuple[str, list[str]]:
        with self.path.open("rb") as file:
            block = file.read(_HEADER)
        _check_bytes(block, self.path, 0)
        ends = [i for i in (block.find(b"\n"), block.find(b"\r")) if i >= 0]
        if len(block) == _HEADER and not ends:
            raise DataError(f"{self.path}: the first line is longer than {_HEADER:,} bytes; is this a CSV file?")
        text = block.decode("utf-8-sig" if self._codec == "utf-8" else self._codec, errors="replace")
        text = text.removeprefix("\ufeff")
        first = text.splitlines()[0] if text.strip() else ""
        delimiter = self._delimiter(first)
        try:
            names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
        except csv.Error as error:
            raise DataError(f"{self.path}: the header line cannot be read ({error}); is this a CSV file?") from None
        if any("\ufffd" in name for name in names):
            raise DataError(f"{self.path}: {_not_encoded('the header line', self.options.encoding)}")
        return delimiter, names

    def _delimiter(self, header: str) -> str:
        if self.options.delimiter is not None:
            if len(self.options.delimiter) != 1 or ord(self.options.delimiter) > 127:
                raise DataError(f"delimiter {self.options.delimiter!r}: write one character, such as ',' or ';'")
            return self.options.delimiter
        if "," not in header:
            for other in (";", "\t"):
                if other in header:
                    return other
        return ","

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.arrow_schema.names
        with self.path.open("rb") as raw:
            checked = _Checked(raw, self.path)
            try:
                reader = pacsv.open_csv(
                    pa.PythonFile(checked, mode="r"),
                    read_options=pacsv.ReadOptions(
                        use_threads=False, block_size=_BLOCK, encoding=self.options.encoding
                    ),
                    parse_options=pacsv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        ignore_empty_lines=len(names) > 1,  # in a single column an empty line is a missing value
                    ),
                    convert_options=pacsv.ConvertOptions(
                        column_types=self.arrow_schema,
                        include_columns=None if columns is None else list(columns),
                        null_values=[""],
                        strings_can_be_null=True,
                    ),
                )
                for batch in reader:
                    yield from slices(batch, self.options.batch_rows)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                if "Empty CSV" in str(error):  # a header without a line end: names, no rows
                    return
                raise self._explain(error, checked) from None

    def _explain(self, error: Exception, checked: _Checked) -> DataError:
        """What went wrong, without a word of the data."""
        if checked.problem is not None:
            return checked.problem
        text = first_line(error)
        if ragged := _RAGGED.search(text):
            line, expected, found = ragged.groups()
            return DataError(
                f"{self.path}: line {line or 'unknown'} has {found} fields but the header has {expected}; "
                "correct the line, or quote the fields that contain the delimiter"
            )
        if "UTF8" in text or isinstance(error, UnicodeDecodeError):
            column = ""
            if "column #" in text:
                number = int(text.split("column #")[1].split(":")[0])
                column = f" (column {self.arrow_schema.names[number]!r})" if number < len(self.arrow_schema) else ""
            return DataError(f"{self.path}: {_not_encoded('the text' + column, self.options.encoding)}")
        if "straddling" in text:
            return DataError(
                f"{self.path}: a row is longer than {_BLOCK:,} bytes, perhaps after a quote that is never "
                "closed; "
                "correct the file"
            )
        return DataError(f"{self.path}: not a readable CSV file; check its quotes and delimiters")


def _not_encoded(what: str, encoding: str) -> str:
    return f"{what} is not valid {encoding}; save the file as UTF-8 or name its encoding, such as 'latin-1'"


class _Checked(io.RawIOBase):
    """A binary file that refuses NUL bytes as it is read: CSV readers disagree on them, and text has none."""

    def __init__(self, raw: io.BufferedReader, path: Path):
        super().__init__()
        self.raw, self.path, self.offset = raw, path, 0
        self.problem: DataError | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self.raw.read(size)
        try:
            _check_bytes(block, self.path, self.offset)
        except DataError as problem:
            self.problem = problem
            raise OSError("NUL byte") from None
        self.offset += len(block)
        return block


def _check_bytes(block: bytes, path: Path, offset: int) -> None:
    if offset == 0 and block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise DataError(f"{path}: the file is UTF-16 text; save it as UTF-8")
    found = block.find(b"\0")
    if found >= 0:
        raise DataError(
            f"{path}: there is a NUL byte at position {offset + found:,}; a CSV file is text: export it again as UTF-8"
        )
