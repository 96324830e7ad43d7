"""The door `categories`: the texts of a column that are frequent enough, with their noisy counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nacre.privacy.accounting.events import Event, Failure
from nacre.privacy.doors.counts import Tables
from nacre.privacy.doors.entry import Opened, Scope, Trial
from nacre.privacy.passes import work
from nacre.privacy.passes.tally import Tally
from nacre.table import Identifier, Schema

if TYPE_CHECKING:
    from nacre.privacy.room import Room

NOISE_CHUNK = 1 << 20  # noisy counts of texts at a time
_HALF_WAY = 2  # the threshold of a trial


@dataclass(frozen=True)
class Categories(Tables):
    """Noisy counts of the texts found in a column; those at or above `threshold` come out, in lexicographic order.

    A unit can bring `cap` texts nobody else has, each with at most `cap` rows; each passes with probability
    at most P[noise ≥ threshold − cap]. Replacement involves two units (docs/proofs/thresholded_categories.md).
    """

    door: ClassVar[str] = "categories"
    threshold: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole(threshold=self.threshold)

    def events(self, scope: Scope) -> list[Event]:
        from scipy.special import ndtr

        cap = self.held(scope).cap
        missed = math.fsum(ndtr(-(self.threshold - cap - 0.5) / s) for s in self.sigmas)
        units = 2 if scope.neighbours == "replace_one" else 1
        return [*super().events(scope), Failure(units * cap * missed)]

    @property
    def words(self) -> str:
        return f"{super().words}, shown from {self.threshold:,} on"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen)


def categories(room: Room, entry: Categories, columns: Sequence[str]) -> dict[str, dict[str, int]]:
    """For each column the texts whose noisy count reaches the threshold, in lexicographic order, and that count."""
    sigmas = room._open(entry, Categories, columns)
    if not columns:
        return {}
    tallies = room._fold(work.TextCounts(list(columns), room._key))
    passed = {c: _passing(room, tallies.pop(c), sigma, entry.threshold) for c, sigma in zip(columns, sigmas)}
    # Only names were kept: a second pass finds the texts of those that passed.
    found = room._fold(work.Texts({c: names for c, (names, _) in passed.items()}, room._key))
    counted = {c: dict(zip((n.tobytes() for n in names), noisy.tolist())) for c, (names, noisy) in passed.items()}
    answer = [{text: counted[c][name] for text, name in sorted(found[c].items())} for c in columns]
    return dict(zip(columns, room._answer(entry, {"columns": list(columns)}, answer)))


def _passing(room: Room, tally: Tally, sigma: float, threshold: int) -> tuple[np.ndarray, np.ndarray]:
    """The names whose noisy count reaches the threshold, and that count."""
    names, counts = tally.pop_all()
    passed, told = [names[:0]], [counts[:0]]
    for start in range(0, len(names), NOISE_CHUNK):
        (noisy,) = room._noisy([counts[start : start + NOISE_CHUNK]], [sigma])
        passed.append(names[start + np.flatnonzero(noisy >= threshold)])
        told.append(noisy[noisy >= threshold])
    return np.concatenate(passed), np.concatenate(told)


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """Texts that two people have, or one: which of them pass the threshold half way."""
    entry = Categories("audit", sigmas=(sigma,), threshold=_HALF_WAY)
    texts = [f"t{i}" for i in range(draws)] * (_HALF_WAY if here else _HALF_WAY - 1)
    room = opened(entry, {"x": texts}, Schema({"x": Identifier()}))
    passed = {int(t[1:]) for t in room.categories(entry, ["x"])["x"]}
    return np.isin(np.arange(draws), list(passed)).astype(np.float64)
