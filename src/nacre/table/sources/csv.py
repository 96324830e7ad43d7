"""CSV files. Every column is read as text: what a value means is for the schema to say, never for its
neighbours.

A row with more or fewer fields than the header cannot be told apart into values: it is read as a row without any, after
all others, and the owner is told how many there were.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from nacre.errors import DataError, OwnerWarning
from nacre.table.sources import Kind
from nacre.table.sources.checks import check_names, slices
from nacre.table.sources.compression import Unpacked, verify
from nacre.table.sources.dialect import check_decoded, read_dialect
from nacre.table.sources.encodings import MARK, Utf8, restored
from nacre.table.sources.options import Options
from nacre.table.sources.storage import as_written

_BLOCK = 8 * 2**20  # read at a time; a row must fit
_LOOK = 2**18  # bytes of rows that are looked at before anything is spent


class CsvSource:
    """One CSV file, opened: its header has been read and checked."""

    def __init__(self, path: Any, options: Options, kind: Kind):
        self.path, self.options, self.kind = path, options, kind
        self.dialect = read_dialect(path, options, kind)
        check_names(path, self.dialect.names, options)
        self.arrow_schema = pa.schema([as_written(name, options.decimal) for name in self.dialect.names])
        self._told = False

    @contextlib.contextmanager
    def _text(self) -> Iterator[Utf8]:
        """The text after the header."""
        with Unpacked(self.path, self.kind.packing, self.options) as raw:
            text = Utf8(raw, self.dialect.codec)
            text.skip(self.dialect.begin)
            yield text

    def look(self) -> None:
        """Whether the first rows are what the header says, and a packed file is whole. What is rare costs the values it
        stands in and nothing else, and is not refused here."""
        with self._text() as text:
            block = text.read(_LOOK)
        if len(block) == _LOOK:
            block = block[: block.rfind(b"\n") + 1] or block
        if MARK.encode() in block:
            check_decoded(self.path, block.decode("utf-8", "ignore").split("\n"), self.dialect.codec)
        self._check_shape(block)
        if self.kind.packing is not None:
            verify(self.path, self.kind.packing, self.options)

    def _check_shape(self, block: bytes) -> None:
        parsed = _Parsed(self, None)
        try:
            rows = sum(
                b.num_rows for b in parsed.batches(pa.BufferReader(codecs.BOM_UTF8 + block), 2 * len(block) + 1024)
            )
        except pa.ArrowException:
            return
        if parsed.lines > rows:
            raise DataError(
                f"{self.path}: {parsed.lines:,} of the first {parsed.lines + rows:,} lines have not the "
                f"{len(self.arrow_schema)} fields of the header, split at {self.dialect.delimiter!r}; name the "
                "delimiter or the quote character, close the quotes, or say how many lines stand before the header "
                "(--skip-lines)"
            )

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        parsed = _Parsed(self, columns)
        with self._text() as inner:
            inner.for_parser()
            inner.put_back(codecs.BOM_UTF8)  # the parser takes one away: that shall not be the first row's
            text = _Guarded(inner)
            try:
                for batch in parsed.batches(pa.PythonFile(text, mode="r"), _BLOCK):
                    if inner.marked:
                        texts = [restored(column) for column in batch.columns]
                        batch = pa.record_batch(texts, names=batch.schema.names)
                    yield from slices(batch, self.options.batch_rows)
            except (pa.ArrowException, OSError) as error:
                raise text.problem or self._explain(error) from None
        yield from parsed.rest(self.options.batch_rows)
        self._tell(parsed)

    def _tell(self, parsed: _Parsed) -> None:
        if parsed.ragged and not self._told:
            self._told = True
            warnings.warn(
                f"{self.path}: {parsed.ragged:,} rows ({parsed.lines:,} lines) have not the "
                f"{len(self.arrow_schema)} fields of the header and are read as rows without values; the first is row "
                f"{parsed.first:,} after the header. Quote the fields that contain the delimiter, and close all quotes",
                OwnerWarning,
                stacklevel=2,
            )

    def _explain(self, error: Exception) -> DataError:
        """What went wrong, without a word of the data."""
        if "straddling" in str(error):
            return DataError(
                f"{self.path}: a row is longer than {_BLOCK:,} bytes, perhaps after a quote that is never closed; "
                "correct the file, or say that it has no quotes (--quote none)"
            )
        return DataError(f"{self.path}: not a readable CSV file; check its quotes and delimiters")


class _Parsed:
    """One pass of the parser over the text after the header."""

    def __init__(self, source: CsvSource, columns: Sequence[str] | None):
        self.source, self.columns = source, None if columns is None else list(columns)
        self.ragged, self.lines, self.first = 0, 0, 0

    def batches(self, text: object, block: int) -> Iterator[pa.RecordBatch]:
        source, names = self.source, self.source.arrow_schema.names
        try:
            yield from pacsv.open_csv(
                text,
                read_options=pacsv.ReadOptions(use_threads=False, block_size=block, column_names=names),
                parse_options=pacsv.ParseOptions(
                    delimiter=source.dialect.delimiter,
                    quote_char=source.dialect.quote or False,
                    newlines_in_values=True,
                    ignore_empty_lines=len(names) > 1,  # in a single column an empty line is a missing value
                    invalid_row_handler=self._skip,
                ),
                convert_options=pacsv.ConvertOptions(
                    check_utf8=False,  # `Utf8` has seen to it
                    column_types=source.arrow_schema,
                    include_columns=self.columns,
                    null_values=["", *source.options.null_words],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):  # names, no rows
                raise

    def _skip(self, row: Any) -> str:
        self.ragged += 1
        self.lines += 1 + row.text.strip().count("\n")
        self.first = self.first or row.number or 0
        return "skip"

    def rest(self, most: int) -> Iterator[pa.RecordBatch]:
        """As many rows without values as there were rows of another length."""
        names = self.source.arrow_schema.names if self.columns is None else self.columns
        for start in range(0, self.ragged, most):
            empty = pa.nulls(min(most, self.ragged - start), pa.string())
            yield pa.record_batch([empty] * len(names), names=names)


class _Guarded(io.RawIOBase):
    """A stream whose errors are kept: the parser would put them into words of its own."""

    def __init__(self, inner: Utf8):
        super().__init__()
        self.inner = inner
        self.problem: DataError | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """A block that does not end between CR and LF: the parser drops an LF at the start of a block after a CR, also
        within a value, so that where blocks end would change what is read."""
        try:
            block = self.inner.read(size)
            if block.endswith(b"\r") and len(block) > 1:
                follows = self.inner.read(1)
                kept = b"\r" if follows == b"\n" else b""
                self.inner.put_back(kept + follows)
                block = block[: len(block) - len(kept)]
            return block
        except DataError as problem:
            self.problem = problem
            raise OSError("unreadable") from None
