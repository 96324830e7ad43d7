"""A ledger in PostgreSQL, for teams. A transaction locks the population's anchor row before it reads anything."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from nacre.errors import LedgerError
from nacre.privacy.ledger.sql import TABLES, VERSION, Book

_LOCK = 0x6E61637265  # of those who make tables: two at once would collide
_TRIGGERS = (
    "CREATE FUNCTION nacre_only_added() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$",
    *(
        f"CREATE TRIGGER {table}_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION nacre_only_added()"
        for table in ("nacre_rows", "nacre_anchors", "nacre_ledger")
    ),
    """CREATE FUNCTION nacre_below_cap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT 1 FROM nacre_anchors a WHERE a.population = NEW.population
                   AND (NEW.spent > a.unit_cap OR NEW.spent_failure > a.failure_cap))
        THEN RAISE EXCEPTION 'above the cap of the population'; END IF; RETURN NEW; END $$""",
    "CREATE TRIGGER nacre_rows_cap BEFORE INSERT ON nacre_rows FOR EACH ROW EXECUTE FUNCTION nacre_below_cap()",
)
_ANCHOR = "SELECT population FROM nacre_anchors WHERE population = :population FOR UPDATE"


def _durable(connection: Any, record: Any) -> None:
    """A commit returns when it is on disk, whatever the server's default."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
    connection.commit()


class PostgresqlStore:
    """The ledger of one database, in the schema that its user sees first."""

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
            yield Book(lambda sql, values: self._run(connection, sql, values), population)

    @contextlib.contextmanager
    def reading(self, population: str) -> Iterator[Book]:
        """A view of one moment, without a lock."""
        with self._transaction() as connection:
            self._run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", {})
            yield Book(lambda sql, values: self._run(connection, sql, values), population)

    def check(self) -> None:
        """Nothing to check here: the server checks its own files."""

    def close(self) -> None:
        if self._process == os.getpid():
            self._engine.dispose()

    def _lock(self, connection: Any, population: str) -> None:
        # Read Committed: what is read after the lock was granted is what the one before has committed.
        self._run(connection, _ANCHOR, {"population": population})

    def _commit(self, transaction: Any) -> None:
        transaction.commit()

    def _connected(self) -> Any:
        level = "READ COMMITTED"
        engine = self._sa.create_engine(self._engine_url, pool_size=1, max_overflow=8, isolation_level=level)
        self._sa.event.listen(engine, "connect", _durable)
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
                for statement in (*TABLES, *_TRIGGERS):
                    connection.exec_driver_sql(statement)
                told = {"id": secrets.token_hex(16), "version": VERSION}
                self._run(connection, "INSERT INTO nacre_ledger VALUES (:id, :version)", told)

    def _facts(self) -> tuple[str, str]:
        """(the ledger's own name, the role we are logged in as); refuses a server that does not flush its log."""
        with self._transaction() as connection:
            ((flushed, user, there),) = self._run(
                connection, "SELECT current_setting('fsync'), session_user::text, to_regclass('nacre_ledger')", {}
            )
            if flushed != "on":
                raise LedgerError(f"{self.url}: the server runs with fsync={flushed}; commits would not be durable")
            if there is None:
                raise LedgerError(f"{self.url}: there is no ledger; make it with `nacre ledger init`")
            ((identity, version),) = self._run(connection, "SELECT id, version FROM nacre_ledger", {})
        if version != VERSION:
            raise LedgerError(f"{self.url}: a ledger of version {version}; this nacre reads version {VERSION}")
        return identity, user

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever the database refuses becomes a LedgerError: nothing is opened after that."""
        try:
            yield
        except self._sa.exc.SQLAlchemyError as error:
            first = (str(getattr(error, "orig", None) or error).splitlines() or [""])[0]
            told = f"{self.url}: the ledger cannot be used ({first}); no data are opened without it"
            raise LedgerError(told) from None
