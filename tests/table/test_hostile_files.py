"""Files made to hurt: a few bytes that stand for gigabytes, and damage of every kind."""

import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from made_files import SMALL, arrow, parquet
from measured import measured

from nacre.engines import open_rows
from nacre.errors import NacreError
from nacre.table import Schema
from nacre.table.simulate.people import people
from nacre.table.sources import Options


def many_equal_rows(path):
    """200 million rows in a few hundred kilobytes."""
    table = pa.table({"a": pa.array(np.zeros(10_000_000, np.int8))})
    with pq.ParquetWriter(path, table.schema) as out:
        for _ in range(20):
            out.write_table(table, row_group_size=10_000_000)


def zeros_in_one_page(path):
    pq.write_table(pa.table({"a": np.zeros(30_000_000)}), path, use_dictionary=False, compression="zstd",
                   data_page_size=2**30)  # fmt: skip


def one_long_text(path):
    pq.write_table(pa.table({"a": ["x" * 100_000_000]}), path, use_dictionary=False, compression="zstd")


def one_long_list(path):
    values = pa.array(np.zeros(30_000_000, np.int8))
    pq.write_table(pa.table({"a": pa.ListArray.from_arrays([0, len(values)], values)}), path)


def packed_arrow(path):
    feather.write_feather(pa.table({"a": np.zeros(15_000_000)}), path, compression="zstd", chunksize=15_000_000)


def null_rows(path):
    """A column of type null takes no bytes, however many rows it has."""
    batch = pa.record_batch({"a": pa.nulls(10**9)})
    with pa.ipc.new_file(str(path), batch.schema) as out:
        out.write_batch(batch)


def packed_lines(path):
    """Two gigabytes of empty lines."""
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(b"a,b\n1,2\n")
        for _ in range(64):
            out.write(b"\n" * 2**25)


def packed_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as out:
        out.write(b"a,b\n1,2\n")
        for _ in range(64):
            out.write(b"\n" * 2**22)


def zip_of_another_method(path):
    """Python's bzip2 and LZMA members are unpacked without a limit: 300 MB at once from a kilobyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive, archive.open("a.csv", "w") as out:
        out.write(b"a,b\n1,2\n")
        for _ in range(75):
            out.write(b"\n" * 2**22)


def workbook_of_another_method(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"):
            archive.writestr(name, b"<a/>")


def many_members(path):
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(20_000):
            archive.writestr(f"{i}.csv", b"")


BOMBS = {
    "many equal rows": (many_equal_rows, "a.parquet", "200,000,000 cells, more than 100 per byte"),
    "one page of zeros": (zeros_in_one_page, "a.parquet", "30,000,000 cells, more than 100 per byte"),
    "one long text": (one_long_text, "a.parquet", "row group 0 declares values of 100,0"),
    "one long list": (one_long_list, "a.parquet", "30,000,000 cells, more than 100 per byte"),
    "packed arrow": (packed_arrow, "a.arrow", "bytes to 120,000,000"),
    "null rows": (null_rows, "a.arrow", "1,000,000,000 cells, more than 100 per byte"),
    "packed lines": (packed_lines, "a.csv.zst", "more than 1,000 times its size"),
    "packed zip": (packed_zip, "a.csv.zip", "more than 1,000 times its size"),
    "zip of bzip2": (zip_of_another_method, "a.csv.zip", "packed by another method than deflate"),
    "workbook of LZMA": (workbook_of_another_method, "a.xlsx", "packed by another method than deflate"),
    "many members": (many_members, "a.csv.zip", "the archive lists too many files"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_fast_and_in_little_memory(name, tmp_path):
    make, file, part = BOMBS[name]
    path = tmp_path / file
    make(path)
    assert path.stat().st_size < 4_000_000
    message, seconds, megabytes = measured(f"""
        try:
            for _ in open_rows({str(path)!r}).batches():
                pass
            print("read")
        except DataError as error:
            print(error)
    """)
    assert part in message
    assert seconds < 2 and megabytes < 512


def test_a_page_that_lies_about_its_size_takes_no_memory_for_it(tmp_path):
    """The header of a page (Thrift: field 1 the kind, 2 and 3 the sizes, zigzag) says that two gigabytes follow."""
    good = parquet(pa.table({"s": ["x", "long " * 20]}), compression="none", use_dictionary=False)
    assert good[4:].startswith(
        b"\x15\x00\x15\xe6\x01\x15\xe6\x01"
    )  # a data page, of 115 bytes before and after packing
    size = 2**31 - 100
    lie = b"".join(bytes([(2 * size >> 7 * i & 0x7F) | (0x80 if i < 4 else 0)]) for i in range(5))
    path = tmp_path / "a.parquet"
    path.write_bytes(good[:10] + lie + good[12:])
    message, seconds, megabytes = measured(f"""
        try:
            for _ in open_rows({str(path)!r}).batches():
                pass
            print("read")
        except DataError as error:
            print(error)
    """)
    assert "the Parquet file is damaged" in message
    assert seconds < 2 and megabytes < 512


def test_an_owner_may_raise_the_limits(tmp_path):
    many_equal_rows(tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", options=Options(cells_per_byte=10**6))
    assert next(rows.batches()).num_rows == 131_072


def test_ordinary_files_are_far_from_the_limits(tmp_path):
    """A table of constants, the most compressible that is not made on purpose, and a simulated one."""
    constants = pa.table({f"c{i}": np.full(1_000_000, i) for i in range(15)})
    for table in (constants, people(250_000)):
        path = tmp_path / f"{table.num_rows}.parquet"
        pq.write_table(table, path)
        assert sum(b.num_rows for b in open_rows(path).batches()) == table.num_rows


def test_damaged_files_give_typed_errors(tmp_path):
    """Random damage never ends in anything but a NacreError or a readable table."""
    rng = np.random.default_rng(11)
    nested = pa.table({"x": [[1.0, 2.0], None, [3.0]], "b": ["x", "y", "z"]})
    files = {"parquet": parquet(SMALL), "pq": parquet(nested), "arrow": arrow(SMALL), "csv": b"a,b\n1,x\n2,y\n"}
    for ending, good in files.items():
        for _ in range(150):
            data = bytearray(good)
            for _ in range(rng.integers(1, 6)):
                data[rng.integers(len(data))] = rng.integers(256)
            path = tmp_path / f"a.{ending}"
            path.write_bytes(data)
            try:
                rows = open_rows(path)
                for _batch in rows.batches():
                    pass
                Schema.draft(rows)
            except NacreError:
                pass
