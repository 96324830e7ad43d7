"""A database as certificates speak of it: what stands in tables is named "table.column"."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.table.columns import Column
from nacre.table.database import Database, Key
from nacre.table.schema import Attestation, Purchase
from nacre.typed import Json


@dataclass(frozen=True)
class Owned:
    """Answers what a schema answers of one table (`statement.Described`)."""

    database: Database

    @property
    def rows(self) -> int | None:
        """How many units there are, where that is public."""
        return self.database.units

    @property
    def protected(self) -> dict[str, Json]:
        """One row of a table and all rows that it owns; how many of them count, and by which keys they are owned."""
        base = self.database
        below = base.owned[1:]
        keys = [words for table in base.owned for words in _keys(base, table)]
        return {"column": None, "cap": 1, "table": base.unit, "most": {n: base.most(n) for n in below}, "keys": keys,
                "public": list(base.public)}  # fmt: skip

    @property
    def attestations(self) -> tuple[Attestation, ...]:
        tables = [self.database.tables[name] for name in self.database.owned]
        return (*self.database.attestations, *(a for schema in tables for a in schema.attestations))

    @property
    def purchases(self) -> tuple[Purchase, ...]:
        tables = [self.database.tables[name] for name in self.database.owned]
        return (*self.database.purchases, *(p for schema in tables for p in schema.purchases))

    @property
    def columns(self) -> dict[str, Column]:
        """The columns of owned tables."""
        tables = {name: self.database.tables[name] for name in self.database.owned}
        return {f"{name}.{n}": column for name, schema in tables.items() for n, column in schema.columns.items()}

    def facts(self) -> dict[tuple[str | None, str], str]:
        """(name, fact) -> provenance: of a column "table.column", of a table as a whole "table", of all None."""
        return {
            (".".join(n for n in (table, column) if n is not None) or None, fact): source
            for (table, column, fact), source in self.database.facts().items()
        }

    def digest(self) -> str:
        return self.database.digest()


def _keys(database: Database, table: str) -> list[str]:
    """The keys of a table that say to whom its rows belong, in words."""
    owner = database.owner(table)
    found = [] if owner is None else [f"{owner}, at most {owner.cap:,}{_order(owner)}"]
    return [*found, *(f"{key}, which must agree" for key in database.implied(table))]


def _order(key: Key) -> str:
    return "" if key.order is None else f", the first by {key.order}"
