"""Bad files, paths and options: the error that each of them must give, in its own words."""

import os
import struct

import pyarrow as pa
import pytest
from made_files import SMALL, arrow, parquet, stream

from nacre.engines import open_rows
from nacre.errors import DataError, SchemaError
from nacre.table import Boolean, Identifier, Numeric, Schema
from nacre.table.sources import Options
from nacre.table.writing import TableWriter, write_table


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
    "rows of another length": ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "a.csv: 2 of the first 2 lines have not the 2 fields"),
    "title line": ("a.csv", b"People of 2020\na,b\n1,2\n", "have not the 1 fields of the header, split at ','; name"),
    "comment": ("a.csv", b"# made by hand\na\n1\n", "a.csv: the first line looks like a comment; say how many lines"),
    "two names": ("a.csv", b"a,b,a\n1,2,3\n", "a.csv: the column name 'a' occurs twice; rename one of them"),
    "no name": ("a.csv", b"b,\n0,1\n", "a.csv: column 2 has no name (an index saved with the table?)"),
    "utf-16 without mark": ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "a.csv: the header line is not valid utf-8"),
    "latin-1 values": (
        "a.csv",
        b"a,b\n1,\xe6\n2,\xe6\n",
        "a.csv: the text is not valid utf-8; save the file as UTF-8 or name",
    ),
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
    "arrow, wrong time zone": (
        "a.arrow",
        stream(pa.record_batch({"a": pa.array([0], pa.timestamp("s", "Europe/Oslo"))})).replace(
            b"Oslo", b"\xff\xff\xff\xff"
        ),
        "a.arrow: not a readable Arrow file",
    ),
    "arrow, wrong index": ("a.arrow", stream(wrong_index()), "a.arrow: the Arrow file is damaged"),
    "unknown ending": ("a.dat", b"PK", "a.dat: the ending '.dat' is not one that nacre knows (.csv, .tsv"),
    "old Excel": ("a.xls", b"PK", "a.xls: the ending '.xls' is not one that nacre knows"),
    "packed as xz": ("a.csv.xz", b"PK", "unpack it, or pack it as .gz or .zst"),
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
        ("a.xlsx", "read from excel files but not written to them"),
        ("a.csv.zip", "written packed as .gz or .zst, not as .zip"),
        ("a.dat", "the ending '.dat' is not one"),
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


# -- ten thousand columns: read without trouble, modelled only in part


@pytest.fixture(scope="module")
def many_columns(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "many.csv"
    names = [f"c{i}" for i in range(10_000)]
    row = ",".join(str(i % 7) for i in range(10_000))
    path.write_text(",".join(names) + "\n" + f"{row}\n" * 20)
    return path


def test_ten_thousand_columns_are_too_many_to_model(many_columns, tmp_path):
    import nacre

    told = "has 10,000 columns; at most 2,000 can be modelled: leave columns out"
    for start in (
        lambda: nacre.fit(many_columns, epsilon=1.0),
        lambda: nacre.fit(many_columns, epsilon=None),
        lambda: Schema.draft(open_rows(many_columns)),
    ):
        with pytest.raises(SchemaError, match=told):
            start()
    with pytest.raises(SchemaError, match="the schema models 2,001 columns; at most 2,000: leave columns out"):
        Schema({f"c{i}": Boolean() for i in range(2_001)})


def test_ten_thousand_columns_most_of_them_names(many_columns):
    """Identifiers are made anew and cost nothing: the rest is fitted, and all columns come out in order."""
    import nacre

    schema = Schema({f"c{i}": Numeric((0, 6), integer=True) if i < 5 else Identifier() for i in range(10_000)}, rows=20)
    release = nacre.fit(many_columns, epsilon=1.0, schema=schema, method="independent")
    drawn = release.sample(3, as_="pyarrow")
    assert drawn.num_columns == 10_000 and drawn.column_names[:6] == [f"c{i}" for i in range(6)]
