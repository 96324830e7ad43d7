"""A session with private rows: every run goes through one, whatever it makes.

In this order: the columns are checked, a ledger is charged, persons are checked (which reads rows: a population that
has nothing left is not read at all, and a refusal leaves its trace in the books, given back), a curator holds the rows,
and at the end the plan is certified and the certificate stamped with where the books stand.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nacre.privacy.certificate.statement import Certificate, Described, certify
from nacre.privacy.curator import Record
from nacre.privacy.ledger.books import Reservation
from nacre.privacy.ledger.payment import paid, stamped
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan
from nacre.progress import of_rows
from nacre.run.subjects import Subject
from nacre.run.terms import Access, Terms

C = TypeVar("C")


@dataclass
class Session(Generic[C]):
    """Rows that are paid for, behind a curator."""

    subject: Subject[C]
    curator: C
    plan: Plan
    noise: NoiseSource
    held: Reservation | None
    found: Described

    def certificate(
        self, found: Described, rests_on: tuple[str, ...] | None = None, extras: Mapping[str, Any] | None = None
    ) -> Certificate:
        """What was promised, on rows that turned out to be described so: the end of a run, whose debit is settled.
        `rests_on`: its assumptions, where they are not those of any table."""
        stated = self.subject.assumptions(self.plan) if rests_on is None else rests_on
        self.found = found
        seeded = self.noise.seeded
        made = certify(self.plan, found, seeded=seeded, noise=self.noise.description, assumptions=stated)
        return stamped(dataclasses.replace(made, extras={**made.extras, **(extras or {})}), self.held)


@contextlib.contextmanager
def session(subject: Subject[C], plan: Plan, terms: Terms, access: Access) -> Iterator[Session[C]]:
    """A session for the doors of `plan`. When it has come to its end, the owner is told what was found on the way."""
    subject.check()
    noise = NoiseSource(terms.noise_seed)
    with subject.finished(), paid(access.account, plan, subject.unit) as held:
        subject.check_rows()
        curator = subject.open(plan, noise, Record(access.transcript, held, of_rows(access.progress)))
        made = Session(subject, curator, plan, noise, held, subject.described)
        yield made
    subject.tell(access.owner, made.found, curator)
