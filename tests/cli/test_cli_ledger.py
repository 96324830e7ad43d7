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


def numbers(cells: list[str]) -> list[int]:
    return [int(c.replace(",", "")) for c in cells]


def test_status_adds_up_by_hand(call, tmp_path):
    """The figures as printed: requests to states, states to what was spent, and that with what is left to the cap."""
    import re

    from nacre.privacy.budget import Budget
    from nacre.privacy.ledger import Policy, open_ledger
    from nacre.privacy.plan import Counts, Plan

    ledger = open_ledger(tmp_path / "b.sqlite", create=True)
    ledger.create("people", Policy(3.0, 1e-6, per_release=1.0))
    for number in range(45):
        plan = Plan("m", (Counts("t", sigmas=(31.7 + number,)),), Budget(0.5, 1e-6))
        held = ledger.reserve("people", plan, request=f"r{number}")
        if number % 4 == 3:
            held.refund("not wanted")
        if number % 4 in (1, 2):
            held.open(plan)
        if number % 4 == 2:
            held.settle()
    for more in ((), ("--all",)):
        out = call("ledger", "status", tmp_path / "b.sqlite", *more).out
        first, second = out.split("settled + opened + reserved")[0].split(" requests ")
        listed = [numbers(re.findall(r"([\d,]+)  +([\d,]+)\s*$", line)[0]) for line in first.splitlines()
                  if re.match(r" (r\d+|\d+ earlier ones) ", line)]  # fmt: skip
        (whole,) = [numbers(line.split()[1:]) for line in first.splitlines() if line.startswith(" all ")]
        assert len(listed) == (45 if more else 41)
        assert [sum(column) for column in zip(*listed)] == whole
        states = {w[0]: numbers(w[2:4]) for line in second.splitlines() if (w := line.split()) and len(w) > 3
                  and w[0] in ("settled", "opened", "reserved", "refunded")}  # fmt: skip
        assert len(states) == 4 and states["refunded"] == [0, 0]
        assert [sum(column) for column in zip(*states.values())] == whole
        rest = {line.split()[0]: numbers(re.findall(r"[\d,]+", line)[:2]) for line in out.splitlines()
                if re.match(r" (spent|left|cap) ", line)}  # fmt: skip
        assert rest["spent"] == whole
        assert [a + b for a, b in zip(rest["spent"], rest["left"])] == rest["cap"]
        assert "Epsilons do not add" in out and "one release takes 1 at most" in out
    told = call("ledger", "status", tmp_path / "b.sqlite", "--json").json["populations"][0]
    assert told["units"]["spent"] == sum(e["units"] for e in told["entries"]) == ledger.rows("people")[-1].spent
    assert told["failure_units"]["spent"] == ledger.rows("people")[-1].spent_failure


def test_old_ledgers_are_upgraded_and_users_let_in_where_there_are_users(call, tmp_path, books):
    from nacre.privacy.budget import Budget
    from nacre.privacy.plan import Counts, Plan
    from privacy import old_ledger

    plan = Plan("m", (Counts("t", sigmas=(30.0,)),), Budget(0.5))
    rows = old_ledger.history("patients", "me", plan, ("reserved", "opened", "settled"))
    old = old_ledger.in_a_file(tmp_path / "old.sqlite", rows)
    told = call("ledger", "verify", old)
    assert told.code == 0 and "nacre ledger upgrade" in told.err
    assert "1 populations, every row is sound" in call("ledger", "upgrade", old).out
    assert "nacre ledger upgrade" not in call("ledger", "verify", old).err
    assert "rights of the file" in call("ledger", "grant", books, "ana").error
