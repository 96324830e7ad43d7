"""What is asked of a database, in the SQL that SQLite and PostgreSQL share. Rows are read and added, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.privacy.ledger.chain import COLUMNS, Row

VERSION = 3  # 1 and 2 had the same tables; what their triggers did not refuse, `rules` does
READABLE = (1, 2, VERSION)
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
KEYS = {name: sql for sql in TABLES if (name := sql.split()[3]).startswith("nacre_one_")}
_ALL = f"SELECT {', '.join(COLUMNS)} FROM nacre_rows WHERE population = :population"
_SAME = "FROM nacre_rows t WHERE t.population = r.population AND t.reservation = r.reservation AND t.kind <> 'policy'"
_UNFOUNDED = f"""SELECT MIN(r.sequence) FROM nacre_rows r WHERE r.population = :population AND r.kind = 'refunded'
    AND (EXISTS (SELECT 1 {_SAME} AND (t.kind IN ('opened', 'settled')
                                       OR t.kind = 'refunded' AND t.sequence <> r.sequence))
         OR NOT EXISTS (SELECT 1 {_SAME} AND t.kind = 'reserved' AND t.units = -r.units AND t.failure = -r.failure
                        AND t.sequence < r.sequence))"""


@dataclass(frozen=True)
class Lacking:
    """What the database does not refuse and should. `old`: it never did, the ledger being of an earlier version."""

    words: str
    old: bool = False

    @staticmethod
    def told(wanted: Mapping[str, str], found: Mapping[str, str]) -> Lacking | None:
        """None where every rule stands as it was made, and no other."""
        missing = sorted(name for name in wanted if name not in found)
        changed = sorted(name for name in wanted if name in found and found[name] != wanted[name])
        foreign = sorted(name for name in found if name not in wanted)
        told = [f"{what}: {', '.join(names)}" for what, names in
                (("taken away", missing), ("changed", changed), ("added", foreign)) if names]  # fmt: skip
        return Lacking("its rules were " + "; ".join(told)) if told else None


Execute = Callable[[str, dict[str, Any]], Sequence[Sequence[Any]]]


class Book:
    """The rows of one population, inside one transaction."""

    def __init__(self, execute: Execute, population: str):
        self._execute, self.population = execute, population

    def _rows(self, condition: str = "", **values: object) -> list[Row]:
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
        return {row.kind: row for row in self._rows("AND reservation = :id AND kind <> 'policy'", id=reservation)}

    def reserved(self, request: str) -> Row | None:
        """The reservation made for that request, if there is one."""
        return next(iter(self._rows("AND request = :request AND kind = 'reserved'", request=request)), None)

    def totals(self) -> tuple[int, int, int]:
        """(units, failure units, number of rows), added up by the database."""
        told = "SELECT COALESCE(SUM(units), 0), COALESCE(SUM(failure), 0), COUNT(*) FROM nacre_rows"
        ((units, failure, count),) = self._execute(
            f"{told} WHERE population = :population", {"population": self.population}
        )
        return int(units), int(failure), int(count)

    def unfounded(self) -> int | None:
        """The first row that gave back what was not its own to give: asked before every write, beside the sums."""
        found = self._execute(_UNFOUNDED, {"population": self.population})
        return int(found[0][0]) if found and found[0][0] is not None else None

    def append(self, row: Row) -> Row:
        """The row as it stands in the books."""
        names = ", ".join(COLUMNS)
        values = ", ".join(f":{name}" for name in COLUMNS)
        self._execute(f"INSERT INTO nacre_rows ({names}) VALUES ({values})", row.as_dict())
        return row

    def caps(self) -> tuple[int, int] | None:
        """(units, failure units) of the anchor; None where it was taken away."""
        told = "SELECT unit_cap, failure_cap FROM nacre_anchors WHERE population = :population"
        found = self._execute(told, {"population": self.population})
        return (int(found[0][0]), int(found[0][1])) if found else None

    def anchor(self, unit_cap: int, failure_cap: int) -> None:
        self._execute(
            "INSERT INTO nacre_anchors (population, unit_cap, failure_cap) VALUES (:population, :units, :failure)",
            {"population": self.population, "units": unit_cap, "failure": failure_cap},
        )
