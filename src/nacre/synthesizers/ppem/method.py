"""`ppem`: tables whose hidden columns have another distribution than the real ones, all else given them alike.

After "Privacy-Preserving Energy-Based Generative Models" (anonymous, under review), corrected as specs/ppem.md 9 asks.
Two promises are kept apart: α-LMDP (a level-α test tells the released hidden columns from the real ones) is not
differential privacy; it is tested for the owner and only named in the certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.nets.branched import ACTIVATIONS, NORMS
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, check_whole, refuse_tensors, refuse_unknown_target, silent
from nacre.synthesizers.pearl.layout import Layout
from nacre.synthesizers.ppem.losses import PENALTIES
from nacre.synthesizers.ppem.model import PpemModel, split
from nacre.synthesizers.tabular import revealed
from nacre.synthesizers.tabular.coding import Coding
from nacre.table import Schema

Sets = tuple[Any, ...]


@dataclass(frozen=True)
class Ppem:
    """`hide`: columns, or several sets of columns (one penalty each, at α over their number). `alpha`: the level of the
    test that must tell the hidden columns from the real ones. `weight`: λ_α of the penalty on the energy, 0 for the
    control. `penalty`: "normalised", "one-sided" or "none". `effect`: the MMD that the released generator is pushed to
    keep from the hidden columns, 0 for none. `decoy`: imitate rows tilted so that every hidden column is this
    Kolmogorov-Smirnov distance from the real one, 0 for none. `steps`: steps of the energies; the paper makes 100
    passes. `rho`: share of the penalty in the loss (specs/ppem.md E7). `activation` of the energies; `norm` of the
    generators.
    """

    name: ClassVar[str] = "ppem"
    model: ClassVar[type[PpemModel]] = PpemModel

    target: str | None = None
    hide: Sets = ()
    alpha: float = 0.05
    weight: float = 10.0
    penalty: str = "normalised"
    effect: float = 0.0
    decoy: float = 0.2
    steps: int = 30_000
    batch: int = 128
    width: int = 256
    depth: int = 1
    rho: float = 1.0
    activation: str = "leaky"
    norm: str = "layer"

    def __post_init__(self) -> None:
        check_whole(self, "steps", "batch", "width", "depth")
        object.__setattr__(self, "hide", _sets(self.hide))
        _inside("alpha", self.alpha, 0, 1, open_ends=True)
        _inside("weight", self.weight, 0, 1e6)
        _inside("rho", self.rho, 0, 1)
        _inside("effect", self.effect, 0, 1)
        _inside("decoy", self.decoy, 0, 0.9)
        for option, known in (("penalty", PENALTIES), ("activation", ACTIVATIONS), ("norm", NORMS)):
            if getattr(self, option) not in known:
                raise NacreError(f"{option}={getattr(self, option)!r}: expected one of {', '.join(known)}")
        if self.batch < 8:
            raise NacreError(f"batch={self.batch}: a batch is tested in pairs; expected at least 8 rows")

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.hide for name in one))

    def public_facts(self) -> dict[str, Any]:
        """What the certificate may say of the hidden columns: which, and at which level. Nothing measured."""
        return {"hidden": {"sets": [list(one) for one in self.hide], "alpha": self.alpha}}

    def without_hiding(self) -> Ppem:
        """The control: the same method with neither penalty nor decoy."""
        return replace(self, weight=0.0, decoy=0.0, effect=0.0)

    def supports(self, schema: Schema) -> None:
        refuse_tensors(schema, self.name)
        refuse_unknown_target(schema, self.target)
        if not self.hide:
            raise NacreError("method 'ppem' hides columns: name them with hide=[...] (command line: --hide COLUMN)")
        if not schema.undeclared():
            split(schema, self._class(schema), self.hidden)
        for name in self.hidden:
            if name not in schema.modelled:
                raise SchemaError(f"hide: {name!r} is not a modelled column; choose among {', '.join(schema.modelled)}")

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        Layout.of(schema, self._class(schema), self.name)
        return revealed.reveal_plan(self.name, schema, rows, budget, before)

    def _class(self, schema: Schema) -> str | None:
        return revealed.class_column(schema, self.target) if self.target not in self.hidden else None

    # ------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> PpemModel:
        from nacre.synthesizers.ppem.training import train

        layout = Layout.of(curator.schema, self._class(curator.schema), self.name)
        progress("reading rows", 0, None)
        found = revealed.read(curator, plan, layout, split(curator.schema, layout.target, self.hidden))
        game, data = self.game(found.coding), self.data(found)
        nets = train(data, game, [self.lane(found, seed)], lambda done, of: progress("training", done, of))[0]
        return PpemModel(found.coding, game, nets, plan.rows or len(found.kinds), nets["xi"])

    def game(self, coding: Coding) -> Any:
        """The settings of training, from public facts and this method's options."""
        from nacre.synthesizers.ppem.game import Game
        from nacre.synthesizers.ppem.losses import level_of

        return Game(
            coding.heads(0),
            coding.heads(1),
            coding.layout.classes,
            tuple(coding.places(0, one) for one in self.hide),
            self.penalty if self.weight else "none",
            level_of(self.penalty, self.alpha, len(self.hide)),
            self.effect,
            self.decoy > 0,
            self.steps,
            self.batch,
            self.width,
            self.depth,
            rho=self.rho,
            norm=self.norm,
            activation=self.activation,
        )

    def data(self, rows: revealed.Rows) -> Any:
        """The arrays of training, with the median bandwidth of every hidden set and of all hidden columns."""
        from nacre.distances import median_distance
        from nacre.synthesizers.ppem.training import prepared

        hidden, visible = rows.vectors
        places = [list(rows.coding.places(0, one)) for one in (*self.hide, self.hidden)]
        h = [median_distance(hidden[:, p]) for p in places]
        return prepared(hidden, visible, rows.kinds, rows.coding.layout.classes, h)

    def lane(self, rows: revealed.Rows, seed: int, control: bool = False) -> Any:
        """One training; the control has neither penalty nor decoy."""
        import jax
        import jax.numpy as jnp

        from nacre.synthesizers.ppem.decoy import tilt
        from nacre.synthesizers.ppem.training import Lane

        n = len(rows.kinds)
        pool = np.arange(n)
        if self.decoy and not control:
            numbers = rank_columns(rows, self.hidden)
            weights = tilt(numbers, self.decoy)
            pool = np.random.default_rng([seed, 311]).choice(n, n, p=weights / weights.sum())
        on = 0.0 if control else 1.0
        return Lane(
            jax.random.key(seed), jnp.float32(on * self.weight), jnp.float32(10.0 * on), jnp.asarray(pool, jnp.int32)
        )


def rank_columns(rows: revealed.Rows, hidden: tuple[str, ...]) -> np.ndarray:
    """One number per hidden column and row: the number itself, or the place of its label."""
    found = []
    for name in hidden:
        own = list(rows.coding.places(0, [name]))
        x = rows.vectors[0][:, own]
        found.append(x[:, 0] if name in rows.coding.layout.numbers else x.argmax(axis=1))
    return np.stack(found, axis=1)


def _sets(hide: Any) -> Sets:
    """Columns as one set, or sets as they are. NacreError for anything else."""
    if isinstance(hide, str):
        hide = (hide,)
    given = tuple(hide)
    if all(isinstance(name, str) for name in given):
        return (given,) if given else ()
    sets = tuple(tuple(one) if isinstance(one, list | tuple) else () for one in given)
    if not all(one and all(isinstance(name, str) for name in one) for one in sets):
        raise NacreError(f"hide={hide!r}: expected column names, or several lists of column names")
    return sets


def _inside(option: str, value: Any, low: float, high: float, open_ends: bool = False) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not (low < value < high if open_ends else low <= value <= high):
        raise NacreError(f"{option}={value!r}: expected a number between {low:g} and {high:g}")
