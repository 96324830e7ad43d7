"""What `pearl-paper` and `merf` share: three releases (class shares, frequency scale, embedding), their prices, and the
network trained on them.

μ² is split, not ε (specs/pearl.md E1): a small fixed share buys the class counts, a share the frequency scale, and
the rest the embedding. The frequencies depend on the scale's noisy answer, which is public by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Total, gaussian_share
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.basis import FromSum, bought_sum
from nacre.synthesizers.options import MOST_FREQUENCIES, expect, is_number, whole
from nacre.synthesizers.parts.grouping import simplex
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import fourier
from nacre.synthesizers.pearl.config import Embedding, TrainingConfig
from nacre.synthesizers.pearl.network_model import NetworkModel
from nacre.table import Schema

CLASSES = 0.02  # of μ²
SCALE = 0.1  # of μ², where the frequency scale is bought (specs/pearl.md E1)


class Wanted(NamedTuple):
    """What is to be bought: an embedding of `size` numbers a class, in which a record has this `norm`, at a frequency
    scale that is "bought", too, or a public number."""

    size: int
    norm: float
    scale: str | float


def plan(
    method: str, layout: Layout, rows: int | None, budget: Budget, before: tuple[Entry, ...], wanted: Wanted
) -> Plan:
    """Entries `classes` (not without a target and with a known number of rows), `scale` (where it is bought) and
    `embedding`."""
    schema = layout.schema
    scope = scope_of(schema, budget)
    mu2 = gaussian_share(budget, scope, before)
    size, norm, scale = wanted
    class_share, scale_share = CLASSES if layout.target or not rows else 0.0, SCALE if scale == "bought" else 0.0

    def noise(share: float) -> float:
        return scope.sum / scope.table / math.sqrt(share * mu2)

    entries: list[Entry] = []
    if class_share:
        clique = () if layout.target is None else (layout.target,)
        entries.append(Counts("classes", sigmas=(1 / math.sqrt(class_share * mu2),), cliques=(clique,)))
    if scale_share:
        entries.append(Total("scale", size=fourier.moment_size(layout), sigma=noise(scale_share), exact=False))
    rest = 1 - class_share - scale_share
    entries.append(
        Total("embedding", size=size, bound=norm, sigma=norm * noise(rest), exact=False, parts=layout.classes)
    )
    return Plan(method, (*before, *entries), budget, scope.cap, rows)


def class_shares(curator: Curator, plan: Plan, layout: Layout) -> tuple[np.ndarray, float]:
    """Shares of the classes (one class without a target) and the number of rows, declared or bought."""
    if layout.target is None and plan.rows:
        return np.ones(1), float(plan.rows)
    entry = plan["classes"]
    counts = np.atleast_1d(curator.counts(entry, entry.cliques)[0]).astype(np.float64).ravel()
    rows = float(plan.rows or max(1.0, counts.sum()))
    return simplex(counts / max(counts.sum(), 1.0), 1.0), rows


def frequency_scale(scale: str | float, curator: Curator, plan: Plan, layout: Layout, rows: float) -> float:
    """The public number, or 1 over the root mean squared distance of two records, from clipped moments (E1, 12)."""
    if scale != "bought":
        return float(scale)
    entry = plan["scale"]
    sums = curator.total(entry, fourier.moment_map(layout), fourier.public_parameters(layout))
    return 1.0 / fourier.mean_distance(layout, sums, rows, entry.sigma)


def buy(
    curator: Curator, plan: Plan, layout: Layout, scale: str | float, waves: Waves, progress: Progress
) -> Embedding:
    """Open the doors of the plan. All that follows is post-processing of what comes back."""
    progress("counting classes", 0, None)
    shares, rows = class_shares(curator, plan, layout)
    t = waves.frequencies(frequency_scale(scale, curator, plan, layout, rows))
    progress("summing features", 0, None)
    entry = plan["embedding"]
    answer = np.atleast_2d(curator.total(entry, waves.features, fourier.public_parameters(layout, t)))
    return Embedding(answer / rows, entry.sigma / rows, shares, t, plan.rows or round(rows))


class Waves(NamedTuple):
    """How a method turns records to features: frequencies for a bought or public scale, and the map."""

    frequencies: Callable[[float], np.ndarray]
    features: Callable[[Any, Any], np.ndarray]


def trained(
    bought: Embedding, layout: Layout, config: TrainingConfig, seed: int, progress: Progress = silent
) -> NetworkModel:
    """The network fitted to what was bought."""
    import jax

    from nacre.synthesizers.pearl.training import train

    net = train(bought, config, jax.random.key(seed), lambda done, of: progress("training", done, of))
    return NetworkModel(layout, net, bought.shares, config.outputs == "soft", int(bought.rows))


@dataclass(frozen=True)
class FromEmbedding(Synthesizer):
    """A method that buys an embedding and trains a network on it. `frequencies`: k of the embedding."""

    model: ClassVar[type[NetworkModel]] = NetworkModel

    frequencies: int = whole(1000, most=MOST_FREQUENCIES)

    def config(self, layout: Layout) -> TrainingConfig:
        raise NotImplementedError

    def buy(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Embedding:
        raise NotImplementedError

    def supports(self, schema: Schema) -> None:
        """A declared schema of single values, or of images and their label; at least two rows of every class in a
        batch."""
        if not schema.modelled:
            raise SchemaError("the schema has no column to model: all are identifiers or follow from others")
        layout = Layout.of(schema, self.target, self.name, pieces=True)
        if not layout.width:
            raise SchemaError(
                f"target {self.target!r} is the only column to model, and method {self.name!r} learns the others given "
                "it; leave the target out, or use method 'independent'"
            )
        batch = self.config(layout).batch
        if batch < 2 * layout.classes:
            raise NacreError(f"batch={batch}: expected at least two rows for each of {layout.classes} classes")

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromSum:
        config = self.config(Layout.of(schema, self.target, self.name))
        return FromSum(bought_sum(plan), waves=config.steps * config.batch * self.frequencies)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> NetworkModel:
        layout = Layout.of(curator.schema, self.target, self.name, pieces=True)
        return trained(self.buy(curator, plan, seed, progress), layout, self.config(layout), seed, progress)


def checked_scale(name: str, scale: Any) -> str | float:
    good = scale == "bought" or (is_number(scale) and scale > 0)
    expect(good, name, scale, "'bought' or a number above 0, chosen without the table")
    return scale
