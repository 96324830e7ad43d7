"""What a run is about: one table, or the tables of a database. A session asks both the same questions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nacre.engines import Rows, finished
from nacre.owner import OwnerNotes
from nacre.privacy.certificate.statement import Described
from nacre.privacy.curator import Curator, Record
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.run.checks import assumptions, check_columns, check_persons
from nacre.table import Schema

C = TypeVar("C", covariant=True)


class Subject(Protocol[C]):
    """Private rows and what is declared of them; who answers for them has a curator of the kind C."""

    @property
    def described(self) -> Described: ...

    @property
    def unit(self) -> str | None:
        """Who is protected, as ledgers name it."""
        ...

    def check(self) -> None:
        """Refuse, by names and types alone, what was not described: no row is read."""
        ...

    def check_rows(self) -> None:
        """Refuse what only rows show. With a ledger it comes after the debit."""
        ...

    def open(self, plan: Plan, noise: NoiseSource, record: Record) -> C: ...

    def assumptions(self, plan: Plan) -> tuple[str, ...]:
        """What the promise rests on besides the proofs."""
        ...

    def finished(self) -> AbstractContextManager[None]:
        """Stop, at the end, what was started to read the rows."""
        ...

    def tell(self, owner: OwnerNotes, found: Any, curator: Any) -> None:
        """What was found on the way, in what turned out to be described so, for the owner alone."""
        ...


@dataclass(frozen=True)
class OneTable:
    """A table, of which columns `beside` its schema are not modelled."""

    rows: Rows
    described: Schema
    beside: tuple[str, ...] = ()

    @property
    def unit(self) -> str | None:
        return self.described.unit.column if self.described.unit else None

    def check(self) -> None:
        check_columns(self.rows, self.described, self.beside)

    def check_rows(self) -> None:
        check_persons(self.rows, self.described)

    def open(self, plan: Plan, noise: NoiseSource, record: Record) -> Curator:
        return Curator(self.rows, plan, self.described, noise, record)

    def assumptions(self, plan: Plan) -> tuple[str, ...]:
        return assumptions(self.described, self.rows, plan)

    def finished(self) -> AbstractContextManager[None]:
        return finished(self.rows)

    def tell(self, owner: OwnerNotes, found: Schema, curator: Curator) -> None:
        owner.hear(found, curator.outside, curator.diagnostics)
