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
from nacre.table.sources.storage import Agreement, family, plain


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

    Parts of text files are refused: Arrow takes the types of their columns from some of the rows, and one row must not
    change how the others are read. Name the files instead. So are columns that are names of folders and no texts: from
    all names together Arrow finds whether `part=007` is a number.
    """

    def __init__(self, dataset: Any):
        try:
            schema, fragments = dataset.schema, tuple(dataset.get_fragments())
        except (AttributeError, ValueError):  # a scanner, or a dataset with a filter or a projection
            raise DataError(
                "only a whole Arrow dataset can be read, without filter or projection; give the dataset itself, or the "
                "table that .to_table() makes"
            ) from None
        check_names("the dataset", schema.names, Options())  # type: ignore[arg-type]
        super().__init__(schema, fragments)
        self._check_formats()
        self._check_parts()

    def _check_formats(self) -> None:
        import pyarrow.dataset as ds

        if any(isinstance(getattr(f, "format", None), (ds.CsvFileFormat, ds.JsonFileFormat)) for f in self.fragments):
            raise DataError(
                "an Arrow dataset of text files has types that depend on its rows; open the files by their names, a "
                "list of them or a pattern such as 'parts/*.csv'"
            )
        for name in {n for f in self.fragments for n in ds.get_partition_keys(f.partition_expression)}:
            if family(self.arrow_schema.field(name).type) != "text":
                raise DataError(
                    f"column {name!r} is made of the names of folders, and its type would depend on which there are; "
                    f"declare it as text: partitioning=ds.partitioning(pa.schema([({name!r}, pa.string())]), "
                    "flavor='hive')"
                )

    def _check_parts(self) -> None:
        """Arrow would convert what a part stores in another way, and give one person two names."""
        parts = Agreement()
        parts.add(self.arrow_schema, "the dataset")
        try:
            for fragment in self.fragments:
                names = [n for n in self.column_names if n in fragment.physical_schema.names]
                stored = pa.schema([fragment.physical_schema.field(n) for n in names])
                where = getattr(fragment, "path", "a part of the dataset")
                parts.add(stored, where)
                self._check_floats(stored, where)
        except READ_ERRORS as error:
            raise DataError(f"the dataset cannot be read ({first_line(error)}); check its files") from None

    def _check_floats(self, stored: pa.Schema, where: Any) -> None:
        """Arrow makes whole numbers of floats that stand for several, and nobody would see it any more."""
        for field in stored:
            kind = self.arrow_schema.field(field.name).type
            if pa.types.is_floating(field.type) != pa.types.is_floating(kind) and not pa.types.is_null(field.type):
                raise DataError(
                    f"{where}: column {field.name!r} is stored as {field.type}, but as {kind} in the dataset; the "
                    "parts of one table must store a column in one way: write them again with one type, or as text"
                )

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
