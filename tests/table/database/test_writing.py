"""Databases written and read again: types, keys and names kept; whole or not at all."""

import contextlib
import datetime as dt
import sqlite3
import sys
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.table.database.clinic import database

from nacre.engines import open_tables
from nacre.errors import DataError
from nacre.table import Boolean, Database, Datetime, Identifier, Key, Numeric, Schema, Text
from nacre.table.database.writing import FOLDER_FORMATS, write_tables

DAYS = [dt.date(2000, 1, 1), dt.date(2004, 2, 29), dt.date(2010, 12, 31)]
MOMENTS = [dt.datetime(2000, 1, 1, 10), None, dt.datetime(2010, 12, 31, 23, 59, 59)]

JUNE = dt.datetime(2020, 6, 1, 12, 0, 0, 5)
DIGITS = "0.12345678901234567890"


def clinic(**changes):
    return {
        "patients": pa.table({"id": [1, 2], "sex": ["f", "m"], "age": [3, 4]}),
        "codes": pa.table(
            {
                "stay": [1, 3, 3],
                "drug": ["a", None, "b"],
                "patient": [1, 2, 2],
                "at": pa.array(MOMENTS, pa.timestamp("us")),
                "dose": [0.1, 0.3, 9.9],
            }
        ),
        "stays": pa.table({"id": [1, 2, 3], "patient": [1, 1, 2], "admitted": DAYS, "los": [1.0, 2.5, 3.0]}),
        "drugs": pa.table({"id": ["a", "b"], "name": ["x", "y"]}),
        **changes,
    }


def refused(path, tables, db=None, **more):
    before = {p: p.read_bytes() for p in path.parent.rglob("*") if p.is_file()}
    with pytest.raises(DataError) as error:
        write_tables(path, tables, database() if db is None else db, **more)
    assert {p: p.read_bytes() for p in path.parent.rglob("*") if p.is_file()} == before, "nothing is written"
    return str(error.value)


# -- SQLite -----------------------------------------------------------------------------------------------------------


def test_sqlite_keeps_types_and_enforces_keys(tmp_path):
    path = tmp_path / "clinic.sqlite"
    write_tables(path, clinic(), database())
    assert [p.name for p in tmp_path.iterdir()] == ["clinic.sqlite"]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM codes").fetchall() == [
            (1, "a", 1, "2000-01-01 10:00:00", 0.1),
            (3, None, 2, None, 0.3),
            (3, "b", 2, "2010-12-31 23:59:59", 9.9),
        ]
        assert connection.execute("SELECT admitted, los FROM stays").fetchall()[1] == ("2004-02-29", 2.5)
        kinds = {row[1]: (row[2], row[3], row[5]) for t in ("codes", "stays") for row in
                 connection.execute(f"PRAGMA table_info({t})")}  # fmt: skip
        assert kinds == {
            "stay": ("INTEGER", 1, 0), "drug": ("TEXT", 0, 0), "patient": ("INTEGER", 1, 0), "at": ("TIMESTAMP", 0, 0),
            "dose": ("DECIMAL(3, 1)", 1, 0), "id": ("INTEGER", 1, 1), "admitted": ("DATE", 1, 0), "los": ("REAL", 1, 0),
        }  # fmt: skip
        keys = {(row[2], row[3], row[4]) for row in connection.execute("PRAGMA foreign_key_list(codes)")}
        assert keys == {("stays", "stay", "id"), ("drugs", "drug", "id"), ("patients", "patient", "id")}
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            connection.execute("INSERT INTO codes VALUES (99, NULL, 1, NULL, 0.5)")
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            connection.execute("INSERT INTO patients VALUES (1, 'f', 3)")
    found = open_tables(path)
    assert list(found) == ["drugs", "patients", "stays", "codes"], "parents before children"


def test_sqlite_writes_every_kind_of_value(tmp_path):
    kinds = {
        "truth": (pa.bool_(), [True, False, None], [1, 0, None]),
        "exact": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-0.01"), None], [1.5, -0.01, None]),
        "many": (pa.decimal128(38, 20), [Decimal(DIGITS), None, None], [DIGITS, None, None]),
        "zoned": (pa.timestamp("us", "Europe/Oslo"), [JUNE, None, None], ["2020-06-01 12:00:00.000005Z", None, None]),
        "fine": (pa.timestamp("us"), [JUNE, None, None], ["2020-06-01 12:00:00.000005", None, None]),
        "clock": (pa.time64("us"), [dt.time(1, 2, 3), None, None], ["01:02:03", None, None]),
        "bytes": (pa.binary(), [b"\xff\0", b"", None], [b"\xff\0", b"", None]),
        "labels": (pa.dictionary(pa.int8(), pa.string()), ["x", "x", None], ["x", "x", None]),
        "large": (pa.large_string(), ["x'--", "\u00e9", None], ["x'--", "\u00e9", None]),
        "none": (pa.null(), [None] * 3, [None] * 3),
        "float": (pa.float64(), [float("nan"), 1e300, None], [None, 1e300, None]),
    }  # fmt: skip
    table = pa.table({name: pa.array(values, kind) for name, (kind, values, _) in kinds.items()})
    db = Database({"t": Schema({"float": Numeric((0, 1), nullable=True)})}, [], "t")
    write_tables(tmp_path / "a.db", {"t": table}, db)
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        rows = connection.execute("SELECT * FROM t").fetchall()
        declared = {row[1]: row[2] for row in connection.execute("PRAGMA table_info(t)")}
    assert dict(zip(kinds, map(list, zip(*rows)))) == {name: stored for name, (_, _, stored) in kinds.items()}
    assert declared["truth"] == "BOOLEAN" and declared["zoned"] == "TIMESTAMP" and declared["labels"] == "TEXT"
    again = pa.Table.from_batches(open_tables(tmp_path / "a.db")["t"].batches())
    assert (
        again["truth"].to_pylist() == [True, False, None] and again["fine"][0].as_py() == "2020-06-01 12:00:00.000005"
    )


def test_hostile_names_are_quoted(tmp_path):
    name, column = "select; DROP TABLE x --", 'a"b; [c] `d` 1'
    tables = {
        name: Schema({column: Identifier(), "order": Numeric((0, 9), integer=True)}),
        "group": Schema({"from": Identifier(), "é 'x'": Boolean()}),
    }
    db = Database(tables, [Key.of(("group", "from"), (name, column), 3)], name)
    frames = {
        "group": pd.DataFrame({"from": [1, 1], "é 'x'": [True, False]}),
        name: pd.DataFrame({column: [1, 2], "order": [3, 4]}),
    }
    for file in ("a.sqlite", "a.duckdb", "folder"):
        write_tables(tmp_path / file, frames, db, None)
        found = open_tables(tmp_path / file, db.tables)
        assert found["group"].column_names == ["from", "é 'x'"] and found[name].column_names == [column, "order"]
        assert len(pa.Table.from_batches(found["group"].batches())) == 2


def test_rows_that_break_a_key_leave_nothing_behind(tmp_path):
    path = tmp_path / "clinic.sqlite"
    lost = clinic()["stays"].set_column(1, "patient", pa.array([1, 1, 7]))
    assert refused(path, clinic(stays=lost)) == (
        "key stays.patient -> patients.id: 'stays' has rows that name no row of 'patients'; nothing was written"
    )
    strange = clinic()["codes"].set_column(1, "drug", pa.array(["z", None, "b"]))
    assert refused(path, clinic(codes=strange)) == (
        "key codes.drug -> drugs.id: 'codes' has rows that name no row of 'drugs'; nothing was written"
    )
    twice = clinic()["patients"].set_column(0, "id", pa.array([1, 1]))
    assert refused(path, clinic(patients=twice)) == (
        "table 'patients': rows break what its schema says (UNIQUE constraint failed: patients.id)"
    )
    null = clinic()["stays"].set_column(3, "los", pa.array([None, 1.0, 1.0]))
    assert refused(path, clinic(stays=null)) == (
        "table 'stays': rows break what its schema says (NOT NULL constraint failed: stays.los)"
    )
    huge = clinic()["stays"].set_column(3, "los", pa.array([2**63, 1, 1], pa.uint64()))
    assert refused(path, clinic(stays=huge)).startswith("the tables cannot be written into a SQLite file (")
    arrays = clinic()["stays"].set_column(3, "los", pa.array([[1.0], [2.0], [3.0]]))
    assert refused(path, clinic(stays=arrays)) == (
        "table 'stays': column 'los' holds arrays, which SQLite cannot; write a DuckDB file or a folder"
    )


def test_what_is_missing_or_too_much_is_named(tmp_path):
    for path in (tmp_path / "a.sqlite", tmp_path / "a.duckdb"):
        tables = clinic()
        del tables["drugs"]
        assert refused(path, tables) == "there is no table 'drugs'; expected patients, codes, stays, drugs"
        assert refused(path, clinic(more=tables["stays"])) == (
            "the table 'more' is not in the schema; expected patients, codes, stays, drugs"
        )
        assert refused(path, clinic(stays=tables["stays"].drop_columns(["patient"]))) == (
            "table 'stays' has no column 'patient', which the key stays.patient -> patients.id needs"
        )
        both = tables["stays"].append_column("LOS", pa.array([1, 2, 3]))
        assert refused(path, clinic(stays=both)) == (
            "table 'stays' has columns 'los' and 'LOS', which SQL takes for one name; rename one of them, or write a "
            "folder"
        )
    assert refused(tmp_path / "x", clinic(), format="excel") == (
        "format 'excel' is not one of databases; choose one of sqlite, duckdb, parquet, csv, csv.gz, csv.zst, tsv, "
        "arrow"
    )


def test_what_is_there_is_kept_unless_forced(tmp_path):
    for name in ("a.sqlite", "a.duckdb"):
        path = tmp_path / name
        write_tables(path, clinic(), database())
        assert refused(path, clinic()) == (
            f"{path} exists already and is kept; choose another name, or force overwriting"
        )
        write_tables(path, clinic(), database(), force=True)
    lost = clinic(stays=clinic()["stays"].set_column(1, "patient", pa.array([1, 1, 7])))
    refused(tmp_path / "a.sqlite", lost, force=True)
    refused(tmp_path / "a.duckdb", lost, force=True)
    assert refused(tmp_path / "no" / "a.sqlite", clinic()).endswith(
        f"there is no folder {tmp_path / 'no'}; create it first"
    )


# -- DuckDB -----------------------------------------------------------------------------------------------------------


def test_duckdb_keeps_types_and_enforces_keys(tmp_path):
    path = tmp_path / "clinic.duckdb"
    tables = clinic()
    tables["codes"] = tables["codes"].set_column(1, "drug", tables["codes"]["drug"].dictionary_encode())
    write_tables(path, tables, database())
    assert [p.name for p in tmp_path.iterdir()] == ["clinic.duckdb"]
    with contextlib.closing(duckdb.connect(path)) as connection:
        found = connection.execute("SELECT * FROM codes").fetchall()
        assert found[0] == (1, "a", 1, MOMENTS[0], Decimal("0.1")) and found[1] == (3, None, 2, None, Decimal("0.3"))
        assert connection.execute("SELECT admitted FROM stays").fetchall() == [(d,) for d in DAYS]
        with pytest.raises(duckdb.ConstraintException, match="foreign key"):
            connection.execute("INSERT INTO codes VALUES (99, NULL, 1, NULL, 0.5)")
    rows = open_tables(path)["codes"]
    assert str(rows.arrow_schema.field("dose").type) == "decimal128(3, 1)"
    lost = clinic()["stays"].set_column(1, "patient", pa.array([1, 1, 7]))
    message = refused(tmp_path / "b.duckdb", clinic(stays=lost))
    assert message.startswith("the tables cannot be written into a DuckDB file (Constraint Error: Violates foreign key")
    assert message.endswith("; nothing was written")


def test_duckdb_holds_arrays_and_numbers_beyond_decimals(tmp_path):
    table = pa.table({"a": [[1.0, 2.0], None], "n": [1e14, 0.5]})
    db = Database({"t": Schema({"n": Numeric((0, 1e14), decimals=1)})}, [], "t")
    write_tables(tmp_path / "a.duckdb", {"t": table}, db)
    again = pa.Table.from_batches(open_tables(tmp_path / "a.duckdb")["t"].batches())
    assert again["a"].to_pylist() == [[1.0, 2.0], None] and again["n"].to_pylist() == [1e14, 0.5]


def test_without_duckdb_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    message = refused(tmp_path / "a.duckdb", clinic())
    assert message.endswith("DuckDB files need the package duckdb: pip install 'nacre[duckdb]'")


# -- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FOLDER_FORMATS)
def test_a_folder_has_a_file_for_each_table(tmp_path, format):
    write_tables(tmp_path / "out", clinic(), database(), format)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(f"{name}.{format}" for name in clinic())
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    found = open_tables(tmp_path / "out", database().tables)
    assert [len(pa.Table.from_batches(rows.batches())) for rows in found.values()] == [2, 3, 3, 2]


def test_folders_are_whole_or_not_there(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    arrays = clinic()["stays"].set_column(3, "los", pa.array([[1.0], [2.0], [3.0]]))
    assert "holds arrays, which CSV cannot" in refused(path, clinic(stays=arrays), format="csv")
    assert [*path.iterdir()] == []
    write_tables(path, clinic(), database())
    assert len([*path.iterdir()]) == 4
    (path / "notes.txt").write_text("mine")
    assert refused(path, clinic()) == (
        f"{path} exists already and is not empty; choose another folder, or force overwriting"
    )
    assert "holds arrays" in refused(path, clinic(stays=arrays), format="csv", force=True)
    write_tables(path, clinic(), database(), force=True)
    assert (path / "notes.txt").read_text() == "mine" and len([*path.iterdir()]) == 5
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "file", clinic()) == (
        f"{tmp_path / 'file'} is a file; name a folder, or a file ending in .sqlite, .sqlite3, .db, .duckdb, .ddb"
    )


def test_texts_and_zones_come_back(tmp_path):
    years = ("2000-01-01", "2030-01-01")
    db = Database({"t": Schema({"who": Text(), "when": Datetime(years, tz="Europe/Oslo", nullable=True)})}, [], "t")
    when = pa.array([dt.datetime(2020, 6, 1, 10), None], pa.timestamp("us", "Europe/Oslo"))
    for name in ("a.sqlite", "a.duckdb", "a"):
        write_tables(tmp_path / name, {"t": pa.table({"who": ["007", ""], "when": when})}, db)
        batch = pa.Table.from_batches(open_tables(tmp_path / name)["t"].batches())
        column = db.tables["t"].columns["when"]
        assert column.encode(batch["when"]).values[0] == column.encode(when).values[0]
        assert batch["who"].to_pylist() == ["007", ""]
