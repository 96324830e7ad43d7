"""Bad files and bad schemas: the error that each of them must give, in its own words."""

import json
import os
import struct

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from measured import measured

from nacre.engines import open_rows
from nacre.errors import DataError, NacreError, SchemaError
from nacre.table import Schema
from nacre.table.files import Options
from nacre.table.simulate import people
from nacre.table.writing import TableWriter, write_table

# -- schemas

AGE = {"kind": "numeric", "bounds": [0, 120]}
EDU = {"kind": "categorical", "categories": ["lo", "hi"]}


def one(**column):
    return {"format": 1, "columns": {"x": column}}


def two(**more):
    return {"format": 1, "columns": {"age": AGE, "edu": EDU, "id": {"kind": "identifier"}}, **more}


BAD_SCHEMAS = {
    "not json": ("{", "not JSON: Expecting property name"),
    "not utf-8": (b'{"format": \xff}', "not UTF-8 text: byte 11"),
    "a list": ("[]", "the schema is []; write an object"),
    "no format": ({"columns": {"x": AGE}}, 'the schema has no "format"; add "format": 1'),
    "format of tomorrow": ({"format": 2, "columns": {"x": AGE}}, "has format 2; this version of nacre reads format 1"),
    "format as truth value": ({"format": True, "columns": {"x": AGE}}, "has format True"),
    "no columns": ({"format": 1}, '"columns" is None; write an object'),
    "empty columns": ({"format": 1, "columns": {}}, "name at least one column"),
    "unknown key": ({"format": 1, "columns": {"x": AGE}, "row": 5}, "the schema has the unknown key 'row'"),
    "unknown column key": (one(kind="boolean", bounds=[0, 1]), "column 'x' has the unknown key 'bounds'"),
    "unknown kind": (one(kind="number"), "column 'x': kind is 'number'; choose one of numeric, categorical"),
    "kind missing": (one(bounds=[0, 1]), "column 'x': kind is None"),
    "column is text": ({"format": 1, "columns": {"x": "numeric"}}, "column 'x' is 'numeric'; write an object"),
    "repeated key": ('{"format": 1, "format": 1}', "the key 'format' appears twice"),
    "repeated column": ('{"format": 1, "columns": {"x": {}, "x": {}}}', "the key 'x' appears twice"),
    "nan": ('{"format": 1, "columns": {"x": {"kind": "numeric", "bounds": [0, NaN]}}}', "the number NaN is not finite"),
    "infinite": ('{"format": 1, "columns": {"x": {"kind": "numeric", "bounds": [0, 1e999]}}}', "is not finite"),
    "deep": ("[" * 100_000, "nested too deep"),
    "endless number": ('{"format": ' + "1" * 5_000 + "}", "thousands of digits"),
    "reversed bounds": (one(kind="numeric", bounds=[5, 1]), "column 'x': bounds are reversed: 5.0 is above 1.0"),
    "one bound": (one(kind="numeric", bounds=[5]), "column 'x': bounds has 1 value(s); write two"),
    "bounds as text": (one(kind="numeric", bounds="0-9"), "column 'x': bounds is '0-9'; write a list"),
    "bound as text": (one(kind="numeric", bounds=["0", 9]), "column 'x': bounds has '0', which is not a number"),
    "bounds too far apart": (one(kind="numeric", bounds=[-1e308, 1e308]), "too far apart for 64-bit arithmetic"),
    "half an integer": (one(kind="numeric", bounds=[0, 1.5], integer=True), "bounds has 1.5 but the column is integer"),
    "huge integer": (one(kind="numeric", bounds=[0, 2**63], integer=True), "integers reach from -2**62 to 2**62"),
    "integer as text": (one(kind="numeric", integer="yes"), "column 'x': integer is 'yes'; write true or false"),
    "edges not increasing": (one(kind="numeric", edges=[0, 2, 2]), "edges are not increasing: 2.0 is followed by 2.0"),
    "one edge": (one(kind="numeric", edges=[0]), "edges has 1 value(s); at least two"),
    "edges and bounds": (one(kind="numeric", bounds=[0, 9], edges=[0, 5]), "edges run from 0.0 to 5.0 but bounds are"),
    "atom outside": (one(kind="numeric", bounds=[0, 9], atoms=[10]), "atom 10.0 lies outside the bounds"),
    "atom twice": (one(kind="numeric", bounds=[0, 9], atoms=[1, 1.0]), "name the same value twice"),
    "duplicate category": (one(kind="categorical", categories=["a", "b", "a"]), "category 'a' is listed twice"),
    "no categories": (one(kind="categorical", categories=[]), "categories is empty; name at least one"),
    "number as category": (one(kind="categorical", categories=[1, 2]), "categories has 1, which is not text"),
    "empty category": (one(kind="categorical", categories=[""]), "the empty text means a missing value"),
    "NUL in a category": (one(kind="categorical", categories=["a\0"]), "with a NUL character"),
    "half a character": (one(kind="categorical", categories=["\ud800"]), "is not valid Unicode text"),
    "nullable as number": (one(kind="boolean", nullable=1), "column 'x': nullable is 1; write true or false"),
    "unknown unit": (one(kind="datetime", unit="week"), "unit is 'week'; choose one of us, ms, s, minute, hour, day"),
    "unknown zone": (one(kind="datetime", tz="Mars/Olympus"), "tz 'Mars/Olympus' is not a known time zone"),
    "zone as a path": (one(kind="datetime", tz="../../etc/passwd"), "is not a known time zone"),
    "date with a zone": (one(kind="datetime", unit="day", tz="UTC"), "unit 'day' is a date and has no zone"),
    "not a date": (
        one(kind="datetime", bounds=["1/2/2020", "2021-01-01"]),
        "'1/2/2020' is not a date; write it in ISO",
    ),
    "reversed dates": (one(kind="datetime", bounds=["2021-01-01", "2020-01-01"]), "'2021-01-01' is above '2020-01-01'"),
    "bound between units": (
        one(kind="datetime", unit="day", bounds=["2020-01-01T05:00", "2021-01-01"]),
        "bound '2020-01-01T05:00' is not a whole day",
    ),
    "shape": (one(kind="tensor", shape=[0]), "shape is [0]; write one or more positive whole numbers"),
    "huge shape": (one(kind="tensor", shape=[10**5, 10**5]), "more than 10,000,000 numbers per row"),
    "unknown provenance": (one(kind="boolean", provenance={"kind": "guessed"}), "provenance of kind is 'guessed'"),
    "provenance of nothing": (
        one(kind="boolean", provenance={"bounds": "read"}),
        "names the fact 'bounds', which this",
    ),
    "rows": (two(rows=0), "rows is 0; write the public number of rows, at least 1"),
    "rows as text": (two(rows="many"), "rows is 'many'"),
    "unit of nobody": (two(unit={"column": "who", "cap": 1}), "unit: column 'who' is no column of the schema"),
    "unit not an identifier": (two(unit={"column": "age", "cap": 1}), "unit: column 'age' is a numeric column"),
    "cap": (two(unit={"column": "id", "cap": 0}), "unit: cap is 0; write a whole number of rows per person"),
    "cap missing": (two(unit={"column": "id"}), "\"unit\" has no 'cap'; it needs column, cap"),
    "dependency on nothing": (
        two(dependencies=[{"determinant": "who", "dependent": "age", "mapping": [["a", 1]]}]),
        "dependency of 'age' on 'who': there is no column 'who'",
    ),
    "dependency with a gap": (
        two(dependencies=[{"determinant": "edu", "dependent": "age", "mapping": [["lo", 1]]}]),
        "the mapping has no entry for 'hi'",
    ),
    "dependency twice": (
        two(dependencies=[{"determinant": "edu", "dependent": "age", "mapping": [["lo", 1], ["lo", 2], ["hi", 3]]}]),
        "two entries for 'lo'",
    ),
    "dependency as object": (two(dependencies={"edu": "age"}), "\"dependencies\" is {'edu': 'age'}; write a list"),
    "impossible column": (two(impossible=[{"who": [1]}]), "impossible[0]: there is no column 'who'"),
    "impossible label": (two(impossible=[{"edu": ["mid"]}]), "impossible[0], column 'edu': 'mid' is not a category"),
    "impossible range": (two(impossible=[{"edu": {"low": "lo", "high": "hi"}}]), "a range needs an ordered column"),
    "impossible nothing": (two(impossible=[{"edu": []}]), "the list of values is empty"),
    "attestation": (two(attestations=[{"by": "", "why": "x", "facts": []}]), "by is ''; say in words who attests"),
    "too many columns": (
        {"format": 1, "columns": {f"c{i}": {"kind": "boolean"} for i in range(2_001)}},
        "the schema models 2,001 columns; at most 2,000",
    ),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_bad_schema(name, tmp_path):
    source, part = BAD_SCHEMAS[name]
    with pytest.raises(SchemaError) as caught:
        Schema.from_json(source)
    assert part in str(caught.value)
    text = source if isinstance(source, (str, bytes)) else json.dumps(source)
    path = tmp_path / "s.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SchemaError) as again:  # the same from a file, which is named
        Schema.load(path)
    assert str(again.value).startswith(f"{path}: ") and part in str(again.value)


def test_schema_text_has_a_limit():
    with pytest.raises(SchemaError, match=r"the schema text has .* characters; at most 67,108,864"):
        Schema.from_json(" " * (2**26 + 1))


@pytest.mark.parametrize(("path", "part"), [("none.json", "no such schema file"), (".", "cannot read the schema file")])
def test_schema_file_that_is_none(tmp_path, path, part):
    with pytest.raises(DataError, match=part):
        Schema.load(tmp_path / path)


# -- files


def parquet(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def arrow(table, **options):
    sink = pa.BufferOutputStream()
    feather.write_feather(table, sink, **options)
    return sink.getvalue().to_pybytes()


def stream(batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()


SMALL = pa.table({"a": list(range(100)), "b": ["x", "y"] * 50})


def wrong_utf8():
    """Arrow text whose bytes are not UTF-8."""
    offsets, data = pa.py_buffer(struct.pack("<ii", 0, 1)), pa.py_buffer(b"\xff")
    return pa.record_batch({"a": pa.StringArray.from_buffers(1, offsets, data)})


def wrong_index():
    """A dictionary whose indices point past its end."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), ["x", "y"], safe=False)
    return pa.record_batch({"a": array})


BAD_FILES = {
    "empty csv": ("a.csv", b"", "a.csv: the file is empty; expected column names and rows"),
    "empty parquet": ("a.parquet", b"", "a.parquet: the file is empty"),
    "only line ends": ("a.csv", b"\n\n", "the file has no columns; expected at least one"),
    "header only": ("a.csv", b"a,b\n", "a.csv: the file has column names but no rows"),
    "header without line end": ("a.csv", b"a,b", "a.csv: the file has column names but no rows"),
    "short row": ("a.csv", b"a,b\n1,2\n3\n", "a.csv: line 3 has 1 fields but the header has 2; correct the line"),
    "long row": ("a.csv", b"a,b\n1,2,3\n", "a.csv: line 2 has 3 fields but the header has 2"),
    "short row that is not text": ("a.csv", b"a,b\n1,2\n\xff\n3,4\n", "line 3 has 1 fields but the header has 2"),
    "ragged late": ("a.csv", b"a,b\n" + b"1,2\n" * 10_000 + b"1\n", "line 10002 has 1 fields"),
    "two names": ("a.csv", b"a,b,a\n1,2,3\n", "a.csv: the column name 'a' occurs twice; rename one of them"),
    "no name": ("a.csv", b",b\n0,1\n", "a.csv: column 1 has no name (an index saved with the table?)"),
    "NUL": ("a.csv", b"a,b\n1,\x00\n", "a.csv: there is a NUL byte at position 6; a CSV file is text"),
    "NUL far in": ("a.csv", b"a,b\n" + b"1,2\n" * 2_500_000 + b"\0,2\n", "a NUL byte at position 10,000,004"),
    "utf-16": ("a.csv", "a,b\n1,2\n".encode("utf-16"), "a.csv: the file is UTF-16 text; save it as UTF-8"),
    "utf-16 without mark": ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "there is a NUL byte at position 1"),
    "latin-1 value": ("a.csv", b"a,b\n1,\xe6\n", "a.csv: the text (column 'b') is not valid utf-8; save the file"),
    "latin-1 header": ("a.csv", b"\xe6,b\n1,2\n", "a.csv: the header line is not valid utf-8"),
    "endless header": ("a.csv", b"a" * 5_000_000, "the first line is longer than 4,194,304 bytes"),
    "long name": ("a.csv", b"a" * 200_000 + b",b\n1,2\n", "the header line cannot be read (field larger than"),
    "unclosed quote": (
        "a.csv",
        b'a,b\n1,"' + b"x,\n" * 9_000_000,
        "a row is longer than 8,388,608 bytes, perhaps after",
    ),
    "too many columns": (
        "a.csv",
        b",".join(b"c%d" % i for i in range(20_001)) + b"\n",
        "20,001 columns; at most 20,000",
    ),
    "csv named parquet": ("a.parquet", b"a,b\n1,2\n", "a.parquet: not a readable Parquet file"),
    "cut parquet": ("a.parquet", parquet(SMALL)[:-50], "a.parquet: not a readable Parquet file"),
    "parquet without rows": ("a.parquet", parquet(SMALL.slice(0, 0)), "the file has column names but no rows"),
    "parquet without columns": ("a.parquet", parquet(pa.table({})), "a.parquet: the file has no columns"),
    "parquet, two names": (
        "a.parquet",
        parquet(pa.Table.from_arrays([SMALL["a"]] * 2, ["a", "a"])),
        "the column name 'a' occurs twice",
    ),
    "parquet, scrambled": (
        "a.parquet",
        b"PAR1" + b"\xff" * 900 + parquet(SMALL, compression="none")[904:],
        "a.parquet: the Parquet file is damaged",
    ),
    "parquet, wrong utf-8": (
        "a.parquet",
        parquet(pa.Table.from_batches([wrong_utf8()]), use_dictionary=False),
        "a.parquet: the Parquet file is damaged",
    ),
    "csv named arrow": ("a.arrow", b"a,b\n1,2\n", "a.arrow: not a readable Arrow file"),
    "cut arrow": ("a.feather", arrow(SMALL)[:-40], "a.feather: not a readable Arrow file"),
    "arrow, wrong utf-8": ("a.arrow", stream(wrong_utf8()), "a.arrow: the Arrow file is damaged"),
    "arrow, wrong index": ("a.arrow", stream(wrong_index()), "a.arrow: the Arrow file is damaged"),
    "unknown ending": ("a.xlsx", b"PK", "a.xlsx: the ending '.xlsx' is not one that nacre knows (.csv, .tsv"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(name, tmp_path):
    file, content, part = BAD_FILES[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        for _ in open_rows(path).batches():
            pass
    assert str(caught.value).startswith(str(path)) and part in str(caught.value)
    # no library's text, which may quote data, hangs on to it
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("none.csv", "none.csv: no such file; check the path"),
        ("no*.csv", "no file matches"),
        (".", "is a folder without tables"),
        ("a\0b.csv", "cannot be read"),
        ("/dev/null", "the ending '' is not one that nacre knows"),
    ],
)
def test_paths_that_lead_nowhere(source, part, tmp_path):
    with pytest.raises(DataError) as caught:
        open_rows(str(tmp_path / source) if not source.startswith("/") else source)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"encoding": "klingon"}, "encoding 'klingon' is not known"),
        ({"delimiter": "::"}, "delimiter '::': write one character"),
        ({"max_cells": 1}, "declares 200 cells; at most 1 (option max_cells)"),
    ],
)
def test_bad_options(options, part, tmp_path):
    ending = "parquet" if "max_cells" in options else "csv"
    write_table(SMALL, tmp_path / f"a.{ending}")
    with pytest.raises(DataError) as caught:
        open_rows(tmp_path / f"a.{ending}", options=Options(**options))
    assert part in str(caught.value)


def test_tables_without_rows_or_columns():
    for table in (SMALL.slice(0, 0), pa.table({})):
        with pytest.raises(DataError, match="a table needs at least one of each"):
            open_rows(table)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("missing/a.csv", "there is no folder"),
        ("a.xlsx", "the ending '.xlsx' is not one"),
        ("folder", "is a folder; name a file in it"),
        ("taken.csv", "exists already and is kept"),
    ],
)
def test_targets_that_cannot_be_written(path, part, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken.csv").write_text("mine")
    with pytest.raises(DataError, match=part):
        TableWriter(tmp_path / path, SMALL.schema)
    assert sorted(os.listdir(tmp_path)) == ["folder", "taken.csv"] and (tmp_path / "taken.csv").read_text() == "mine"


def test_arrays_do_not_fit_csv(tmp_path):
    with pytest.raises(DataError, match="column 'x' holds arrays, which CSV cannot; use Parquet"):
        write_table(pa.table({"x": [[1, 2]]}), tmp_path / "a.csv")


# -- bombs: a few bytes that stand for gigabytes


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


BOMBS = {
    "many equal rows": (many_equal_rows, "a.parquet", "200,000,000 cells, more than 100 per byte"),
    "one page of zeros": (zeros_in_one_page, "a.parquet", "30,000,000 cells, more than 100 per byte"),
    "one long text": (one_long_text, "a.parquet", "row group 0 declares values of 100,0"),
    "one long list": (one_long_list, "a.parquet", "30,000,000 cells, more than 100 per byte"),
    "packed arrow": (packed_arrow, "a.arrow", "bytes to 120,000,000"),
    "null rows": (null_rows, "a.arrow", "1,000,000,000 cells, more than 100 per byte"),
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
