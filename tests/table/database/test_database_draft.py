"""Databases from data: declared keys, keys by their names, units, caps and orders; counts of what breaks keys."""

import contextlib
import datetime as dt
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.table.database.clinic import database
from tests.table.database.test_writing import clinic

from nacre.engines import open_tables
from nacre.errors import DataError, SchemaError
from nacre.table import Database, Datetime, Identifier, Key, Numeric, Schema
from nacre.table.database.arranging import arranged
from nacre.table.database.counting import KeyCounts, count_keys, key_lines
from nacre.table.database.draft import KEPT, draft_tables
from nacre.table.database.matching import candidates, refers, stems
from nacre.table.database.writing import write_tables
from nacre.table.imports.base import Relation
from nacre.table.sources.banks import declared_keys

PEOPLE = 60


def made(rng=None):
    """Patients own stays, stays own codes; both name doctors, and nothing is declared."""
    rng = np.random.default_rng(0) if rng is None else rng
    stays = np.repeat(np.arange(PEOPLE), rng.integers(0, 5, PEOPLE))
    codes = np.repeat(np.arange(len(stays)), rng.integers(1, 4, len(stays)))
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 900, len(stays))]
    return {
        "doctors": pa.table({"doctor_id": [f"D{i}" for i in range(9)], "ward": ["a", "b", "c"] * 3}),
        "codes": pa.table(
            {
                "row_id": np.arange(len(codes)) + 1,
                "stay_id": codes + 100,
                "patient_id": stays[codes] + 1_000,
                "doctor_id": [f"D{i}" for i in rng.integers(0, 9, len(codes))],
                "seq_num": rng.integers(1, 9, len(codes)),
                "code": [f"C{i}" for i in rng.integers(0, 5, len(codes))],
            }
        ),
        "stays": pa.table(
            {
                "id": np.arange(len(stays)) + 100,
                "patient": stays + 1_000,
                "admitted": days,
                "age": rng.integers(0, 90, len(stays)),
            }
        ),
        "patients": pa.table({"id": np.arange(PEOPLE) + 1_000, "sex": rng.choice(["f", "m"], PEOPLE)}),
    }


def test_keys_by_names_and_values():
    db = Database.draft(made())
    assert (db.unit, db.public, db.owned) == ("patients", ("doctors",), ("patients", "stays", "codes"))
    assert {(k.child, k.column, k.parent, k.order) for k in db.keys} == {
        ("stays", "patient", "patients", "admitted"),
        ("codes", "stay_id", "stays", "seq_num"),
        ("codes", "patient_id", "patients", None),
        ("codes", "doctor_id", "doctors", None),
    }
    assert db.owner("codes").cap == 3 and db.owner("stays").cap in (3, 4)
    assert db.tables["stays"].columns["id"] == Identifier().sourced("read")
    assert db.tables["doctors"].columns["doctor_id"] == Identifier(text=True).sourced("read")
    assert set(db.facts().values()) == {"read"} and db.provenance["caps"] == "read"
    assert db.attest(by="me", why="I know all of it").unprotected == []


def test_frames_rows_files_and_folders_give_the_same_draft(tmp_path):
    tables = made()
    want = Database.draft(tables)
    assert Database.draft({name: table.to_pandas() for name, table in tables.items()}).keys == want.keys
    write_tables(tmp_path / "folder", tables, want)
    folder = open_tables(tmp_path / "folder")
    assert set(Database.draft({name: folder[name] for name in tables}).keys) == set(want.keys)
    for name in ("a.sqlite", "a.duckdb"):
        write_tables(tmp_path / name, tables, want)
        again = Database.draft(tmp_path / name)
        assert {(k, k.cap) for k in again.keys} == {(k, k.cap) for k in want.keys}
        assert again.unit == "patients" and again.tables["stays"].columns["admitted"].kind == "datetime"
    with pytest.raises(DataError, match=r"open a folder with nacre\.engines\.open_tables\(folder\)$"):
        Database.draft(tmp_path / "folder")
    with pytest.raises(
        DataError, match=r"^a database is drafted from \{name: table\}, or from a SQLite or DuckDB file"
    ):
        Database.draft(3)


def test_declared_keys_win_whatever_columns_are_called(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE x (k INTEGER PRIMARY KEY, v REAL, born DATE, well BOOLEAN)")
        connection.execute(
            "CREATE TABLE y (odd INTEGER REFERENCES x, x_id INTEGER, w REAL, boss INTEGER REFERENCES y (odd))"
        )
        connection.executemany("INSERT INTO x VALUES (?, ?, '2020-01-31', 1)", [(i, i / 2) for i in range(80)])
        connection.executemany("INSERT INTO y VALUES (?, ?, ?, NULL)", [(i % 80, i % 80, i) for i in range(200)])
        connection.commit()
    draft = draft_tables(open_tables(tmp_path / "a.db"), declared_keys(tmp_path / "a.db"))
    assert draft.database == Database.draft(tmp_path / "a.db")
    assert draft.database.keys == (Key("y.odd -> x.k", cap=3),)
    assert draft.notes == ("key y.boss -> y.odd: rows of one table would own one another; dropped",)
    columns = draft.database.tables["x"].columns
    assert (columns["born"].kind, columns["well"].kind) == ("datetime", "boolean")
    assert declared_keys({"x": 1}) is None and declared_keys(tmp_path) is None


def test_duckdb_keys_of_several_columns_are_told(tmp_path):
    with contextlib.closing(duckdb.connect(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE a (i INTEGER, j INTEGER, PRIMARY KEY (i, j))")
        connection.execute("CREATE TABLE b (i INTEGER, j INTEGER, FOREIGN KEY (i, j) REFERENCES a (i, j))")
        connection.execute("INSERT INTO a VALUES (1, 2)")
        connection.execute("INSERT INTO b VALUES (1, 2)")
    draft = draft_tables(open_tables(tmp_path / "a.duckdb"), declared_keys(tmp_path / "a.duckdb"))
    assert draft.database.owned == ("a",)
    assert draft.notes == (
        "b(i, j) points into a(i, j): a key of several columns; dropped",
        "table 'b': no key leads from it to 'a'; left out",
    )


def test_a_named_unit_makes_what_lies_above_it_public():
    db = Database.draft(made(), unit="stays")
    assert (db.unit, db.owned, set(db.public)) == ("stays", ("stays", "codes"), {"doctors", "patients"})
    assert {str(k) for k in db.references("stays")} == {"stays.patient -> patients.id"}
    with pytest.raises(SchemaError, match=r"^there is no table 'stay'; choose among stays, doctors, codes, patients$"):
        Database.draft(made(), unit="stay")


def test_caps_keep_nearly_all_rows():
    counts = np.array([1] * 90 + [30] * 10)
    tables = {
        "people": pa.table({"id": np.arange(100) + 1}),
        "visits": pa.table({"person_id": np.repeat(np.arange(100) + 1, counts), "cost": np.ones(counts.sum())}),
    }
    cap = Database.draft(tables).owner("visits").cap
    assert np.minimum(counts, cap).sum() >= KEPT * counts.sum() > np.minimum(counts, cap - 1).sum()


def test_one_parent_with_very_many_rows_does_not_decide_the_cap():
    counts = np.array([2] * 150 + [3] * 49 + [5_000])
    tables = {
        "people": pa.table({"id": np.arange(200) + 1}),
        "visits": pa.table({"person_id": np.repeat(np.arange(200) + 1, counts), "cost": np.ones(counts.sum())}),
    }
    assert Database.draft(tables).owner("visits").cap == 3


def test_dates_that_sqlite_holds_as_texts_are_dates_and_orders(tmp_path):
    days = [dt.date(2020, 1, 1) + dt.timedelta(n) for n in range(40)]
    rows = [(n, n % 20, day.isoformat(), None if n % 4 else f"{day} 10:30:00", f"{n:03}") for n, day in enumerate(days)]
    path = tmp_path / "a.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE p (id INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO p VALUES (?)", [(n,) for n in range(20)])
        connection.execute("CREATE TABLE v (id INTEGER PRIMARY KEY, p REFERENCES p (id), day TEXT, seen TEXT, no TEXT)")
        connection.executemany("INSERT INTO v VALUES (?, ?, ?, ?, ?)", rows)
    db = Database.draft(path)
    day, seen, number = (db.tables["v"].columns[name] for name in ("day", "seen", "no"))
    assert isinstance(day, Datetime) and (day.unit, day.bounds) == ("day", ("2020-01-01", "2020-02-09"))
    assert isinstance(seen, Datetime) and seen.unit != "day" and seen.nullable
    assert not isinstance(number, Numeric | Datetime), "digits that are stored as texts remain texts"
    assert db.owner("v").order == "day"


def test_a_key_that_many_rows_lack_owns_none():
    tables = made()
    stay = pa.array([None if i % 3 else v for i, v in enumerate(tables["codes"]["stay_id"].to_pylist())])
    tables["codes"] = tables["codes"].set_column(1, "stay_id", stay)
    draft = draft_tables(tables)
    assert draft.database.owner("codes").parent == "patients"
    assert any(
        note.startswith("key codes.stay_id -> stays.id: 67% of the rows name no row of 'stays'") for note in draft.notes
    )


def test_tables_without_rows_or_keys_are_left_out_and_told():
    tables = {**made(), "empty": pa.table({"id": pa.array([], pa.int64())}), "other": pa.table({"x": [1.5, 2.5]})}
    draft = draft_tables(tables)
    assert set(draft.database.tables) == set(made())
    assert draft.notes[0] == "table 'empty': no rows; left out"
    assert draft.notes[-1] == "table 'other': no key leads from it to 'patients'; left out"
    with pytest.raises(DataError, match=r"^none of the tables has rows"):
        Database.draft({"empty": tables["empty"]})
    with pytest.raises(SchemaError, match=r"^there are 31 tables; at most 30: leave tables out$"):
        Database.draft({f"t{i}": tables["other"] for i in range(31)})
    with pytest.raises(DataError, match=r"^table 'bad': "):
        Database.draft({"bad": pa.table({"x": pa.array([[1.0], [1.0, 2.0]])})})


# -- arranging --------------------------------------------------------------------------------------------------------


def keys_of(*texts):
    return [Relation(k.child, (k.column,), k.parent, (k.parent_column,)) for k in map(Key, texts)]


def tables_of(**columns):
    return {name: Schema({c: Numeric((0, 9), integer=True) for c in own.split()}) for name, own in columns.items()}


def test_circles_and_second_branches_are_dropped_and_told():
    tables = tables_of(p="id", a="id p b", b="id p a", c="id a b p")
    found = arranged(
        tables, keys_of("a.p -> p.id", "b.p -> p.id", "a.b -> b.id", "b.a -> a.id", "c.a -> a.id", "c.p -> p.id")
    )
    assert [str(k) for k in found.owning] == ["b.p -> p.id", "a.b -> b.id", "c.a -> a.id"]
    assert found.notes == ("key b.a -> a.id: closes a circle of keys; dropped",)
    made = Database(found.tables, [k.capped(2) if k in found.owning else k for k in found.keys], found.unit)
    assert made.path("c") == ("p", "b", "a", "c") and [str(k) for k in made.implied("c")] == ["c.p -> p.id"]
    tables = tables_of(p="id", a="id p", b="id p", c="a b")
    found = arranged(tables, keys_of("a.p -> p.id", "b.p -> p.id", "c.a -> a.id", "c.b -> b.id"))
    assert found.notes == ("key c.b -> b.id: rows of 'c' are owned by c.a -> a.id; dropped",)


def test_keys_to_an_id_that_is_a_key_lead_further():
    tables = tables_of(p="id", details="p x", notes="details")
    found = arranged(tables, keys_of("details.p -> p.id", "notes.details -> details.p"))
    assert [str(k) for k in found.keys] == ["details.p -> p.id", "notes.details -> p.id"]


def test_other_ids_shared_columns_and_strangers_are_told():
    tables = tables_of(p="id mrn", a="x", b="x y")
    asked = keys_of("a.x -> p.id", "b.x -> p.mrn", "b.y -> p.id", "b.z -> p.id", "b.y -> a.x", "q.a -> p.id")
    found = arranged(tables, asked)
    assert found.notes == (
        "key b.x -> p.mrn: other keys lead to 'id'; dropped",
        "key b.z -> p.id: not all of its tables and columns are there; dropped",
        "key b.y -> a.x: its column is that of b.y -> p.id; dropped",
        "key q.a -> p.id: not all of its tables and columns are there; dropped",
    )


def test_the_unit_is_called_as_people_are_or_owns_most():
    tables = tables_of(shops="id", customers="id", orders="shop customer", lines="shop")
    asked = keys_of("orders.shop -> shops.id", "orders.customer -> customers.id", "lines.shop -> shops.id")
    found = arranged(tables, asked)
    assert (found.unit, found.public) == ("customers", ("shops",))
    assert found.notes == ("table 'lines': no key leads from it to 'customers'; left out",)
    assert arranged(tables, asked, "shops").public == ("customers",)
    assert arranged(tables, asked, None, ["customers"]).unit == "shops"
    with pytest.raises(SchemaError, match=r"^no table is left to be the unit"):
        arranged(tables_of(a="x"), [], None, ["a"])


def test_public_tables_do_not_name_protected_rows():
    tables = tables_of(p="id", a="p d", d="id p")
    found = arranged(tables, keys_of("a.p -> p.id", "a.d -> d.id", "d.p -> p.id"), "p", ["d"])
    assert found.public == ("d",)
    assert found.notes == ("key d.p -> p.id: 'd' is public, and its rows cannot name protected ones; dropped",)


def test_names_of_ids():
    assert stems("Categories") >= {"category", "categories"} and "person" in stems("people")
    assert refers("patient_id", "patients", "id") and refers("PatientID", "patient", "ID")
    assert refers("subject_id", "patients", "subject_id") and refers("billing_patient_id", "patients", "id")
    assert not refers("id", "patients", "id") and not refers("age", "patients", "id")
    assert not refers("row_id", "patients", "row_id")
    pairs = list(candidates({"a": ["id", "b_id"], "b": ["id", "a"]}))
    assert sorted(pairs) == [(("a", "b_id"), ("b", "id")), (("b", "a"), ("a", "id"))]


# -- counts -----------------------------------------------------------------------------------------------------------


def test_what_keeps_the_keys_has_nothing_to_tell():
    found = count_keys(database(), clinic())
    assert found == {"patients": KeyCounts(2), "stays": KeyCounts(3, most=2), "codes": KeyCounts(3, most=2)}
    assert key_lines(database(), found) == []


def test_orphans_and_rows_beyond_the_cap_are_counted_once_each():
    tables = {
        "patients": pa.table({"id": [1, 2, 2, None], "sex": ["f"] * 4, "age": [1] * 4}),
        "stays": pa.table(
            {
                "id": [10, 11, 12, 13, 14],
                "patient": [1.0, 1.0, None, 9.0, 2.0],
                "admitted": [None] * 5,
                "los": [1.0] * 5,
            }
        ),
        "codes": pa.table(
            {
                "stay": ["10", "10", "12", "13", "99", None, "14", "11"],
                "patient": [1, 2, 1, 9, 1, 1, 2, None],
                "drug": ["a"] * 6 + [None, "z"], "at": [None] * 8, "dose": [1.0] * 8,
            }
        ),
        "drugs": pa.table({"id": ["a"], "name": ["x"]}),
    }  # fmt: skip
    keys = [
        Key("stays.patient -> patients.id", 1),
        Key("codes.stay -> stays.id", 1),
        Key("codes.patient -> patients.id"),
    ]
    db = database(keys=[*keys, Key("codes.drug -> drugs.id")])
    found = count_keys(db, tables)
    assert found == {
        "patients": KeyCounts(4, repeated=1),
        "stays": KeyCounts(5, unnamed=1, dangling=1, most=2, beyond=1),
        "codes": KeyCounts(8, unnamed=1, dangling=3, disagreeing=2, most=1, strange=1),
    }
    assert key_lines(db, found) == [
        "patients: 1 rows whose 'id' another row has too",
        "stays: 2 of 5 rows belong to no unit and are left out (1 without 'patient'; 1 whose 'patient' names no row of "
        "'patients' that belongs to a unit); 1 rows lie beyond the cap of 1 under one row of 'patients', which has up "
        "to 2",
        "codes: 6 of 8 rows belong to no unit and are left out (1 without 'stay'; 3 whose 'stay' names no row of "
        "'stays' that belongs to a unit; 2 whose keys lead to different rows above); 1 values name no row "
        "of a public table, and are read as no label of theirs",
    ]
    none = {name: table.slice(0, 0) for name, table in tables.items()}
    none["drugs"] = tables["drugs"]
    assert count_keys(db, none) == {name: KeyCounts(0) for name in db.owned}


def test_years_of_dates_are_read():
    column = Database.draft(made()).tables["stays"].columns["admitted"]
    assert isinstance(column, Datetime) and column.unit == "day" and column.bounds is not None
