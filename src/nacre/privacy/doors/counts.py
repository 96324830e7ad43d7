"""The door `counts`: contingency tables of column sets, with rounded Gaussian noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.accounting.events import Event, Gaussian
from nacre.privacy.certificate.rounding import down
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial
from nacre.privacy.passes.tables import Clique
from nacre.privacy.passes.work import counter_of
from nacre.privacy.transcript import digest
from nacre.table import Categorical, Schema

if TYPE_CHECKING:
    from nacre.privacy.room import Room

Groups = Mapping[str, np.ndarray]  # column -> the group of every fine cell of its grid (−1: no cell)


@dataclass(frozen=True)
class Tables(Entry):
    """Whatever is counted in tables, with noise σ_j on table j. `most`: rows of one unit in what is counted, where that
    is one table of a database."""

    sigmas: tuple[float, ...] = ()
    most: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sigmas, tuple | list):
            raise PlanError(f"entry {self.name!r}: sigmas {self.sigmas!r}; expected a list of numbers")
        self._check_scales(sigmas=self.sigmas)
        self._check_whole(most=self.most)

    def held(self, scope: Scope) -> Scope:
        """The scope with the rows that a unit has here."""
        return replace(scope, cap=scope.cap * self.most)

    def events(self, scope: Scope) -> list[Event]:
        """m tables with noise σ_j: one unit moves table j by at most Δ in L2, so μ² = Δ²·Σ σ_j⁻²."""
        return [Gaussian(self.held(scope).table * math.sqrt(math.fsum(s**-2 for s in self.sigmas)))]

    def to_json(self) -> dict[str, Any]:
        told = super().to_json()
        return told if self.most > 1 else {name: value for name, value in told.items() if name != "most"}

    @property
    def words(self) -> str:
        low, high = down(min(self.sigmas, default=0.0), 4), down(max(self.sigmas, default=0.0), 4)
        spread = low if low == high else f"{low} to {high}"
        several = "table" if len(self.sigmas) == 1 else "tables"
        rows = f", of at most {self.most:,} rows of a unit" if self.most > 1 else ""
        return f"{len(self.sigmas):,} {several}, noise {spread} counts per cell{rows}"

    @property
    def sheet(self) -> tuple[str, str]:
        return (str(len(self.sigmas)), down(min(self.sigmas))) if self.sigmas else ("", "")

    @property
    def blank(self) -> bool:
        return not self.sigmas


@dataclass(frozen=True)
class Counts(Tables):
    """Contingency tables with rounded Gaussian noise σ_j on table j.

    `cliques` are the column sets, or None when they are chosen from earlier answers (their number is fixed).
    """

    door: ClassVar[str] = "counts"
    cliques: tuple[Clique, ...] | None = None

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen)


def counts_together(
    room: Room, asked: Sequence[tuple[Counts, Sequence[Clique]]], groups: Groups | None = None
) -> list[list[np.ndarray]]:
    """What `counts` answers to each of several entries, from one pass over the rows. Each entry is spent."""
    if not asked:
        return []
    listed = [(entry, [tuple(c) for c in cliques]) for entry, cliques in asked]
    for entry, cliques in listed:
        if entry.cliques is not None and list(entry.cliques) != cliques:
            raise PlanError(f"entry {entry.name!r}: the plan fixed its column sets, and these differ")
        if len(cliques) > len(entry.sigmas):
            raise PlanError(f"entry {entry.name!r}: {len(entry.sigmas)} tables planned, {len(cliques)} asked for")
    together = [c for _, cliques in listed for c in cliques]
    legal = room._groups(together, groups)
    counter = counter_of(together, legal)  # refuses tables that do not fit before anything is spent
    for entry, _ in listed:
        room._open(entry, Counts)
    exact = iter(room._fill(counter, legal))
    return [_noisy(room, entry, cliques, legal, exact) for entry, cliques in listed]


def _noisy(
    room: Room, entry: Counts, cliques: list[Clique], groups: Groups, exact: Iterator[np.ndarray]
) -> list[np.ndarray]:
    used = dict.fromkeys(c for clique in cliques for c in clique)
    question = {"cliques": cliques, "groups": {c: digest(groups[c]) for c in used}}
    return room._answer(entry, question, room._noisy(list(itertools.islice(exact, len(cliques))), entry.sigmas))


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """One record in every cell, or one in a cell that is left out."""
    entry = Counts("audit", sigmas=(sigma,), cliques=(("x",),))
    labels = tuple(map(str, range(draws + 1)))
    schema = Schema({"x": Categorical(categories=labels)})
    room = opened(entry, {"x": labels[:draws] if here else labels[draws:]}, schema)
    return room.counts(entry, [("x",)])[0][:draws].astype(np.float64)
