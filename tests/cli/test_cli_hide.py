"""Hidden columns from the command line: named in the certificate, tested in the owner's report and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nacre.evaluation import hidden

FAST = ("--method", "ppem", "--option", "steps=10", "--option", "width=8", "--option", "batch=16")


@pytest.mark.slow
def test_hide_and_report(call, small, tmp_path, monkeypatch):
    monkeypatch.setattr(hidden, "REPEATS", 2)
    monkeypatch.setattr(hidden, "ROWS", 200)
    out, report, certificate = (tmp_path / n for n in ("fake.csv", "report.json", "certificate.json"))
    end = call("synth", small / "people.csv", "-o", out, "-e", "none", *FAST, "--schema", small / "people.json",
               "--hide", "age", "--alpha", 0.1, "--report", report, "--certificate", certificate)  # fmt: skip
    assert end.code in (0, 3), end.err
    (found,) = json.loads(report.read_text())["hidden"]
    assert end.code == (0 if found["told"] else 3), end.err
    assert "owner only: hidden       age: " in end.err and ("FAILED" in end.err) != found["told"]
    public = json.loads(certificate.read_text())
    assert public["guarantee"] == "none" and public["extras"] == {"hidden": {"sets": [["age"]], "alpha": 0.1}}
    assert "mmd_p" not in certificate.read_text() and "ksd" not in certificate.read_text()
    assert found["columns"] == ["age"] and found["alpha"] == 0.1
    assert "rho 1.0" in json.loads(report.read_text())["facts"]["Hiding"] and "rho" not in certificate.read_text()
    assert {(s["metric"], s["of"]) for s in found["scores"]} >= {
        ("mmd_p", "synthetic"), ("mmd_p", "control"), ("ks", "synthetic"), ("ks", "control"), ("ksd_p", "energy"),
    }  # fmt: skip


def test_a_run_that_hides_nothing_ends_with_its_own_code(call, small, tmp_path, monkeypatch):
    """The verdict is printed for the owner; the public answer does not hold it."""
    from nacre.cli import judging
    from nacre.report.report import Hidden, Report

    for told, code in ((True, 0), (False, 3)):
        found = Report(scores=(), hidden=(Hidden(("age",), 0.05, 1, told, ()),))
        monkeypatch.setattr(judging, "judge", lambda *rest, r=found: r)
        end = call("synth", small / "people.csv", "-o", tmp_path / f"{told}.csv", "-e", 1, "--json", "--method",
                   "independent", "--schema", small / "people.json", "--report", tmp_path / f"{told}.json")  # fmt: skip
        assert end.code == code, end.err
        assert "owner only: hidden       age: " in end.err and ("FAILED" in end.err) != told
        assert "MMD test" not in end.out and end.json["rows"]


def hiding_run(monkeypatch):
    """Fits by a quick method that are said to hide a column; returns the terms of every fit."""
    from nacre.cli import judging, running
    from nacre.report.report import Report

    real, terms = running.run, []

    def run(file, asked, *rest):
        terms.append(asked)
        quick = replace(asked.terms, method="independent", options={})
        made = real(file, replace(asked, terms=quick), *rest)
        extras = {**made.certificate.extras, "hidden": {"sets": [["age"]], "alpha": 0.05}}
        return replace(made, certificate=replace(made.certificate, extras=extras))

    monkeypatch.setattr(running, "run", run)
    monkeypatch.setattr(judging, "judge", lambda *_: Report(scores=()))
    return terms


@pytest.mark.parametrize("mandatory", [False, True])
def test_the_control_of_a_report_is_not_charged(call, small, tmp_path, monkeypatch, mandatory):
    """A cap of one release: the report comes as well. Where the ledger is mandatory it goes without a control."""
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    books, terms = tmp_path / "books.sqlite", hiding_run(monkeypatch)
    assert call("ledger", "init", books, "-p", "people", "-e", 1, "--delta", 1e-6).code == 0
    if mandatory:
        monkeypatch.setenv("NACRE_LEDGER", str(books))
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", 1, "--delta", 1e-6, *FAST, "--hide",
               "age", "--schema", small / "people.json", "--report", tmp_path / "r.json", "--ledger", books,
               "--population", "people", "--request", "one")  # fmt: skip
    assert end.code == 0, end.err
    assert [bool(t.account.url) for t in terms] == ([True] if mandatory else [True, False])
    assert mandatory or terms[-1].terms.options["weight"] == 0
    (told,) = call("ledger", "status", books, "--json").json["populations"]
    assert told["reservations"]["settled"] == 1
    assert ("no control was fitted" in (tmp_path / "r.json").read_text()) == mandatory


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("--hide", "age"), "use method 'ppem'"),
        (("--alpha", 0.1), "use method 'ppem'"),
        (("--alpha", 100, "--method", "support-points"), "--option alpha=100"),
        ((*FAST, "--hide", "nobody"), "'nobody' is not a modelled column"),
        (FAST, "--hide COLUMN"),
        ((*FAST, "--hide", "age", "--alpha", 2), "alpha=2"),
        ((*FAST, "--hide", "age", "--option", 'hide=["income"]'), "leave one of the two out"),
        ((*FAST, "--option", "hide=5"), "hide=5: expected column names"),
        ((*FAST, "--hide", "age", "--option", "width=1"), "width=1"),
    ],
)
def test_mistakes(call, small, tmp_path, more, match):
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", "none", "--schema", small / "people.json",
               *more)  # fmt: skip
    assert end.code == 2 and match in end.error
    assert not (tmp_path / "f.csv").exists()


def test_plan_says_what_pairs_need(call, small):
    end = call("plan", small / "people.json", "-e", 1, "--method", "ppem", "--hide", "age")
    assert end.code == 2 and "zero_out" in end.error
