"""`nacre evaluate`, and reports of `nacre synth`: rows are held out before the fit."""

from __future__ import annotations

import json

import pyarrow.csv as pacsv
import pytest

from nacre.table.simulate.people import people
from nacre.table.writing import write_table

FAST = ("--method", "independent")


@pytest.fixture(scope="module")
def kept(tmp_path_factory, small):
    """Real rows that were not used."""
    path = tmp_path_factory.mktemp("kept") / "kept.csv"
    write_table(people(300, seed=6).select(pacsv.read_csv(small / "people.csv").column_names), path)
    return path


@pytest.fixture(scope="module")
def fake(tmp_path_factory, release):
    import nacre

    path = tmp_path_factory.mktemp("fake") / "fake.csv"
    nacre.load(release).write(path, seed=0)
    return path


def test_evaluate_for_people_and_in_files(call, small, fake, kept, release, tmp_path):
    end = call("evaluate", fake, "--train", small / "people.csv", "--holdout", kept, "--schema", small / "people.json",
               "--target", "late_payment", "--suite", "lr", "--certificate", release,
               "--json", tmp_path / "r.json", "--markdown", tmp_path / "r.md")  # fmt: skip
    assert end.code == 0, end.err
    assert "auc_lr" in end.out and "unprotected statistics" in end.err
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["certificate"]["epsilon"] == 1.0 and data["target"] == "late_payment"
    assert "## Certificate" in (tmp_path / "r.md").read_text()


def test_evaluate_json_on_stdout_is_one_object(call, small, fake):
    end = call("evaluate", fake, "--train", small / "people.parquet", "--schema", small / "people.json", "--json", "-",
               "--suite", "fidelity", "--rows", 200, "--quiet")  # fmt: skip
    assert end.code == 0, end.err
    assert end.json["facts"]["train rows"] == "700, of which 200 were used" and end.err == ""
    assert "train people.parquet" in end.json["facts"]["files"]


def test_mistakes_of_evaluate(call, small, fake, tmp_path):
    real = ("--train", small / "people.csv", "--schema", small / "people.json")
    assert "no suite or classifier 'eleven'" in call("evaluate", fake, *real, "--suite", "eleven").error
    assert "target 'colour'" in call("evaluate", fake, *real, "--target", "colour").error
    assert "the private table itself" in call("evaluate", fake, *real, "--holdout", small / "people.csv").error
    (tmp_path / "r.md").write_text("mine")
    assert "exists already" in call("evaluate", fake, *real, "--markdown", tmp_path / "r.md").error
    (tmp_path / "c.json").write_text("[]")
    assert "expected a certificate" in call("evaluate", fake, *real, "--certificate", tmp_path / "c.json").error
    assert "no such file" in call("evaluate", fake, "--train", tmp_path / "none.csv").error


def synth(call, small, out, *more):
    return call(
        "synth", small / "people.csv", "-o", out, "--epsilon", 1, *FAST, "--schema", small / "people.json", *more
    )


def test_synth_report_holds_rows_out_of_the_fit(call, small, tmp_path, monkeypatch):
    """The rows that the doors saw and the rows of the test divide the table."""
    from nacre.privacy.curator import Curator

    fitted, before = [], Curator.__init__

    def look(self, rows, *more, **named):
        fitted.extend(v for b in rows.batches(["person_id"]) for v in b.column(0).to_pylist())
        before(self, rows, *more, **named)

    monkeypatch.setattr(Curator, "__init__", look)
    report = tmp_path / "r.json"
    end = synth(call, small, tmp_path / "fake.csv", "--target", "late_payment", "--report", report)
    assert end.code == 0, end.err
    data = json.loads(report.read_text())
    used, held = (int(data["facts"][k]) for k in ("train rows", "holdout rows"))
    assert used == len(set(fitted)) and used + held == 700
    assert abs(held - 140) < 60  # binomial, deviation 10.6
    assert any(s["metric"] == "auc_hgb" and s["of"] == "real" for s in data["scores"])
    assert "report       " in end.out and "auc_hgb" not in end.out
    assert "owner only: " in end.err and "auc_hgb" in end.err  # figures of private rows
    # The declared size shrinks by the public share, never to the true number.
    assert pacsv.read_csv(tmp_path / "fake.csv").num_rows == 560 == data["certificate"]["schema"]["rows"]


def test_synth_report_keeps_persons_together(call, tmp_path):
    import pyarrow as pa

    rows = people(400, seed=3).select(["age", "smoker"])
    visits = pa.table(
        {"patient": [f"p{i % 100}" for i in range(400)], **{n: rows.column(n) for n in rows.column_names}}
    )
    write_table(visits, tmp_path / "visits.csv")
    end = call("synth", tmp_path / "visits.csv", "-o", tmp_path / "f.csv", "-e", 20, *FAST, "--unit", "patient",
               "--cap", 4, "--report", tmp_path / "r.md", "--holdout", 0.4)  # fmt: skip
    assert end.code == 0, end.err
    found = [line for line in (tmp_path / "r.md").read_text().splitlines() if line.startswith("| holdout rows")]
    assert int(found[0].split("|")[2]) % 4 == 0


def test_mistakes_of_reports_show_before_anything_is_spent(call, small, tmp_path):
    out = tmp_path / "fake.csv"
    assert "the ending says the format" in synth(call, small, out, "--report", tmp_path / "r.pdf").error
    assert "between 0 and 1" in synth(call, small, out, "--report", tmp_path / "r.md", "--holdout", 1).error
    assert "no folder" in synth(call, small, out, "--report", tmp_path / "no" / "r.md").error
    assert not list(tmp_path.iterdir())


def test_without_a_report_every_row_is_fitted(call, small, tmp_path):
    end = synth(call, small, tmp_path / "fake.csv", "--json")
    assert end.json["certificate"]["schema"]["rows"] == 700


def test_pages_of_synth(call, small, tmp_path):
    pytest.importorskip("nacre.report.html")
    pytest.importorskip("nacre.report.sheet")
    end = synth(call, small, tmp_path / "fake.csv", "--report", tmp_path / "r.html", "--sheet", tmp_path / "s.html")
    assert end.code == 0, end.err
    assert "unprotected" in (tmp_path / "r.html").read_text()
    assert "owner only: tvd1" in end.err and "tvd1" not in end.out  # figures of private rows stay on the screen
    assert "<!doctype html>" in (tmp_path / "s.html").read_text()[:40].lower()


def test_outputs_never_replace_inputs(call, small, fake, tmp_path):
    certificate = tmp_path / "cert.json"
    certificate.write_text("{}")
    end = call("evaluate", fake, "--train", small / "people.csv", "--certificate", certificate, "--html", certificate,
               "--force")  # fmt: skip
    assert "this is also the input" in end.error and certificate.read_text() == "{}"
    schema = tmp_path / "schema.json"
    schema.write_text((small / "people.json").read_text())
    for command, out in (("synth", "f.csv"), ("fit", "f.nacre")):
        end = call(command, small / "people.csv", "-o", tmp_path / out, "-e", 1, *FAST, "--schema", schema,
                   "--save-schema", schema, "--force")  # fmt: skip
        assert "this is also the input" in end.error
    end = call("synth", small / "*.parquet", "-o", small / "people.parquet", "-e", 1, *FAST, "--force")
    assert "this is also the input" in end.error


def test_a_wrong_target_says_how_many_columns_are_not_listed(tmp_path):
    import pyarrow as pa

    import nacre

    table = pa.table({f"c{i}": [0, 1] * 10 for i in range(15)})
    schema = nacre.Schema({name: nacre.Numeric((0, 1)) for name in table.column_names})
    with pytest.raises(nacre.errors.SchemaError, match="c11 … and 3 more"):
        nacre.evaluate(table, train=table, schema=schema, target="colour")
