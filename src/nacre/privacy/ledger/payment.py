"""Between a run and the ledger: who must pay, and the proof of payment that the curator asks for.

With the variable NACRE_LEDGER set, that ledger is mandatory: no door of any curator opens without a reservation in it.
NACRE_POPULATION names the population where a run does not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from nacre.errors import LedgerError, LedgerRequired
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.ledger.books import Ledger, Reservation, open_ledger
from nacre.privacy.plan import Plan

LEDGER, POPULATION = "NACRE_LEDGER", "NACRE_POPULATION"


@dataclasses.dataclass(frozen=True)
class Account:
    """Where a run is to be charged: a ledger (its URL), a population of it, and a name for the request (or none)."""

    url: str | Ledger | None = None
    population: str | None = None
    request: str | None = None

    def found(self) -> Ledger | None:
        """The ledger, if there is one to use. LedgerRequired when another one than the mandatory is named."""
        mandatory = os.environ.get(LEDGER)
        if self.url is None and not mandatory:
            if self.population or self.request:
                raise LedgerRequired("a population or request was named, but no ledger; name the ledger as well")
            return None
        if self.url is None:
            return open_ledger(mandatory)
        ledger = open_ledger(self.url)
        _check_mandatory(ledger)
        return ledger

    def name(self) -> str:
        named = self.population or os.environ.get(POPULATION)
        if not named:
            raise LedgerRequired(
                "the ledger needs the name of the population that the rows belong to: population=, --population, or "
                f"{POPULATION}. Nothing was read"
            )
        return named

    def check(self, *, reads: bool, seeded: bool) -> None:
        """Refuse, before a row is read, what no cap covers: facts read from the data, noise that can be repeated."""
        if not (reads or seeded) or self.found() is None:
            return
        what = "a run that reads facts from the data or asks for no budget" if reads else "seeded noise"
        raise LedgerRequired(f"{what} promises nothing, so the ledger cannot pay for it; nothing was read")


@contextlib.contextmanager
def paid(account: Account, plan: Plan, unit: str | None) -> Iterator[Reservation | None]:
    """A committed reservation for the plan, or None where no ledger is used.

    If the run ends before a door has given an answer (a file that cannot be read to its end, a refused table, Ctrl-C),
    it is given back with the reason; after that it stays spent.
    """
    ledger = account.found()
    if ledger is None:
        yield None
        return
    held = ledger.reserve(account.name(), plan, unit=unit, request=account.request)
    try:
        yield held
    except BaseException as error:
        if not held.opened:
            # A ledger that cannot be reached just now keeps the debit; what went wrong first is what is told.
            with contextlib.suppress(LedgerError):
                held.refund(f"the run ended before a door gave an answer ({type(error).__name__})")
        raise


def before_a_door(held: Reservation | None, plan: Plan) -> None:
    """Called by the curator before a door reads: returns if the ledger holds, durably, a debit for this plan."""
    if held is None:
        if os.environ.get(LEDGER):
            raise LedgerRequired(
                f"{LEDGER} is set, so no data are opened without a reservation in that ledger; nothing was read. Use "
                "nacre.fit or nacre.sketch with population=, or reserve with nacre.privacy.ledger"
            )
        return
    if not held.opened:
        _check_mandatory(held.ledger)
    held.ready(plan)


def before_an_answer(held: Reservation | None, plan: Plan) -> None:
    """Called by the curator when rows were read, before noise is drawn: returns once the ledger holds, durably, that
    answers are given."""
    if held is not None:
        held.open(plan)


def stamped(certificate: Certificate, held: Reservation | None) -> Certificate:
    """The certificate with where the books stood when the run was settled."""
    if held is None:
        return certificate
    return dataclasses.replace(certificate, extras={**certificate.extras, "ledger": held.settle()})


def _check_mandatory(ledger: Ledger) -> None:
    mandatory = os.environ.get(LEDGER)
    if mandatory and open_ledger(mandatory).identity != ledger.identity:
        raise LedgerRequired(f"{LEDGER} names another ledger than {ledger.url}; use that one. Nothing was read")
