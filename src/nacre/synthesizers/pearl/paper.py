"""`pearl-paper`: the published configuration of PEARL for tables and images (Liew, Takahashi, Ueno: PEARL, ICLR 2022).

Gaussian frequencies of the whole record, one noisy characteristic function per class, a generator with batch norm
trained against the critic, probabilities in place of categories and the largest one when sampling. Where the paper's
privacy or statistics do not hold, the corrections of specs/pearl.md 9 are applied: analytic noise, μ² split, moments
instead of all pairs for the scale, sigmoid outputs, debiased loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, silent
from nacre.synthesizers.options import MOST_STEPS, expect, given, is_number, is_whole, one_of, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import embedding, fourier
from nacre.synthesizers.pearl.config import Embedding, TrainingConfig
from nacre.table import Schema

OUTPUTS = ("exact", "straight-through", "soft")
TABLES, IMAGES = (8000, 1100, 10), (6000, 100, 5)  # steps, rows per step, generator steps per step of the critic


def _checked_critic(name: str, steps: int | None) -> int | None:
    expect(steps is None or (is_whole(steps) and steps >= 0), name, steps, "a whole number of steps, 0 for none")
    return steps


def _checked_spread(name: str, factors: Sequence[float]) -> tuple[float, ...]:
    good = len(factors) > 0 and all(is_number(f) and f > 0 for f in factors)
    expect(good, name, factors, "factors above 0")
    return tuple(factors)


@dataclass(frozen=True)
class PearlPaper(embedding.FromEmbedding):
    """`outputs`: "soft" (the paper's), "straight-through" or "exact" (expectation over categories). `critic`: generator
    steps per step of the critic, 0 for none. `scale`: "bought", or a public number (standard deviation of the
    frequencies). `spread`: factors of that scale, mixed in equal parts. `batch`: rows per step, all classes.
    Settings that are None follow the paper: 8,000 steps of 1,100 rows with a critic every 10 for tables, 6,000 of 100
    with a critic every 5 for images."""

    name: ClassVar[str] = "pearl-paper"

    steps: int | None = whole(None, most=MOST_STEPS)
    batch: int | None = whole(None)
    critic: int | None = given(None, "whole", _checked_critic)
    outputs: str = one_of("soft", OUTPUTS)
    scale: str | float = given("bought", read=embedding.checked_scale)
    spread: tuple[float, ...] = given((1.0,), "list", _checked_spread)

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        if Layout.of(schema, self.target, self.name, pieces=True).image is not None and self.outputs != OUTPUTS[-1]:
            raise NacreError(f"outputs={self.outputs!r}: says how categories are made, and images have none; leave it")

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = Layout.of(schema, self.target, self.name, pieces=True)
        wanted = embedding.Wanted(2 * self.frequencies, 1.0, self.scale)
        return embedding.plan(self.name, layout, rows, budget, before, wanted)

    def buy(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Embedding:
        """Open the doors: the noisy characteristic function of every class, projected to what is possible."""
        layout = Layout.of(curator.schema, self.target, self.name, pieces=True)

        def frequencies(scale: float) -> np.ndarray:
            return fourier.frequencies(self.frequencies, layout.width, scale, self.spread, seed)

        waves = embedding.Waves(frequencies, fourier.cosine_map(layout))
        bought = embedding.buy(curator, plan, layout, self.scale, waves, progress)
        return bought._replace(value=_projected(bought.value, bought.shares))

    def config(self, layout: Layout) -> TrainingConfig:
        steps, batch, critic = TABLES if layout.image is None else IMAGES
        return TrainingConfig(
            numbers=layout.count,
            blocks=tuple(size for _, size in layout.blocks),
            classes=layout.classes,
            outputs=self.outputs,
            kind="waves",
            batch=batch if self.batch is None else self.batch,
            steps=steps if self.steps is None else self.steps,
            every=critic if self.critic is None else self.critic,
            picture=layout.picture,
            spread=self.spread,
        )


def _projected(value: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """|Phi_c(t)| can be no larger than the share of the class (specs/pearl.md E6); value [classes, 2k] with norm 1."""
    k = value.shape[1] // 2
    size = np.hypot(value[:, :k], value[:, k:])
    keep = np.minimum(1.0, shares[:, None] * k**-0.5 / np.maximum(size, 1e-300))
    return value * np.concatenate([keep, keep], axis=1)
