"""Reserve, commit, open, settle: the only way from a population's budget to its data."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.errors import BudgetExceeded, LedgerError, LedgerRollback, LedgerTampered, RequestRefused
from nacre.privacy.ledger import chain
from nacre.privacy.ledger.chain import OPENED, REFUNDED, RESERVED, SETTLED, Row, Step
from nacre.privacy.ledger.checking import check_chain
from nacre.privacy.ledger.policy import Policy
from nacre.privacy.ledger.request import Asked, digest_of
from nacre.privacy.ledger.sql import Book
from nacre.privacy.ledger.witness import Witness
from nacre.privacy.plan import Plan


def open_ledger(url: object, create: bool = False) -> Ledger:
    """The ledger at a path, at sqlite:///PATH or at postgresql://...; made there only with `create`."""
    if isinstance(url, Ledger):
        return url
    text = str(url)
    if text.startswith(("postgresql://", "postgres://")):
        from nacre.privacy.ledger.postgresql import PostgresqlStore

        return Ledger(PostgresqlStore("postgresql://" + text.split("://", 1)[1], create))
    scheme, found, rest = text.partition("://")
    if found and (scheme != "sqlite" or not rest.startswith("/")):
        raise LedgerError(f"{scheme}://...: expected a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE")
    from nacre.privacy.ledger.sqlite import SqliteStore

    return Ledger(SqliteStore(Path(rest[1:] if found else text), create))


@dataclass
class Reservation:
    """A committed debit for one plan. It lets answers out once; a refund is possible only before the first."""

    ledger: Ledger
    population: str
    id: str
    digest: str
    opened: bool = False
    claimed: bool = False
    process: int = field(default_factory=os.getpid)

    def claim(self) -> None:
        """Bind the debit to one curator of this process: its doors are counted there, so a second one would read for
        nothing. Refused for a second claimant and in a forked process."""
        if self.claimed or self.process != os.getpid():
            raise RequestRefused("the reservation pays for one run and is taken; reserve again. Nothing was read")
        self.claimed = True

    def ready(self, plan: Plan) -> None:
        """Refused unless the debit is committed, for this plan, and was neither refunded nor opened elsewhere. The
        curator asks before it reads the first row."""
        self._check(plan)
        if not self.opened:
            self.ledger._check_step(self, OPENED)

    def open(self, plan: Plan) -> None:
        """Record, durably, that answers are about to be given: from here on the debit stays spent, whatever happens.

        The curator calls it when the rows were read for its first door, before noise is drawn for an answer.
        """
        self._check(plan)
        if not self.opened:
            self.ledger._step(self, OPENED)
            self.opened = True

    def _check(self, plan: Plan) -> None:
        if digest_of(plan) != self.digest:
            raise RequestRefused("the reservation was made for another plan; reserve for this one. Nothing was read")
        if self.process != os.getpid():
            raise RequestRefused("the reservation belongs to another process; reserve again. Nothing was read")

    def settle(self) -> dict[str, Any]:
        """Record that the run came to its end; what the certificate says of the ledger."""
        return stamp(self.ledger, self.ledger._step(self, SETTLED))

    def refund(self, reason: str) -> Row:
        return self.ledger.refund(self.population, self.id, reason)


def stamp(ledger: Ledger, row: Row) -> dict[str, Any]:
    """Where the books stood: enough to notice later that they were set back."""
    return {"ledger": ledger.identity, "population": row.population, "sequence": row.sequence, "head": row.hash}


def _may_follow(book: Book, reservation: str, kind: str) -> Row:
    """The row that reserved, if the next one may be of that kind."""
    after, never = (RESERVED, (OPENED, REFUNDED)) if kind == OPENED else (OPENED, (SETTLED,))
    steps = book.steps(reservation)
    if after not in steps or RESERVED not in steps:
        raise RequestRefused(
            f"reservation {reservation} is not {after} in the ledger, so it cannot be {kind}; nothing was read"
        )
    if done := [name for name in never if name in steps]:
        raise RequestRefused(f"reservation {reservation} was {done[0]} before; it cannot be {kind} (again)")
    return steps[RESERVED]


_UPGRADE = "its owner runs `nacre ledger upgrade`, which looks at every row first"
_AGAIN = "Find out who did that; `nacre ledger upgrade` looks at every row and puts them back"


class Ledger:
    """The books of one database: populations with caps, and what was spent on them."""

    def __init__(self, store: Any):
        self.store, self.identity, self.url = store, store.identity, store.url
        self._witness = Witness(store.identity, store.place)
        self._policies: dict[str, Policy] = {}
        self._guarded = False

    # ---------------------------------------------------------------- populations

    def create(self, population: str, policy: Policy) -> Row:
        """A new population. Its policy is for good: a cap that could be raised would be no cap."""
        if not population or len(population) > 200 or not population.isprintable():
            raise LedgerError(f"population {population!r}: expected a name of 1 to 200 printable characters")
        policy = replace(policy, owner=policy.owner or self.store.user)
        self._witness.check_writable()
        self._check_guarded()
        if population in self.store.populations():
            raise LedgerError(f"population {population!r} is there already; its cap cannot be changed")
        self._witness.check_new(population)
        with self.store.locked(population) as book:
            book.anchor(policy.unit_cap, policy.failure_cap)
            row = book.append(chain.first(self.identity, population, self.store.user, policy.to_json()))
        self._witness.saw(row)
        return row

    def populations(self) -> list[str]:
        return self.store.populations()

    def policy(self, population: str) -> Policy:
        if population not in self._policies:
            with self._reading(population) as (book, _):
                self._policies[population] = Policy.from_json(book.ends()[0].facts)
        return self._policies[population]

    # ------------------------------------------------- reserve, open, settle, refund

    def reserve(
        self, population: str, plan: Plan, *, unit: str | None = None, request: str | None = None
    ) -> Reservation:
        """Debit the plan and commit, durably; BudgetExceeded if the cap does not cover it.

        `request` names the request: asked again with the same plan, it is debited once; after data were opened for it,
        it is refused, since a second run would be a second release. `unit` is the schema's column of persons.
        """
        policy = self.policy(population)
        self._check_terms(population, policy, plan, unit)
        asked = Asked(plan, policy, request or secrets.token_hex(16))
        self._witness.check_writable()
        with self._writing(population) as (book, last):
            if earlier := book.reserved(asked.request):
                return self._again(book, earlier, asked)
            charged = asked.charge(last.spent, last.spent_failure)
            if charged is not None:
                step = Step(
                    RESERVED, asked.body(), secrets.token_hex(16), asked.request, charged.units, charged.failure
                )
                row = book.append(chain.following(last, self.store.user, step))
        if charged is None:
            raise BudgetExceeded(asked.exceeds(last))
        held = Reservation(self, population, row.reservation, asked.digest)
        try:
            self._witness.saw(row)
        except LedgerError:
            with contextlib.suppress(LedgerError):
                held.refund("this machine could not remember it")
            raise
        return held

    def refund(self, population: str, reservation: str, reason: str) -> Row:
        """Give a reservation back: by the owner or by who made it, with a reason, and only if no answer was given."""
        if not reason.strip():
            raise RequestRefused("a refund needs a reason, which is recorded; give one")
        policy = self.policy(population)
        with self._writing(population) as (book, last):
            steps = book.steps(reservation)
            if RESERVED not in steps:
                raise RequestRefused(f"population {population!r}: there is no reservation {reservation!r}")
            if OPENED in steps:
                raise RequestRefused(
                    f"reservation {reservation} was opened: answers may have been seen, so it stays spent, whatever "
                    "became of the run"
                )
            if REFUNDED in steps:
                raise RequestRefused(f"reservation {reservation} was refunded before")
            if self.store.user not in (policy.owner, steps[RESERVED].made_by):
                raise RequestRefused(f"only {policy.owner} and who made it may refund it; you are {self.store.user}")
            taken = steps[RESERVED]
            told = {"reason": reason, "plan": taken.facts["plan"]}
            step = Step(REFUNDED, told, reservation, taken.request, -taken.units, -taken.failure)
            row = book.append(chain.following(last, self.store.user, step))
        self._witness.saw(row)
        return row

    def _step(self, held: Reservation, kind: str) -> Row:
        with self._writing(held.population) as (book, last):
            taken = _may_follow(book, held.id, kind)
            step = Step(kind, {"plan": held.digest}, held.id, taken.request)
            row = book.append(chain.following(last, self.store.user, step))
        self._witness.saw(row)
        return row

    def _check_step(self, held: Reservation, kind: str) -> None:
        with self._reading(held.population) as (book, _):
            _may_follow(book, held.id, kind)

    # ------------------------------------------------------------------- reading

    def rows(self, population: str) -> list[Row]:
        """All rows, as they are: who looks for what went wrong must see them. `verify` says whether they hold."""
        with self._reading(population, wary=False) as (book, _):
            return book.rows()

    def verify(self, populations: Iterable[str] = (), stamps: Iterable[Mapping[str, Any]] = ()) -> dict[str, Row]:
        """The head of every population, after checking the file, every row, the stamps of certificates, and that the
        database still refuses what it must (`old_rules` says when it never did)."""
        self.store.check()
        heads = {}
        for population in [*populations] or self.populations():
            with self._reading(population, wary=False) as (book, _):
                heads[population] = self._checked(book)
        for told in stamps:
            self._check_stamp(told)
        lacking = self.store.lacking()
        if lacking and not lacking.old:
            raise LedgerTampered(f"{self.url}: every row is sound, but {lacking.words}. {_AGAIN}")
        return heads

    def old_rules(self) -> str | None:
        """What to do where the ledger was made by an earlier version; None where there is nothing to do."""
        lacking = self.store.lacking()
        return f"{self.url}: {lacking.words}; {_UPGRADE}" if lacking and lacking.old else None

    def upgrade(self) -> list[str]:
        """Look at every row, then have the database refuse all that this version refuses. The populations looked at."""
        with self.store.upgrading() as (names, book_of):
            for name in names:
                book = book_of(name)
                self._trusted(book, self._witness.sight(name), wary=False)
                self._checked(book)
        return names

    def grant(self, user: str) -> None:
        """Let a user of the database read this ledger and spend by its rules."""
        if not hasattr(self.store, "grant"):
            raise LedgerError(f"{self.url} is a file: who can write to it is up to the rights of the file")
        self.store.grant(user)

    def _checked(self, book: Book) -> Row:
        caps = book.caps()
        if caps is None:
            raise LedgerTampered(f"population {book.population!r}: its anchor, which holds the caps, is missing")
        return check_chain(book.rows(), self.identity, book.population, caps)

    def _check_stamp(self, told: Mapping[str, Any]) -> None:
        if told["ledger"] != self.identity:
            raise LedgerError(f"the certificate belongs to the ledger {told['ledger']}, and this is {self.identity}")
        with self._reading(told["population"]) as (book, _):
            row = book.at(int(told["sequence"]))
        if row is None or row.hash != told["head"]:
            raise LedgerRollback(
                f"population {told['population']!r}: a certificate names row {told['sequence']}, and it is not there, "
                "or is another: the ledger was set back. Go back to the newest ledger"
            )

    # -------------------------------------------------------------------- inside

    @contextlib.contextmanager
    def _writing(self, population: str) -> Iterator[tuple[Book, Row]]:
        """(book, last row) under the lock, after the O(1) checks; durable once the block has ended."""
        self._check_guarded()
        seen = self._witness.sight(population)  # before the lock: another may commit, and remember, after ours is taken
        with self.store.locked(population) as book:
            yield book, self._trusted(book, seen)

    @contextlib.contextmanager
    def _reading(self, population: str, wary: bool = True) -> Iterator[tuple[Book, Row]]:
        """(book, last row) as of one moment, after the same checks; not `wary` where every row is looked at next."""
        seen = self._witness.sight(population)
        with self.store.reading(population) as book:
            yield book, self._trusted(book, seen, wary)

    def _check_guarded(self) -> None:
        """Nothing is written where the database would not refuse what it must. SQLite files of earlier versions are
        brought up to date here; in PostgreSQL that takes rights away from users, and is left to the owner."""
        if self._guarded:
            return
        lacking = self.store.lacking()
        if lacking and lacking.old and self.store.upgrades_itself:
            self.upgrade()
        elif lacking:
            told = f"{self.url}: {lacking.words}; nothing was read or spent. "
            raise LedgerError(told + _UPGRADE) if lacking.old else LedgerTampered(told + _AGAIN)
        self._guarded = True

    def _trusted(self, book: Book, seen: Mapping[str, Any] | None, wary: bool = True) -> Row:
        """The last row, if it and the policy are whole, the sums are the database's own, no refund gave back what was
        not its own, and nothing is lacking."""
        ends = book.ends()
        if not ends:
            self._witness.check(book, seen)
            raise LedgerError(f"population {book.population!r}: the ledger has none of that name; see `nacre ledger`")
        first, last = chain.check(ends[0]), chain.check(ends[-1])
        linked = len(ends) == 1 or (ends[1].sequence == 1 and ends[1].previous == first.hash)
        if first.sequence or not linked or first.previous != chain.genesis(self.identity, book.population):
            raise LedgerTampered(f"population {book.population!r}: its policy was edited; restore the ledger")
        if wary and (row := book.unfounded()) is not None:
            raise LedgerTampered(
                f"population {book.population!r}: row {row} gives back what it may not; nothing was read. `nacre "
                "ledger verify` says why"
            )
        if wary and (last.spent, last.spent_failure, last.sequence + 1) != book.totals():
            raise LedgerTampered(
                f"population {book.population!r}: the rows do not add up to what the last one says; nothing was read. "
                "`nacre ledger verify` names the row"
            )
        self._witness.check(book, seen, ends)
        return last

    def _check_terms(self, population: str, policy: Policy, plan: Plan, unit: str | None) -> None:
        user = self.store.user
        if policy.who and user not in (*policy.who, policy.owner):
            raise RequestRefused(f"population {population!r}: {user} may not spend on it; ask {policy.owner}")
        if plan.budget.epsilon is None:
            raise BudgetExceeded("epsilon=None promises nothing, and no cap covers it; nothing was read")
        # A bound for one unit more or less holds for a unit that is left out of every count (DESIGN: neighbours).
        covered = {policy.neighbours} | ({"add_or_remove_one"} if policy.neighbours == "zero_out" else set())
        if plan.budget.neighbours not in covered:
            raise RequestRefused(
                f"population {population!r} is promised {policy.neighbours}, and the plan is for "
                f"{plan.budget.neighbours}: they do not add up; plan with --neighbours {policy.neighbours}"
            )
        if unit != policy.unit:
            raise RequestRefused(
                f"population {population!r} protects one {policy.unit or 'row'}, and the schema one {unit or 'row'}: "
                "they do not add up; declare the unit of the population"
            )

    def _again(self, book: Book, earlier: Row, asked: Asked) -> Reservation:
        if earlier.facts["plan"] != asked.digest:
            raise RequestRefused(f"request {asked.request!r} was made for another plan; choose another name for it")
        if not asked.covered(earlier):
            raise RequestRefused(
                f"request {asked.request!r} was debited {earlier.units:,} units, and its plan costs "
                f"{asked.cost.units:,}: whoever wrote that row left out what it costs. Choose another name for it; "
                "nothing was read"
            )
        steps = book.steps(earlier.reservation)
        if REFUNDED in steps:
            raise RequestRefused(f"request {asked.request!r} was refunded; choose another name for it")
        if OPENED in steps:
            raise RequestRefused(
                f"request {asked.request!r}: data were opened for it, and a second run would be a second release: it "
                "needs a request, and a debit, of its own. Nothing was read"
            )
        if earlier.made_by != self.store.user:
            raise RequestRefused(
                f"request {asked.request!r} was made by {earlier.made_by}, and you are {self.store.user}; choose "
                "another name for it"
            )
        return Reservation(self, earlier.population, earlier.reservation, asked.digest)
