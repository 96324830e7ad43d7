"""Databases and long tables on the command line."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests import clinics

from nacre.table import Categorical, Database
from nacre.table.database.writing import write_tables

QUICK = [part for name, value in clinics.QUICK.items() for part in ("--option", f"{name}={value}")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    base = clinics.database()
    base.save(folder / "clinic.json")
    write_tables(folder / "clinic.sqlite", clinics.tables(), base)
    write_tables(folder / "tables", clinics.tables(), base, "csv")
    pacsv.write_csv(clinics.visits(), folder / "visits.csv")
    clinics.visit_schema().save(folder / "visits.json")
    return folder


def synth(call, place, source, output, *more):
    return call("synth", place / source, "-o", output, "-e", "2", "--schema", place / "clinic.json", *QUICK, *more)


def test_a_sqlite_file_becomes_one_like_it(call, place, tmp_path):
    end = synth(call, place, "clinic.sqlite", tmp_path / "fake.sqlite", "--sample-rows", "80", "--release",
                tmp_path / "r.nacre")  # fmt: skip
    assert end.code == 0, end.err
    assert "80 rows of patients and all that they own, 4 tables" in end.out
    assert "for one row of patients and all rows that it owns (at most 4 in stays, 12 in doses)" in end.out
    with closing(sqlite3.connect(tmp_path / "fake.sqlite")) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        assert made.execute("SELECT count(*) FROM patients").fetchone() == (80,)
        assert {k[2] for k in made.execute("PRAGMA foreign_key_list(doses)")} == {"stays", "patients", "drugs"}
        assert made.execute("SELECT id FROM drugs ORDER BY id").fetchall() == [(i,) for i in range(1, 6)]
        kinds = {n: k for _, n, k, *_ in made.execute("PRAGMA table_info(stays)")}
        assert (kinds["low"], kinds["patient"]) == ("INTEGER", "TEXT")
        assert made.execute("SELECT count(*) FROM stays WHERE low > high").fetchone() == (0,)
    told = call("certificate", tmp_path / "r.nacre")
    assert "Rows belong to a unit by these keys" in told.out and "Checked here" in told.out
    more = call(
        "sample", tmp_path / "r.nacre", "-o", tmp_path / "some.duckdb", "--rows", "10", "--where", "sex=f", "--json"
    )
    assert more.code == 0 and more.json["units"] == 10


def test_a_folder_becomes_a_folder(call, place, tmp_path):
    end = synth(call, place, "tables", tmp_path / "fake", "--output-format", "csv", "--sample-rows", "20", "--json")
    assert end.code == 0, end.err
    assert sorted(p.name for p in (tmp_path / "fake").iterdir()) == [f"{n}.csv" for n in sorted(clinics.schemas())]
    assert end.json["units"] == 20 and end.json["certificate"]["unit"]["table"] == "patients"
    again = synth(call, place, "tables", tmp_path / "fake", "--output-format", "csv")
    assert again.code == 2 and "not empty" in again.err


def test_fit_then_sample(call, place, tmp_path):
    end = call("fit", place / "clinic.sqlite", "-o", tmp_path / "c.nacre", "-e", "2", "--schema", place / "clinic.json",
               "--certificate", tmp_path / "c.txt", *QUICK)  # fmt: skip
    assert end.code == 0, end.err
    assert "more.sqlite" in end.out and "one row of patients" in (tmp_path / "c.txt").read_text()
    end = call("sample", tmp_path / "c.nacre", "-o", tmp_path / "even", "--rows", "40", "--where", "sex=f")
    assert end.code == 0 and set(pq.read_table(tmp_path / "even/patients.parquet")["sex"].to_pylist()) == {"f"}


def test_what_would_be_left_out_is_told_to_the_owner_alone(call, place, tmp_path):
    source = clinics.tables()
    stray = source["stays"].slice(0, 2).set_column(0, "id", [[70_001, 70_002]]).set_column(1, "patient", [["x", "y"]])
    source["stays"] = pa.concat_tables([source["stays"], stray.cast(source["stays"].schema)])
    (tmp_path / "in").mkdir()
    for name, table in source.items():
        pacsv.write_csv(table, tmp_path / "in" / f"{name}.csv")
    end = call(
        "synth", tmp_path / "in", "-o", tmp_path / "fake.sqlite", "-e", "2", "--schema", place / "clinic.json", *QUICK
    )
    assert end.code == 0 and "owner only" in end.err and "rows of 'stays' hang on no row of 'patients'" in end.err
    assert "hang on no row" not in end.out
    seen = call("schema", "check", place / "clinic.json", tmp_path / "in")
    assert "2 of" in seen.out and "would be left out" in seen.out


def test_plans_schemas_and_attestations(call, place, tmp_path):
    end = call("plan", place / "clinic.json", "--columns-from", place / "clinic.sqlite", "-e", "2")
    assert end.code == 0 and "Plan of nested" in end.out and "12 in doses" in end.out
    assert call("plan", place / "clinic.json").code == 2
    end = call("schema", "show", place / "clinic.json")
    assert "stays.patient -> patients.id: at most 4 under one row" in " ".join(end.out.split())
    assert "public: given as it is" in end.out
    assert call("schema", "show", place / "clinic.json", "--json").json == json.loads(clinics.database().to_json())
    end = call("schema", "check", place / "clinic.json", place / "clinic.sqlite")
    assert end.code == 0 and "every row hangs on its parent" in end.out
    schemas = clinics.schemas()
    read = Categorical(("f", "m"), provenance={"categories": "read"})
    schemas["patients"] = dataclasses.replace(schemas["patients"], columns={**schemas["patients"].columns, "sex": read})
    clinics.database(tables=schemas, provenance={"keys": "read"}).save(tmp_path / "read.json")
    refused = call(
        "synth", place / "clinic.sqlite", "-o", tmp_path / "f.sqlite", "-e", "1", "--schema", tmp_path / "read.json"
    )
    assert refused.code == 2 and "attest" in refused.err
    say = ("--by", "M. Curie", "--why", "in the code book", "--yes")
    assert call("schema", "attest", tmp_path / "read.json", "--columns", "patients.sex", *say).code == 0
    assert call("schema", "attest", tmp_path / "read.json", "--columns", "nobody.sex", *say).code == 2
    end = call("schema", "attest", tmp_path / "read.json", *say)
    assert end.code == 0 and not Database.load(tmp_path / "read.json").unprotected


LONG = ("--person", "patient", "--order", "day", "--cap", "3", "--constant", "sex")


def test_a_long_table_stays_one(call, place, tmp_path):
    how = ("--schema", place / "visits.json", *LONG)
    kept = ("--sample-rows", "60", "--release", tmp_path / "v.nacre")
    end = call("synth", place / "visits.csv", "-o", tmp_path / "fake.csv", "-e", "2", *how, *QUICK, *kept)
    assert end.code == 0, end.err
    made = pacsv.read_csv(tmp_path / "fake.csv").to_pandas()
    assert list(made.columns) == ["ward", "patient", "sex", "day"] and made.patient.nunique() == 60
    assert (made.groupby("patient").sex.nunique() == 1).all()
    end = call("sample", tmp_path / "v.nacre", "-o", tmp_path / "some.parquet", "--where", "sex=m", "--rows", "12")
    assert end.code == 0 and "rows of 12 persons" in end.out
    end = call("plan", place / "visits.json", *LONG)
    assert end.code == 0 and "at most 3 in rows" in end.out


OF_CLINIC = ("synth", "clinic.sqlite", "-o", "x.sqlite", "-e", "1", "--schema", "clinic.json")
OF_VISITS = ("synth", "visits.csv", "-o", "x.csv", "-e", "1")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (OF_CLINIC[:6], "several tables need a nacre.Database"),
        ((*OF_CLINIC, "-o", "clinic.sqlite", "-f"), "also an input"),
        ((*OF_CLINIC, "-o", "x.csv"), "is several tables"),
        ((*OF_CLINIC, "-o", "-"), "is several tables"),
        ((*OF_CLINIC, "--rows", "9"), "says all that"),
        ((*OF_CLINIC, "--report", "r.html"), "--report"),
        ((*OF_CLINIC, "--engine", "ray"), "engine"),
        ((*OF_CLINIC, "--method", "pearl"), "pearl"),
        ((*OF_VISITS[:2], "-o", "x.sqlite", "-e", "1", "--schema", "clinic.json"), "visits.csv"),
        ((*OF_VISITS, "--person", "patient"), "--person without --cap"),
        ((*OF_VISITS, "--order", "day"), "add --person"),
        ((*OF_VISITS, "--schema", "visits.json", "--person", "who", "--cap", "2"), "'who'"),
        ((*OF_VISITS, "--schema", "visits.json", "--unit", "patient", *LONG), "--unit"),
        ((*OF_VISITS, "--schema", "clinic.json", *LONG), "describes a database"),
    ],
)
def test_mistakes_are_said_before_anything_is_spent(call, place, monkeypatch, command, said):
    monkeypatch.chdir(place)
    end = call(*command)
    assert end.code == 2 and said in end.err, end.err
    assert not (place / "x.sqlite").exists() and not (place / "x.csv").exists()


def test_a_draft_is_reviewed_attested_and_used(call, place, tmp_path):
    out = tmp_path / "draft.json"
    end = call("schema", "draft", place / "clinic.sqlite", "-o", out, "--unit", "patients", "--public", "drugs")
    assert end.code == 0 and "stays.patient -> patients.id: at most 3 under one row" in " ".join(end.out.split())
    assert "READ FROM THE DATA" in end.err and Database.load(out).unprotected
    folder = call("schema", "draft", place / "tables", "--unit", "patients", "--public", "drugs")
    assert folder.code == 0 and Database.from_json(folder.out).owned == ("patients", "stays", "doses")
    assert call("schema", "draft", place / "clinic.sqlite", "--id", "id").code == 2
    assert call("schema", "attest", out, "--by", "M. Curie", "--why", "made up", "--yes").code == 0
    end = call("synth", place / "clinic.sqlite", "-o", tmp_path / "f.sqlite", "-e", "2", "--schema", out, *QUICK)
    assert end.code == 0 and "proven" in end.out, end.err


def test_a_database_is_evaluated(call, place, tmp_path):
    assert synth(call, place, "clinic.sqlite", tmp_path / "fake.sqlite").code == 0
    end = call("evaluate", tmp_path / "fake.sqlite", "--train", place / "clinic.sqlite", "--schema",
               place / "clinic.json", "--markdown", tmp_path / "report.md")  # fmt: skip
    assert end.code == 0 and "integrity             1.000" in end.out, end.err
    assert "cardinality" in (tmp_path / "report.md").read_text()
