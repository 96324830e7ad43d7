"""`hflow`: a normalizing flow of the table, trained by DP-SGD; our form of DP-HFlow.

Half of the budget buys noisy tables of pairs, as `sketch` does; rows drawn from them set how wide the cells of every
axis are and teach the flow before DP-SGD does (`warm`). The network reads labels one-hot as well; the weights are
averaged over the steps. `hflow-paper` is the same without these (specs/dphflow.md 3, 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from nacre.errors import NacreError
from nacre.nets.flow_shape import ACTIVATIONS, LINEAR, MOST_BINS, MOST_BOUND, MOST_SIZE, Shape
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import CLIPPINGS, Descend, Entry, Part, Plan, Scope
from nacre.synthesizers.base import Progress, chance, check_whole, refuse_idle, silent
from nacre.synthesizers.hflow import marginals, warm
from nacre.synthesizers.hflow.axes import ENCODINGS, Axes
from nacre.synthesizers.hflow.model import DEQUANTISATIONS, SPACES, FlowModel, objective_of
from nacre.table import Schema

TRIED = 64  # rows drawn from a flow before it is handed out
_CHOICES = {
    "encoding": ENCODINGS,
    "dequantisation": DEQUANTISATIONS,
    "clipping": CLIPPINGS,
    "linear": LINEAR,
    "activation": ACTIVATIONS,
    "space": SPACES,
    "decay": ("constant", "cosine"),
}


@dataclass(frozen=True)
class Hflow:
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

    target: str | None = None
    encoding: str = "codes"
    dequantisation: str = "uniform"
    warm: float = 0.5
    lessons: int = 2000
    marginals: float = 0.1
    labels: bool = True
    space: str = "normal"
    blocks: int = 1
    bins: int = 8
    bound: float = 4.0
    linear: str = "none"
    rank: int = 1
    hidden: int = 128
    depth: int = 2
    activation: str = "relu"
    batch: int = 4096
    steps: int = 1000
    clip: float = 1.0
    clipping: str = "per-layer"
    sparsity: float = 0.5
    rate: float = 1e-3
    decay: str = "cosine"
    averaging: float = 0.99

    def __post_init__(self) -> None:
        check_whole(self, "blocks", "bins", "rank", "hidden", "depth", "batch", "steps", "lessons")
        for option, choices in _CHOICES.items():
            if getattr(self, option) not in choices:
                raise NacreError(f"{option}={getattr(self, option)!r}: expected one of {', '.join(choices)}")
        if not isinstance(self.labels, bool):
            raise NacreError(f"labels={self.labels!r}: expected true or false")
        for option, low, high in (("marginals", 0, 1), ("warm", 0, 1), ("averaging", 0, 1), ("sparsity", 0, 1)):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < high:
                raise NacreError(f"{option}={value!r}: expected a number from {low} to below {high}")
        for option in ("bound", "clip", "rate"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise NacreError(f"{option}={value!r}: expected a number above 0")
        sizes = dict.fromkeys(("blocks", "rank", "hidden", "depth"), MOST_SIZE)
        for option, most in {**sizes, "bins": MOST_BINS, "bound": MOST_BOUND}.items():  # what a saved release may hold
            if getattr(self, option) > most:
                raise NacreError(f"{option}={getattr(self, option)!r}: expected at most {most:g}")
        cold, sparse, low = not self.warm, self.clipping == "sparse", self.linear == "low-rank"
        refuse_idle(self, f"with warm={self.warm!r}", marginals=cold, lessons=not cold)
        refuse_idle(self, f"with clipping={self.clipping!r}", sparsity=sparse)
        refuse_idle(self, f"with linear={self.linear!r}", rank=low)

    def supports(self, schema: Schema) -> None:
        Axes.of(schema, self.target, self.encoding, None, self.name)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        from nacre.privacy.accounting.calibration import noise_for

        cap = schema.unit.cap if schema.unit else 1
        scope, entries = Scope(budget.neighbours, cap), before
        if self.warm:
            entries = warm.entries(self.target, schema, rows, budget, before, self.warm)
        elif self.marginals:
            entries = (*before, marginals.entry(len(schema.modelled), budget, scope, before, self.marginals))
        q = chance(self, rows)
        noise = noise_for(budget, scope, q, self.steps, entries)
        clip = self.clip if noise else None
        part = Part("gradient", clip=clip, sigma=noise, clipping=self.clipping, sparsity=self.sparsity)
        training = Descend("training", q=q, steps=self.steps, parts=(part,))
        return Plan(self.name, (*entries, training), budget, cap, rows)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> FlowModel:
        import jax
        import numpy as np

        from nacre.synthesizers.hflow.training import Descending, query, taught

        shares = known = None
        if self.warm:
            known = warm.drawn(curator, plan, self.target, seed, progress)
            shares = warm.shares(known, curator.grids)
        elif self.marginals:
            progress("counting", 0, None)
            shares = marginals.shares(curator, plan[marginals.NAME])
        axes = Axes.of(curator.schema, self.target, self.encoding, shares, self.name)
        shape = self.shape(axes)
        objective = objective_of(axes, shape, self.space, self.dequantisation, plan.cap)
        descending = Descending(self.steps, self.rate, self.decay, self.averaging)
        rows = max(1, plan.rows or 1)
        parameters = objective.start(jax.random.key(seed))
        if known is not None:
            key = jax.random.fold_in(jax.random.key(seed), 2)
            parameters = taught(objective, parameters, axes.encode(known), self.lessons, key, progress)
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

    @property
    def taught(self) -> int:
        """Rows of the bought tables that the flow learns from."""
        return self.lessons * warm.BATCH if self.warm else 0

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
