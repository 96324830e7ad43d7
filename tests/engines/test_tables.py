"""Several tables at once: mappings, folders, SQLite and DuckDB files, and values of any sort in SQLite's columns."""

import contextlib
import random
import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.engines import MemoryRows, TableRows, holds_tables, open_tables
from nacre.errors import DataError, OwnerWarning
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.imports.base import Relation
from nacre.table.sources import Options
from nacre.table.sources.banks import open_bank
from nacre.table.sources.storage import is_as_written


def made(path, *statements, rows=()):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        for statement, values in rows:
            connection.executemany(statement, values)
        connection.commit()
    return path


def read(rows, columns=None):
    return pa.Table.from_batches(rows.batches(columns)).to_pydict()


def test_a_mapping_of_anything(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    found = open_tables(
        {
            "frame": pd.DataFrame({"a": [1, 2]}),
            "arrow": pa.table({"a": [3]}),
            "file": tmp_path / "x.parquet",
            "parts": [tmp_path / "x.parquet"] * 2,
            "rows": MemoryRows(pa.table({"a": [4]})),
            "empty": pa.table({"a": pa.array([], pa.int64())}),
        }
    )
    assert {name: read(rows)["a"] if name != "empty" else [*rows.batches()] for name, rows in found.items()} == {
        "frame": [1, 2], "arrow": [3], "file": [1], "parts": [1, 1], "rows": [4], "empty": []
    }  # fmt: skip
    assert list(open_tables({"b": pa.table({"x": [1]}), "a": pa.table({"x": [1]})}, ["a"])) == ["a"]


def test_a_folder_with_a_file_or_a_folder_for_each_table(tmp_path):
    (tmp_path / "patients.csv").write_text("id,sex\n1,f\n")
    (tmp_path / "notes.txt.bak").write_text("no table")
    (tmp_path / ".hidden.csv").write_text("a\n1\n")
    (tmp_path / "none.csv").write_text("a,b\n")
    (tmp_path / "stays").mkdir()
    (tmp_path / "pictures").mkdir()
    for i in range(2):
        pq.write_table(pa.table({"id": [i]}), tmp_path / "stays" / f"part{i}.parquet")
    found = open_tables(tmp_path)
    assert list(found) == ["none", "patients", "stays"]
    assert read(found["stays"]) == {"id": [0, 1]} and read(found["patients"]) == {"id": ["1"], "sex": ["f"]}
    assert [*found["none"].batches()] == []
    assert not holds_tables(tmp_path), "a folder is the parts of one table, unless somebody knows better"
    (tmp_path / "patients.parquet").write_bytes(b"x")
    assert refused(tmp_path) == (
        f"{tmp_path}: patients.csv and patients.parquet are both the table 'patients'; keep one, or put the parts of a "
        "table into a folder patients"
    )


def refused(source, *args):
    with pytest.raises(DataError) as error:
        open_tables(source, *args)
    return str(error.value)


def test_what_holds_no_tables(tmp_path):
    assert refused(tmp_path) == f"{tmp_path}: there is no table in it"
    assert refused({}) == "the mapping of tables: there is no table in it"
    assert refused({"a": pa.table({"x": [1]})}, ["b"]) == "the mapping of tables: there is no table 'b'; it has a"
    assert refused({3: pa.table({"x": [1]})}) == "the mapping of tables names 3; tables have names of text"
    assert refused(3) == ("a int holds no tables by name; give {name: table}, a folder, or a SQLite or DuckDB file")
    for name in ("no.sqlite", "no.duckdb"):
        assert refused(tmp_path / name) == f"{tmp_path / name}: no such file; check the path"
        (tmp_path / name).write_text("none of them")
        assert refused(tmp_path / name) == (
            f"{tmp_path / name}: no SQLite or DuckDB file, whatever its name ends in; check that it is complete"
        )
        assert not holds_tables(tmp_path / name)
    (tmp_path / "bad.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    assert "not a readable SQLite file" in refused(tmp_path / "bad.sqlite")
    (tmp_path / "bad.duckdb").write_bytes(b"12345678DUCK" + b"\xff" * 50_000)
    assert "not a readable DuckDB file" in refused(tmp_path / "bad.duckdb")


def test_duckdb_that_is_not_installed_is_named(tmp_path, monkeypatch):
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).execute("CREATE TABLE t (a INTEGER)").close()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert refused(path) == f"{path}: DuckDB files need the package duckdb: pip install 'nacre[duckdb]'"


# -- SQLite -----------------------------------------------------------------------------------------------------------

PEOPLE = """CREATE TABLE people (
    id INTEGER PRIMARY KEY, name TEXT, size REAL, born DATE, member BOOLEAN, paid DECIMAL(9, 2), anything, photo BLOB
)"""


def test_declared_types_say_how_columns_are_read(tmp_path):
    path = made(
        tmp_path / "people.db",
        PEOPLE,
        rows=[
            (
                "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (7, "a", 1.5, "2020-01-31", 1, "12.50", "x", b"\xff\x00"),
                    (9, None, None, None, None, None, None, None),
                    (10, 12, "tall", 20200131, "yes", "much", 3.0, "text"),
                ],
            )
        ],
    )
    assert holds_tables(path) and holds_tables(str(path))
    rows = open_tables(path)["people"]
    assert isinstance(rows, TableRows)
    assert [is_as_written(f) for f in rows.arrow_schema] == [True, False, True, True, False, True, True, True]
    assert read(rows) == {
        "id": ["7", "9", "10"],
        "name": ["a", None, "12"],
        "size": ["1.5", None, "tall"],
        "born": ["2020-01-31", None, "20200131"],
        "member": [True, None, True],
        "paid": ["12.5", None, "much"],
        "anything": ["x", None, "3"],
        "photo": ["\0ff00", None, "text"],
    }
    assert read(rows, ["name", "id"]) == {"name": ["a", None, "12"], "id": ["7", "9", "10"]}
    assert sum(b.num_rows for b in rows.batches([])) == 3
    with pytest.raises(DataError, match="has no column 'age'"):
        next(rows.batches(["age"]))
    schema = Schema(
        {
            "size": Numeric((0, 3), nullable=True),
            "born": Datetime(("2000-01-01", "2030-01-01"), unit="day", nullable=True),
            "member": Boolean(nullable=True),
            "paid": Numeric((0, 100), decimals=2, nullable=True),
            "name": Categorical(("a", "12"), nullable=True),
        }
    )
    found = encode(next(iter(rows.batches())), schema)
    assert [v.outside.tolist() for v in (found["size"], found["born"], found["paid"])] == [[False, False, True]] * 3
    assert found["size"].values[0] == 1.5 and found["name"].values.tolist() == [0, -1, 1]
    assert found["paid"].values[0] == 12.5 and found["member"].values.tolist()[0] == 1


def test_truth_values_that_are_none_are_told_to_the_owner_once(tmp_path):
    path = made(
        tmp_path / "a.db", "CREATE TABLE t (b BOOL)", rows=[("INSERT INTO t VALUES (?)", [(2,), (0,), ("no",)])]
    )
    rows = open_tables(path)["t"]
    with pytest.warns(
        OwnerWarning, match=r"table 't': 1 values of BOOLEAN columns are no truth values and are read as"
    ):
        assert read(rows) == {"b": [None, False, False]}
    assert read(rows) == {"b": [None, False, False]}


def test_names_of_numbers_are_those_of_any_source(tmp_path):
    values = [1, 1.0, -0.0, 0.1, 2.0**53, 2.0**60, 2**60, 1e300, 1e-7, float("inf"), float("nan")]
    path = made(tmp_path / "a.db", "CREATE TABLE t (v)", rows=[("INSERT INTO t VALUES (?)", [(v,) for v in values])])
    assert read(open_tables(path)["t"])["v"] == [
        "1", "1", "0", "0.1", "9.0071992547409920e+15", "1.1529215046068470e+18", str(2**60), "1.0000000000000001e+300",
        "1e-07", "inf", None
    ]  # fmt: skip


def test_null_words_hold_for_texts(tmp_path):
    path = made(tmp_path / "a.db", "CREATE TABLE t (a TEXT, b)", rows=[("INSERT INTO t VALUES (?, ?)", [("NA", "NA")])])
    assert read(open_tables(path, options=Options(null_words=("NA",)))["t"]) == {"a": [None], "b": [None]}


def test_rows_come_in_one_order_whatever_is_read(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 50, 500).tolist()
    path = made(
        tmp_path / "a.db",
        "CREATE TABLE t (a INTEGER, b TEXT)",
        "CREATE INDEX by_a ON t (a)",
        "CREATE TABLE w (a INTEGER, b TEXT, PRIMARY KEY (b)) WITHOUT ROWID",
        "CREATE INDEX w_by_a ON w (a)",
        rows=[(f"INSERT INTO {t} VALUES (?, ?)", [(v, f"{i:03}") for i, v in enumerate(values)]) for t in "tw"],
    )
    made(
        path, "CREATE TABLE s (rowid TEXT, _rowid_ TEXT, oid INTEGER PRIMARY KEY)", "INSERT INTO s VALUES ('b', 'a', 3)"
    )
    found = open_tables(path)
    assert read(found.pop("s")) == {"rowid": ["b"], "_rowid_": ["a"], "oid": ["3"]}
    for rows in found.values():
        assert read(rows)["a"] == read(rows, ["a"])["a"] == [str(v) for v in values]


def test_hostile_names_and_definitions(tmp_path):
    path = made(
        tmp_path / "a b?mode=rw&x#.db",
        'CREATE TABLE "t""; DROP TABLE x; --" ("select" INTEGER, "a""b]" TEXT, "é;" REAL)',
        "CREATE VIEW seen AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "CREATE TABLE made (a INTEGER, twice INTEGER AS (a * 2))",
        "CREATE TABLE sequence (a INTEGER PRIMARY KEY AUTOINCREMENT)",
        rows=[
            ('INSERT INTO "t""; DROP TABLE x; --" VALUES (?, ?, ?)', [(1, "x", 0.5)]),
            ("INSERT INTO made VALUES (?)", [(4,)]),
        ],
    )
    found = open_tables(path)
    assert list(found) == ['t"; DROP TABLE x; --', "made", "sequence"], "neither views nor virtual tables"
    assert read(found['t"; DROP TABLE x; --']) == {"select": ["1"], 'a"b]': ["x"], "é;": ["0.5"]}
    assert read(found["made"]) == {"a": ["4"], "twice": ["8"]}
    assert refused(path, ["seen"]).startswith(f"{path}: there is no table 'seen'; it has ")
    with open_bank(path).connected() as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM made")


def test_columns_without_a_name_are_refused(tmp_path):
    path = made(tmp_path / "a.db", 'CREATE TABLE t ("" INTEGER)')
    assert (
        refused(path) == f"{path}, table 't': column 1 has no name (an index saved with the table?); name or remove it"
    )


def test_declared_keys_of_both_kinds_of_file(tmp_path):
    statements = [
        "CREATE TABLE a (id INTEGER PRIMARY KEY, code TEXT UNIQUE)",
        "CREATE TABLE b (x INTEGER, y INTEGER, PRIMARY KEY (x, y))",
        "CREATE TABLE c (a INTEGER REFERENCES a (id), x INTEGER, y INTEGER, k TEXT UNIQUE, "
        "FOREIGN KEY (x, y) REFERENCES b (x, y))",
    ]
    made(tmp_path / "a.sqlite", *statements, "CREATE TABLE d (a INTEGER REFERENCES a, z INTEGER REFERENCES gone)")
    with contextlib.closing(duckdb.connect(tmp_path / "a.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
    both = [open_bank(tmp_path / name).keys() for name in ("a.sqlite", "a.duckdb")]
    shared = (Relation("c", ("a",), "a", ("id",)), Relation("c", ("x", "y"), "b", ("x", "y")))
    assert [set(keys.relations) for keys in both] == [{*shared, Relation("d", ("a",), "a", ("id",))}, set(shared)]
    assert both[0].relations[:2] == shared
    for keys in both:
        assert keys.primary == {"a": "id"}
        assert {name: set(own) for name, own in keys.unique.items() if own} == {"a": {"code"}, "c": {"k"}}


values = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.binary(max_size=5),
    st.sampled_from(["1", "1.0", "true", "2020-01-31", "a\0b", ""]),
)
KINDS = ("INTEGER", "REAL", "TEXT", "NUMERIC", "BOOLEAN", "DATE", "DECIMAL(9, 2)", "CLOB", "BLOB", "")


@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore::nacre.errors.OwnerWarning")
@given(st.lists(values, min_size=1, max_size=12), st.sampled_from(KINDS), st.integers(1, 5))
def test_a_value_alone_and_in_company_is_the_same(tmp_path_factory, many, kind, size):
    folder = tmp_path_factory.mktemp("law")
    tables = [many, *([one] for one in many), random.Random(0).sample(many, len(many))]
    path = made(
        folder / "a.db",
        *(f"CREATE TABLE t{i} (v {kind}, place INTEGER)" for i in range(len(tables))),
        rows=[
            (f"INSERT INTO t{i} VALUES (?, ?)", [(v, next(j for j, w in enumerate(many) if w is v)) for v in table])
            for i, table in enumerate(tables)
        ],
    )
    together, *alone, shuffled = map(read, open_tables(path, options=Options(batch_rows=size)).values())
    assert together["v"] == [one["v"][0] for one in alone]
    assert shuffled["v"] == [together["v"][int(place)] for place in shuffled["place"]]


# -- DuckDB -----------------------------------------------------------------------------------------------------------


def test_duckdb_types_are_its_own(tmp_path):
    with contextlib.closing(duckdb.connect(tmp_path / "a.duckdb")) as connection:
        connection.execute('CREATE TABLE "t""x" (i INTEGER, d DECIMAL(9, 2), b BOOLEAN, "day ""1""" DATE, h HUGEINT)')
        connection.execute(
            """INSERT INTO "t""x" VALUES (1, 1.25, true, DATE '2020-01-31', 3), (NULL, NULL, NULL, NULL, 4)"""
        )
        connection.execute("CREATE VIEW seen AS SELECT 1")
        connection.execute("CREATE TABLE none (a INTEGER)")
    found = open_tables(tmp_path / "a.duckdb", options=Options(batch_rows=1))
    assert set(found) == {'t"x', "none"} and [*found["none"].batches()] == []
    rows = found['t"x']
    assert list(map(str, rows.arrow_schema.types)) == [
        "int32",
        "decimal128(9, 2)",
        "bool",
        "date32[day]",
        "decimal128(38, 0)",
    ]
    assert read(rows, ["b", "i"]) == {"b": [True, None], "i": [1, None]}
    assert [b.num_rows for b in rows.batches()] == [1, 1]
    assert sum(b.num_rows for b in rows.batches([])) == 2
