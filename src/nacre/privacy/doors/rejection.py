"""Exact exponential mechanisms on a continuous space by rejection, for the door `sample`.

A candidate is drawn from a public law π and kept with probability exp(−rate·lost), lost = Σ_records (high − utility),
in whole steps and never negative. Before every candidate a public coin of chance 1/patience may end the search; then a
fresh draw from π comes out. That is the exponential mechanism on the candidates and one more outcome, "ended", whose
utility is the highest there is: the same bound on privacy loss, no δ, whatever the number of rows
(docs/proofs/rejection.md). How long the search took is a fact about the rows: it goes to the owner alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.doors.sample import STEPS, Batches, Sample, Utility
from nacre.privacy.noise import NoiseSource, survives
from nacre.privacy.passes import feature_sums
from nacre.privacy.passes.captured import refuse_captured

BLOCK = 16  # candidates whose utilities are computed together


@dataclass(frozen=True)
class Rejection:
    """Candidates from `prior(rng, count) -> [count, width]`, a public law that sees no record."""

    prior: Callable[[np.random.Generator, int], np.ndarray]
    width: int
    patience: int = 10_000
    exact = True

    def check(self, entry: Sample, utility: Utility) -> None:
        if utility.weight:
            raise PlanError(f"entry {entry.name!r}: rejection takes its public law as `prior`, not as `between`")
        if entry.moves:
            raise PlanError(f"entry {entry.name!r}: planned for chains, but draws by rejection are exact; plan moves=0")
        if isinstance(self.patience, bool) or not isinstance(self.patience, int) or self.patience < 1:
            raise PlanError(f"entry {entry.name!r}: patience {self.patience!r}; expected a whole number, 1 or more")
        refuse_captured(self.prior, (), f"entry {entry.name!r}, prior")

    def describe(self) -> dict[str, Any]:
        return {"rejection": self.width, "patience": self.patience}

    def draw(
        self, utility: Utility, batches: Batches, rate: float, entry: Sample, noise: NoiseSource
    ) -> tuple[np.ndarray, dict[str, Any]]:
        vectors = [v for encoded, rows in batches for v in feature_sums.record_vectors(utility.vectors, encoded, rows)]
        found = [self._one(utility, vectors, rate * utility.span / STEPS, noise) for _ in range(entry.draws)]
        return np.stack([f[0] for f in found]), {"tried": [f[1] for f in found], "accepted": [f[2] for f in found]}

    def _candidate(self, noise: NoiseSource) -> np.ndarray:
        """One draw from π with a key of its own: what comes out tells nothing of the candidates before it."""
        return self.prior(np.random.Generator(np.random.Philox(key=noise.bits64(2))), 1)[0]

    def _one(
        self, utility: Utility, vectors: list[np.ndarray], rate: float, noise: NoiseSource
    ) -> tuple[np.ndarray, int, bool]:
        """(the draw, candidates tried, whether one of them was kept)."""
        tried = 0
        while True:
            points = np.stack([self._candidate(noise) for _ in range(BLOCK)])
            lost = sum((STEPS - utility.steps(v, points)).sum(axis=0) for v in vectors) + np.zeros(BLOCK, np.int64)
            for point, gap in zip(points, lost):
                if _ends(self.patience, noise):
                    return self._candidate(noise), tried, False
                tried += 1
                if survives(int(gap), rate, noise):
                    return point, tried, True


def _ends(patience: int, noise: NoiseSource) -> bool:
    """True with a chance of 1/patience up to 2⁻⁶⁴; the chance is public, so its exact value does not matter."""
    return int(noise.bits64(1)[0]) < 2**64 // patience
