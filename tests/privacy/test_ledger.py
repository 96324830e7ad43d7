"""The books: one debit per request, nothing opened before it is committed, nothing changed afterwards."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.engines import MemoryRows
from nacre.errors import (
    BudgetExceeded,
    DataError,
    LedgerError,
    LedgerRequired,
    LedgerRollback,
    LedgerTampered,
    RequestRefused,
)
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator, Record
from nacre.privacy.doors.select import RecordScore
from nacre.privacy.ledger import Ledger, Policy, Reservation, books, chain, open_ledger
from nacre.privacy.ledger.payment import Account, paid
from nacre.privacy.ledger.sqlite import refuse_remote
from nacre.privacy.ledger.status import status
from nacre.privacy.plan import Counts, Plan, Reveal, Select
from nacre.table import Boolean, Identifier, Schema

SCHEMA = Schema({"sick": Boolean()}, rows=4)
TABLE = pa.table({"sick": [True, False, True, True]})


def plan(epsilon: float = 0.5, sigma: float = 20.0, **budget: Any) -> Plan:
    return Plan("test", (Counts("table", sigmas=(sigma,), cliques=(("sick",),)),), Budget(epsilon, 1e-6, **budget))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("NACRE_LEDGER", raising=False)
    monkeypatch.delenv("NACRE_POPULATION", raising=False)


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    made = open_ledger(tmp_path / "books.sqlite", create=True)
    made.create("people", Policy(1.0, 1e-6))
    return made


def kinds(ledger: Ledger, population: str = "people") -> list[str]:
    return [row.kind for row in ledger.rows(population)]


# ------------------------------------------------------------------ order


class WatchedRows(MemoryRows):
    """Rows that look into the ledger, through another connection, at the moment they are read."""

    def __init__(self, url: str):
        super().__init__(TABLE)
        self.url, self.seen = url, []

    def batches(self, columns=None):
        self.seen.append(kinds(open_ledger(self.url)))
        return super().batches(columns)


def answers_after_commit(ledger: Ledger, held: Reservation) -> None:
    """Rows are read when the debit is committed; an answer is given when the ledger holds that answers are given."""
    rows = WatchedRows(ledger.url)
    asked = plan()
    room = Curator(rows, asked, SCHEMA, record=Record(paid=held))
    real, answered = room._transcript.settle, []

    def settle(question, answer):
        answered.append(kinds(open_ledger(ledger.url)))
        return real(question, answer)

    room._transcript.settle = settle
    room.counts(asked.entries[0], [("sick",)])
    assert rows.seen and all(seen == ["policy", "reserved"] for seen in rows.seen)
    assert answered == [["policy", "reserved", "opened"]]


def test_answers_are_given_only_after_both_commits(ledger):
    answers_after_commit(ledger, ledger.reserve("people", plan()))


class ForgetfulReservation(Reservation):
    def open(self, plan: Plan) -> None:
        self.opened = True


def test_a_twin_that_does_not_record_the_opening_is_caught(ledger):
    held = ledger.reserve("people", plan())
    with pytest.raises(AssertionError):
        answers_after_commit(ledger, ForgetfulReservation(ledger, "people", held.id, held.digest))


def test_a_twin_that_opens_before_the_commit_reads_nothing(ledger):
    """A reservation that was written but never committed opens no door."""
    ledger.store._commit = lambda connection: connection.execute("ROLLBACK")
    held = ledger.reserve("people", plan())
    del ledger.store._commit
    rows = WatchedRows(ledger.url)
    with pytest.raises((RequestRefused, LedgerRollback)):  # not in the ledger, though this machine saw it
        Curator(rows, plan(), SCHEMA, record=Record(paid=held)).counts(plan().entries[0], [("sick",)])
    assert not rows.seen


def test_a_reservation_opens_one_plan_once(ledger):
    held = ledger.reserve("people", plan())
    with pytest.raises(RequestRefused, match="another plan"):
        held.open(plan(sigma=19.0))
    held.open(plan())
    held.open(plan())  # further doors of the same run
    again = Reservation(ledger, "people", held.id, held.digest)
    with pytest.raises(RequestRefused, match="was opened before"):
        again.open(plan())
    held.settle()
    with pytest.raises(RequestRefused, match="was settled before"):
        held.settle()
    assert kinds(ledger) == ["policy", "reserved", "opened", "settled"]


def test_a_reservation_pays_for_one_curator_in_one_process(ledger, monkeypatch):
    """Doors are counted by the curator: a second one on the same debit would read as often as it likes."""
    held = ledger.reserve("people", plan())
    Curator(MemoryRows(TABLE), plan(), SCHEMA, record=Record(paid=held)).counts(plan().entries[0], [("sick",)])
    with pytest.raises(RequestRefused, match="pays for one run"):
        Curator(MemoryRows(TABLE), plan(), SCHEMA, record=Record(paid=held))
    forked = ledger.reserve("people", plan())
    monkeypatch.setattr(books.os, "getpid", lambda: -1)  # as after a fork, with the reservation in memory
    with pytest.raises(RequestRefused, match="pays for one run"):
        Curator(MemoryRows(TABLE), plan(), SCHEMA, record=Record(paid=forked))
    with pytest.raises(RequestRefused, match="another process"):
        forked.open(plan())


# ------------------------------------------------------------------- caps


def test_the_first_release_may_take_the_whole_cap_and_nothing_follows(tmp_path, ledger):
    kw = {"schema": SCHEMA, "method": "independent", "delta": 1e-6, "ledger": ledger.url, "population": "people"}
    release = nacre.fit(TABLE, epsilon=1.0, **kw)
    figures = status(ledger.rows("people"))
    assert figures["units"]["spent"] == figures["units"]["cap"]
    assert figures["epsilon_spent"] == 1.0
    assert release.certificate.extras["ledger"] == {
        "ledger": ledger.identity, "population": "people", "sequence": 3, "head": ledger.rows("people")[-1].hash,
    }  # fmt: skip
    with pytest.raises(BudgetExceeded, match="has spent epsilon 1 of 1"):
        nacre.fit(TABLE, epsilon=0.01, **kw)
    release.save(tmp_path / "r.nacre")
    stamp = nacre.load(tmp_path / "r.nacre").certificate.extras["ledger"]
    assert ledger.verify(stamps=[stamp])["people"].sequence == 3


def test_after_a_smaller_release_the_whole_cap_is_not_to_be_had(ledger):
    ledger.reserve("people", plan(0.2, 40.0))
    full = 1 / nacre.privacy.accounting.accountant.gaussian_mu(1.0, 1e-6)
    with pytest.raises(BudgetExceeded, match="still fits"):
        ledger.reserve("people", plan(1.0, 1.0001 * full))


def test_epsilon_does_not_add_up(ledger):
    for _ in range(10):
        held = ledger.reserve("people", plan(0.3, 20.0))
        held.open(plan(0.3, 20.0))
        held.settle()
    figures = status(ledger.rows("people"))
    assert figures["epsilon_added"] == pytest.approx(3.0)
    assert figures["guarantee"] == "proven"
    assert figures["epsilon_beforehand"] <= figures["epsilon_spent"] <= 1.0
    assert figures["epsilon_spent"] == pytest.approx(figures["epsilon_beforehand"], rel=1e-3)


def test_policies_are_kept(ledger):
    ledger.create("capped", Policy(2.0, 1e-6, per_release=0.3))
    ledger.reserve("capped", plan(0.3, 20.0))
    with pytest.raises(BudgetExceeded, match="one release of this population"):
        ledger.reserve("capped", plan(1.0, 5.0))
    ledger.create("others", Policy(2.0, 1e-6, who=("nobody-here",), owner="nobody-else"))
    with pytest.raises(RequestRefused, match="may not spend"):
        ledger.reserve("others", plan())
    with pytest.raises(RequestRefused, match="promised add_or_remove_one"):
        ledger.reserve("people", plan(neighbours="zero_out"))
    with pytest.raises(RequestRefused, match="protects one row, and the schema one patient"):
        ledger.reserve("people", plan(), unit="patient")
    ledger.create("blanked", Policy(2.0, 1e-6, neighbours="zero_out"))
    ledger.reserve("blanked", plan())  # the stronger relation covers the weaker
    with pytest.raises(LedgerError, match="cannot be changed"):
        ledger.create("people", Policy(9.0))
    with pytest.raises(LedgerError, match="none of that name"):
        ledger.reserve("nobody", plan())


# --------------------------------------------------------------- requests


def test_a_request_is_debited_once(ledger):
    ids = {ledger.reserve("people", plan(), request="monday").id for _ in range(5)}
    assert len(ids) == 1 and kinds(ledger) == ["policy", "reserved"]
    with pytest.raises(RequestRefused, match="another plan"):
        ledger.reserve("people", plan(sigma=21.0), request="monday")
    ledger.reserve("people", plan(), request="monday").open(plan())
    with pytest.raises(RequestRefused, match="second release"):
        ledger.reserve("people", plan(), request="monday")


def test_clocks_decide_nothing(ledger, monkeypatch):
    monkeypatch.setattr(chain, "now", lambda: "1970-01-01T00:00:00.000+00:00")
    held = ledger.reserve("people", plan())
    monkeypatch.setattr(chain, "now", lambda: "2999-01-01T00:00:00.000+00:00")
    held.open(plan())
    assert held.settle()["sequence"] == 3


# ---------------------------------------------------------------- refunds


def refund_only_unopened(ledger: Ledger) -> None:
    held = ledger.reserve("people", plan())
    ledger.refund("people", held.id, "the machine was switched off")
    assert ledger.rows("people")[-1].spent == 0
    with contextlib.suppress(RequestRefused):
        held.open(plan())
    assert kinds(ledger)[-1] == "refunded", "a refunded reservation was opened"
    used = ledger.reserve("people", plan())
    used.open(plan())
    spent = ledger.rows("people")[-1].spent
    with contextlib.suppress(RequestRefused):
        ledger.refund("people", used.id, "changed my mind")
    assert ledger.rows("people")[-1].spent == spent > 0, "an opened reservation was refunded"


def test_refunds_only_before_data_are_opened(ledger):
    refund_only_unopened(ledger)
    with pytest.raises(RequestRefused, match="reason"):
        ledger.refund("people", ledger.reserve("people", plan()).id, " ")
    with pytest.raises(RequestRefused, match="no reservation"):
        ledger.refund("people", "nothing", "why not")


def test_a_twin_that_refunds_after_opening_is_caught(ledger, monkeypatch):
    """By the database; and where its rules were taken away, by whoever writes next."""
    held = ledger.reserve("people", plan())
    held.open(plan())
    monkeypatch.setattr(books, "OPENED", "opened-not-looked-for")  # refund() looks for this name among the steps
    with pytest.raises(LedgerError, match="answers were given for it"):
        ledger.refund("people", held.id, "why not")
    ledger.store._connection().execute("DROP TRIGGER nacre_rows_rules")
    ledger.refund("people", held.id, "why not")
    with pytest.raises(LedgerTampered, match="row 3 gives back what it may not"):
        ledger.reserve("people", plan())
    with pytest.raises(LedgerTampered, match="row 3: it is refunded after being opened in row 2"):
        ledger.verify()


def test_a_run_that_ends_before_a_door_gives_back_its_debit(ledger, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nacre.run.fitting._bought", stop)
    with pytest.raises(KeyboardInterrupt):
        nacre.fit(TABLE, schema=SCHEMA, epsilon=0.5, ledger=Account(ledger.url, "people"))
    assert kinds(ledger) == ["policy", "reserved", "refunded"]
    assert "KeyboardInterrupt" in ledger.rows("people")[-1].facts["reason"]


# -------------------------------------------------------------- mandatory


def test_what_went_wrong_first_is_told_when_the_debit_cannot_be_given_back(ledger, monkeypatch):
    """The debit stays then, and can be given back later."""

    def gone(*args):
        raise LedgerError("the server is gone")

    with monkeypatch.context() as away, pytest.raises(ZeroDivisionError):
        away.setattr(ledger, "refund", gone)
        with paid(Account(ledger, "people"), plan(), None):
            raise ZeroDivisionError
    assert kinds(ledger) == ["policy", "reserved"] and ledger.rows("people")[-1].spent > 0
    assert ledger.refund("people", ledger.rows("people")[-1].reservation, "the server was gone").spent == 0


def test_persons_are_looked_for_only_after_the_debit(ledger):
    """A refused table costs nothing and leaves a trace; a population with nothing left is not read at all."""
    schema = Schema({"who": Identifier(person=True), "sick": Boolean()}, rows=4)
    reads = []

    class Rows(MemoryRows):
        def batches(self, columns=None):
            reads.append(kinds(ledger))
            return super().batches(columns)

    def run(who, **more):
        rows = Rows(TABLE.append_column("who", pa.array(who)).select(["who", "sick"]))
        nacre.fit(rows, schema=schema, delta=1e-6, method="independent", ledger=Account(ledger, "people"), **more)

    with pytest.raises(DataError, match="identifies persons and repeats"):
        run(["a", "b", "c", "a"], epsilon=0.5)
    assert reads == [["policy", "reserved"]] and kinds(ledger) == ["policy", "reserved", "refunded"]
    assert ledger.rows("people")[-1].spent == 0
    run(["a", "b", "c", "d"], epsilon=1.0)
    reads.clear()
    with pytest.raises(BudgetExceeded):
        run(["a", "b", "c", "a"], epsilon=0.5)
    assert not reads


def test_a_mandatory_ledger_guards_every_door(ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("NACRE_LEDGER", ledger.url)
    rows = WatchedRows(ledger.url)
    raw = Plan("test", (Reveal("all", reason="no noise"),), Budget(None))
    with pytest.raises(LedgerRequired, match="NACRE_LEDGER"):
        Curator(rows, raw, SCHEMA).reveal(raw.entries[0])
    with pytest.raises(LedgerRequired):
        Curator(rows, plan(), SCHEMA).counts(plan().entries[0], [("sick",)])
    with pytest.raises(LedgerRequired, match="population"):
        nacre.fit(rows, schema=SCHEMA, epsilon=0.5)
    with pytest.raises(LedgerRequired, match="population"):
        nacre.sketch(rows, schema=SCHEMA, epsilon=0.5)
    for reading in ({"epsilon": None}, {"epsilon": 1.0, "domain": "from-data"}, {"epsilon": 1.0, "noise_seed": 1}):
        with pytest.raises(LedgerRequired, match="promises nothing"):
            nacre.fit(rows, schema=SCHEMA, ledger=Account(None, "people"), **reading)
    other = open_ledger(tmp_path / "other.sqlite", create=True)
    other.create("people", Policy(9.0))
    with pytest.raises(LedgerRequired, match="names another ledger"):
        nacre.fit(rows, schema=SCHEMA, epsilon=0.5, ledger=Account(other.url, "people"))
    with pytest.raises(LedgerRequired, match="names another ledger"):
        Curator(rows, plan(), SCHEMA, record=Record(paid=other.reserve("people", plan()))).counts(
            plan().entries[0], [("sick",)]
        )
    assert not rows.seen
    monkeypatch.setenv("NACRE_POPULATION", "people")
    made = nacre.sketch(TABLE, schema=SCHEMA, epsilon=0.3, frequencies=4)
    assert made.certificates[0].extras["ledger"]["sequence"] == 3
    fitted = nacre.fit(TABLE, schema=SCHEMA, epsilon=0.3, method="independent")
    assert fitted.certificate.extras["ledger"]["sequence"] == 6


def test_raw_rows_are_never_paid_for(ledger):
    raw = Plan("test", (Reveal("all", reason="no noise"),), Budget(None))
    with pytest.raises(BudgetExceeded, match="no cap covers"):
        ledger.reserve("people", raw)


# ---------------------------------------------------------------- tampering


def edit(path: Path, *statements: str) -> None:
    """Somebody with the file in hand, who has dropped the triggers first."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for statement in (*(f"DROP TRIGGER {n}" for n in names), *statements):
            connection.execute(statement)
        connection.commit()


EDITS = (
    "UPDATE nacre_rows SET units = 1 WHERE sequence = 1",
    "UPDATE nacre_rows SET body = '{}' WHERE sequence = 1",
    "UPDATE nacre_rows SET made_by = 'somebody' WHERE sequence = 2",
    "UPDATE nacre_rows SET body = replace(body, '1.0', '9.0') WHERE sequence = 0",
    "UPDATE nacre_rows SET spent = 0 WHERE sequence = 6",
    "UPDATE nacre_rows SET kind = 'reserved', reservation = 'x', request = 'y', units = 1, failure = 1 "
    "WHERE sequence = 2",
    "DELETE FROM nacre_rows WHERE sequence = 1",
    "DELETE FROM nacre_rows WHERE sequence = 3",
    "DELETE FROM nacre_rows WHERE sequence >= 4",
    "DELETE FROM nacre_rows WHERE sequence >= 1",
    "DELETE FROM nacre_rows",
)


@pytest.mark.parametrize("statement", EDITS)
def test_edits_are_found(ledger, tmp_path, statement):
    for _ in range(2):
        held = ledger.reserve("people", plan(0.2, 40.0))
        held.open(plan(0.2, 40.0))
        held.settle()
    ledger.store.close()
    edit(tmp_path / "books.sqlite", statement)
    with pytest.raises((LedgerTampered, LedgerRollback)):
        open_ledger(tmp_path / "books.sqlite").verify()


@pytest.mark.parametrize("statement", ["UPDATE nacre_rows SET units = 1", "DELETE FROM nacre_rows"])
def test_the_file_itself_refuses_changes(ledger, tmp_path, statement):
    ledger.reserve("people", plan())
    with contextlib.closing(sqlite3.connect(tmp_path / "books.sqlite")) as connection:
        with pytest.raises(sqlite3.Error, match="only added to"):
            connection.execute(statement)
        step = chain.Step("reserved", {}, "two", "two", units=10**15, failure=1)
        row = chain.following(ledger.rows("people")[-1], "me", step)
        names = ", ".join(chain.COLUMNS)
        with pytest.raises(sqlite3.Error, match="above the cap"):
            values = ", ".join("?" * len(chain.COLUMNS))
            connection.execute(f"INSERT INTO nacre_rows ({names}) VALUES ({values})", tuple(row.as_dict().values()))


def test_a_restored_backup_is_noticed_here_and_by_certificates_elsewhere(ledger, tmp_path, monkeypatch):
    path = tmp_path / "books.sqlite"
    ledger.store.close()
    shutil.copy(path, tmp_path / "backup.sqlite")
    release = nacre.fit(TABLE, schema=SCHEMA, epsilon=0.5, method="independent", ledger=Account(path, "people"))
    ledger.store.close()
    for tail in ("", "-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup.sqlite", path)
    (tmp_path / "backup.sqlite").unlink()
    with pytest.raises(LedgerRollback, match="backup was restored"):
        open_ledger(path).reserve("people", plan())
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "another machine"))
    with pytest.raises(LedgerRollback, match="a certificate names row 3"):
        open_ledger(path).verify(stamps=[release.certificate.extras["ledger"]])


def test_a_population_cannot_begin_anew(tmp_path):
    """Neither in a backup from before it was made, nor in a new ledger in place of the old one; what was never used
    may be made again, and elsewhere it is another ledger."""
    path = tmp_path / "books.sqlite"
    first = open_ledger(path, create=True)
    first.store.close()
    shutil.copy(path, tmp_path / "backup.sqlite")
    first.create("people", Policy(1.0, 1e-6))
    first.reserve("people", plan())
    first.create("unused", Policy(1.0, 1e-6))
    first.store.close()
    shutil.copy(tmp_path / "backup.sqlite", path)
    with pytest.raises(LedgerRollback, match="up to row 1, and it is not there"):
        open_ledger(path).create("people", Policy(1.0, 1e-6))
    path.unlink()
    again = open_ledger(path, create=True)
    with pytest.raises(LedgerRollback, match="would forget what was spent"):
        again.create("people", Policy(1.0, 1e-6))
    again.create("unused", Policy(1.0, 1e-6))
    open_ledger(tmp_path / "other.sqlite", create=True).create("people", Policy(1.0, 1e-6))


def test_a_copy_is_refused_and_a_moved_ledger_is_not(ledger, tmp_path):
    ledger.store.close()
    shutil.copy(tmp_path / "books.sqlite", tmp_path / "copy.sqlite")
    with pytest.raises(LedgerRollback, match="is a copy of the ledger"):
        open_ledger(tmp_path / "copy.sqlite").reserve("people", plan())
    (tmp_path / "copy.sqlite").unlink()
    (tmp_path / "books.sqlite").rename(tmp_path / "moved.sqlite")
    open_ledger(tmp_path / "moved.sqlite").reserve("people", plan())


def test_a_reader_is_not_alarmed_by_rows_that_come_while_it_reads(ledger, monkeypatch):
    """Another process commits, and this machine remembers it, after the reader's view was fixed."""
    real, other = ledger.store.reading, open_ledger(ledger.url)

    @contextlib.contextmanager
    def slow(population):
        with real(population) as book:
            book.rows()
            other.reserve("people", plan(0.1, 100.0))
            yield book

    monkeypatch.setattr(ledger.store, "reading", slow)
    assert [row.kind for row in ledger.rows("people")] == ["policy"]
    assert ledger.verify()["people"].sequence == 1


# ------------------------------------------------------------- failing closed


def test_a_full_disk_spends_nothing_and_opens_nothing(ledger):
    connection = ledger.store._connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerError, match="full"):
        for _ in range(200):
            ledger.reserve("people", plan(0.1, 1000.0))
    connection.execute("PRAGMA max_page_count = 1000000")
    assert len(ledger.verify()) == 1


def test_what_is_no_ledger_is_refused(tmp_path, monkeypatch):
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_ledger(tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "text.sqlite").write_text("this is no database, and long enough to be read as one" * 20)
    with pytest.raises(LedgerError):
        open_ledger(tmp_path / "text.sqlite")
    with pytest.raises(LedgerError, match="no folder"):
        open_ledger(tmp_path / "no" / "books.sqlite", create=True)
    with pytest.raises(LedgerError, match="expected a path"):
        open_ledger("mysql://root@localhost/books")


def test_state_that_cannot_be_kept_is_refused_before_spending(ledger, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "file" / "state"))
    with pytest.raises(LedgerError, match="NACRE_STATE"):
        ledger.reserve("people", plan())
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    assert kinds(ledger) == ["policy"]


def test_network_file_systems_are_refused(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/a / ext4 rw 0 0\nhost:/x /srv/shared nfs4 rw 0 0\n/dev/b /srv/shared/local xfs rw 0 0\n"
                      "u@h: /mnt/my\\040share fuse.sshfs rw 0 0\n")  # fmt: skip
    for good in ("/home/a.sqlite", "/srv/shared/local/a.sqlite", "/srv/sharedness/a.sqlite"):
        refuse_remote(Path(good), str(mounts))
    for bad in ("/srv/shared/a.sqlite", "/mnt/my share/a.sqlite"):
        with pytest.raises(LedgerError, match="cannot be relied on"):
            refuse_remote(Path(bad), str(mounts))


# ---------------------------------------------------- what ends before an answer


class Torn(MemoryRows):
    """A file whose end cannot be read, found out after `good` readings of its first half."""

    def __init__(self, good: int = 0):
        super().__init__(TABLE)
        self.good = good

    def batches(self, columns=None):
        yield from super().batches(columns)
        self.good -= 1
        if self.good < 0:
            raise DataError("line 5 is not in the encoding utf-8")


def run(rows: Any, ledger: Ledger, **more: Any) -> Any:
    return nacre.fit(rows, schema=SCHEMA, epsilon=0.5, delta=1e-6, ledger=Account(ledger, "people"), **more)


@pytest.mark.parametrize("method", ["independent", "sketch", "pearl", "support-points"])
def test_a_table_that_cannot_be_read_to_its_end_costs_nothing(ledger, method):
    with pytest.raises(DataError, match="utf-8"):
        run(Torn(), ledger, method=method)
    assert kinds(ledger) == ["policy", "reserved", "refunded"] and ledger.rows("people")[-1].spent == 0
    assert ledger.verify()


def test_what_fails_after_an_answer_was_given_stays_spent(ledger):
    """The first of two doors has answered when the second one finds that the file is torn."""
    entries = tuple(Counts(name, sigmas=(30.0,), cliques=(("sick",),)) for name in ("one", "two"))
    asked, rows = Plan("test", entries, Budget(0.5, 1e-6)), Torn(1)
    with pytest.raises(DataError, match="utf-8"), paid(Account(ledger, "people"), asked, None) as held:
        Curator(rows, asked, SCHEMA, record=Record(paid=held)).counts(entries[0], [("sick",)])
        assert rows.good == 0
        list(rows.batches())
    assert kinds(ledger) == ["policy", "reserved", "opened"] and ledger.rows("people")[-1].spent > 0


def test_a_file_in_another_encoding_leaves_no_open_row(ledger, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"sick\n" + b"true\n" * 3000 + "naïve\n".encode("latin-1") * 200)
    with pytest.raises(DataError):
        run(str(path), ledger, method="independent")
    assert kinds(ledger)[-1] in ("policy", "refunded") and ledger.rows("people")[-1].spent == 0


def test_steps_and_draws_are_opened_before_noise_is_seen_by_others(ledger):
    """Doors that hand noisy numbers to a method's own code before they end."""
    asked = Plan("test", (Select("pick", epsilon=0.1, picks=2),), Budget(0.5, 1e-6))
    held = ledger.reserve("people", asked)
    room, seen = Curator(MemoryRows(TABLE), asked, SCHEMA, record=Record(paid=held)), []

    def allowed(picked):
        seen.append((kinds(open_ledger(ledger.url))[-1], room._transcript.begun, len(room._transcript.questions)))
        return np.array([True, True])

    score = RecordScore(lambda columns, _: np.ones((len(columns["sick"]), 2)), 2, 0.0, 1.0)
    room.select(asked.entries[0], score, allowed)
    assert seen and set(seen) == {("opened", True, 0)}  # so that whoever is interrupted here is told


def test_a_debit_that_this_machine_cannot_remember_is_given_back(ledger, monkeypatch):
    real, failing = type(ledger._witness).saw, [True]

    def saw(self, row):
        if failing and failing.pop():
            raise LedgerError("no space left to remember")
        real(self, row)

    monkeypatch.setattr(type(ledger._witness), "saw", saw)
    with pytest.raises(LedgerError, match="no space left"):
        ledger.reserve("people", plan())
    assert kinds(ledger) == ["policy", "reserved", "refunded"] and ledger.rows("people")[-1].spent == 0
