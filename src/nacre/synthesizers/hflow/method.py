"""`hflow`: a normalizing flow of the table, trained by DP-SGD; our form of DP-HFlow.

Half of the budget buys noisy tables of pairs, as `sketch` does; rows drawn from them set how wide the cells of every
axis are and teach the flow before DP-SGD does (`warm`). The network reads labels one-hot as well; the weights are
averaged over the steps. `hflow-paper` is the same without these (specs/dphflow.md 3, 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.nets.flow_shape import ACTIVATIONS, LINEAR, MOST_BINS, MOST_BOUND, MOST_SIZE, Shape
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import CLIPPINGS, Descend, Entry, Part, Plan
from nacre.synthesizers.base import Progress, Synthesizer, chance, scope_of, silent
from nacre.synthesizers.basis import FromRows
from nacre.synthesizers.hflow import warm
from nacre.synthesizers.hflow.axes import ENCODINGS, Axes
from nacre.synthesizers.hflow.model import DEQUANTISATIONS, SPACES, FlowModel, objective_of
from nacre.synthesizers.options import MOST_STEPS, one_of, positive, share, truth, whole
from nacre.synthesizers.parts import one_way
from nacre.table import Schema

TRIED = 64  # rows drawn from a flow before it is handed out
DECAYS = ("constant", "cosine")


@dataclass(frozen=True)
class Hflow(Synthesizer):
    """Hyperparameters; how they were set: docs/methods/hflow.md.

    The flow: `blocks`, `bins` and `bound` of its splines, `linear` maps of `rank`, `hidden` units in `depth` layers,
    `activation`, `space` ("normal": normal quantiles of the axes), `labels`: whether the network reads labels one-hot.
    The table: `target` comes first; `encoding` of nominal labels; `dequantisation`.
    The start: `warm`: share of μ² for the tables of `sketch`, whose rows teach the flow in so many `lessons` (steps of
    plain descent) before DP-SGD does. With `warm=0` instead `marginals`: share of μ² for one-way tables, 0 for none
    (cells of equal width, and zero, atoms and null of a number on an axis of their own).
    DP-SGD: `batch` rows expected per step (of a declared number of rows; otherwise one in 32), `steps`, `clip` and
    `clipping` (with `sparsity`), learning `rate` and its `decay`, `averaging` of the weights over steps (0 for none).
    """

    name: ClassVar[str] = "hflow"
    model: ClassVar[type[FlowModel]] = FlowModel

    encoding: str = one_of("codes", ENCODINGS)
    dequantisation: str = one_of("uniform", DEQUANTISATIONS)
    warm: float = share(0.5)
    lessons: int = whole(2000, most=MOST_STEPS)
    marginals: float = share(0.1)
    labels: bool = truth(True)
    space: str = one_of("normal", SPACES)
    blocks: int = whole(1, saved=MOST_SIZE)
    bins: int = whole(8, saved=MOST_BINS)
    bound: float = positive(4.0, saved=MOST_BOUND)
    linear: str = one_of("none", LINEAR)
    rank: int = whole(1, saved=MOST_SIZE)
    hidden: int = whole(128, saved=MOST_SIZE)
    depth: int = whole(2, saved=MOST_SIZE)
    activation: str = one_of("relu", ACTIVATIONS)
    batch: int = whole(4096)
    steps: int = whole(1000, most=MOST_STEPS)
    clip: float = positive(1.0)
    clipping: str = one_of("per-layer", CLIPPINGS)
    sparsity: float = share(0.5)
    rate: float = positive(1e-3)
    decay: str = one_of("cosine", DECAYS)
    averaging: float = share(0.99)

    def check(self) -> None:
        cold, sparse, low = not self.warm, self.clipping == "sparse", self.linear == "low-rank"
        self.refuse_idle(f"with warm={self.warm!r}", marginals=cold, lessons=not cold)
        self.refuse_idle(f"with clipping={self.clipping!r}", sparsity=sparse)
        self.refuse_idle(f"with linear={self.linear!r}", rank=low)

    def supports(self, schema: Schema) -> None:
        Axes.of(schema, self.target, self.encoding, None, self.name)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        from nacre.privacy.accounting.calibration import noise_for

        scope, entries = scope_of(schema, budget), before
        if self.warm:
            entries = warm.entries(self.target, schema, rows, budget, before, self.warm)
        elif self.marginals:
            entries = (*before, one_way.entry(len(schema.modelled), budget, scope, before, self.marginals))
        q = chance(self, self.batch, rows)
        noise = noise_for(budget, scope, q, self.steps, entries)
        clip = self.clip if noise else None
        part = Part("gradient", clip=clip, sigma=noise, clipping=self.clipping, sparsity=self.sparsity)
        training = Descend("training", q=q, steps=self.steps, parts=(part,))
        return Plan(self.name, (*entries, training), budget, scope.cap, rows)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> FlowModel:
        import jax
        import numpy as np

        from nacre.synthesizers.hflow.training import Descending, pretrained, query

        shares = known = None
        if self.warm:
            known = warm.drawn(curator, plan, self.target, seed, progress)
            shares = warm.shares(known, curator.grids)
        elif self.marginals:
            progress("counting", 0, None)
            shares = one_way.shares(curator, plan[one_way.NAME])
        axes = Axes.of(curator.schema, self.target, self.encoding, shares, self.name)
        shape = self.shape(axes)
        objective = objective_of(axes, shape, self.space, self.dequantisation, plan.cap)
        descending = Descending(self.steps, self.rate, self.decay, self.averaging)
        rows = max(1, plan.rows or 1)
        parameters = objective.start(jax.random.key(seed))
        if known is not None:
            key = jax.random.fold_in(jax.random.key(seed), 2)
            parameters = pretrained(objective, parameters, axes.encode(known), self.lessons, key, progress)
        state = curator.descend(
            plan["training"],
            query(objective),
            descending.start(parameters),
            descending.update,
            records=_records,
            units=rows,
            public={"axes": axes, "objective": objective},
            seed=seed,
            progress=lambda done, of: progress("training", done, of),
        )
        weights = jax.tree.map(np.asarray, descending.end(state))
        model = FlowModel(axes, shape, weights, self.space, self.target, rows, self.dequantisation)
        model.draw(TRIED, np.random.default_rng(seed))  # a flow that went astray says so here, not to whom it is given
        return model

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromRows:
        return FromRows(pretraining=self.lessons * warm.BATCH if self.warm else 0)

    def shape(self, axes: Axes) -> Shape:
        return Shape(
            len(axes.axes),
            bins=self.bins,
            bound=self.bound,
            linear=self.linear,
            rank=self.rank,
            blocks=self.blocks,
            hidden=self.hidden,
            depth=self.depth,
            activation=self.activation,
            cells=axes.labels if self.labels and any(axes.labels) else (),
        )


def _records(columns: Any, public: Any) -> Any:
    """The record map of `descend`: every row's box."""
    return public["axes"].encode(columns)
