"""`merf`: DP-MERF, the mean of random Fourier features per class and a generator fitted to it by least squares.

For mixed tables the features are the waves of the numbers beside one-hot labels: second and higher orders between
labels are not seen (Harder, Adamczewski, Park: DP-MERF, AISTATS 2021; specs/pearl.md 8). Its frequencies have unit
scale, or with `scale="bought"` the one that PEARL pays for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, check_whole, silent
from nacre.synthesizers.pearl import embedding, fourier
from nacre.synthesizers.pearl.layout import Layout
from nacre.synthesizers.pearl.network_model import NetworkModel
from nacre.table import Schema


@dataclass(frozen=True)
class Merf:
    """`scale`: a public number (1, as in the comparison of the PEARL paper), or "bought". `batch`: rows per step."""

    name: ClassVar[str] = "merf"
    model: ClassVar[type[NetworkModel]] = NetworkModel

    target: str | None = None
    frequencies: int = 1000
    steps: int = 2000
    batch: int = 1100
    scale: str | float = 1.0

    def __post_init__(self) -> None:
        check_whole(self, "frequencies", "steps", "batch")
        embedding.check_scale(self.scale)

    def supports(self, schema: Schema) -> None:
        embedding.supports(self, schema)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = Layout.of(schema, self.target, self.name)
        size = (2 * self.frequencies if layout.numbers else 0) + layout.edges[-1]
        norm = math.sqrt(bool(layout.numbers) + bool(layout.blocks)) or 1.0
        return embedding.plan(self.name, layout, rows, budget, before, (max(size, 1), norm), self.scale)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> NetworkModel:
        import jax

        from nacre.synthesizers.pearl.training import Embedding, Game, train

        layout = Layout.of(curator.schema, self.target, self.name)
        progress("counting classes", 0, None)
        shares, rows = embedding.class_shares(curator, plan, layout)
        scale = embedding.frequency_scale(self.scale, curator, plan, layout, rows)
        t = fourier.frequencies(self.frequencies, len(layout.numbers), scale, (1.0,), seed)
        progress("summing features", 0, None)
        public = fourier.public_parameters(layout, t)
        value, noise = embedding.embed(curator, plan, fourier.mixed_map(layout), public, rows)
        blocks = tuple(size for _, size in layout.blocks)
        game = Game(len(layout.numbers), blocks, layout.classes, "exact", "mixed", self.batch, self.steps, 0)
        key = jax.random.key(seed)
        net = train(Embedding(value, noise, shares, t), game, key, lambda done, of: progress("training", done, of))
        return NetworkModel(layout, net, shares, False, plan.rows or round(rows))
