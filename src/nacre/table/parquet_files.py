"""Parquet files, row group by row group, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nacre.errors import DataError
from nacre.table.files import Options, check_cells, check_names, first_line

_RATIO = 1_000  # a column piece that unpacks to more than this times its size, and to much, is a bomb


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


class ParquetSource:
    """One Parquet file, opened: its footer has been read and its declared sizes checked."""

    def __init__(self, path: Path, options: Options):
        self.path, self.options = path, options
        try:
            with pq.ParquetFile(path) as file:
                self.arrow_schema, self.metadata = file.schema_arrow, file.metadata
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{path}: not a readable Parquet file ({first_line(error)}); check that it is complete"
            ) from None
        check_names(path, self.arrow_schema.names, options)
        self._check_sizes()
        # Text as dictionaries: a long value repeated many times stays one value in memory.
        self._texts = [f.name for f in self.arrow_schema if _is_bytes(f.type)]

    def _check_sizes(self) -> None:
        meta, options = self.metadata, self.options
        check_cells(self.path, meta.num_rows, meta.num_columns, 0, options)
        values = 0
        for g in range(meta.num_row_groups):
            group = meta.row_group(g)
            for c in range(group.num_columns):
                piece = group.column(c)
                values += piece.num_values
                packed, unpacked = piece.total_compressed_size, piece.total_uncompressed_size
                rows = max(group.num_rows, 1)
                if unpacked > options.max_value_bytes * max(rows, 64) or piece.num_values > 10_000_000 * rows:
                    raise DataError(
                        f"{self.path}: column {piece.path_in_schema!r} declares values of "
                        f"{unpacked // rows:,} bytes on average; at most {options.max_value_bytes:,} "
                        "(option max_value_bytes)"
                    )
                if unpacked > options.max_batch_bytes // 8 and unpacked > _RATIO * max(packed, 1):
                    raise DataError(
                        f"{self.path}: column {piece.path_in_schema!r} unpacks {packed:,} bytes to "
                        f"{unpacked:,}: "
                        "the file looks made to exhaust memory; if it is yours, write it with smaller row "
                        "groups"
                    )
        check_cells(self.path, 0, 0, values, options)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = list(columns) if columns is not None else self.arrow_schema.names
        try:
            with pq.ParquetFile(
                self.path, read_dictionary=self._texts, pre_buffer=False, buffer_size=2**20
            ) as file:
                for batch in file.iter_batches(batch_size=self.options.batch_rows, columns=wanted):
                    batch.validate(full=True)
                    yield batch.select(wanted)
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{self.path}: the Parquet file is damaged ({first_line(error)}); copy or write it again"
            ) from None
