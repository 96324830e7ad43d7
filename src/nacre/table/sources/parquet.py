"""Parquet files, row group by row group, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nacre.errors import DataError
from nacre.table.sources.checks import READ_ERRORS, check_cells, check_names, first_line, texts_of
from nacre.table.sources.options import Options
from nacre.table.sources.parquet_footer import most_values
from nacre.table.sources.places import readable

_WHOLE = 2**25  # bytes of a file that is read at once
_RATIO = 1_000  # a row group that unpacks to much, and to more than this times the file, is a bomb


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


class ParquetSource:
    """One Parquet file, opened: its footer has been read and its declared sizes checked.

    `groups` names the row groups to read; None reads them all.
    """

    def __init__(self, path: Path, options: Options, groups: range | None = None):
        self.path, self.options, self.groups = path, options, groups
        try:
            with pq.ParquetFile(readable(path)) as file:
                self.arrow_schema, self.metadata = file.schema_arrow, file.metadata
            names = texts_of(self.arrow_schema)
        except READ_ERRORS as error:
            raise DataError(
                f"{path}: not a readable Parquet file ({first_line(error)}); check that it is complete"
            ) from None
        check_names(path, names, options)
        self._check_sizes()
        # Text as dictionaries: a long value repeated many times stays one value in memory.
        self._texts = [f.name for f in self.arrow_schema if _is_bytes(f.type)]

    def _check_sizes(self) -> None:
        """Declared sizes, per row group: `RowGroupMetaData.column` of a damaged file would end the
        process."""
        meta, options, size = self.metadata, self.options, self.path.stat().st_size
        check_cells(self.path, meta.num_rows, meta.num_columns, options)
        for g in range(meta.num_row_groups):
            group = meta.row_group(g)
            unpacked, cells = group.total_byte_size, max(group.num_rows, 64) * max(meta.num_columns, 1)
            if unpacked > options.max_value_bytes * cells:
                raise DataError(
                    f"{self.path}: row group {g} declares values of "
                    f"{unpacked // max(group.num_rows, 1):,} bytes "
                    f"in a row; at most {options.max_value_bytes:,} in a cell (option max_value_bytes)"
                )
            if unpacked > options.max_batch_bytes // 8 and unpacked > _RATIO * size:
                raise DataError(
                    f"{self.path}: row group {g} unpacks to {unpacked:,} bytes, the file has {size:,}: it "
                    "looks "
                    "made to exhaust memory; if it is yours, write it with smaller row groups"
                )
        if any(pa.types.is_nested(field.type) for field in self.arrow_schema):
            self._check_nested()

    def _check_nested(self) -> None:
        """A row of a nested column may hold any number of values."""
        try:
            values = most_values(self.path)
        except (ValueError, OSError, AttributeError, TypeError) as error:
            raise DataError(f"{self.path}: the Parquet file is damaged ({error}); copy or write it again") from None
        check_cells(self.path, values, 1, self.options)

    def look(self) -> None:
        """Names, types and sizes were checked when it was opened; values have types of their own."""

    def _opened(self) -> pq.ParquetFile:
        """The file, buffered. A page that lies about its size would have the buffer grow to that size, up to 2 GB: of a
        file of few bytes no buffer is needed."""
        how = {"read_dictionary": self._texts, "pre_buffer": False}
        if self.path.stat().st_size > _WHOLE:
            return pq.ParquetFile(readable(self.path), buffer_size=2**20, **how)
        with self.path.open("rb") as file:
            return pq.ParquetFile(pa.BufferReader(file.read()), **how)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = list(columns) if columns is not None else self.arrow_schema.names
        try:
            with self._opened() as file:
                groups = None if self.groups is None else list(self.groups)
                for batch in file.iter_batches(self.options.batch_rows, row_groups=groups, columns=wanted):
                    batch.validate(full=True)
                    yield batch.select(wanted)
        except READ_ERRORS as error:
            raise DataError(
                f"{self.path}: the Parquet file is damaged ({first_line(error)}); copy or write it again"
            ) from None
