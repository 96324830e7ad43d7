"""The door `select`: successive exponential mechanisms on a finite public list, and the scores that it can use.

A score gives one integer per candidate, and the range over candidates of what one unit can change: weights
exp(ε·u/R) are then ε-bounded-range (docs/proofs/selection.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.accounting.events import BoundedRange, Event
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import up
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial, one_column
from nacre.privacy.noise import NoiseSource, exponential_choice
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.captured import refuse_captured
from nacre.privacy.transcript import digest
from nacre.table import Schema

if TYPE_CHECKING:
    from nacre.privacy.room import Room

STEPS = 1 << 20  # a record's score is rounded toward `low` to this many parts of its range
AGAINST = 4.0  # over ε, at least 2: records of a trial against an outcome, which is rare without the one in question
_PICKS = 1000  # of one opening in a trial

Rule = Callable[[list[int]], np.ndarray]  # earlier picks -> which candidates are allowed (public)


class Score(Protocol):
    def check(self, room: Room) -> None:
        """Refuse, before anything is spent, what cannot be scored."""
        ...

    def totals(self, room: Room) -> np.ndarray: ...
    def loss_range(self, scope: Scope) -> float: ...
    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Select(Entry):
    """`picks` successive exponential mechanisms on a finite public list, each of privacy-loss range `epsilon`."""

    door: ClassVar[str] = "select"
    picks: int = 1
    epsilon: float = 1.0
    exact: bool = True  # the score is a bit-exact function of the record alone

    def __post_init__(self) -> None:
        self._check_flags(self.exact)
        self._check_scales(epsilon=self.epsilon)
        self._check_whole(picks=self.picks)

    def events(self, scope: Scope) -> list[Event]:
        return [BoundedRange(self.epsilon, self.picks)]

    @property
    def level(self) -> Level:
        return Level.PROVEN if self.exact else Level.REAL_ARITHMETIC

    @property
    def words(self) -> str:
        return f"{self.picks:,} {'choice' if self.picks == 1 else 'choices'}, range {up(self.epsilon, 4)} each"

    @property
    def sheet(self) -> tuple[str, str]:
        return str(self.picks), f"range {up(self.epsilon)}"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen, "epsilon")


def select(room: Room, entry: Select, score: Score, allowed: Rule | None = None) -> list[int]:
    """`entry.picks` candidates by successive exponential mechanisms on integer scores, without replacement.

    `allowed(picked)` restricts the candidates by the public list of earlier picks.
    """
    score.check(room)
    question = {"score": score.describe(), "picks": entry.picks}
    room._open(entry, Select)
    totals = score.totals(room)
    rate = entry.epsilon / score.loss_range(room._plan.scope)
    room._stay_spent()  # `allowed` sees the picks
    return room._answer(entry, question, successive_choices(totals, entry.picks, rate, allowed, room._noise))


def successive_choices(
    scores: np.ndarray, picks: int, rate: float, allowed: Rule | None, source: NoiseSource
) -> list[int]:
    """`picks` indices without replacement, each by the exponential mechanism on what is left and allowed."""
    picked: list[int] = []
    free = np.ones(len(scores), dtype=bool)
    for _ in range(picks):
        open_ = np.flatnonzero(free & allowed(picked)) if allowed else np.flatnonzero(free)
        if not len(open_):
            break
        index = int(open_[exponential_choice(scores[open_], rate, source)])
        picked.append(index)
        free[index] = False
    return picked


@dataclass(frozen=True)
class Deviation:
    """u_j = ‖N_j − reference_j‖₁ − handicap_j for the exact table N_j of clique j and *public* integers.

    One record moves ‖N − public‖₁ by at most 1, a unit by its cap (twice that when it is replaced).
    """

    cliques: Sequence[tuple[str, ...]]
    references: Callable[[int], np.ndarray]  # public expected table of clique j, rounded to integers
    handicaps: np.ndarray  # public integers
    groups: Mapping[str, np.ndarray]

    def check(self, room: Room) -> None:
        """Refuse cliques that the curator cannot count, before anything is spent."""
        room._groups(self.cliques, self.groups)
        if len(self.handicaps) != len(self.cliques) or np.asarray(self.handicaps).dtype.kind not in "iu":
            raise PlanError(f"handicaps: expected {len(self.cliques)} integers, one per candidate")

    def totals(self, room: Room) -> np.ndarray:
        groups = room._groups(self.cliques, self.groups)
        scores = np.empty(len(self.cliques), dtype=np.int64)
        for start, stop in self._portions(groups):
            for j, exact in enumerate(room._count(self.cliques[start:stop], groups), start):
                reference = np.asarray(self.references(j))
                if reference.dtype.kind not in "iu" or reference.shape != exact.shape:
                    raise PlanError(f"reference of {self.cliques[j]}: expected integers of shape {exact.shape}")
                scores[j] = np.abs(exact - reference).sum() - int(self.handicaps[j])
        return scores

    def _portions(self, groups: Mapping[str, np.ndarray], cells: int = 1 << 24) -> Iterator[tuple[int, int]]:
        """Runs of cliques whose tables together stay small: wide tables have tens of thousands of pairs."""
        sizes = [math.prod(int(groups[c].max()) + 2 for c in clique) for clique in self.cliques]
        start, held = 0, 0
        for j, size in enumerate(sizes):
            if held and held + size > cells:
                yield start, j
                start, held = j, 0
            held += size
        if sizes:
            yield start, len(sizes)

    def loss_range(self, scope: Scope) -> float:
        return 2.0 * scope.sum

    def describe(self) -> dict[str, Any]:
        references = hashlib.sha256()  # one digest of all: wide tables have tens of thousands of references
        for j in range(len(self.cliques)):
            references.update(digest(np.asarray(self.references(j))).encode())
        shown = {"groups": digest(dict(self.groups)), "handicaps": digest(np.asarray(self.handicaps))}
        shown["references"] = references.hexdigest()[:16]
        return {"deviation": [list(c) for c in self.cliques], **shown}


@dataclass(frozen=True)
class RecordScore:
    """u_j = Σ_records clip(score(record)_j, low, high), on a grid of 2⁻²⁰ of the range, rounded toward `low`.

    `function` maps the encoded columns of n records and `public` (arrays that it needs; recorded in the question) to an
    [n, candidates] array, record by record.
    """

    function: Callable[[Mapping[str, Any], Any], np.ndarray]
    candidates: int
    low: float
    high: float
    public: Any = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise PlanError(f"record score: range [{self.low!r}, {self.high!r}]; expected finite low below high")

    def check(self, room: Room) -> None:
        """Refuse a score that carries arrays or looks at more than one record, before anything is spent."""
        refuse_captured(self.function, self.public, "record score")
        if feature_sums.coupled(self._of_records, room.schema, self.candidates, "record score"):
            raise PlanError("record score: the score of one record changes in the last bits with its place; round it")

    def totals(self, room: Room) -> np.ndarray:
        return room._sum(self._of_batch, (self.candidates,))

    def _of_batch(self, encoded: Mapping[str, Any], rows: int) -> np.ndarray:
        scores = np.zeros(self.candidates, dtype=np.int64)
        for values in feature_sums.record_vectors(self._of_records, encoded, rows):
            scores += self._steps(values).sum(axis=0)
        return scores

    def _of_records(self, records: Mapping[str, Any]) -> np.ndarray:
        return self.function(records, self.public)

    def _steps(self, values: np.ndarray) -> np.ndarray:
        """Integers in [0, 2²⁰], whatever the floats are."""
        values = np.clip(np.nan_to_num(values, nan=self.low), self.low, self.high)
        share = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: no overflow
        return np.clip(np.floor(share * STEPS), 0, STEPS).astype(np.int64)

    def loss_range(self, scope: Scope) -> float:
        """high − low per record for present-or-absent (the empty score is 0 everywhere), twice when replaced."""
        return STEPS * scope.sum

    def describe(self) -> dict[str, Any]:
        return {"record_score": [self.candidates, self.low, self.high], "public": digest(self.public)}


@dataclass(frozen=True)
class Nearness:
    """u_j = −|T − t_j|: T is the sum of a `value` of one candidate, t_j are public whole numbers in steps of its grid.

    Index j then comes with probability proportional to exp(−rate·|T − t_j|): Laplace noise on a sum, held to a public
    list. What a unit changes in T, whether it appears, goes or is replaced, lies within ±cap·2²⁰, and so does what it
    changes in any u_j: a range of twice that. Plain Laplace noise of the whole line could have half of the scale; here
    the list ends, and the weights are divided by a sum that depends on the data.
    """

    value: RecordScore
    places: np.ndarray

    def check(self, room: Room) -> None:
        places = np.asarray(self.places)
        if self.value.candidates != 1:
            raise PlanError(f"nearness: one number per record is summed, not {self.value.candidates}")
        if places.ndim != 1 or not len(places) or places.dtype.kind not in "iu" or np.abs(places).max() >= 2**60:
            raise PlanError("nearness: places must be a list of whole numbers below 2**60")
        self.value.check(room)

    def totals(self, room: Room) -> np.ndarray:
        return -np.abs(self.value.totals(room)[0] - np.asarray(self.places, np.int64))

    def loss_range(self, scope: Scope) -> float:
        return 2.0 * STEPS * scope.cap

    def describe(self) -> dict[str, Any]:
        return {"nearness": self.value.describe(), "places": digest(np.asarray(self.places))}


def voices(epsilon: float, here: bool) -> tuple[dict[str, Any], Schema]:
    """Made-up rows of a trial: a few 0 against a 1 that is present or absent."""
    return one_column([0] * max(2, round(AGAINST / epsilon)) + [1] * here, 1)


def _seen(opened: Opened, epsilon: float, draws: int, here: bool) -> np.ndarray:
    """Pairs of candidates, each pick restricted to a pair of its own; 1 where the first of the pair was picked."""
    entry = Select("audit", epsilon=epsilon, picks=_PICKS)
    score = RecordScore(_pairs, 2 * _PICKS, 0.0, 1.0)

    def allowed(picked: list[int]) -> np.ndarray:
        open_ = np.zeros(2 * _PICKS, bool)
        open_[2 * len(picked) : 2 * len(picked) + 2] = True
        return open_

    seen: list[int] = []
    while len(seen) < draws:
        seen += [1 - pick % 2 for pick in opened(entry, *voices(epsilon, here)).select(entry, score, allowed)]
    return np.array(seen[:draws])


def _pairs(columns: Mapping[str, Any], public: Any) -> np.ndarray:
    """A record that is 1 speaks for the first of every pair, one that is 0 for the second."""
    values = np.asarray(columns["x"].values, np.float64)[:, None]
    return np.tile(np.concatenate([values, 1 - values], axis=1), _PICKS)
