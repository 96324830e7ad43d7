"""What is asked of a database, in the SQL that SQLite and PostgreSQL share. Rows are read and added, never changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nacre.privacy.ledger.chain import COLUMNS, POLICY, RESERVED, Row

VERSION = 1
KINDS = "'policy', 'reserved', 'opened', 'settled', 'refunded'"
# A reservation costs something, a refund gives it back, all else is free; the sums never fall below nothing.
# The caps stand in the anchor as well, and the triggers of each database refuse a sum above them: a second lock.
TABLES = (
    "CREATE TABLE nacre_ledger (id TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL)",
    "CREATE TABLE nacre_anchors (population TEXT NOT NULL PRIMARY KEY, unit_cap BIGINT NOT NULL, "
    "failure_cap BIGINT NOT NULL)",
    f"""CREATE TABLE nacre_rows (
        population TEXT NOT NULL REFERENCES nacre_anchors (population), sequence BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ({KINDS})), reservation TEXT NOT NULL, request TEXT NOT NULL,
        units BIGINT NOT NULL, failure BIGINT NOT NULL,
        spent BIGINT NOT NULL CHECK (spent >= 0), spent_failure BIGINT NOT NULL CHECK (spent_failure >= 0),
        body TEXT NOT NULL, made_at TEXT NOT NULL, made_by TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
        PRIMARY KEY (population, sequence),
        CHECK (CASE kind WHEN 'reserved' THEN units > 0 AND failure > 0
               WHEN 'refunded' THEN units < 0 AND failure < 0 ELSE units = 0 AND failure = 0 END))""",
    "CREATE UNIQUE INDEX nacre_one_request ON nacre_rows (population, request) WHERE kind = 'reserved'",
    "CREATE UNIQUE INDEX nacre_one_step ON nacre_rows (population, reservation, kind) WHERE kind <> 'policy'",
)
_ALL = f"SELECT {', '.join(COLUMNS)} FROM nacre_rows WHERE population = :population"

Execute = Callable[[str, dict[str, Any]], Sequence[Sequence[Any]]]


class Book:
    """The rows of one population, inside one transaction."""

    def __init__(self, execute: Execute, population: str):
        self._execute, self.population = execute, population

    def _rows(self, condition: str = "", **values: Any) -> list[Row]:
        found = self._execute(f"{_ALL} {condition} ORDER BY sequence", {"population": self.population, **values})
        return [Row(*row) for row in found]

    def rows(self) -> list[Row]:
        return self._rows()

    def ends(self) -> list[Row]:
        """The policy, the row after it if there is one, and the last row."""
        return self._rows(
            "AND (sequence IN (0, 1) OR sequence = "
            "(SELECT MAX(sequence) FROM nacre_rows WHERE population = :population))"
        )

    def at(self, sequence: int) -> Row | None:
        return next(iter(self._rows("AND sequence = :sequence", sequence=sequence)), None)

    def steps(self, reservation: str) -> dict[str, Row]:
        """What happened to a reservation, by kind."""
        return {row.kind: row for row in self._rows("AND reservation = :id AND kind <> :policy", id=reservation,
                                                    policy=POLICY)}  # fmt: skip

    def reserved(self, request: str) -> Row | None:
        """The reservation made for that request, if there is one."""
        return next(iter(self._rows("AND request = :request AND kind = :kind", request=request, kind=RESERVED)), None)

    def totals(self) -> tuple[int, int, int]:
        """(units, failure units, number of rows), added up by the database."""
        told = "SELECT COALESCE(SUM(units), 0), COALESCE(SUM(failure), 0), COUNT(*) FROM nacre_rows"
        ((units, failure, count),) = self._execute(
            f"{told} WHERE population = :population", {"population": self.population}
        )
        return int(units), int(failure), int(count)

    def append(self, row: Row) -> None:
        names = ", ".join(COLUMNS)
        values = ", ".join(f":{name}" for name in COLUMNS)
        self._execute(f"INSERT INTO nacre_rows ({names}) VALUES ({values})", row.as_dict())

    def anchor(self, unit_cap: int, failure_cap: int) -> None:
        self._execute(
            "INSERT INTO nacre_anchors (population, unit_cap, failure_cap) VALUES (:population, :units, :failure)",
            {"population": self.population, "units": unit_cap, "failure": failure_cap},
        )
