"""A ledger in PostgreSQL, for teams. A transaction locks the population's anchor row before it reads anything."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nacre.errors import LedgerError
from nacre.privacy.ledger import pg_guards, pg_state
from nacre.privacy.ledger.chain import COLUMNS, POLICY, Row, check
from nacre.privacy.ledger.sql import KEYS, READABLE, TABLES, VERSION, Book, Lacking

_LOCK = 0x6E61637265  # of those who make tables: two at once would collide
# The schema of the ledger and nothing before it: no object of the same name that somebody else has made is meant.
_ONLY_THERE = """SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(COALESCE(
    (SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = pg_catalog.to_regclass('nacre_ledger')), pg_catalog.current_schema(), 'public'))
    || ', pg_temp', false)
"""
_ADD = (
    "SELECT {columns} FROM nacre_add(CAST(:population AS text), CAST(:after AS bigint), CAST(:kind AS text), "
    "CAST(:reservation AS text), CAST(:request AS text), CAST(:units AS bigint), CAST(:failure AS bigint), "
    "CAST(:body AS text))"
).format(columns=", ".join(COLUMNS))


def _prepared(connection: Any, record: object) -> None:
    """A commit returns when it is on disk, whatever the server's default; names mean the ledger's."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute(_ONLY_THERE)
    connection.commit()


class PostgresqlBook(Book):
    """Rows are made by the database, from what only it knows: who is logged in, what came last, and its clock."""

    def append(self, row: Row) -> Row:
        if row.kind == POLICY:  # by the owner of the tables, who alone may
            return super().append(row)
        asked = {name: getattr(row, name) for name in ("population", "kind", "reservation", "request", "units",
                                                       "failure", "body")}  # fmt: skip
        (found,) = self._execute(_ADD, {**asked, "after": row.sequence - 1})
        return check(Row(*found))


class PostgresqlStore:
    """The ledger of one database, in the schema that its user sees first."""

    upgrades_itself = False

    def __init__(self, url: str, create: bool = False):
        try:
            import psycopg  # noqa: F401
            import sqlalchemy as sa
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs the packages of nacre[postgresql] (sqlalchemy, psycopg); install them"
            ) from None
        made = sa.make_url(url).set(drivername="postgresql+psycopg")
        self.place = None
        self.url = made.set(drivername="postgresql").render_as_string(hide_password=True)
        self._sa = sa
        self._statements: dict[str, Any] = {}
        self._engine_url = made
        self._engine, self._process = self._connected(), os.getpid()
        with self._failing():
            if create:
                self._make()
            self.identity, self.user = self._facts()

    def populations(self) -> list[str]:
        with self._transaction() as connection:
            found = self._run(connection, "SELECT population FROM nacre_anchors ORDER BY population", {})
        return [name for (name,) in found]

    @contextlib.contextmanager
    def locked(self, population: str) -> Iterator[Book]:
        """A transaction that no other one of this population overlaps; durable once the block has ended."""
        with self._transaction() as connection:
            self._lock(connection, population)
            yield self._book(connection, population)

    @contextlib.contextmanager
    def reading(self, population: str) -> Iterator[Book]:
        """A view of one moment, without a lock."""
        with self._transaction() as connection:
            self._run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", {})
            yield self._book(connection, population)

    def check(self) -> None:
        """Nothing to check here: the server checks its own files."""

    def lacking(self) -> Lacking | None:
        """What of the rules and rights is not as it was made: only owners and superusers can have changed it."""
        with self._transaction() as connection:
            ((version,),) = self._run(connection, "SELECT version FROM nacre_ledger", {})
            if version < VERSION:
                return Lacking("it was made by an earlier version, whose users could write what they liked", old=True)
            return pg_state.lacking(lambda sql: self._run(connection, sql, {}), self._schema)

    @contextlib.contextmanager
    def upgrading(self) -> Iterator[tuple[list[str], Callable[[str], Book]]]:
        """A transaction that no writer overlaps, for looking at every row; the rules stand when it has ended. Whoever
        could add rows by themselves may then do so by the rules."""
        with self._transaction() as connection:
            owned = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('nacre_rows')"
            if not self._run(connection, owned, {})[0][0]:
                raise LedgerError(
                    f"{self.url}: only the owner of its tables can upgrade the ledger; you are {self.user}"
                )
            self._run(connection, "LOCK TABLE nacre_anchors, nacre_rows IN ACCESS EXCLUSIVE MODE", {})
            found = self._run(connection, "SELECT population FROM nacre_anchors ORDER BY population", {})
            yield [name for (name,) in found], lambda name: self._book(connection, name)
            self._install(connection)

    def grant(self, user: str) -> None:
        """Let a role read the ledger and add to it by the rules; owners only."""
        with self._transaction() as connection:
            if not self._run(connection, "SELECT 1 FROM pg_roles WHERE rolname = :user", {"user": user}):
                raise LedgerError(f"{self.url}: there is no role {user!r}; create it first (CREATE ROLE ... LOGIN)")
            for statement in pg_guards.grants(self._schema, self._quoted(user)):
                connection.exec_driver_sql(statement)

    def _install(self, connection: Any) -> None:
        """The rules and rights as they must be, whatever was there."""
        run = lambda sql: self._run(connection, sql, {})  # noqa: E731
        if told := pg_state.unsafe(run, self._schema):
            raise LedgerError(f"{self.url}: {told}")
        users = pg_state.writers(run, self._schema)
        drop = (*pg_state.dropping_triggers(run, self._schema), *pg_state.revoking(run, self._schema))
        made = pg_guards.statements(self._schema)
        again = [s for user in users for s in pg_guards.grants(self._schema, user)]
        keys = [s for name, sql in KEYS.items() for s in (f"DROP INDEX IF EXISTS {self._schema}.{name}", sql)]
        version = f"UPDATE nacre_ledger SET version = {VERSION}"
        for statement in (*drop, version, *keys, *made, *again):
            connection.exec_driver_sql(statement)

    def _quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def close(self) -> None:
        if self._process == os.getpid():
            self._engine.dispose()

    def _lock(self, connection: object, population: str) -> None:
        # Read Committed: what is read after the lock was granted is what the one before has committed.
        self._run(connection, "SELECT nacre_lock(CAST(:population AS text))", {"population": population})

    def _book(self, connection: object, population: str) -> Book:
        return PostgresqlBook(lambda sql, values: self._run(connection, sql, values), population)

    def _commit(self, transaction: Any) -> None:
        transaction.commit()

    def _connected(self) -> Any:
        level = "READ COMMITTED"
        engine = self._sa.create_engine(self._engine_url, pool_size=1, max_overflow=8, isolation_level=level)
        self._sa.event.listen(engine, "connect", _prepared)
        return engine

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._failing():
            if self._process != os.getpid():  # a connection must not be shared with a fork
                self._engine.dispose(close=False)
                self._engine, self._process = self._connected(), os.getpid()
            with self._engine.connect() as connection:
                transaction = connection.begin()
                try:
                    yield connection
                    self._commit(transaction)
                except BaseException:
                    transaction.rollback()
                    raise

    def _run(self, connection: Any, sql: str, values: dict[str, Any]) -> Sequence[Any]:
        if sql not in self._statements:  # parsed once: a release asks the same questions three times
            self._statements[sql] = self._sa.text(sql)
        done = connection.execute(self._statements[sql], values)
        return done.fetchall() if done.returns_rows else ()

    def _make(self) -> None:
        with self._transaction() as connection:
            self._run(connection, "SELECT pg_advisory_xact_lock(:lock)", {"lock": _LOCK})
            ((there,),) = self._run(connection, "SELECT to_regclass('nacre_ledger')", {})
            if there is None:
                for statement in TABLES:
                    connection.exec_driver_sql(statement)
                told = {"id": secrets.token_hex(16), "version": VERSION}
                self._run(connection, "INSERT INTO nacre_ledger VALUES (:id, :version)", told)
                self._schema = self._found_schema(connection)
                self._install(connection)

    def _facts(self) -> tuple[str, str]:
        """(the ledger's own name, the role we are logged in as); refuses a server that does not flush its log."""
        with self._transaction() as connection:
            ((flushed, user, there),) = self._run(
                connection, "SELECT current_setting('fsync'), session_user::text, to_regclass('nacre_ledger')", {}
            )
            if flushed != "on":
                raise LedgerError(f"{self.url}: the server runs with fsync={flushed}; commits would not be durable")
            if there is None:
                raise LedgerError(
                    f"{self.url}: {user} sees no ledger here; make it with `nacre ledger init`, or have its owner let "
                    f"you in with `nacre ledger grant`; where it has a schema of its own, add "
                    "?options=-csearch_path%3DSCHEMA to its URL"
                )
            ((identity, version),) = self._run(connection, "SELECT id, version FROM nacre_ledger", {})
            self._schema = self._found_schema(connection)
        if version not in READABLE:
            raise LedgerError(f"{self.url}: a ledger of version {version}; this nacre reads versions up to {VERSION}")
        return identity, user

    def _found_schema(self, connection: object) -> str:
        """Quoted; the tables are in it."""
        return self._run(connection, "SELECT quote_ident(current_schema())", {})[0][0]

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever the database refuses becomes a LedgerError: nothing is opened after that."""
        try:
            yield
        except self._sa.exc.SQLAlchemyError as error:
            first = (str(getattr(error, "orig", None) or error).splitlines() or [""])[0]
            more = ". Its owner lets users in with `nacre ledger grant`" if "permission denied" in first else ""
            told = f"{self.url}: the ledger cannot be used ({first}); no data are opened without it{more}"
            raise LedgerError(told) from None
