"""Nasty values by what a source can hold, and made-up tables of them: rows as lists, so that neighbours differ in rows
alone and every library decides for itself what it makes of them."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import gzip
import io
import json
import random
import shutil
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from nacre.engines.interface import View
from nacre.engines.rows import FileRows, open_rows
from nacre.engines.tables import open_tables
from nacre.table.sources import Options

UTC = dt.UTC
TEXTS = (
    "a", "A", "", " a ", "b", "other", "1", "1.0", "01", "2.50", "1e3", "1e400", "9" * 300, "nan", "NaN", "-inf",
    "true", "Yes", "NO", "0", "2020-01-31", "2020-02-30", "2020-01-31 10:00:00.123456789", "2020-01-31T00:00:00Z",
    "31.12.2024",
    "12/10/2020 10:57 PM", "$1,941.32", "40.8%", "3,14", "NA", "?", "-", "\u00e9", "e\u0301", "\ufeffa", "=1+1",
    "x\u2028y", 'quo"te', "comma,", "two\nlines", "tab\t", "\U0001f600", "a" * 5_000,
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 2.5, 1e-7, -0.0, 0.1, 2**24, 2**53, 2**53 + 1, 2**62, -(2**63), 1e20, 1e308, float("nan"),
           float("inf"), 100, 99)  # fmt: skip
MOMENTS = (
    dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 10, 0, 0, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(2020, 3, 29, 2, 30), dt.datetime(2262, 4, 11), dt.datetime(1677, 9, 22), dt.datetime(1970, 1, 1),
)  # fmt: skip
DATES = (dt.date(2020, 1, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(1970, 1, 1))
DECIMALS = (Decimal("1.00"), Decimal("1"), Decimal("0.10"), Decimal("-0.00"), Decimal("99999999.99"), Decimal("0.01"))
TRUTH = (True, False)
LISTS = ([1.0, 2.0], [0.5, -0.0], [float("nan"), 1.0], [1e300, 1.0], [1.0], [], [1.0, None])
BYTES = (b"a", b"\xff", b"\xfe", b"a\0b", b"", b"\xc3\xa9", b"\x00\x01", b"1")
# What pandas may find in one column: it decides on a type by looking at all of them.
MIXTURES: tuple[tuple[Any, ...], ...] = (
    TEXTS, NUMBERS, MOMENTS, DATES, DECIMALS, TRUTH, BYTES, (*NUMBERS, *TRUTH), (*TEXTS, *NUMBERS), (*MOMENTS, *DATES),
    (*MOMENTS, dt.datetime(2020, 1, 31, tzinfo=UTC)), (*DECIMALS, *NUMBERS), (*DECIMALS, *DATES), (*TEXTS, *BYTES),
    (1, 2, 3, 10), (1, 0, True), ("a", "b", "other", "1"), (2**53, 2**53 + 1, 1), ("\ud800", "a", "a\0b"),
)  # fmt: skip
TYPES: tuple[tuple[pa.DataType, tuple[Any, ...]], ...] = (
    (pa.string(), TEXTS), (pa.large_string(), (*TEXTS, "a\0b")), (pa.string_view(), TEXTS), (pa.binary(), BYTES),
    (pa.binary_view(), BYTES), (pa.bool_(), TRUTH), (pa.date32(), DATES),
    (pa.time64("us"), (dt.time(1, 2, 3), dt.time(0))),
    (pa.int64(), (0, 1, 2, 7, 100, 2**53, 2**53 + 1, -(2**63))), (pa.uint64(), (0, 1, 2**63, 2**64 - 1)),
    (pa.int8(), (0, 1, -128)), (pa.float64(), tuple(map(float, NUMBERS))), (pa.float32(), (0.1, 1.0, 2.0**24, 3e38)),
    (pa.decimal128(12, 2), DECIMALS), (pa.decimal256(50, 2), DECIMALS), (pa.timestamp("us"), MOMENTS[:4]),
    (pa.timestamp("s"), (MOMENTS[0], MOMENTS[3])), (pa.timestamp("ms", "Europe/Oslo"), (MOMENTS[0], MOMENTS[3])),
    (pa.timestamp("ns"), (MOMENTS[0],)), (pa.dictionary(pa.int8(), pa.string()), TEXTS[:20]),
    (pa.dictionary(pa.int8(), pa.int64()), (1, 2, 2**53 + 1)), (pa.run_end_encoded(pa.int32(), pa.int64()), (1, 2, 7)),
    (pa.null(), ()), (pa.float16(), (0.5, 1.0, 2048.0)), (pa.time32("s"), (dt.time(1, 2, 3), dt.time(0))),
    (pa.date64(), DATES[:1] + DATES[3:]), (pa.decimal32(9, 2), DECIMALS[:2]), (pa.decimal64(12, 4), DECIMALS[:3]),
    (pa.uuid(), (uuid.UUID(int=1), uuid.UUID(int=2))), (pa.bool8(), TRUTH),
    (pa.list_(pa.float64()), LISTS), (pa.large_list(pa.int32()), ([1, 2], [2, 2], [1], [])),
    (pa.list_(pa.float32(), 2), ([1.0, 2.0], [-0.0, 1e30])),
    (pa.dictionary(pa.int32(), pa.binary()), BYTES), (pa.dictionary(pa.int8(), pa.float64()), (1.0, 2.5, 2.0**53)),
    (pa.dictionary(pa.int8(), pa.timestamp("us")), MOMENTS[:3]), (pa.run_end_encoded(pa.int16(), pa.string()), TEXTS),
)  # fmt: skip
# What a column of one of Python's types may hold.
SORTS: tuple[tuple[type, tuple[Any, ...]], ...] = (
    (int, tuple(v for v in NUMBERS if isinstance(v, int) and v <= 2**62)), (bool, TRUTH), (str, TEXTS),
    (float, tuple(map(float, NUMBERS))),
)  # fmt: skip
CODES = ("007", "12", "7", "1.0", "a")  # numbers to Arrow, unless there is a name among them
# Types in which parts of one table may store the same numbers.
NUMERIC_PARTS = (pa.int64(), pa.float64(), pa.decimal128(20, 2), pa.int32(), pa.uint64())


@dataclass(frozen=True)
class Table:
    """Rows of values; the first column names persons where `persons` says so."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def column(self, i: int) -> list[Any]:
        return [row[i] for row in self.rows]


def pandas_frame(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    """As a user makes one: pandas finds the types."""
    import pandas as pd

    del kinds, folder, rng
    return pd.DataFrame({n: pd.Series(table.column(i)) for i, n in enumerate(table.names)})


def pandas_objects(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    import pandas as pd

    del kinds, folder, rng
    return pd.DataFrame({n: pd.Series(table.column(i), dtype=object) for i, n in enumerate(table.names)})


def pandas_categories(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    import pandas as pd

    del kinds, folder, rng
    return pd.DataFrame({n: pd.Series(table.column(i)).astype("category") for i, n in enumerate(table.names)})


def arrow_table(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> pa.Table:
    """With declared types and any chunks."""
    del folder
    columns = [pa.chunked_array([_array(table.column(i), kinds[i])]) for i in range(len(table.names))]
    whole = pa.Table.from_arrays(columns, list(table.names))
    cut = rng.randrange(len(table.rows) + 1)
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return pc.run_end_encode(pa.array(values, kind.value_type), kind.run_end_type)
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, pa.array([v and v.bytes for v in values], pa.binary(16)))
    if isinstance(kind, pa.Bool8Type):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, pa.bool_()).cast(pa.int8()))
    return pa.array(values, kind)


def pandas_sparse(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    import pandas as pd

    del kinds, folder, rng
    return pd.DataFrame({n: pd.arrays.SparseArray(table.column(i)) for i, n in enumerate(table.names)})


def pandas_typed(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Any:
    """With the types of Arrow, as `dtype_backend="pyarrow"` makes them."""
    import pandas as pd

    # in one piece: pyarrow 25 loses where a slice of run-end encoded values begins, before anybody reads them
    return arrow_table(table, kinds, folder, rng).combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)


def pandas_nullable(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    """Whole numbers and truth values in the types of pandas that have a missing value, declared for each column."""
    import pandas as pd

    sorts = {int: "Int64", bool: "boolean", float: "Float64", str: "string"}

    def kind(i: int) -> str:
        """By what its pool holds, which rows do not decide."""
        return sorts[kinds[i]]

    return pd.DataFrame({n: pd.array(table.column(i), dtype=kind(i)) for i, n in enumerate(table.names)})


def narwhals_frame(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    import narwhals as nw

    return nw.from_native(pandas_frame(table, kinds, folder, rng))


def polars_frame(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Any:
    import polars as pl

    if any(pa.types.is_decimal256(kind) or pa.types.is_run_end_encoded(kind) for kind in kinds):
        raise TypeError("polars ends in a panic on such a type")
    return pl.from_arrow(arrow_table(table, kinds, folder, rng))


def parquet_file(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Path:
    pq.write_table(arrow_table(table, kinds, folder, rng), folder / "t.parquet", row_group_size=rng.randint(1, 4))
    return folder / "t.parquet"


def arrow_file(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Path:
    found = arrow_table(table, kinds, folder, rng)
    with pa.ipc.new_file(folder / "t.arrow", found.schema) as out:
        out.write_table(found.unify_dictionaries())
    return folder / "t.arrow"


def parquet_parts(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> list[Path]:
    """Parts that store numbers in types of their own: rows fall into them by their first column's hash."""
    return [
        _part(Table(table.names, rows), part, kinds, folder, random.Random(7 * part))
        for part, rows in enumerate(_thirds(table))
    ]


def _part(table: Table, part: int, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Path:
    stored = [rng.choice(NUMERIC_PARTS) if pa.types.is_int64(kind) else kind for kind in kinds]
    columns = {}
    for i, (name, kind) in enumerate(zip(table.names, stored)):
        values = [None if v is None or not _fits(v, kind) else v for v in table.column(i)]
        columns[name] = pa.array([Decimal(v) if v is not None and pa.types.is_decimal(kind) and not
                                  isinstance(v, Decimal) else v for v in values], kind)  # fmt: skip
    path = folder / f"part{part}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def _fits(value: Any, kind: pa.DataType) -> bool:
    if pa.types.is_int32(kind):
        return abs(value) < 2**31
    if pa.types.is_uint64(kind):
        return value >= 0
    if pa.types.is_floating(kind) and isinstance(value, int):
        return abs(value) <= 2**53
    return True


def _thirds(table: Table) -> list[tuple[tuple[Any, ...], ...]]:
    """The rows in three parts that are never empty; where a row goes depends on the row alone."""
    found: list[list[tuple[Any, ...]]] = [[table.rows[0]], [table.rows[0]], [table.rows[0]]]
    for row in table.rows[1:]:
        found[zlib.crc32(repr(row).encode("utf-8", "replace")) % 3].append(row)
    return [tuple(part) for part in found]


def arrow_stream(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Path:
    found = arrow_table(table, kinds, folder, rng)
    with pa.ipc.new_stream(folder / "s.arrow", found.schema) as out:
        out.write_table(found, max_chunksize=rng.randint(1, 4))
    return folder / "s.arrow"


def dataset(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Any:
    """Of Parquet parts that may store numbers in types of their own."""
    import pyarrow.dataset as ds

    return ds.dataset(list(map(str, parquet_parts(table, kinds, folder, rng))))


def folders(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    """A dataset whose last column is in the names of its folders, where Arrow finds its type."""
    import pyarrow.dataset as ds

    shutil.rmtree(folder / "h", ignore_errors=True)
    parts: dict[str, list[tuple[Any, ...]]] = {}
    for *row, last in table.rows:
        name = "__HIVE_DEFAULT_PARTITION__" if last is None else quote(str(last), safe="")
        parts.setdefault(name, []).append(tuple(row))
    for name, rows in parts.items():
        (folder / "h" / f"{table.names[-1]}={name}").mkdir(parents=True)
        columns = {n: pa.array([None if r[i] is None else str(r[i]) for r in rows], pa.string())
                   for i, n in enumerate(table.names[:-1])}  # fmt: skip
        pq.write_table(pa.table(columns), folder / "h" / f"{table.names[-1]}={name}" / "t.parquet")
    return ds.dataset(folder / "h", partitioning="hive")


class Shards(View):
    """Files as the workers of a cluster read them: piece by piece, each opened anew."""

    def __init__(self, paths: Any, parts: int):
        self.rows = FileRows(paths)
        self.parts = self.rows.split(parts)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            yield from part.batches(columns)


def shards(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Shards:
    paths = (
        [parquet_file(table, kinds, folder, rng)] if rng.random() < 0.5 else parquet_parts(table, kinds, folder, rng)
    )
    return Shards(paths, rng.randint(1, 5))


def json_lines(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    """Public names; a key may be left out where a value is missing, and keys come in any order."""
    lines = []
    for row in table.rows:
        own = random.Random(zlib.crc32(repr(row).encode("utf-8", "replace")))  # how a line is written is its own
        found = {n: _jsonable(v) for n, v in zip(table.names, row) if v is not None or own.random() < 0.5}
        order = own.sample(sorted(found), len(found))
        lines.append(json.dumps({n: found[n] for n in order}, ensure_ascii=own.random() < 0.5))
    path = folder / "t.jsonl"
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"))
    return open_rows(path, options=Options(columns=table.names))


def _jsonable(value: Any) -> Any:
    plain = value is None or isinstance(value, (str, int, float, bool))
    return value if plain else [value.hex()] if isinstance(value, bytes) else str(value)


def sheet(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Path:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    own: Any = book.create_sheet()
    for row in (table.names, *table.rows):
        own.append([v.hex() if isinstance(v, bytes) else v for v in row])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def csv_packed(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Path:
    """With other line ends, a byte order mark, or in another encoding that its mark names."""
    codec = rng.choice(("utf-8", "utf-8-sig", "utf-16"))
    text = _csv(table, folder / "t.csv", rng, "{}").read_bytes().decode()
    path = folder / "t.csv.gz"
    path.write_bytes(gzip.compress(text.encode(codec), 1))
    return path


def csv_file(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Path:
    return _csv(table, folder / "t.csv", rng, "{}")


def csv_parts(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> list[Path]:
    """The second part spells whole numbers as libraries do once a value is missing: 1.0; the third 1e+00."""
    parts = zip(_thirds(table), ("{}", "{}.0", "{:e}"))
    return [_csv(Table(table.names, rows), folder / f"c{i}.csv", rng, how) for i, (rows, how) in enumerate(parts)]


def _csv(table: Table, path: Path, rng: random.Random, whole: str) -> Path:
    text = io.StringIO()
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    out = csv.writer(text, quoting=quoting, lineterminator=rng.choice(("\n", "\r\n")))
    out.writerow(table.names)
    for row in table.rows:
        out.writerow([_spelt(v, whole) for v in row])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def _spelt(value: Any, whole: str) -> str:
    if value is None:
        return ""
    return whole.format(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


SQLITE_TYPES = ("INTEGER", "REAL", "TEXT", "NUMERIC", "BOOLEAN", "DATE", "DECIMAL(9, 2)", "VARCHAR(9)", "")


def sqlite_file(table: Table, kinds: Sequence[Any], folder: Path, rng: random.Random) -> Any:
    """With declared types that say little: any value may stand anywhere. Persons keep the sort they have."""
    import sqlite3

    declared = {name: rng.choice(("TEXT", "") if name == "who" else SQLITE_TYPES) for name in table.names}
    path = folder / "t.sqlite"
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in declared.items())})")
        places = ", ".join("?" * len(table.names))
        connection.executemany(f"INSERT INTO t VALUES ({places})", [[*map(_stored, row)] for row in table.rows])
        connection.commit()
    return open_tables(path, options=Options(batch_rows=rng.randint(1, 4)))["t"]


def _stored(value: Any) -> Any:
    plain = value is None or isinstance(value, (str, float, bytes))
    return value if plain or (isinstance(value, int) and abs(value) < 2**63) else str(value)


def duckdb_file(table: Table, kinds: Sequence[pa.DataType], folder: Path, rng: random.Random) -> Any:
    import duckdb

    found = arrow_table(table, kinds, folder, rng)
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with contextlib.closing(duckdb.connect(path)) as connection:
        connection.register("given", found)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return open_tables(path, options=Options(batch_rows=rng.randint(1, 4)))["t"]


# By name: what makes the source, and whether types are declared ("typed"), found by pandas, or none (all text).
SOURCES = {
    "pandas": (pandas_frame, "found"), "pandas-objects": (pandas_objects, "found"),
    "pandas-categories": (pandas_categories, "found"), "arrow": (arrow_table, "typed"),
    "polars": (polars_frame, "typed"),
    "parquet": (parquet_file, "typed"), "arrow-file": (arrow_file, "typed"), "parquet-parts": (parquet_parts, "typed"),
    "csv": (csv_file, "text"), "csv-parts": (csv_parts, "text"), "csv-packed": (csv_packed, "text"),
    "pandas-nullable": (pandas_nullable, "sorts"), "pandas-arrow": (pandas_typed, "typed"),
    "narwhals": (narwhals_frame, "found"), "arrow-stream": (arrow_stream, "typed"), "dataset": (dataset, "typed"),
    "folders": (folders, "codes"), "pandas-sparse": (pandas_sparse, "found"),
    "shards": (shards, "typed"), "json-lines": (json_lines, "found"), "excel": (sheet, "found"),
    "sqlite": (sqlite_file, "found"), "duckdb": (duckdb_file, "typed"),
}  # fmt: skip
