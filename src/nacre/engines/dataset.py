"""An Arrow dataset as rows: whatever files, partitions and file systems Arrow has put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from nacre.engines.interface import Stored
from nacre.engines.shards import even_cuts, known
from nacre.errors import DataError
from nacre.table.sources import BATCH_ROWS, Options
from nacre.table.sources.checks import READ_ERRORS, check_names, first_line, slices
from nacre.table.sources.storage import Agreement, plain


@dataclass(frozen=True)
class Fragments:
    """Some fragments of a dataset, one after the other."""

    arrow_schema: pa.Schema
    fragments: tuple[Any, ...]

    @property
    def column_names(self) -> list[str]:
        return self.arrow_schema.names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self.column_names if columns is None else known(columns, self.column_names, "the dataset")
        how = {"columns": wanted, "batch_size": BATCH_ROWS, "batch_readahead": 1, "fragment_readahead": 1}
        try:
            for fragment in self.fragments:
                for batch in fragment.to_batches(self.arrow_schema, **how):
                    batch.validate(full=True)
                    yield from map(plain, slices(batch, BATCH_ROWS))
        except READ_ERRORS as error:
            raise DataError(f"the dataset cannot be read ({first_line(error)}); check its files") from None


class DatasetRows(Fragments, Stored):
    """A whole `pyarrow.dataset.Dataset`.

    A dataset of text files is refused: Arrow takes the types of its columns from some of the rows, and one row must not
    change how the others are read. Name the files instead.
    """

    def __init__(self, dataset: Any):
        import pyarrow.dataset as ds

        if isinstance(getattr(dataset, "format", None), (ds.CsvFileFormat, ds.JsonFileFormat)):
            raise DataError(
                "an Arrow dataset of text files has types that depend on its rows; open the files by their names, a "
                "list of them or a pattern such as 'parts/*.csv'"
            )
        check_names("the dataset", dataset.schema.names, Options())  # type: ignore[arg-type]
        super().__init__(dataset.schema, tuple(dataset.get_fragments()))
        self._check_parts()

    def _check_parts(self) -> None:
        """Arrow would convert what a part stores in another way, and give one person two names."""
        parts = Agreement()
        parts.add(self.arrow_schema, "the dataset")
        try:
            for fragment in self.fragments:
                names = [n for n in self.column_names if n in fragment.physical_schema.names]
                stored = pa.schema([fragment.physical_schema.field(n) for n in names])
                parts.add(stored, getattr(fragment, "path", "a part of the dataset"))
        except READ_ERRORS as error:
            raise DataError(f"the dataset cannot be read ({first_line(error)}); check its files") from None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in super().batches(columns):
            rows += batch.num_rows
            yield batch
        if rows == 0:
            raise DataError("the dataset has column names but no rows; a table needs rows")

    def split(self, parts: int) -> list[Fragments]:
        """Runs of fragments."""
        cuts = even_cuts([1] * len(self.fragments), parts)
        return [Fragments(self.arrow_schema, self.fragments[a:b]) for a, b in cuts]
