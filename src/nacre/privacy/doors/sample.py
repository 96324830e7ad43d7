"""The door `sample`: draws from exp(rate·u) for a sum u of clipped per-record utilities, plus a public term.

A candidate is a set of n points. Record x is worth mean_j clip(h(x, y_j), low, high) to it, so it changes u by a number
in [low, high] whatever h does, and rate = ε/(high − low) makes the draw ε-bounded-range: no factor 2, because a record
that is absent adds 0 to every candidate (docs/proofs/sampling.md). Exact draws from a public list live here, Markov
chains on a box in `walk`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.accounting.events import BoundedRange, Event
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import up
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial
from nacre.privacy.doors.select import voices
from nacre.privacy.noise import NoiseSource, exponential_choice
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.captured import refuse_captured
from nacre.privacy.transcript import digest
from nacre.table import Schema

if TYPE_CHECKING:
    from nacre.privacy.room import Room

Batches = Iterator[tuple[Mapping[str, Any], int]]  # encoded columns, number of rows
STEPS = 1 << 20  # exact draws: a record's utility is rounded toward `low` to this many parts of its range
FAR = 2.0**60  # steps at most of the public term, so that sums with it stay within int64
_PROBES = 3  # points at which a utility is tried on made-up records


@dataclass(frozen=True)
class Sample(Entry):
    """`draws` exponential mechanisms on a continuous space or a listed one, each of privacy-loss range `epsilon`.

    `moves` is the length of each Markov chain, fixed here so that no data can stop one; 0 means an exact draw from a
    finite list. A chain's law is the mechanism's only in the limit: the guarantee is then `conditional`.
    """

    door: ClassVar[str] = "sample"
    epsilon: float = 1.0
    draws: int = 1
    moves: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_scales(epsilon=self.epsilon)
        self._check_whole(draws=self.draws)
        self._check_whole(0, moves=self.moves)

    def events(self, scope: Scope) -> list[Event]:
        return [BoundedRange(self.epsilon, self.draws)]

    @property
    def level(self) -> Level:
        return Level.CONDITIONAL if self.moves else Level.PROVEN

    @property
    def caveat(self) -> str:
        return (
            f"{self.name}: epsilon-DP conditional on convergence of a chain of {self.moves:,} moves; no bound on its "
            "distance tau from the target law is certified, and (1 + e^epsilon)·tau would add to delta"
            if self.moves
            else ""
        )

    @property
    def words(self) -> str:
        how = f"chains of {self.moves:,} moves" if self.moves else "exact"
        return f"{self.draws:,} {'draw' if self.draws == 1 else 'draws'} ({how}), range {up(self.epsilon, 4)} each"

    @property
    def sheet(self) -> tuple[str, str]:
        return "", f"range {up(self.epsilon)}"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen, "epsilon")


def sample(room: Room, entry: Sample, utility: Utility, sampler: Sampler) -> np.ndarray:
    """`entry.draws` draws from exp(rate·u), rate = ε/(high − low) (half of it for replace-one): an exponential
    mechanism on a continuous space (`walk.Walk`) or on a public list (`Listed`).
    """
    sampler.check(entry, utility)
    if sampler.exact != (entry.moves == 0):
        raise PlanError(f"entry {entry.name!r}: exact draws are planned with moves=0, chains with their length")
    utility.check(room.schema, sampler.width, sampler.exact)
    room._open(entry, Sample)
    rate = entry.epsilon / (utility.span * room._plan.scope.sum)
    drawn, told = sampler.draw(utility, room._then_spent(room._encoded()), rate, entry, room._noise)
    room.diagnostics[entry.name] = told
    return room._answer(entry, {**utility.describe(), **sampler.describe()}, drawn)


@dataclass(frozen=True)
class Utility:
    """u(Y) = Σ_records mean_j clip(per_record(x, y_j), low, high) + weight·mean_jl between(y_j, y_l).

    `records` turns encoded columns into vectors [n, d], row by row; `per_record(columns [d, n], point [d])` gives [n]
    with NumPy and with JAX arrays. `between(points [d, m], point [d])` gives [m]; it and `weight` see no record.
    """

    records: Callable[[Mapping[str, Any], Any], np.ndarray]
    per_record: Callable[[Any, Any], Any]
    low: float
    high: float
    between: Callable[[Any, Any], Any] | None = None
    weight: float = 0.0
    public: Any = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise PlanError(f"utility: range [{self.low!r}, {self.high!r}]; expected finite low below high")
        if not math.isfinite(self.weight) or (self.weight and self.between is None):
            raise PlanError(f"utility: weight {self.weight!r}; expected a finite number, 0 without `between`")

    @property
    def span(self) -> float:
        return self.high - self.low

    def check(self, schema: Schema, width: int, exact: bool) -> None:
        """Refuse, before anything is spent, a utility that carries rows or looks at more than one record."""
        for function in (self.records, self.per_record, self.between):
            if function is not None:
                refuse_captured(function, self.public, "utility")
        probes = np.random.default_rng(3).random((_PROBES, width))
        loose = feature_sums.coupled(lambda chunk: self._at(self.vectors(chunk), probes), schema, _PROBES, "utility")
        if loose and exact:
            raise PlanError(
                "utility: what one record is worth changes in the last bits with its place; an exact draw needs "
                "plain sums and products of its own numbers"
            )

    def vectors(self, chunk: Mapping[str, Any]) -> np.ndarray:
        return np.asarray(self.records(chunk, self.public), dtype=np.float64)

    def _at(self, vectors: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Always for CHUNK records, the last one repeated: the shape on which `check` has seen that a record's worth
        does not depend on its place (NumPy may round a shorter array's end otherwise)."""
        columns = np.ascontiguousarray(np.pad(vectors, ((0, feature_sums.CHUNK - len(vectors)), (0, 0)), "edge").T)
        return np.stack([np.asarray(self.per_record(columns, point)) for point in points], axis=1)[: len(vectors)]

    def steps(self, vectors: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Whole numbers in [0, 2²⁰] per record and point, whatever the floats are."""
        worth = np.clip(np.nan_to_num(self._at(vectors, points), nan=self.low), self.low, self.high)
        share = (worth - self.low) / self.span
        return np.clip(np.floor(share * STEPS), 0, STEPS).astype(np.int64)

    def describe(self) -> dict[str, Any]:
        return {"range": [self.low, self.high], "weight": self.weight, "public": digest(self.public)}


class Sampler(Protocol):
    exact: bool

    @property
    def width(self) -> int: ...
    def check(self, entry: Sample, utility: Utility) -> None: ...
    def describe(self) -> dict[str, Any]: ...
    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]: ...


@dataclass(frozen=True)
class Listed:
    """Points drawn one after the other from a public list, each exactly: a private form of herding.

    Draw t has utility Σ_records clip(h(x, y)) + (2·weight/t)·Σ_{earlier y_l} between(y_l, y): a function of the records
    and of earlier draws, so that `entry.draws` mechanisms compose. Returns [draws, d].
    """

    candidates: np.ndarray
    exact = True

    def __post_init__(self) -> None:
        found = np.asarray(self.candidates, dtype=np.float64)
        if found.ndim != 2 or not len(found) or not np.isfinite(found).all():
            raise PlanError(f"candidates: expected finite points [m, d], got an array of shape {found.shape}")
        object.__setattr__(self, "candidates", found)

    @property
    def width(self) -> int:
        return self.candidates.shape[1]

    def check(self, entry: Sample, utility: Utility) -> None:
        if entry.moves:
            raise PlanError(f"entry {entry.name!r}: planned for chains, but draws from a list are exact; plan moves=0")

    def describe(self) -> dict[str, Any]:
        return {"candidates": digest(self.candidates)}

    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        totals = np.zeros(len(self.candidates), dtype=np.int64)
        for encoded, rows in batches:
            for vectors in feature_sums.record_vectors(utility.vectors, encoded, rows):
                totals += utility.steps(vectors, self.candidates).sum(axis=0)
        unit = utility.span / STEPS  # of utility in one step
        apart = np.zeros(len(self.candidates))
        picked: list[int] = []
        for t in range(1, entry.draws + 1):
            public = np.clip(np.nan_to_num(np.rint(2 * utility.weight / t * apart / unit)), -FAR, FAR).astype(np.int64)
            picked.append(exponential_choice(totals + public, rate * unit, noise))
            if utility.between is not None and utility.weight:
                apart += np.asarray(utility.between(self.candidates.T, self.candidates[picked[-1]]))
        return self.candidates[picked], {}


def _seen(opened: Opened, epsilon: float, draws: int, here: bool) -> np.ndarray:
    """Exact draws from a list of two points."""
    entry = Sample("audit", epsilon=epsilon, draws=draws)
    utility = Utility(_vectors, lambda columns, point: (columns[0] == point[0]) * 1.0, 0.0, 1.0)
    drawn = opened(entry, *voices(epsilon, here)).sample(entry, utility, Listed(np.array([[0.0], [1.0]])))
    return drawn[:, 0]


def _vectors(columns: Mapping[str, Any], public: Any) -> np.ndarray:
    return np.asarray(columns["x"].values, np.float64)[:, None]
