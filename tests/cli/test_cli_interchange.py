"""`nacre schema import` and `nacre schema export`, from a document to a run and from a release to a catalogue."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd

from nacre.table import Schema

DOCUMENTS = Path(__file__).parents[1] / "table" / "documents"
FAST = ("--epsilon", 2, "--method", "independent", "--quiet")


def test_a_schema_of_another_format_becomes_a_run_once_it_is_attested(call, tmp_path):
    out, rows = tmp_path / "c.json", tmp_path / "c.csv"
    end = call("schema", "import", DOCUMENTS / "schema.yml", "-o", out)
    assert end.code == 0, end.err
    assert "customers of" in end.out and "(dbt)" in end.out and "unattested" in end.out
    assert "not expressed: balance: the constraint check: 'balance > 0'" in end.out
    assert f"No fact in {out} is attested. Correct it, then: nacre schema attest {out}" in end.err
    frame = pd.DataFrame({"customer_id": range(900), "status": ["placed", "shipped", "returned"] * 300,
                          "age": [30, 40, 50] * 300, "store": 1, "opened": "2024-01-01 10:00:00",
                          "balance": [1.25, 2.5, 9.75] * 300})  # fmt: skip
    frame.to_csv(rows, index=False)
    fake = tmp_path / "fake.csv"
    end = call("synth", rows, "-o", fake, "--schema", out, *FAST)
    assert end.code == 2 and not fake.exists()
    assert "was read from another document" in end.err and "review and attest them" in end.err
    end = call("synth", rows, "-o", fake, "--schema", out, "--domain", "from-data", *FAST, "--json")
    assert end.code == 0 and end.json["certificate"]["guarantee"] == "none"
    assert call("schema", "attest", out, "--by", "M. Curie", "--why", "ours", "--yes").code == 0
    end = call("synth", rows, "-o", fake, "--schema", out, "--force", *FAST, "--json")
    assert end.code == 0 and end.json["certificate"]["guarantee"] == "proven", end.err


def test_without_a_file_the_schema_is_the_answer(call):
    end = call("schema", "import", DOCUMENTS / "hospital.sql", "--table", "visits")
    assert end.code == 0 and len(Schema.from_json(end.out).columns) == 16
    assert "not expressed: the rule CHECK (admitted <= discharged)" in end.err


def test_machines_get_what_was_left_out(call, tmp_path):
    end = call("schema", "import", DOCUMENTS / "people.pandera.yaml", "-o", tmp_path / "p.json", "--json")
    assert end.code == 0 and end.json["format"] == "pandera" and end.json["table"] == "people"
    assert "code: the check str_matches: '^[A-Z]{3}$'" in end.json["left_out"]
    assert end.json["schema"]["columns"]["age"]["provenance"]["bounds"] == "unattested"


def test_mistakes_are_one_line(call, tmp_path):
    assert "describes 2 tables; name one: hotels, guests" in call(
        "schema", "import", DOCUMENTS / "fake_hotels.v2.json").error  # fmt: skip
    end = call("schema", "export", DOCUMENTS / "schema.yml", "--to", "ddl")
    assert end.code == 2 and "not a schema" in end.error
    kept = tmp_path / "kept.json"
    kept.write_text("mine")
    end = call("schema", "import", DOCUMENTS / "schema.yml", "-o", kept)
    assert end.code == 2 and kept.read_text() == "mine"


def test_a_schema_is_exported(call, small, tmp_path):
    end = call("schema", "export", small / "people.json", "--to", "ddl", "--table", "visits")
    assert end.code == 0 and end.out.startswith('CREATE TABLE "visits" (')
    out = tmp_path / "s.yaml"
    end = call("schema", "export", small / "people.json", "--to", "pandera", "-o", out, "--json")
    assert end.code == 0 and end.json["format"] == "pandera" and out.read_text().startswith("schema_type: dataframe")
    draft = tmp_path / "draft.json"
    call("schema", "draft", small / "people.csv", "-o", draft)
    end = call("schema", "export", draft, "--to", "frictionless")
    assert "facts in it were read from the data: it is as private as the table" in end.err


def test_the_croissant_of_a_release_says_what_it_promises(call, small, release, tmp_path):
    fake, out = tmp_path / "fake.csv", tmp_path / "croissant.json"
    assert call("sample", release, "-o", fake, "--rows", 50, "--quiet").code == 0
    end = call("schema", "export", release, "--to", "croissant", "--data", fake, "-o", out)
    assert end.code == 0, end.err
    told = json.loads(out.read_text())
    assert "-differential privacy for one row" in told["rai:dataManipulationProtocol"]
    assert told["distribution"][0]["sha256"] == hashlib.sha256(fake.read_bytes()).hexdigest()
    assert told["name"] == "fake" and "not expressed" not in end.err
