"""`pearl-paper`: the published configuration of PEARL for tables (Liew, Takahashi, Ueno: PEARL, ICLR 2022).

Gaussian frequencies of the whole record, one noisy characteristic function per class, a generator with batch norm
trained against the critic, probabilities in place of categories and the largest one when sampling. Where the paper's
privacy or statistics do not hold, the corrections of specs/pearl.md 9 are applied: analytic noise, μ² split, moments
instead of all pairs for the scale, sigmoid outputs, debiased loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, check_whole, silent
from nacre.synthesizers.pearl import embedding, fourier
from nacre.synthesizers.pearl.layout import Layout
from nacre.synthesizers.pearl.network_model import NetworkModel
from nacre.table import Schema

OUTPUTS = ("exact", "straight-through", "soft")


@dataclass(frozen=True)
class PearlPaper:
    """`outputs`: "soft" (the paper's), "straight-through" or "exact" (expectation over categories). `critic`: generator
    steps per step of the critic, 0 for none. `scale`: "bought", or a public number (standard deviation of the
    frequencies). `spread`: factors of that scale, mixed in equal parts. `batch`: rows per step, all classes."""

    name: ClassVar[str] = "pearl-paper"
    model: ClassVar[type[NetworkModel]] = NetworkModel

    target: str | None = None
    frequencies: int = 1000
    steps: int = 8000
    batch: int = 1100
    critic: int = 10
    outputs: str = "soft"
    scale: str | float = "bought"
    spread: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        check_whole(self, "frequencies", "steps", "batch")
        embedding.check_scale(self.scale)
        if isinstance(self.critic, bool) or not isinstance(self.critic, int) or self.critic < 0:
            raise NacreError(f"critic={self.critic!r}: expected a whole number of steps, 0 for none")
        if self.outputs not in OUTPUTS:
            raise NacreError(f"outputs={self.outputs!r}: expected one of {', '.join(OUTPUTS)}")
        spread = tuple(self.spread)
        if not spread or not all(isinstance(s, int | float) and 0 < s < float("inf") for s in spread):
            raise NacreError(f"spread={self.spread!r}: expected factors above 0")
        object.__setattr__(self, "spread", spread)

    def supports(self, schema: Schema) -> None:
        embedding.supports(self, schema)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = Layout.of(schema, self.target, self.name)
        return embedding.plan(self.name, layout, rows, budget, before, (2 * self.frequencies, 1.0), self.scale)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> NetworkModel:
        import jax

        from nacre.synthesizers.pearl.training import Embedding, Game, train

        layout = Layout.of(curator.schema, self.target, self.name)
        progress("counting classes", 0, None)
        shares, rows = embedding.class_shares(curator, plan, layout)
        scale = embedding.frequency_scale(self.scale, curator, plan, layout, rows)
        t = fourier.frequencies(self.frequencies, layout.width, scale, self.spread, seed)
        progress("summing the characteristic function", 0, None)
        public = fourier.public_parameters(layout, t)
        value, noise = embedding.embed(curator, plan, fourier.cosine_map(layout), public, rows)
        value = _projected(value, shares)
        blocks = tuple(size for _, size in layout.blocks)
        game = Game(
            len(layout.numbers), blocks, layout.classes, self.outputs, "waves", self.batch, self.steps, self.critic
        )
        key = jax.random.key(seed)
        net = train(Embedding(value, noise, shares, t), game, key, lambda done, of: progress("training", done, of))
        return NetworkModel(layout, net, shares, self.outputs == "soft", plan.rows or round(rows))


def _projected(value: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """|Phi_c(t)| can be no larger than the share of the class (specs/pearl.md E6); value [classes, 2k] with norm 1."""
    k = value.shape[1] // 2
    size = np.hypot(value[:, :k], value[:, k:])
    keep = np.minimum(1.0, shares[:, None] * k**-0.5 / np.maximum(size, 1e-300))
    return value * np.concatenate([keep, keep], axis=1)
