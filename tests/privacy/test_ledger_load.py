"""Races and deaths, on SQLite and on a real PostgreSQL server: never above the cap, nothing read without its row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.ledger import load

from nacre.errors import BudgetExceeded, LedgerError, RequestRefused
from nacre.privacy.ledger import Policy, open_ledger

ROOT = Path(__file__).parent.parent.parent
COUNT = 100


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    return request.getfixturevalue("server") if request.param == "postgresql" else str(tmp_path / "books.sqlite")


@pytest.fixture
def population(request) -> str:
    return request.node.name  # one server serves all tests


def spends_exactly(told: dict, count: int, requests: int) -> None:
    assert told["failed"] == 0
    assert told["granted"] == told["reserved"] == count
    assert told["refused"] == requests - count
    assert told["spent"] == told["cap"]


def test_many_at_once_spend_the_cap_exactly(url, population, state):
    """Of PostgreSQL, by a user who has no right but to call the ledger's functions."""
    told = load.apart("storm", state, url=url, count=COUNT, processes=32, requests=160, population=population,
                      user="ana")  # fmt: skip
    spends_exactly(told, COUNT, 160)


def test_many_threads_of_one_program_spend_the_cap_exactly(url, population):
    from concurrent.futures import ThreadPoolExecutor

    policy = load.divisible(40)
    ledger = open_ledger(url, create=True)
    ledger.create(population, policy)
    plan = load.share(policy, 40)

    def ask(_):
        try:
            return ledger.reserve(population, plan).id
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(32) as threads:
        given = list(threads.map(ask, range(64)))
    assert len({*given} - {None}) == 40 and given.count(None) == 24
    assert ledger.verify([population])[population].spent == policy.unit_cap


def test_a_twin_without_the_lock_is_caught(url, population, state):
    told = load.apart("storm", state, url=url, count=COUNT, processes=8, requests=200, population=population,
                             broken="no lock")  # fmt: skip
    with pytest.raises(AssertionError):
        spends_exactly(told, COUNT, 200)
    assert told["spent"] <= told["cap"]  # the second lock, in the tables, still holds


@pytest.mark.slow
def test_sixty_four_at_once_at_full_size(url, population, state):
    told = load.apart("storm", state, url=url, count=5000, processes=64, requests=10_000, population=population,
                      user="ana")  # fmt: skip
    spends_exactly(told, 5000, 10_000)


def test_random_kills(url, population, state, tmp_path):
    told = load.apart("kills", state, url=url, count=50_000, number=15, longest=0.3, folder=str(tmp_path),
                             population=population, seed=4)  # fmt: skip
    assert told["survived"] == 15 and 0 <= told["spent"] <= told["cap"]


# A process that kills itself before or after its n-th commit: 1 reserves, 2 opens, 3 settles.
DYING = """
import os, signal, sys
from pathlib import Path
from benchmarks.ledger import load
from nacre.privacy.ledger import open_ledger
url, population, point, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
ledger = open_ledger(url)
policy = ledger.policy(population)
when, number = point.split()
real, count = ledger.store._commit, 0
def commit(held):
    global count
    count += 1
    if (when, count) == ("before", int(number)):
        os.kill(os.getpid(), signal.SIGKILL)
    real(held)
    if (when, count) == ("after", int(number)):
        os.kill(os.getpid(), signal.SIGKILL)
ledger._check_guarded()
ledger.store._commit = commit
plan = load.share(policy, 100)
held = ledger.reserve(population, plan, request="the run")
held.open(plan)
(folder / "read").touch()
held.settle()
(folder / "release").touch()
"""
POINTS = {
    "before 1": ([], False),
    "after 1": (["reserved"], False),
    "before 2": (["reserved"], False),
    "after 2": (["reserved", "opened"], False),
    "before 3": (["reserved", "opened"], True),
    "after 3": (["reserved", "opened", "settled"], True),
}


@pytest.mark.parametrize("point", POINTS)
def test_death_at_every_point(url, population, point, tmp_path):
    ledger = open_ledger(url, create=True)
    policy = Policy(1.0, 1e-6)
    ledger.create(population, policy)
    command = [sys.executable, "-c", DYING, url, population, point, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    steps, read = POINTS[point]
    assert [row.kind for row in ledger.rows(population)[1:]] == steps
    assert ((tmp_path / "read").exists(), (tmp_path / "release").exists()) == (read, False)
    ledger.verify([population])
    plan = load.share(policy, 100)
    if "opened" in steps:  # the same request again would be a second release
        with pytest.raises(RequestRefused, match="second release"):
            ledger.reserve(population, plan, request="the run")
    else:  # it goes on where it was, and is debited once
        ledger.reserve(population, plan, request="the run").open(plan)
        assert [row.kind for row in ledger.rows(population)[1:]] == ["reserved", "opened"]


def test_postgresql_refuses_changes_and_speaks_clearly(server, population):
    import sqlalchemy as sa

    ledger = open_ledger(server, create=True)
    ledger.create(population, Policy(1.0, 1e-6))
    engine = sa.create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    for statement in ("UPDATE nacre_rows SET units = 1", "DELETE FROM nacre_rows", "TRUNCATE nacre_anchors CASCADE"):
        with pytest.raises(sa.exc.SQLAlchemyError, match="only added to"), engine.begin() as connection:
            connection.execute(sa.text(statement))
    plan = load.share(Policy(1.0, 1e-6), 1)
    ledger.reserve(population, plan)
    with pytest.raises(BudgetExceeded, match="has spent epsilon"):
        ledger.reserve(population, plan)
    with pytest.raises(LedgerError, match="cannot be used"):
        open_ledger("postgresql://nacre@/nowhere?host=/nonexistent")
    secret = "postgresql://nacre:hidden-word@/nowhere?host=/nonexistent"
    with pytest.raises(LedgerError) as refused:
        open_ledger(secret)
    assert "hidden-word" not in str(refused.value)
    assert json.dumps(ledger.url).find("postgresql") == 1
