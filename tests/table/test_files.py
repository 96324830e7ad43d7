"""Files: what was written is read back, whole or not at all, in bounded memory."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measured import measured

from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.table import Datetime, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.simulate.people import people, people_schema
from nacre.table.sources import Options
from nacre.table.values.decoding import decode
from nacre.table.writing import TableWriter, whole_file, write_table, write_text

ENDINGS = ("csv", "tsv", "parquet", "arrow", "feather")


def read(path, **options) -> pa.Table:
    return pa.Table.from_batches(open_rows(path, options=Options(**options)).batches())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_comes_back_from_every_format(tmp_path, ending):
    schema, table = people_schema(), people(3_000, seed=4)
    path = tmp_path / f"people.{ending}"
    with TableWriter(path, table.schema) as out:
        out.write(table.slice(0, 1_000))
        out.write(table.slice(1_000))
    assert decode(encode(read(path), schema), schema).equals(table)
    assert os.listdir(tmp_path) == [path.name]


label = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.none() | label, min_size=1, max_size=8), label)
def test_any_text_survives_csv(tmp_path, values, name):
    if all(v is None for v in values):
        values = [*values, "x"]
    table = pa.table({name: pa.array(values, pa.string()), "n" + name: pa.array(range(len(values)))})
    write_table(table, tmp_path / "t.csv", force=True)
    back = read(tmp_path / "t.csv")
    assert back.column_names == table.column_names and back[name].to_pylist() == values


def test_csv_columns_are_text_whatever_stands_in_them(tmp_path):
    (tmp_path / "a.csv").write_text("n,b,d\n1,true,2020-01-01\n2,false,2020-01-02\n")
    rows = open_rows(tmp_path / "a.csv")
    assert set(rows.arrow_schema.types) == {pa.string()}
    assert {f.type for b in rows.batches() for f in b.schema} == {pa.string()}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
        (b"a;b\n1;2,5\n", {"a": ["1"], "b": ["2,5"]}),
        (b"a\tb\r\n1\t2\r\n", {"a": ["1"], "b": ["2"]}),
        (b'a,b\n"x\ny","say ""hi"""\n', {"a": ["x\ny"], "b": ['say "hi"']}),
        (b'a,b\n,""\n', {"a": [None], "b": [None]}),
        (b"a\n1\n\n3\n", {"a": ["1", None, "3"]}),
        ("a,b\n1,æ\n".encode("latin-1"), {"a": ["1"], "b": ["æ"]}),
    ],
    ids=["bom", "semicolon", "tab and CRLF", "quotes", "empty is null", "one column", "latin-1"],
)
def test_shapes_of_csv(tmp_path, content, expected):
    (tmp_path / "a.csv").write_bytes(content)
    options = {"encoding": "latin-1"} if b"\xe6" in content else {}
    assert read(tmp_path / "a.csv", **options).to_pydict() == expected


def test_only_the_named_columns_are_read(tmp_path):
    table = people(100)
    for ending in ENDINGS:
        write_table(table, tmp_path / f"p.{ending}")
        rows = open_rows(tmp_path / f"p.{ending}")
        assert [b.schema.names for b in rows.batches(["income", "age"])] == [["income", "age"]]


def test_existing_files_are_kept_unless_forced(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("mine")
    with pytest.raises(DataError, match="exists already and is kept"):
        write_table(people(5), path)
    assert path.read_text() == "mine"
    write_table(people(5), path, force=True)
    assert read(path).num_rows == 5


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(DataError, match="appeared while it was being written"), whole_file(path) as part:
        part.write_text("late")
        path.write_text("first")
    assert path.read_text() == "first" and os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, pa.ArrowInvalid])
@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_of_a_broken_write(tmp_path, ending, error):
    path = tmp_path / f"a.{ending}"
    with pytest.raises(error), TableWriter(path, people(1).schema) as out:
        out.write(people(10))
        raise error
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_a_data_error_and_leaves_nothing(tmp_path):
    """A limit on file size stands in for a full disk."""
    code = f"""
        import resource, signal
        from nacre.errors import DataError
        from nacre.table.simulate.people import people
        from nacre.table.writing import write_table
        table = people(20000)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_table(table, {str(tmp_path / "a.parquet")!r})
        except DataError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert "a.parquet: writing failed" in run.stdout, run.stderr
    assert os.listdir(tmp_path) == []


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.json", "{}")
    finally:
        os.umask(before)
    assert os.stat(tmp_path / "a.json").st_mode & 0o777 == 0o640


def test_streams_in_bounded_batches(tmp_path):
    table = pa.table({"a": np.arange(500_000), "s": ["x", None] * 250_000})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=500_000)
    feather.write_feather(table, tmp_path / "a.feather", chunksize=500_000)
    pacsv.write_csv(table, tmp_path / "a.csv")
    for name in ("a.parquet", "a.feather", "a.csv"):
        sizes = [b.num_rows for b in open_rows(tmp_path / name).batches()]
        assert sum(sizes) == 500_000 and max(sizes) <= 131_072, name


def test_a_repeated_long_text_stays_one_value_in_memory(tmp_path):
    """65,536 rows of a 100 kB text are 6 GB as plain text."""
    table = pa.table({"s": pa.DictionaryArray.from_arrays(np.zeros(65_536, np.int32), ["x" * 100_000])})
    pq.write_table(table, tmp_path / "a.parquet")
    printed, _, megabytes = measured(f"""
        from nacre.table import Categorical, Schema
        from nacre.table.encoding import encode
        schema = Schema({{"s": Categorical(("y",), other="rest")}})
        rows = open_rows({str(tmp_path / "a.parquet")!r})
        print(sum(encode(batch, schema).outside()["s"].outside for batch in rows.batches()))
    """)
    assert printed == "65536" and megabytes < 512


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Four million rows in one row group, 100 MB as a table, streamed in what the libraries need and a
    little."""
    table = pa.table({"a": np.arange(4_000_000), "b": np.random.default_rng(0).random(4_000_000), "c": np.arange(4e6)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4_000_000)
    code = "for batch in open_rows({!r}).batches():\n    {}"
    _, _, one = measured(code.format(str(tmp_path / "a.parquet"), "break"))
    _, _, every = measured(code.format(str(tmp_path / "a.parquet"), "pass"))
    assert every - one < 60


def test_wide_files_are_read_and_refused_only_for_modelling(tmp_path):
    from nacre.errors import SchemaError

    names = [f"c{i}" for i in range(10_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    rows = open_rows(tmp_path / "wide.csv")
    assert next(rows.batches(["c7"])).to_pydict() == {"c7": ["1"]}
    with pytest.raises(SchemaError, match="the table has 10,000 columns; at most 2,000"):
        Schema.draft(rows)


def test_offsets_in_written_csv_are_read_as_the_same_instants(tmp_path):
    schema = Schema({"t": Datetime(("2020-01-01", "2021-01-01"), tz="America/New_York"), "x": Numeric((0, 1))})
    table = decode(encode(pa.table({"t": ["2020-07-01T10:00:00Z"], "x": [0.1]}), schema), schema)
    write_table(table, tmp_path / "a.csv")
    assert decode(encode(read(tmp_path / "a.csv"), schema), schema).equals(table)
