"""What curators do around their doors: entries open once, a ledger pays, noise is added, answers are written down."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.doors.counts import Tables
from nacre.privacy.doors.entry import Entry
from nacre.privacy.ledger.payment import Reservation, before_a_door, before_an_answer
from nacre.privacy.noise import NoiseSource, rounded_gaussian
from nacre.privacy.passes.folding import Progress
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript

T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """Where a run is written down while it goes.

    `transcript` takes questions and noisy answers; given a recording to replay, the doors still read the rows but
    answer from the recording. `paid` is the reservation of a ledger: no door reads before the ledger holds it, and
    none answers before the ledger holds that answers are given. `progress` shows the rows read so far to the owner of
    the data, and is not saved.
    """

    transcript: Transcript | None = None
    paid: Reservation | None = None
    progress: Progress | None = None


NO_RECORD = Record()


class Opener:
    """The plan, the noise and the record of one run."""

    def __init__(self, plan: Plan, noise: NoiseSource | None = None, record: Record | None = None):
        record = record or NO_RECORD
        if record.paid is not None:
            record.paid.claim()
        self._paid = record.paid
        self._plan = plan
        self._noise = noise or NoiseSource()
        self._transcript = record.transcript or Transcript()
        self._progress = record.progress or (lambda rows: None)
        self._opened: dict[str, list[str] | None] = {}  # columns spent so far, or None for all of the entry

    def _share(self, whole: Opener) -> None:
        """Be a part of another run: of its plan, payment, noise and record, and of what it has opened."""
        self._paid, self._plan, self._noise = whole._paid, whole._plan, whole._noise
        self._transcript, self._progress, self._opened = whole._transcript, whole._progress, whole._opened

    @property
    def opened(self) -> frozenset[str]:
        """The entries spent so far."""
        return frozenset(self._opened)

    def _open(
        self, entry: Entry, kinds: type[Entry] | tuple[type[Entry], ...], columns: Sequence[str] | None = None
    ) -> Sequence[float]:
        """Spend an entry, whole or for some columns: each column once, each with a noise scale of its own.

        Returns the scales of these columns: those that earlier columns of the same entry did not use.
        """
        if entry not in self._plan.entries:
            raise PlanError(f"entry {entry.name!r} is not in the plan of {self._plan.method}; nothing was read")
        if not isinstance(entry, kinds):
            raise PlanError(f"entry {entry.name!r} was planned for the door `{entry.door}`; open that one")
        before = self._opened.get(entry.name, [])
        if before is None or (columns is None and entry.name in self._opened) or {*before} & {*(columns or ())}:
            raise PlanError(f"entry {entry.name!r} was opened before; a second look would cost a second time")
        self._pay()
        if columns is None:
            self._opened[entry.name] = None  # spent from here on, whatever happens next
            return ()
        assert isinstance(entry, Tables)
        after = [*before, *columns]
        if len({*after}) < len(after):
            raise PlanError(f"entry {entry.name!r}: a column is named twice; name each once")
        if len(after) > len(entry.sigmas):
            raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} columns planned, {len(after)} asked for")
        self._opened[entry.name] = after
        return entry.sigmas[len(before) :]

    def _pay(self) -> None:
        """Where a ledger is kept, nothing is read before it holds a debit, durably."""
        before_a_door(self._paid, self._plan)

    def _stay_spent(self) -> None:
        """From here on the debit is not given back. Every answer leaves by `_answer`; doors that show noisy numbers to
        the code of others before that (steps, choices) call this when the rows were read."""
        self._transcript.begun = True
        before_an_answer(self._paid, self._plan)

    def _then_spent(self, batches: Iterator[T]) -> Iterator[T]:
        yield from batches
        self._stay_spent()

    def _answer(self, entry: Entry, question: Mapping[str, Any], answer: object) -> Any:
        self._stay_spent()
        return self._transcript.settle({"door": entry.door, "entry": entry.name, **question}, answer)

    def _noisy(self, exact: Sequence[np.ndarray], sigmas: Sequence[float]) -> list[np.ndarray]:
        return [
            table + rounded_gaussian(sigma, table.size, self._noise).reshape(table.shape)
            for table, sigma in zip(exact, sigmas)
        ]

    @functools.cached_property
    def _key(self) -> bytes:
        """The secret of this run's names for texts and persons; from the noise, so that seeded runs repeat."""
        return self._noise.bits64(2).tobytes()
