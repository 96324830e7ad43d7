"""Rows that should never be: refused by the database from whoever may add rows, and named by `verify` where somebody
with all rights has put them there. In SQLite a plain user adds rows by plain SQL; in PostgreSQL by one function, and
the owner, who may use SQL, is held to the same rules."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from nacre.errors import LedgerError, LedgerRollback, LedgerTampered, RequestRefused
from nacre.privacy.budget import Budget
from nacre.privacy.ledger import Ledger, Policy, Reservation, chain, open_ledger
from nacre.privacy.ledger.checking import check_chain
from nacre.privacy.ledger.request import Asked
from nacre.privacy.plan import Counts, Plan
from privacy import old_ledger

PLAN = Plan("load", (Counts("table", sigmas=(30.0,)),), Budget(0.5, 1e-6))
CHOICE = [{"event": "BoundedRange", "epsilon": 9.0, "times": 1}]
Execute = Callable[..., Any]


@pytest.fixture(autouse=True, scope="module")
def state(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NACRE_STATE", str(tmp_path_factory.mktemp("state")))
        yield


def as_user(url: str, user: str) -> str:
    return url.replace("//nacre@", f"//{user}@")


@contextlib.contextmanager
def sql(url: str):
    """`execute(sql, values)` in one transaction, of whoever the URL names, by the database's own means."""
    if not url.startswith("postgresql"):
        with contextlib.closing(sqlite3.connect(url, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            yield connection.execute
            connection.execute("COMMIT")
        return
    import sqlalchemy as sa

    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.begin() as connection:
            yield lambda text, values=None: connection.execute(sa.text(text), values or {})
    finally:
        engine.dispose()


@dataclass
class Books:
    """A ledger in which one population has a settled, an opened, a reserved and a refunded request, all of one user."""

    url: str
    ledger: Ledger  # of the user
    people: str
    others: str
    how: str

    def last(self) -> chain.Row:
        return self.ledger.rows(self.people)[-1]

    def row(self, request: str, kind: str = "reserved") -> chain.Row:
        (taken,) = [r for r in self.ledger.rows(self.people) if r.kind == "reserved" and r.request == request]
        (row,) = [r for r in self.ledger.rows(self.people) if r.kind == kind and r.reservation == taken.reservation]
        return row

    def add(self, row: chain.Row) -> None:
        if self.how != "postgresql, a user":
            with sql(self.url) as execute:
                old_ledger.insert(execute, [row])
            return
        with sql(as_user(self.url, "ana")) as execute:
            execute("SELECT nacre_add(:population, CAST(:after AS bigint), :kind, :reservation, :request, "
                    "CAST(:units AS bigint), CAST(:failure AS bigint), :body)",
                    {**row.as_dict(), "after": row.sequence - 1})  # fmt: skip


def used(url: str, ledger: Ledger, people: str) -> None:
    for request, steps in (("settled", 3), ("opened", 2), ("reserved", 1), ("refunded", 0)):
        held = ledger.reserve(people, PLAN, request=request)
        if steps > 1:
            held.open(PLAN)
        if steps > 2:
            held.settle()
        if not steps:
            held.refund("not wanted")


@pytest.fixture(params=["sqlite", "postgresql, a user", "postgresql, the owner"], scope="module")
def books(request, tmp_path_factory) -> Any:
    if request.param == "sqlite":
        url = str(tmp_path_factory.mktemp("books") / "books.sqlite")
        owner = user = open_ledger(url, create=True)
    else:
        url = request.getfixturevalue("server")
        owner = user = open_ledger(url, create=True)
        if request.param == "postgresql, a user":
            owner.grant("ana")
            user = open_ledger(as_user(url, "ana"))
    people, others = f"people of {request.param}", f"others of {request.param}"
    for name in (people, others):
        owner.create(name, Policy(3.0, 1e-6))
    used(url, user, people)
    user.reserve(others, PLAN, request="elsewhere")
    return Books(url, user, people, others, request.param)


@pytest.fixture
def fresh(server, request) -> Any:
    """A database of its own on the server: what is forged here is nobody else's."""
    name = f"attacks_{abs(hash(request.node.nodeid)):x}"
    _alone(server, f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?")
    _alone(server, f"DROP DATABASE {name} WITH (FORCE)")


def _alone(server: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


def after(last: chain.Row, kind: str, taken: chain.Row | None, **more: Any) -> chain.Row:
    """A row that a careful forger would add: with a right hash, right sums, and what else can be known."""
    sign = {"refunded": -1, "reserved": 1}.get(kind, 0)
    known = {} if taken is None else {
        "reservation": taken.reservation, "request": taken.request, "units": sign * taken.units,
        "failure": sign * taken.failure,
    }  # fmt: skip
    body = more.pop(
        "body", taken.facts if kind == "reserved" and taken else {"plan": taken.facts["plan"]} if taken else {}
    )
    by = more.pop("made_by", taken.made_by if taken else last.made_by)
    return chain.following(last, by, chain.Step(kind, body, **{**known, **more}))


FORGED: dict[str, tuple[Callable[[Books], chain.Row], str, str]] = {
    "refund after settled": (
        lambda b: after(b.last(), "refunded", b.row("settled")),
        "stays spent", "it is refunded after being settled in row 3; what was opened stays spent"),
    "refund of an opened one": (
        lambda b: after(b.last(), "refunded", b.row("opened")),
        "stays spent", "it is refunded after being opened in row 5"),
    "second refund": (
        lambda b: after(b.last(), "refunded", b.row("refunded")),
        "refunded before", "it is refunded after being refunded in row 8"),
    "refund of more": (
        lambda b: after(b.last(), "refunded", b.row("reserved"), units=-2 * b.row("reserved").units),
        "no more and no less", "row 6 reserved"),
    "refund of less": (
        lambda b: after(b.last(), "refunded", b.row("reserved"), failure=-1),
        "no more and no less", "row 6 reserved"),
    "refund of another population's": (
        lambda b: after(b.last(), "refunded", b.ledger.rows(b.others)[-1]),
        "nothing of that name was reserved for this population", "was made for this population"),
    "refund without a name": (
        lambda b: after(b.last(), "refunded", b.row("reserved"), reservation="", request=""),
        "names its reservation", "no reservation '' was made"),
    "second settling": (
        lambda b: after(b.last(), "settled", b.row("settled")),
        "settled before", "it is settled after being settled in row 3"),
    "second opening": (
        lambda b: after(b.last(), "opened", b.row("opened")),
        "opened before", "it is opened after being opened in row 5"),
    "opening after a refund": (
        lambda b: after(b.last(), "opened", b.row("refunded")),
        "refunded before", "it is opened after being refunded in row 8"),
    "settled, never opened": (
        lambda b: after(b.last(), "settled", b.row("reserved")),
        "not opened", "it is settled after being reserved in row 6"),
    "opened for nothing": (
        lambda b: after(b.last(), "opened", b.row("reserved"), reservation="nothing"),
        "nothing of that name", "no reservation 'nothing' was made"),
    "opened for another plan": (
        lambda b: after(b.last(), "opened", b.row("reserved"), body={"plan": "0" * 64}),
        "request or plan is another", "its request or its plan is not that of row 6"),
    "opened for another request": (
        lambda b: after(b.last(), "opened", b.row("reserved"), request="settled"),
        "request or plan is another", "its request or its plan is not that of row 6"),
    "units with an opening": (
        lambda b: after(b.last(), "opened", b.row("reserved"), units=-5, failure=0),
        "only reservations and refunds", "it is opened with -5 and 0 units"),
    "one request twice": (
        lambda b: after(b.last(), "reserved", b.row("settled"), reservation="new"),
        "that request is there", "its request was made before (in row 1)"),
    "one reservation twice": (
        lambda b: after(b.last(), "reserved", b.row("settled"), request="new"),
        "that reservation is there", "was made before"),
    "negative reservation": (
        lambda b: after(b.last(), "reserved", b.row("settled"), reservation="n", request="n", units=-7, failure=-7),
        "costs something", "a reservation costs something"),
    "reserved for nothing known": (
        lambda b: after(b.last(), "reserved", b.row("settled"), reservation="n", request="n", body={"plan": "x"}),
        "names its plan", "does not say what was reserved"),
    "above the cap": (
        lambda b: after(b.last(), "reserved", b.row("settled"), reservation="n", request="n", units=10**14),
        "above the cap", "above the cap"),
    "another policy": (
        lambda b: after(b.last(), "policy", None, body=Policy(9.0, owner="me").to_json()),
        "only the owner|begins with its policy", "begins with its policy"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_rows_that_should_never_be_are_refused(books, what):
    forge, refused, _ = FORGED[what]
    row, before = forge(books), books.last()
    with pytest.raises(Exception, match=refused):
        books.add(row)
    assert books.last() == before and books.ledger.verify([books.people])


@pytest.mark.parametrize("what", FORGED)
def test_rows_that_should_never_be_are_named(books, what):
    """Whoever put them there: the hashes and sums are right."""
    forge, _, named = FORGED[what]
    rows, row = books.ledger.rows(books.people), forge(books)
    with pytest.raises(LedgerTampered) as told:
        check_chain([*rows, row], books.ledger.identity, books.people)
    assert f"row {row.sequence}: " in str(told.value) and named in str(told.value)


def resealed(rows: list[chain.Row]) -> list[chain.Row]:
    """The same rows in that order, with numbers, sums and hashes made anew: what anybody can do who can write all."""
    made = [rows[0]]
    for row in rows[1:]:
        last = made[-1]
        moved = replace(row, sequence=last.sequence + 1, previous=last.hash, spent=last.spent + row.units,
                        spent_failure=last.spent_failure + row.failure)  # fmt: skip
        made.append(replace(moved, hash=moved.digest()))
    return made


def test_other_orders_are_named(books):
    rows = books.ledger.rows(books.people)
    check_chain(resealed(rows), books.ledger.identity, books.people)
    for swapped, named in (((1, 2), "row 1: it is opened, and no reservation"), ((2, 3), "row 2: it is settled after")):
        order = list(rows)
        order[swapped[0]], order[swapped[1]] = order[swapped[1]], order[swapped[0]]
        with pytest.raises(LedgerTampered, match="does not follow"):
            check_chain(order, books.ledger.identity, books.people)
        with pytest.raises(LedgerTampered, match=named):
            check_chain(resealed(order), books.ledger.identity, books.people)


def test_a_charge_below_what_the_noise_costs_is_named(books):
    rows = books.ledger.rows(books.people)
    rows[1] = replace(rows[1], units=rows[1].units // 2)
    with pytest.raises(LedgerTampered, match=r"row 1: it charges .* and its noise alone costs"):
        check_chain(resealed(rows), books.ledger.identity, books.people)


@pytest.mark.parametrize("change", [{"events": []}, {"events": CHOICE}])
def test_a_request_that_somebody_booked_for_less_than_it_costs_pays_for_nothing(books, change):
    """The database cannot compute what a plan costs: whoever may add a row says it. The run that names it does."""
    asked = Asked(PLAN, books.ledger.policy(books.people), f"cheap {change}")
    body = {**asked.body(), **change}
    name = f"{len(str(body)):032x}"
    books.add(after(books.last(), "reserved", books.row("reserved"), request=asked.request, reservation=name,
                    units=1, failure=1, body=body))  # fmt: skip
    with pytest.raises(RequestRefused, match=r"was debited 1 units, and its plan costs [0-9,]{10}"):
        books.ledger.reserve(books.people, PLAN, request=asked.request)
    held = books.ledger.reserve(books.people, PLAN, request=f"honest {change}")
    assert books.ledger.reserve(books.people, PLAN, request=f"honest {change}").id == held.id


def test_whoever_may_not_spend_is_named(books):
    rows = books.ledger.rows(books.people)
    policy = {**rows[0].facts, "who": ["somebody else"], "owner": "the owner"}
    first = chain.first(books.ledger.identity, books.people, "me", policy)
    with pytest.raises(LedgerTampered, match=r"row 1: .* may not spend"):
        check_chain(resealed([first, *rows[1:]]), books.ledger.identity, books.people)


# ---------------------------------------------------------------- a file: what it refuses, and not


@pytest.fixture
def file(tmp_path) -> Ledger:
    ledger = open_ledger(tmp_path / "books.sqlite", create=True)
    ledger.create("people", Policy(3.0, 1e-6))
    used(str(tmp_path / "books.sqlite"), ledger, "people")
    return ledger


def insert(ledger: Ledger, row: chain.Row, verb: str) -> None:
    with sql(str(ledger.store.path)) as execute:
        names, values = ", ".join(chain.COLUMNS), ", ".join(f":{name}" for name in chain.COLUMNS)
        execute(f"{verb} INTO nacre_rows ({names}) VALUES ({values})", row.as_dict())


@pytest.mark.parametrize("verb", ["INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE", "INSERT OR FAIL"])
def test_replacing_a_row_is_refused(file, verb):
    """SQLite takes away what stands in the way of a REPLACE and asks no trigger for deletions."""
    before = file.rows("people")
    taken = before[1]
    cheaper = replace(before[-1], units=1, failure=1, kind="reserved", reservation="r", request="r")
    instead = (
        replace(cheaper, spent=before[-2].spent + 1, spent_failure=before[-2].spent_failure + 1),  # of the last row
        after(before[-1], "reserved", taken, reservation="new", units=1, failure=1),  # of the request
        after(before[-1], "reserved", taken, request="new", units=1, failure=1),  # of the reservation
        replace(after(before[-1], "reserved", taken, reservation="n", request="n"), hash=before[-1].hash),
    )
    for row in instead:
        row = row if row.hash == before[-1].hash else replace(row, hash=row.digest())
        with pytest.raises(sqlite3.Error, match=r"already|is there"):
            insert(file, row, verb)
    for statement in (
        f"{verb} INTO nacre_anchors VALUES ('people', {10**15}, {10**15})",
        f"{verb} INTO nacre_ledger VALUES ('other', 2)",
        f"INSERT INTO nacre_anchors VALUES ('people', 1, 1) ON CONFLICT DO UPDATE SET unit_cap = {10**15}",
        f"UPDATE OR REPLACE nacre_anchors SET unit_cap = {10**15}",
        f"UPDATE nacre_anchors SET unit_cap = {10**15}",
        "DELETE FROM nacre_anchors",
        "UPDATE nacre_ledger SET version = 1",
    ):
        with pytest.raises(sqlite3.Error, match=r"cannot be changed|one name|only added to"), sql(
            str(file.store.path)) as execute:  # fmt: skip
            execute(statement)
    assert file.rows("people") == before and file.verify()


@pytest.mark.parametrize("odd", [{"units": 0.5}, {"units": "many"}, {"body": b"{}"}, {"reservation": None}])
def test_odd_values_are_refused_and_named(file, odd):
    row = after(file.rows("people")[-1], "reserved", file.rows("people")[1], reservation="n", request="n")
    row = replace(row, **odd)
    with pytest.raises(sqlite3.Error, match=r"whole numbers|NOT NULL"):
        insert(file, row, "INSERT")
    with pytest.raises(LedgerTampered, match=rf"row {row.sequence}: its \w+ is no"):
        check_chain([*file.rows("people"), row], file.identity, "people")


def unguarded(ledger: Ledger, *statements: str) -> None:
    """Somebody who may write the file."""
    with sql(str(ledger.store.path)) as execute:
        for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            execute(f"DROP TRIGGER {name}")
        for statement in statements:
            execute(statement)


def test_rules_that_were_dropped_are_missed_and_put_back(file):
    unguarded(file)
    again = open_ledger(file.url)
    with pytest.raises(LedgerTampered, match=r"every row is sound, but its rules were taken away: .*nacre_rows_rules"):
        again.verify()
    with pytest.raises(LedgerTampered, match="taken away"):
        again.reserve("people", PLAN)
    assert again.upgrade() == ["people"] and again.verify()
    again.reserve("people", PLAN)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER more BEFORE INSERT ON nacre_rows BEGIN SELECT 1; END",
        "CREATE TRIGGER nacre_rows_rules BEFORE INSERT ON nacre_rows BEGIN SELECT 1; END",
    ],
)
def test_rules_that_were_changed_are_missed(file, statement):
    with sql(str(file.store.path)) as execute:
        execute("DROP TRIGGER nacre_rows_rules")
        execute(statement)
    with pytest.raises(LedgerTampered, match="nacre_rows_rules"):
        open_ledger(file.url).verify()


def test_a_forged_refund_is_found_before_anything_is_spent(file):
    """With all rules dropped: neither the next release nor `upgrade` takes it, and `verify` says what it is."""
    taken = file.rows("people")[1]
    unguarded(file)
    insert(file, after(file.rows("people")[-1], "refunded", taken), "INSERT")
    again = open_ledger(file.url)
    assert again.rows("people")[-1].kind == "refunded"  # whoever looks into it can see it
    for attempt in (again.verify, again.upgrade):
        with pytest.raises(LedgerTampered, match="row 9: it is refunded after being settled in row 3"):
            attempt()
    again._guarded = True  # as a process that had the ledger open before
    with pytest.raises(LedgerTampered, match="row 9 gives back what it may not"):
        again.reserve("people", PLAN)


def test_a_cap_that_was_raised_is_named(file):
    unguarded(file, f"UPDATE nacre_anchors SET unit_cap = {10**15}")
    with pytest.raises(LedgerTampered, match="the anchor was changed"):
        open_ledger(file.url).verify()


def test_a_whole_chain_made_anew_is_known_by_what_was_seen_elsewhere_only(file, tmp_path, monkeypatch):
    """What no file can show by itself: nothing in it is older than its last writer wants. A stamp shows it."""
    held = file.reserve("people", PLAN)
    held.open(PLAN)
    stamp = held.settle()
    rows = resealed([r for r in file.rows("people") if r.reservation != held.id])
    unguarded(file, "DELETE FROM nacre_rows")
    with sql(str(file.store.path)) as execute:
        old_ledger.insert(execute, rows)
    again = open_ledger(file.url)
    with pytest.raises(LedgerRollback):  # this machine has seen more
        again.upgrade()
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "another machine"))
    again = open_ledger(file.url)
    assert again.upgrade() and again.verify()
    with pytest.raises(LedgerRollback, match="a certificate names row"):
        again.verify(stamps=[stamp])


# ---------------------------------------------------------------- PostgreSQL: a user with no rights


STATEMENTS = (
    "UPDATE nacre_anchors SET unit_cap = 1000000000000000",
    "SELECT * FROM nacre_anchors FOR UPDATE",
    "INSERT INTO nacre_anchors VALUES ('mine', 1, 1)",
    "DELETE FROM nacre_rows",
    "TRUNCATE nacre_rows",
    "UPDATE nacre_ledger SET version = 1",
    "INSERT INTO nacre_rows SELECT * FROM nacre_rows",
    "DROP TRIGGER nacre_rows_rules ON nacre_rows",
    "ALTER TABLE nacre_rows DISABLE TRIGGER ALL",
    "ALTER TABLE nacre_rows RENAME TO other",
    "DROP FUNCTION nacre_rows_rules CASCADE",
    "CREATE OR REPLACE FUNCTION nacre_rows_rules() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    "ALTER FUNCTION nacre_rows_rules() RESET ALL",
    "CREATE TRIGGER mine BEFORE INSERT ON nacre_rows FOR EACH ROW EXECUTE FUNCTION nacre_only_added()",
    "CREATE RULE mine AS ON INSERT TO nacre_rows DO INSTEAD NOTHING",
    "CREATE FUNCTION nacre_add(text) RETURNS void LANGUAGE sql AS 'SELECT'",
    "SET session_replication_role = replica",
    "SET SESSION AUTHORIZATION nacre",
    "SET ROLE nacre",
    "SELECT nacre_hash(r) FROM nacre_rows r",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_user_of_postgresql_may_do_nothing_but_ask(granted, statement):
    url, _ = granted
    refused = "permission denied|must be owner|not the owner"
    with pytest.raises(Exception, match=refused), sql(as_user(url, "mallory")) as execute:
        execute(statement)


@pytest.fixture(scope="module")
def granted(server) -> tuple[str, Ledger]:
    """A population that `ana` and `mallory` may spend on."""
    owner = open_ledger(server, create=True)
    owner.create("shared", Policy(3.0, 1e-6, who=("ana", "mallory")))
    for user in ("ana", "ben", "mallory"):
        owner.grant(user)
    return server, owner


def test_who_did_it_is_who_was_logged_in(granted):
    url, owner = granted
    mallory = open_ledger(as_user(url, "mallory"))
    mallory.store.user = "ana"  # whatever the client says
    held = mallory.reserve("shared", PLAN, request="by mallory")
    assert owner.rows("shared")[-1].made_by == "mallory"
    ana = open_ledger(as_user(url, "ana"))
    with pytest.raises(LedgerError, match="you are ana"):
        ana.refund("shared", held.id, "not mine")
    ana.store.user = "mallory"
    with pytest.raises(LedgerError, match="only the owner and who reserved it refund it"):
        ana.refund("shared", held.id, "not mine")
    with pytest.raises(LedgerError, match="only who reserved it opens"):
        replace(held, ledger=ana).open(PLAN)
    ben = open_ledger(as_user(url, "ben"))
    ben.store.user = "ana"
    with pytest.raises(LedgerError, match="may not spend on the population"):
        ben.reserve("shared", PLAN)
    with pytest.raises(LedgerError, match=r"permission denied.*nacre ledger grant"):
        ben.create("mine", Policy(9.0))
    owner.refund("shared", held.id, "the owner may")
    assert owner.verify(["shared"])


def test_what_a_session_sets_changes_nothing(granted):
    """Objects of the user's own that are found first, operators and texts that mean something else."""
    url, owner = granted
    with sql(url) as execute:
        execute("CREATE SCHEMA IF NOT EXISTS mallory AUTHORIZATION mallory")
    before = owner.rows("shared")[-1]
    row = after(before, "reserved", None, reservation="n", request="n", units=10**15, failure=1,
                body={"plan": "x", "events": [], "guarantee": "proven", "budget": {"epsilon": 1}})  # fmt: skip
    call = ("SELECT public.nacre_add('shared', CAST(:after AS bigint), 'reserved', :reservation, :request, "
            "CAST(:units AS bigint), CAST(1 AS bigint), :body)")  # fmt: skip
    mine = (
        "SET search_path = mallory, pg_temp, public, pg_catalog",
        "SET standard_conforming_strings = off",
        "CREATE FUNCTION mallory.yes(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR mallory.= (LEFTARG = text, RIGHTARG = text, FUNCTION = mallory.yes)",
        "CREATE FUNCTION mallory.session_user() RETURNS name LANGUAGE sql AS $$ SELECT 'ana'::name $$",
        "CREATE FUNCTION mallory.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$",
        "CREATE FUNCTION mallory.nacre_hash(public.nacre_rows) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$",
        "CREATE TEMP TABLE nacre_rows (LIKE public.nacre_rows)",
        f"CREATE TEMP TABLE nacre_anchors AS SELECT 'shared' population, {10**16} unit_cap, {10**16} failure_cap",
    )
    with pytest.raises(Exception, match="above the cap"), sql(as_user(url, "mallory")) as execute:
        for statement in mine:
            execute(statement)
        execute(call, {**row.as_dict(), "after": before.sequence})
    with sql(as_user(url, "mallory")) as execute:
        for statement in mine:
            execute(statement)
        odd = 'a"b\\c\té \u2028\U0001f600\x7f'  # every way in which a text is written in JSON
        execute(call, {**row.as_dict(), "after": before.sequence, "units": 10**9, "request": odd})
        assert not execute("SELECT * FROM pg_temp.nacre_rows").fetchall()
    added = owner.rows("shared")[-1]
    assert (added.made_by, added.request, added.units) == ("mallory", odd, 10**9)
    assert owner.verify(["shared"])["shared"] == added


def test_a_decision_on_what_is_no_longer_the_last_row_is_refused(granted):
    _, owner = granted
    with pytest.raises(LedgerError, match="another row was added meanwhile"), owner.store.locked("shared") as book:
        last = owner.rows("shared")[-1]
        book.append(chain.following(replace(last, sequence=last.sequence - 1), "nacre", chain.Step("reserved", {})))


def test_a_decision_on_no_row_at_all_is_refused(granted):
    """NULL is neither the last row nor another one: a comparison with it must not let the row through."""
    url, owner = granted
    row = after(owner.rows("shared")[-1], "reserved", None, reservation="null", request="null", units=1, failure=1,
                body={"plan": "x", "events": [], "guarantee": "proven", "budget": {"epsilon": 1}})  # fmt: skip
    call = ("SELECT nacre_add('shared', NULL, 'reserved', :reservation, :request, CAST(1 AS bigint), "
            "CAST(1 AS bigint), :body)")  # fmt: skip
    with pytest.raises(Exception, match="another row was added meanwhile"), sql(as_user(url, "mallory")) as execute:
        execute(call, row.as_dict())


def test_postgresql_rights_and_rules_that_were_changed_are_missed(fresh):
    """By owners and superusers, who alone can."""
    owner = open_ledger(fresh, create=True)
    owner.create("people", Policy(3.0, 1e-6))
    used(fresh, owner, "people")
    owner.grant("ana")
    assert owner.verify()
    changes = (
        ("GRANT INSERT ON nacre_rows TO mallory", "mallory may insert nacre_rows"),
        ("GRANT UPDATE (unit_cap) ON nacre_anchors TO mallory", r"mallory may update nacre_anchors \(unit_cap\)"),
        ("DROP TRIGGER nacre_rows_rules ON nacre_rows", "taken away: trigger nacre_rows_rules"),
        ("ALTER TABLE nacre_rows DISABLE TRIGGER nacre_rows_only_added", "changed: trigger nacre_rows_only_added"),
        ("CREATE OR REPLACE FUNCTION nacre_rows_rules() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, "
         "pg_temp AS $$ BEGIN RETURN NEW; END $$", "changed: function nacre_rows_rules"),
        ("ALTER FUNCTION nacre_lock(text) RESET search_path", "changed: function nacre_lock"),
        ("CREATE FUNCTION nacre_add(text) RETURNS void LANGUAGE sql AS 'SELECT'", "added: function nacre_add"),
        ("CREATE RULE mine AS ON INSERT TO nacre_anchors DO INSTEAD NOTHING", "added: .*rule mine"),
        ("ALTER TABLE nacre_rows ENABLE ROW LEVEL SECURITY", "row security"),
        ("DROP INDEX nacre_one_step", "taken away: index nacre_one_step"),
        ("GRANT CREATE ON SCHEMA public TO mallory", "mallory may create objects in the schema public"),
    )  # fmt: skip
    import psycopg

    with psycopg.connect(fresh) as connection:
        for statement, told in changes:
            connection.execute(statement)
            connection.commit()
            with pytest.raises(LedgerTampered, match=told):
                owner.verify()
        for statement in ("REVOKE CREATE ON SCHEMA public FROM mallory", "DROP RULE mine ON nacre_anchors",
                          "ALTER TABLE nacre_rows DISABLE ROW LEVEL SECURITY"):  # fmt: skip
            connection.execute(statement)
    owner.upgrade()
    assert owner.verify()
    open_ledger(as_user(fresh, "ana")).reserve("people", PLAN)
    with psycopg.connect(fresh) as connection:
        connection.execute("ALTER TABLE nacre_rows DISABLE TRIGGER USER")
        rows = owner.rows("people")
        old_ledger.insert(lambda text, values: _psycopg(connection, text, values),
                          [after(rows[-1], "refunded", rows[1])])  # fmt: skip
        for name in ("nacre_rows_rules", "nacre_rows_only_added"):
            connection.execute(f"ALTER TABLE nacre_rows ENABLE ALWAYS TRIGGER {name}")
    with pytest.raises(LedgerTampered, match="row 10: it is refunded after being settled in row 3"):
        owner.verify()


def _psycopg(connection: Any, text: str, values: dict[str, Any]) -> None:
    import re

    connection.execute(re.sub(r":(\w+)", r"%(\1)s", text), values)


# ---------------------------------------------------------------- ledgers of the version before


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine that has seen no ledger yet."""
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "elsewhere"))


def test_a_file_of_the_version_before_is_brought_up_to_date_by_the_first_who_spends(tmp_path, elsewhere):
    me = open_ledger(tmp_path / "any.sqlite", create=True).store.user
    rows = old_ledger.history("people", me, PLAN, ("reserved", "opened"))
    ledger = open_ledger(old_ledger.in_a_file(tmp_path / "old.sqlite", rows))
    assert ledger.rows("people") == rows and ledger.verify()["people"] == rows[-1]
    assert "earlier version" in ledger.old_rules()
    ledger.reserve("people", PLAN, request="tuesday")
    assert ledger.old_rules() is None and ledger.verify()["people"].sequence == 3
    Reservation(ledger, "people", "one", rows[1].facts["plan"], opened=True).settle()  # what was under way goes on
    assert [r.kind for r in ledger.rows("people")] == ["policy", "reserved", "opened", "reserved", "settled"]
    assert ledger.verify()


@pytest.mark.parametrize("kinds", [("reserved", "opened", "settled", "refunded"), ("reserved", "opened", "refunded")])
def test_a_forged_file_of_the_version_before_is_named_and_takes_nothing_more(tmp_path, elsewhere, kinds):
    """Its own rules let such rows in."""
    rows = old_ledger.history("people", "me", PLAN, kinds)
    ledger = open_ledger(old_ledger.in_a_file(tmp_path / "old.sqlite", rows))
    for attempt in (ledger.verify, ledger.upgrade, lambda: ledger.create("more", Policy(1.0))):
        with pytest.raises(LedgerTampered, match=f"row {len(kinds)}: it is refunded after"):
            attempt()
    with pytest.raises(LedgerTampered):
        ledger.reserve("people", PLAN)
    with sql(str(tmp_path / "old.sqlite")) as execute:
        assert execute("SELECT version FROM nacre_ledger").fetchall() == [(1,)]


def test_an_old_ledger_in_postgresql_is_upgraded_by_its_owner(fresh, elsewhere):
    rows = old_ledger.history("people", "ana", PLAN, ("reserved", "opened", "settled"))
    with sql(fresh) as execute:
        old_ledger.make(execute, rows, old_ledger.POSTGRESQL)
    ana, owner = open_ledger(as_user(fresh, "ana")), open_ledger(fresh)
    assert ana.verify()["people"].sequence == 3
    for ledger in (ana, owner):
        with pytest.raises(LedgerError, match="its owner runs `nacre ledger upgrade`"):
            ledger.reserve("people", PLAN)
    with pytest.raises(LedgerError, match="only the owner of its tables can upgrade"):
        ana.upgrade()
    assert owner.upgrade() == ["people"]
    ana.reserve("people", PLAN).refund("it goes on, by the rules")
    assert ana.verify()["people"].made_by == "ana"
    refused = after(ana.rows("people")[-1], "refunded", rows[1])
    with pytest.raises(Exception, match="permission denied"), sql(as_user(fresh, "ana")) as execute:
        old_ledger.insert(execute, [refused])


def test_the_rules_of_a_version_do_not_change(tmp_path):
    """Ledgers are compared with them word by word: other rules need another VERSION, so that old ones are upgraded."""
    import hashlib

    from nacre.privacy.ledger import pg_guards, sqlite
    from nacre.privacy.ledger.sql import VERSION

    text = "\n".join([*sqlite.GUARDS.values(), *pg_guards.statements("s")])
    assert (VERSION, hashlib.sha256(text.encode()).hexdigest()[:16]) == (3, "573ff01872bfa56d")
