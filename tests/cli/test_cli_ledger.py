"""`nacre ledger` and `--ledger`, as typed."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    for name in ("NACRE_LEDGER", "NACRE_POPULATION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def books(tmp_path, call):
    path = tmp_path / "books.sqlite"
    assert call("ledger", "init", path, "-p", "people", "-e", 1, "--delta", 1e-6, "--per-release", 0.6).code == 0
    return path


def fit(call, small, output, books, epsilon=0.5, *more):
    return call("fit", small / "people.csv", "-o", output, "--schema", small / "people.json", "--method", "independent",
                "-e", epsilon, "--delta", 1e-6, "--ledger", books, "--population", "people", "-q", *more)  # fmt: skip


def test_a_year_of_releases(call, small, books, tmp_path):
    assert fit(call, small, tmp_path / "a.nacre", books, 0.5, "--request", "a").code == 0
    again = fit(call, small, tmp_path / "b.nacre", books, 0.5, "--request", "a")
    assert again.code == 2 and "second release" in again.error
    over = fit(call, small, tmp_path / "b.nacre", books, 0.7)
    assert over.code == 2 and "one release of this population may spend epsilon 0.6" in over.error
    assert fit(call, small, tmp_path / "b.nacre", books, 0.6).code == 0
    third = fit(call, small, tmp_path / "c.nacre", books, 0.6)
    assert third.code == 2 and "does not fit into the rest; nothing was read" in third.error
    assert not (tmp_path / "c.nacre").exists()

    (told,) = call("ledger", "status", books, "--json").json["populations"]
    assert told["reservations"] == {"reserved": 0, "opened": 0, "settled": 2, "refunded": 0}
    assert told["epsilon_beforehand"] <= told["epsilon_spent"] < told["epsilon_added"]
    assert "people" in call("ledger", "status", books).out
    assert call("ledger", "history", books).out.count("settled") == 2
    releases = ("--release", tmp_path / "a.nacre", "--release", tmp_path / "b.nacre")
    assert call("ledger", "verify", books, *releases).out.startswith("sound        people: 7 rows")
    assert call("ledger", "export", books, "-o", tmp_path / "books.json").code == 0
    assert len(json.loads((tmp_path / "books.json").read_text())["populations"]["people"]) == 7
    assert "Ledger:" in call("certificate", tmp_path / "a.nacre").out


def test_a_mandatory_ledger(call, small, books, tmp_path, monkeypatch):
    monkeypatch.setenv("NACRE_LEDGER", str(books))
    asked = ("synth", small / "people.csv", "-o", tmp_path / "fake.csv", "-q", "--schema", small / "people.json")
    assert "needs the name of the population" in call(*asked, "-e", 0.2).error
    assert "promises nothing" in call(*asked, "-e", "none", "--population", "people").error
    assert "promises nothing" in call(*asked, "-e", 0.2, "--domain", "from-data", "--population", "people").error
    assert "promises nothing" in call(*asked, "-e", 0.2, "--noise-seed", 3, "--population", "people").error
    assert not (tmp_path / "fake.csv").exists()
    monkeypatch.setenv("NACRE_POPULATION", "people")
    assert call(*asked, "-e", 0.2, "--delta", 1e-6, "--method", "independent").code == 0
    assert call("ledger", "status", "--json").json["populations"][0]["reservations"]["settled"] == 1


def test_an_audit_of_made_up_rows_needs_no_ledger(call, books, tmp_path, monkeypatch):
    from nacre.table import Boolean, Schema

    monkeypatch.setenv("NACRE_LEDGER", str(books))
    Schema({"sick": Boolean()}, rows=100).save(tmp_path / "sick.json")
    asked = ("audit", "--method", "independent", "-e", 1, "--schema", tmp_path / "sick.json", "--runs", 100, "-q")
    assert call(*asked, "--canaries", 100).code == 0
    assert call("ledger", "status", "--json").json["populations"][0]["sequence"] == 0


def test_refunds_and_mistakes(call, small, books, tmp_path, release):
    from nacre.privacy.budget import Budget
    from nacre.privacy.ledger import open_ledger
    from nacre.privacy.plan import Counts, Plan

    held = open_ledger(books).reserve("people", Plan("m", (Counts("t", sigmas=(30.0,)),), Budget(0.5)))
    back = ("ledger", "refund", books, "-p", "people", "--reservation", held.id, "--reason", "power cut")
    assert call(*back).code == 0
    assert "was refunded before" in call(*back).error
    assert "power cut" in call("ledger", "history", books).out
    assert "names no ledger" in call("ledger", "verify", books, "--release", release).error
    assert "there is no ledger" in call("ledger", "status", tmp_path / "none.sqlite").error
    assert "name the ledger" in call("ledger", "status").error
    assert "cannot be changed" in call("ledger", "init", books, "-p", "people", "-e", 9).error
    idle = call("fit", "--from-sketch", "x.sketch", "-o", tmp_path / "x.nacre", "--ledger", books)
    assert "--ledger" in idle.error
