"""`merf`: DP-MERF, the mean of random Fourier features per class and a generator fitted to it by least squares.

For images these are waves of all pixels. For mixed tables they are the waves of the numbers beside one-hot labels:
second and higher orders between labels are not seen (Harder, Adamczewski, Park: DP-MERF, AISTATS 2021; specs/pearl.md
8). Its frequencies have unit scale, or with `scale="bought"` the one that PEARL pays for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, silent
from nacre.synthesizers.options import MOST_STEPS, given, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import embedding, fourier
from nacre.synthesizers.pearl.config import Embedding, TrainingConfig
from nacre.table import Schema

TABLES, IMAGES = (2000, 1100), (6000, 100)  # steps, rows per step


@dataclass(frozen=True)
class Merf(embedding.FromEmbedding):
    """`scale`: a public number (1, as in the comparison of the PEARL paper), or "bought". `batch`: rows per step.
    Settings that are None: 2,000 steps of 1,100 rows for tables; for images those of PEARL, 6,000 of 100."""

    name: ClassVar[str] = "merf"

    steps: int | None = whole(None, most=MOST_STEPS)
    batch: int | None = whole(None)
    scale: str | float = given(1.0, read=embedding.checked_scale)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = Layout.of(schema, self.target, self.name, pieces=True)
        size = (2 * self.frequencies if layout.count else 0) + layout.edges[-1]
        norm = math.sqrt(bool(layout.count) + bool(layout.blocks)) or 1.0
        wanted = embedding.Wanted(max(size, 1), norm, self.scale)
        return embedding.plan(self.name, layout, rows, budget, before, wanted)

    def buy(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Embedding:
        """Open the doors: the noisy mean features of every class."""
        layout = Layout.of(curator.schema, self.target, self.name, pieces=True)

        def frequencies(scale: float) -> np.ndarray:
            return fourier.frequencies(self.frequencies, layout.count, scale, (1.0,), seed)

        waves = embedding.Waves(frequencies, fourier.mixed_map(layout))
        return embedding.buy(curator, plan, layout, self.scale, waves, progress)

    def config(self, layout: Layout) -> TrainingConfig:
        steps, batch = TABLES if layout.image is None else IMAGES
        return TrainingConfig(
            numbers=layout.count,
            blocks=tuple(size for _, size in layout.blocks),
            classes=layout.classes,
            outputs="exact",
            kind="mixed",
            batch=batch if self.batch is None else self.batch,
            steps=steps if self.steps is None else self.steps,
            every=0,
            picture=layout.picture,
        )
