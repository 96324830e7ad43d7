"""A curator for audits: it runs on one of two made-up neighbouring tables and knows the exact answers of both.

Every noisy answer moves the log-likelihood ratio "second table" against "first table": the best test there is, for
somebody who sees everything that leaves the curator and knows all rows but one. No private row ever comes here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.audit import shadow_teachers
from nacre.audit.gradients import Watched
from nacre.audit.rooms import MadeUpRoom
from nacre.engines import MemoryRows
from nacre.privacy.noise import NoiseSource
from nacre.privacy.training import stream
from nacre.privacy.training.teaching import Teaching

if TYPE_CHECKING:
    from nacre.privacy.plan import Plan, Sample, Select, Teach, Total
    from nacre.privacy.room import Room
    from nacre.table import Schema

UNSEEN = 50.0  # log-likelihood ratio of an answer that is impossible in one of the worlds

# Doors whose answers a `RatioRoom` weighs.
WEIGHED = ("counts", "bounds", "categories", "total", "select", "sample", "descend", "teach")


class Enough(Exception):
    """All planned doors were opened: what follows is post-processing and tells no more."""


class NoNoise(NoiseSource):
    """Words for which every rounded Gaussian is 0: a room with this source answers exactly. For made-up tables only."""

    def __init__(self) -> None:
        super().__init__(0)

    def bits64(self, n: int) -> np.ndarray:
        return np.full(n, 2**64 - 2**13, dtype=np.uint64)


class RatioRoom(MadeUpRoom):
    """Answers from `tables[world]`; `ratio` is the log-likelihood ratio of everything answered so far.

    `early`: raise `Enough` once all entries are spent. Constants that do not depend on what was drawn are left out of
    the ratio of Markov chains, so that its zero means nothing there.
    """

    def __init__(
        self,
        tables: tuple[Any, Any],
        world: int,
        plan: Plan,
        schema: Schema,
        noise: NoiseSource | None = None,
        early: bool = False,
    ):
        self._rooms: tuple[MadeUpRoom, ...] = ()
        super().__init__(MemoryRows(tables[world]), plan, schema, noise)
        self._tables, self._world = tables, world
        self._divided_by: Any = None
        self._rooms = tuple(MadeUpRoom(MemoryRows(t), plan, schema, NoNoise()) for t in tables)
        self._early, self._names = early, {e.name for e in plan.entries}
        self._scales: Sequence[float] = ()
        self.ratio = 0.0

    def adopt(self, schema: Schema) -> None:
        super().adopt(schema)
        for room in self._rooms:
            room.adopt(schema)

    # ---------------------------------------------------------------------------------------------------------- doors

    def counts_together(self, asked: Any, groups: Any = None) -> list[list[np.ndarray]]:
        """What `counts` opens too."""
        noisy = super().counts_together(asked, groups)
        exact = [room.counts_together(asked, groups) for room in self._rooms]
        parts = zip(asked, noisy, *exact)
        return self._seen(noisy, sum(self._normal(a, (none, one), e.sigmas) for (e, _), a, none, one in parts))

    def bounds(self, entry: Any, probes: Mapping[str, str]) -> dict[str, np.ndarray]:
        noisy = super().bounds(entry, probes)
        scales = self._scales
        exact = [list(room.bounds(entry, probes).values()) for room in self._rooms]
        return self._seen(noisy, self._normal(list(noisy.values()), exact, scales))

    def categories(self, entry: Any, columns: Sequence[str]) -> dict[str, dict[str, int]]:
        found = super().categories(entry, columns)
        return self._seen(
            found, sum(self._texts(c, found[c], s, entry.threshold) for c, s in zip(columns, self._scales))
        )

    def total(self, entry: Total, features: Any, public: Any = None) -> np.ndarray:
        noisy = super().total(entry, features, public)
        exact = [[_summed(room, entry, features, public)] for room in self._rooms]
        return self._seen(noisy, self._normal([noisy], exact, (entry.sigma,)))

    def select(self, entry: Select, score: Any, allowed: Any = None) -> list[int]:
        picks = super().select(entry, score, allowed)
        rate = entry.epsilon / score.loss_range(self._plan.scope)
        weights = [rate * score.totals(room) for room in self._rooms]
        free, ratio = np.ones(len(weights[0]), bool), 0.0
        for place, pick in enumerate(picks):
            open_ = free & allowed(picks[:place]) if allowed else free
            ratio += _log_chance(weights[1], pick, open_) - _log_chance(weights[0], pick, open_)
            free[pick] = False
        return self._seen(picks, ratio)

    def sample(self, entry: Sample, utility: Any, sampler: Any) -> np.ndarray:
        drawn = super().sample(entry, utility, sampler)
        rate = entry.epsilon / (utility.span * self._plan.scope.sum)
        points = drawn.reshape(-1, drawn.shape[-1])
        each = len(points) / len(drawn)  # a set of several points is worth the mean of theirs
        worth = [_worth(room, utility, points) for room in self._rooms]
        return self._seen(drawn, rate * (worth[1] - worth[0]) / each)

    def descend(self, entry: Any, query: Any, state: Any, update: Any, **settings: Any) -> Any:
        watched = Watched.of(entry, query, update, self._rooms[1], settings, last=True)
        told = super().descend(entry, watched.query, watched.start(state), watched.update, **settings)
        return self._seen(told["inner"], float(told["ratios"][0]))

    def teach(self, entry: Teach, lesson: Any, state: Any, update: Any, **settings: Any) -> Any:
        self._divided_by = stream.draw_key(self._noise)
        job = Teaching(entry, lesson, update)
        watched, start = shadow_teachers.of_worlds(job, state, self._rooms, self._divided_by, settings, self._world)
        told = super().teach(entry, watched.inner, start, watched.watching, **settings)
        return self._seen(told["inner"], float(told["ratios"][0]))

    # ------------------------------------------------------------------------------------------------- inside the room

    def _open(self, entry: Any, kinds: Any, columns: Any = None) -> Sequence[float]:
        self._scales = super()._open(entry, kinds, columns)
        return self._scales

    def _division(self) -> Any:
        return self._divided_by

    def _seen(self, answer: object, ratio: float) -> Any:
        self.ratio += float(ratio)
        if self._early and self._names <= self.opened and not self._by_columns():
            raise Enough
        return answer

    def _by_columns(self) -> bool:
        return any(spent is not None for spent in self._opened.values())

    @staticmethod
    def _normal(noisy: Sequence[np.ndarray], exact: Sequence[Sequence[np.ndarray]], sigmas: Sequence[float]) -> float:
        """Σ ((a − e₀)² − (a − e₁)²)/2σ²."""
        found = 0.0
        for a, none, one, sigma in zip(noisy, *exact, sigmas):
            gap = (one - none) / sigma
            found += float((gap * ((a - none) / sigma - gap / 2)).sum())
        return found

    def _texts(self, column: str, passed: Mapping[str, int], sigma: float, threshold: int) -> float:
        from scipy.special import log_ndtr

        counts = [_counted(table, column) for table in self._tables]
        found = 0.0
        for text in {*counts[0], *counts[1]}:
            have = [c.get(text, 0) for c in counts]
            if have[0] == have[1]:
                continue
            if text in passed:
                logs = [-0.5 * ((passed[text] - n) / sigma) ** 2 if n else -np.inf for n in have]
            else:
                logs = [log_ndtr((threshold - 0.5 - n) / sigma) if n else 0.0 for n in have]
            found += float(np.clip(logs[1] - logs[0], -UNSEEN, UNSEEN))
        return found


def _log_chance(weights: np.ndarray, pick: int, open_: np.ndarray) -> float:
    from scipy.special import logsumexp

    return float(weights[pick] - logsumexp(weights[open_]))


def _worth(room: Room, utility: Any, points: np.ndarray) -> float:
    """Σ over records and points of the clipped utility."""
    from nacre.privacy.doors.sample import STEPS
    from nacre.privacy.passes import feature_sums

    total = 0.0
    for encoded, rows in room._encoded():
        for vectors in feature_sums.record_vectors(utility.vectors, encoded, rows):
            total += float((utility.low + utility.span / STEPS * utility.steps(vectors, points)).sum())
    return total


def _summed(room: Any, entry: Any, features: Any, public: Any) -> np.ndarray:
    """The exact sum of clipped features; the door has checked the map."""
    from nacre.privacy.passes import feature_sums

    found = [feature_sums.integer_sum(features, public, encoded, rows, entry) for encoded, rows in room._encoded()]
    return feature_sums.grid_step(entry) * np.sum(found, axis=0)


def _counted(table: Any, column: str) -> dict[str, int]:
    import pyarrow.compute as pc

    found = pc.value_counts(table[column].drop_null().cast("string")).to_pylist()
    return {f["values"]: f["counts"] for f in found}
