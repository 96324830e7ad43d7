"""Many canaries in one run: the f-DP form of the bound, and canaries scored by what leaves the curator.

Steinke, Nasr & Jagielski (2023) bound ε (`bounds.one_run_epsilon`). Mahloujifar, Melis & Chaudhuri (2024, "Auditing
f-differential privacy in one run") bound a whole trade-off curve; here the curve of a Gaussian mechanism, with one
number μ.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.audit import shadow_teachers
from nacre.audit.bounds import _largest
from nacre.audit.gradients import Watched
from nacre.audit.rooms import MadeUpRoom
from nacre.engines import MemoryRows
from nacre.errors import NacreError
from nacre.privacy.passes import feature_sums
from nacre.privacy.training import unit_arrays
from nacre.privacy.training.teaching import Teaching

if TYPE_CHECKING:
    from nacre.privacy.plan import Plan, Teach, Total
    from nacre.table import Schema

SCORED = ("counts", "total", "descend", "teach")  # doors whose answers `CanaryRoom` looks at


def one_run_mu(canaries: int, guesses: int, right: int, alpha: float = 0.05) -> float:
    """The largest μ for which μ-GDP is refuted at level `alpha` by `right` of `guesses` right guesses; 0 if none is."""
    if not 0 <= right <= guesses <= canaries or guesses == 0:
        raise NacreError(
            f"one-run audit: {right} right of {guesses} guesses on {canaries} canaries; expected "
            "0 <= right <= guesses <= canaries and at least one guess"
        )
    return _largest(lambda mu: refutes_gdp(canaries, guesses, right, mu, alpha))


def refutes_gdp(m: int, guesses: int, right: int, mu: float, alpha: float) -> bool:
    """Whether μ-GDP leaves so many right guesses a chance below `alpha` (Algorithm 3 of Mahloujifar et al.).

    r and h are masses, per canary, of the events "right in a run with at least i right" and "wrong in one". If the tail
    P[at least `right`] were `alpha`, its share right would be r = alpha·right/m; going down one count at a time, the
    trade-off curve f̄⁻¹(r) = Φ(Φ⁻¹(r) − μ) forces h, and with it r, upwards. More mass than guesses/m cannot be.
    """
    from scipy.special import ndtr, ndtri

    r, h = alpha * right / m, alpha * (guesses - right) / m
    for i in range(right - 1, -1, -1):
        wanted = float(ndtr(ndtri(min(r, 1.0)) - mu))
        if wanted <= h:
            break
        r, h = min(1.0, r + i / (guesses - i) * (wanted - h)), wanted
    return r + h > guesses / m


def guess(scores: np.ndarray, present: np.ndarray, each: int) -> tuple[int, int]:
    """(guesses, right): the `each` highest scores are called in, the `each` lowest out, the rest left alone."""
    if not 1 <= each <= len(scores) // 2:
        raise NacreError(f"{each} guesses on each side of {len(scores)} canaries; expected 1 to half of them")
    order = np.argsort(scores, kind="stable")
    return 2 * each, int(present[order[-each:]].sum() + (~present[order[:each]]).sum())


def coins(count: int, seed: int | None = None) -> np.ndarray:
    """Fair coins that say which canaries are in, from the operating system: the bound rests on nobody knowing them.

    A `seed` makes them known to whoever knows it: for tests of an audit, whose findings then bound nothing.
    """
    if seed is not None:
        return np.random.default_rng([seed, 7]).random(count) < 0.5
    return np.unpackbits(np.frombuffer(os.urandom((count + 7) // 8), np.uint8), count=count).astype(bool)


def firsts(rows: int, group: int, seed: int) -> np.ndarray:
    """The place of the first record of every group of the door `descend`."""
    return unit_arrays.groups_of(rows, group, seed)[:, 0]


class CanaryRoom(MadeUpRoom):
    """A curator that scores canaries by the answers of `counts`, `total`, `descend` and `teach`: Σ ⟨answer,
    contribution⟩/σ².

    `scored` says whether such a door was opened; a method without one is scored by its synthetic rows.
    """

    def __init__(self, table: Any, canaries: Any, plan: Plan, schema: Schema, noise: Any = None):
        self._room: MadeUpRoom | None = None
        super().__init__(MemoryRows(table), plan, schema, noise)
        self._room = MadeUpRoom(MemoryRows(canaries), plan, schema, noise)
        self.scores = np.zeros(canaries.num_rows)
        self.scored = False

    def adopt(self, schema: Schema) -> None:
        super().adopt(schema)
        if self._room is not None:
            self._room.adopt(schema)

    def counts_together(self, asked: Any, groups: Any = None) -> list[list[np.ndarray]]:
        """What `counts` opens too."""
        noisy = super().counts_together(asked, groups)
        assert self._room is not None
        found = [x for (e, cliques), answer in zip(asked, noisy) for x in zip(map(tuple, cliques), answer, e.sigmas)]
        found = [(clique, table, sigma) for clique, table, sigma in found if clique]
        if not found:
            return noisy  # the number of rows tells canaries apart by nothing
        legal = self._groups([clique for clique, _, _ in found], groups)
        parts = [{n: legal[n][codes[n]] for n in legal} for codes, _ in self._room._coded()]
        codes = {n: np.concatenate([p[n] for p in parts]) for n in legal}
        for clique, table, sigma in found:
            cells = [codes[c] for c in clique]
            there = np.all([c >= 0 for c in cells], axis=0)
            self.scores += np.where(there, table[tuple(np.maximum(c, 0) for c in cells)], 0.0) / sigma**2
        self.scored = True
        return noisy

    def total(self, entry: Total, features: Any, public: Any = None) -> np.ndarray:
        noisy = super().total(entry, features, public)
        assert self._room is not None
        step, start = feature_sums.grid_step(entry), 0
        for encoded, rows in self._room._encoded():
            for vectors in feature_sums.record_vectors(lambda c: features(c, public), encoded, rows):
                for row in vectors:
                    one = np.zeros(feature_sums.shape(entry), np.int64)
                    feature_sums._add(row[None], entry, one)
                    self.scores[start] += float((one * step * noisy).sum()) / entry.sigma**2
                    start += 1
        self.scored = True
        return noisy

    def descend(self, entry: Any, query: Any, state: Any, update: Any, **settings: Any) -> Any:
        assert self._room is not None
        watched = Watched.of(entry, query, update, self._room, settings)
        told = super().descend(entry, watched.query, watched.start(state), watched.update, **settings)
        ratios = np.asarray(told["ratios"], np.float64)
        if entry.group > 1:  # the first of a group stands for it
            self.scores[firsts(len(self.scores), entry.group, settings.get("seed", 0))] += ratios
        else:
            self.scores += ratios
        self.scored = True
        return told["inner"]

    def teach(self, entry: Teach, lesson: Any, state: Any, update: Any, **settings: Any) -> Any:
        assert self._room is not None
        watched, start = shadow_teachers.of_canaries(Teaching(entry, lesson, update), state, self._room, settings)
        told = super().teach(entry, watched.inner, start, watched.watching, **settings)
        self.scores += np.asarray(told["ratios"], np.float64)
        self.scored = True
        return told["inner"]
