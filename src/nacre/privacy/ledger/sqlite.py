"""A ledger in one SQLite file: nothing to install, safe for many processes of one machine.

Every transaction begins with BEGIN IMMEDIATE, which takes the only write lock before anything is read (Python's own
transactions would begin at the first write, after the sum was read). WAL with synchronous=FULL: a commit that returned
survives a loss of power. File systems of other machines are refused: their locks cannot be relied on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from nacre.errors import LedgerError
from nacre.privacy.ledger import rules
from nacre.privacy.ledger.sql import KEYS, READABLE, TABLES, VERSION, Book, Lacking

WAIT_S = 120.0  # for the lock, behind other processes
_REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gluster", "beegfs", "gpfs", "ncp", "coda", "virtiofs",
           "davfs", "sshfs", "s3fs", "gcsfuse", "rclone", "blobfuse", "goofys")  # fmt: skip
_INSERTS = {
    "nacre_rows": rules.of_rows(rules.SQLITE),
    "nacre_anchors": rules.of_anchors(rules.SQLITE),
    "nacre_ledger": rules.of_ledger(rules.SQLITE),
}


def _refusing(table: str, asked: tuple[tuple[str, str], ...]) -> str:
    """A trigger before every insert. What is neither true nor false (NULL) is refused as well."""
    whens = " ".join(f"WHEN ({wrong}) IS NOT FALSE THEN RAISE(ABORT, '{why}')" for wrong, why in asked)
    return f"CREATE TRIGGER {table}_rules BEFORE INSERT ON {table} BEGIN SELECT CASE {whens} END; END"


GUARDS = {
    **{
        f"{table}_no_{verb.lower()}": f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        for table in _INSERTS
        for verb in ("UPDATE", "DELETE")
    },
    **{f"{table}_rules": _refusing(table, asked) for table, asked in _INSERTS.items()},
}
_INHERITED: list[sqlite3.Connection | None] = []  # of a parent process: closing them here would be its undoing


class SqliteStore:
    """One file. A connection belongs to one thread of one process: a fork opens its own."""

    upgrades_itself = True

    def __init__(self, path: Path, create: bool = False):
        self.path = path.resolve()
        self.place = str(self.path)
        self.url = f"sqlite:///{self.path}"
        self._local = threading.local()
        if not create and not self.path.exists():
            raise LedgerError(f"{self.path}: there is no ledger; make it with `nacre ledger init`, or check the name")
        if not self.path.parent.is_dir():
            raise LedgerError(f"{self.path}: there is no folder {self.path.parent}; create it first")
        refuse_remote(self.path)
        with self._failing():
            if create:
                self._make()
            self.identity = identity_of(self._connection())

    @property
    def user(self) -> str:
        """The user this process runs as, by the operating system: not by a variable that anybody may set."""
        try:
            import pwd

            return pwd.getpwuid(os.geteuid()).pw_name
        except (ImportError, KeyError):
            import getpass

            return getpass.getuser()

    def populations(self) -> list[str]:
        with self._failing():
            found = self._connection().execute("SELECT population FROM nacre_anchors ORDER BY population")
            return [name for (name,) in found]

    @contextlib.contextmanager
    def locked(self, population: str) -> Iterator[Book]:
        """A transaction that no other writer overlaps; durable once the block has ended."""
        with self._failing(), self._alone() as connection:
            yield Book(lambda sql, values: connection.execute(sql, values).fetchall(), population)

    def lacking(self) -> Lacking | None:
        """What of the rules is missing in the file: whoever can write it can drop its triggers."""
        with self._failing():
            connection = self._connection()
            if _version(connection) < VERSION:
                return Lacking("it was made by an earlier version, with fewer rules", old=True)
            found = dict(connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'nacre!_%' ESCAPE '!' "
                "OR type = 'index' AND name LIKE 'nacre!_%' ESCAPE '!'"
            ))  # fmt: skip
        return Lacking.told({**GUARDS, **KEYS}, found)

    @contextlib.contextmanager
    def upgrading(self) -> Iterator[tuple[list[str], Callable[[str], Book]]]:
        """A transaction that no writer overlaps, for looking at every row; the rules stand when it has ended."""
        with self._failing(), self._alone() as connection:
            found = connection.execute("SELECT population FROM nacre_anchors ORDER BY population").fetchall()
            yield [n for (n,) in found], lambda n: Book(lambda sql, given: connection.execute(sql, given).fetchall(), n)
            told = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'nacre!_%' ESCAPE '!'"
            for (name,) in connection.execute(told).fetchall():
                connection.execute(f"DROP TRIGGER {_quoted(name)}")
            for name, sql in KEYS.items():
                connection.execute(f"DROP INDEX IF EXISTS {name}")
                connection.execute(sql)
            connection.execute("UPDATE nacre_ledger SET version = ?", (VERSION,))
            for sql in GUARDS.values():
                connection.execute(sql)

    @contextlib.contextmanager
    def reading(self, population: str) -> Iterator[Book]:
        """A view of one moment, without a lock."""
        with self._failing():
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield Book(lambda sql, values: connection.execute(sql, values).fetchall(), population)
            finally:
                connection.execute("ROLLBACK")

    def check(self) -> None:
        """LedgerError unless the file is whole."""
        with self._failing():
            found = [line for (line,) in self._connection().execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            raise LedgerError(f"{self.path}: the file is damaged ({found[0]}); restore it, and verify certificates")

    def close(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None and self._local.process == os.getpid():
            connection.close()
        self._local.connection = None

    def _begin(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")

    def _connection(self) -> sqlite3.Connection:
        if getattr(self._local, "connection", None) is None or self._local.process != os.getpid():
            _INHERITED.append(getattr(self._local, "connection", None))
            self._local.connection, self._local.process = self._connect(), os.getpid()
        return self._local.connection

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
        (mode,) = made.execute("PRAGMA journal_mode=WAL").fetchone()
        made.execute("PRAGMA synchronous=FULL")
        made.execute("PRAGMA foreign_keys=ON")
        (level,) = made.execute("PRAGMA synchronous").fetchone()
        if mode != "wal" or level != 2:
            made.close()
            raise LedgerError(f"{self.path}: commits would not be durable here (journal {mode}); use a local disk")
        return made

    @contextlib.contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        self._begin(connection)
        try:
            yield connection
            self._commit(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _make(self) -> None:
        """The tables, unless they are there."""
        with self._alone() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'nacre_ledger'").fetchone():
                for statement in (*TABLES, *GUARDS.values()):
                    connection.execute(statement)
                connection.execute("INSERT INTO nacre_ledger VALUES (?, ?)", (secrets.token_hex(16), VERSION))

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever the database refuses becomes a LedgerError: nothing is opened after that."""
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(
                f"{self.path}: the ledger cannot be used ({error}); no data are opened without it. Check the disk"
            ) from None


def identity_of(connection: sqlite3.Connection) -> str:
    """The ledger's own name, drawn when it was made."""
    try:
        ((identity, version),) = connection.execute("SELECT id, version FROM nacre_ledger").fetchall()
    except (sqlite3.DatabaseError, ValueError):
        raise LedgerError("the file is no ledger of nacre; name the one that `nacre ledger init` made") from None
    if version not in READABLE:
        raise LedgerError(f"a ledger of version {version}; this nacre reads versions up to {VERSION}")
    return identity


def _version(connection: sqlite3.Connection) -> int:
    ((version,),) = connection.execute("SELECT version FROM nacre_ledger").fetchall()
    return int(version)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def identity_at(path: str) -> str | None:
    """The name of the ledger in that file; None where there is no ledger."""
    if not os.path.isfile(path):
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True)) as connection:
            return identity_of(connection)
    except (sqlite3.Error, LedgerError):
        return None


def refuse_remote(path: Path, mounts: str = "/proc/self/mounts") -> None:
    """LedgerError for a file on a network file system, where the operating system tells (Linux)."""
    if not os.path.exists(mounts):
        return
    best, kind = "", ""
    for line in Path(mounts).read_text(errors="replace").splitlines():
        parts = line.split()
        where = parts[1].replace("\\040", " ") if len(parts) > 2 else ""
        inside = where == "/" or str(path) == where or str(path).startswith(where.rstrip("/") + "/")
        if where and inside and len(where) >= len(best):
            best, kind = where, parts[2]
    if any(name in kind.lower() for name in _REMOTE):
        raise LedgerError(
            f"{path} is on {best}, a file system of the kind {kind}, whose locks cannot be relied on; "
            "keep the ledger on a local disk, or in PostgreSQL"
        )
