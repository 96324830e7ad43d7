"""`ppem`: tables whose hidden columns have another distribution than the real ones, all else given them alike.

After "Privacy-Preserving Energy-Based Generative Models" (anonymous, under review), corrected as specs/ppem.md 9 asks.
Two promises are kept apart: α-LMDP (a level-α test tells the released hidden columns from the real ones) is not
differential privacy; it is tested for the owner and only named in the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from nacre.errors import DataError, NacreError, PlanError, SchemaError
from nacre.nets.branched import ACTIVATIONS, NORMS, check_size
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, Synthesizer, silent
from nacre.synthesizers.basis import FromRows
from nacre.synthesizers.options import MOST_STEPS, between, given, one_of, whole
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem import finish
from nacre.synthesizers.ppem.decoy import tilt
from nacre.synthesizers.ppem.losses import PENALTIES
from nacre.synthesizers.ppem.model import Kept, PpemModel, split
from nacre.synthesizers.ppem.options import Sets, rank_columns, sets_of, warn_of_read_bounds, weights_of
from nacre.table import Schema
from nacre.table.naming import choices
from nacre.targets.weights import Weights, resample

WEIGHT = 10.0  # λ_α, as published
PAIRS, CLIP = 256, 1.0  # with epsilon: pairs of rows expected in a step, norm of what one may contribute


@dataclass(frozen=True)
class Ppem(Synthesizer):
    """`hide`: columns, or several sets of columns (one penalty each, at α over their number). `alpha`: the level of
    the test that must tell the hidden columns from the real ones. `weight`: λ_α of the penalty on the energy, 0 for
    the control; a list has one for every set. `penalty`: "normalised", "one-sided" or "none". `effect`: the MMD that
    the released generator is pushed to keep from the hidden columns, 0 for none. `decoy`: imitate rows tilted so that
    every hidden column is this Kolmogorov-Smirnov distance from the real one, 0 for none. `steps`: steps of the
    energies; the paper makes 100 passes. `rho`: share of the penalty in the loss (specs/ppem.md E7). `steep`: λ_L of
    the Lipschitz penalty. `activation` of the energies; `norm` of the generators. `pairs`, `clip`: with epsilon alone,
    pairs of rows per step (256) and the norm of what one may contribute (1). None is a default that depends on
    epsilon: `decoy` 0.2 without and 0 with it, `steps` 30,000 and 600, `width` 256 and 64; that of `weight` depends on
    the decoy: 0 beside one, which hides by itself, and 10 without.
    """

    name: ClassVar[str] = "ppem"
    model: ClassVar[type[PpemModel]] = PpemModel

    hide: Sets = given((), read=sets_of)
    alpha: float = between(0.05, 0, 1, open_ends=True)
    weight: float | Sequence[float] | None = given(None)
    penalty: str = one_of("normalised", PENALTIES)
    effect: float = between(0.0, 0, 1)
    decoy: float | None = between(None, 0, 0.9)
    steps: int | None = whole(None, most=MOST_STEPS)
    batch: int = whole(128)
    width: int | None = whole(None)
    depth: int = whole(1)
    rho: float = between(1.0, 0, 1)
    steep: float = between(1.0, 0, 1e3)
    activation: str = one_of("leaky", ACTIVATIONS)
    norm: str = one_of("layer", NORMS)
    pairs: int | None = whole(None)
    clip: float | None = between(None, 0, 1e6, open_ends=True)

    def check(self) -> None:
        check_size(self.width, self.depth)
        if self.weight is not None:
            object.__setattr__(self, "weight", weights_of(self.weight, len(self.hide)))
        if self.batch < 8:
            raise NacreError(f"batch={self.batch}: a batch is tested in pairs; expected at least 8 rows")

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.hide for name in one))

    def public_facts(self, private: bool) -> dict[str, Any]:
        """What the certificate may say of the hidden columns: which, and at which level. Nothing measured, and nothing
        at all where no option of this run hides them."""
        used = self._penalised(private) or (not private and (self.distance > 0 or self.effect > 0))
        return {"hidden": {"sets": [list(one) for one in self.hide], "alpha": self.alpha}} if used else {}

    def strength(self, private: bool) -> Any:
        """λ_α. Beside a decoy the penalty is off unless it is asked for: the generator would follow an energy that is
        bent away from the rows that it is to imitate."""
        if self.weight is None:
            return WEIGHT if private or not self.distance else 0.0
        return self.weight

    def _penalised(self, private: bool) -> bool:
        return bool(np.any(self.strength(private))) and self.penalty != "none"

    @property
    def _ranged(self) -> bool:
        """Without epsilon: does a penalty alone hide, so that nothing of hidden columns but their range may show?"""
        return not self.distance and (self._penalised(False) or self.effect > 0)

    def without_hiding(self) -> Ppem:
        """The control: the same method with neither penalty nor decoy."""
        return replace(self, weight=0.0, decoy=0.0, effect=0.0)

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        if not self.hide:
            raise NacreError("method 'ppem' hides columns: name them with hide=[...] (command line: --hide COLUMN)")
        if not schema.undeclared():
            split(schema, self._class(schema), self.hidden)
        for name in self.hidden:
            if name not in schema.modelled:
                others = choices(name, schema.modelled)
                raise SchemaError(f"hide: {name!r} is not a modelled column; choose among {others}")

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = Layout.of(schema, self._class(schema), self.name)
        if budget.epsilon is None:
            for option, value in (("pairs", self.pairs), ("clip", self.clip)):
                if value is not None:
                    raise PlanError(f"{option}={value:g} belongs to training with an epsilon; leave it out")
            self._refuse_idle()
            return revealed.reveal_plan(self.name, schema, rows, budget, before)
        return self._private_plan(layout, rows, budget, before)

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> FromRows:
        return FromRows(raw=self.count(False) * self.batch)

    def _refuse_idle(self) -> None:
        """Options of a penalty that is off."""
        for option, value in (("penalty", self.penalty), ("rho", self.rho)):
            if self.weight is None and self.distance and value not in ("normalised", "none", 1.0):
                raise PlanError(
                    f"{option}={value!r}: beside a decoy the penalty on the energy is off; give it a weight "
                    f"(weight={WEIGHT:g}), or set decoy=0"
                )

    def _private_plan(self, layout: Layout, rows: int | None, budget: Budget, before: tuple[Entry, ...]) -> Plan:
        """Scales, means and covariance, then one descent over fixed public pairs (specs/ppem.md 3.7)."""
        from nacre.privacy.accounting.calibration import noise_for, split
        from nacre.privacy.plan import Descend, Part, Scope, gaussian_share
        from nacre.synthesizers.ppem import linear, private

        self._refuse_private(layout.schema, rows, budget)
        scope = Scope(budget.neighbours, 1)
        entries = (*before, *linear.entries(layout, scope, gaussian_share(budget, scope, before)))
        q = min(1.0, (self.pairs or PAIRS) / (int(rows or 2) // 2))
        shares = {n: s for n, s in private.PARTS.items() if n != "sums" or self._penalised(True)}
        noise = split(noise_for(budget, scope, q, self.count(True), entries), list(shares.values()))
        clip = self.clip or CLIP
        clips = {"xi": clip, "gamma": clip, "sums": math.sqrt(2 * len(self.hide))}
        parts = tuple(Part(name, clip=clips[name], sigma=sigma) for name, sigma in zip(shares, noise))
        entry = Descend("pairs", q=q, steps=self.count(True), parts=parts, group=2)
        return Plan(self.name, (*entries, entry), budget, 1, rows)

    def _refuse_private(self, schema: Schema, rows: int | None, budget: Budget) -> None:
        if budget.neighbours == "add_or_remove_one" or schema.unit is not None or not rows or rows < 4:
            raise PlanError(
                "method 'ppem' with epsilon works on fixed pairs of rows, so the number of rows must be public and a "
                "row a unit: use neighbours='zero_out' (or 'replace_one') without a person column"
            )
        for option, value in (("decoy", self.decoy), ("effect", self.effect)):
            if value:
                raise PlanError(
                    f"{option}={value:g} reads the hidden columns without a budget; with epsilon set {option}=0"
                )
        if self.norm == "batch":
            raise PlanError("norm='batch' mixes records; with epsilon use norm='layer' or 'group'")
        if self.penalty == "one-sided":
            raise PlanError("penalty='one-sided' has no private form; with epsilon use 'normalised' or 'none'")

    def _class(self, schema: Schema) -> str | None:
        rest = [name for name in schema.modelled if name not in self.hidden]
        if rest == [self.target] or self.target in self.hidden:  # G_v makes it where it makes nothing else
            return None
        return revealed.class_column(schema, self.target)

    # ------------------------------------------------------------------- fit

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> PpemModel:
        from nacre.synthesizers.ppem.training import train

        if plan.budget.epsilon is not None:
            return self._fit_private(curator, plan, seed, progress)
        layout = Layout.of(curator.schema, self._class(curator.schema), self.name)
        progress("reading rows", 0, None)
        warn_of_read_bounds(curator.schema, self.hidden)
        parts = split(curator.schema, layout.target, self.hidden)
        found = revealed.read(curator, plan, layout, parts, show=partial(self.show, tell=curator.diagnostics))
        config, pool = self.config(found.coding), self.pool(found, seed)
        data = self.data(found, pool)
        nets = train(data, config, [self.lane(seed)], lambda done, of: progress("training", done, of))[0]
        return self.released(found.coding, nets, plan.rows or len(found.kinds), self.moments(found, pool))

    def _fit_private(self, curator: Curator, plan: Plan, seed: int, progress: Progress) -> PpemModel:
        import jax

        from nacre.synthesizers.ppem import linear, outset, private

        layout = Layout.of(curator.schema, self._class(curator.schema), self.name)
        progress("buying scales and means", 0, None)
        coding, shares, labels = linear.buy(curator, plan, layout, split(curator.schema, layout.target, self.hidden))
        config = self.config(coding, private=True)
        wide = outset.width_for(max(config.visible.numbers, config.hidden.numbers), config.width)
        config = replace(config, linear=True, generator_width=wide)
        entry = plan["pairs"]
        pairs = entry.q * (int(plan.rows or 2) // 2)
        sums = [p for p in entry.parts if p.name == "sums"]
        noise = sums[0].sigma * sums[0].clip if sums else 0.0
        h = tuple(math.sqrt(len(one)) for one in config.sets)  # public: standardised columns (specs/ppem.md E4)
        job = private.Descent(config, pairs, noise, self.strength(True) if config.penalty != "none" else 0.0, h)
        chooser = linear.chooser_weights(coding, shares, config.hidden.width)
        public = {"coding": coding, "job": job, "chooser": chooser}
        state = curator.descend(
            entry,
            private.query(job),
            private.start(config, jax.random.key(seed), chooser, labels),
            private.update(job, entry.steps),
            records=private.records,
            units=int(plan.rows or 2) // 2,
            public=public,
            seed=seed,
            progress=lambda done, of: progress("training", done, of),
        )
        nets = {**state["mean"], "chooser": state["chooser"], "xi": state["critics"]["xi"]}
        arrays = {n: {k: np.asarray(a, np.float32) for k, a in net.items()} for n, net in nets.items()}
        if config.classes > 1:
            arrays["chooser"] = outset.with_shares(config, arrays, shares, seed)
        return PpemModel(coding, config, arrays, int(plan.rows or 0), Kept(arrays["xi"], self.settings(True)))

    def show(self, rows: revealed.Rows, tell: dict[str, Any] | None = None) -> np.ndarray | str | None:
        """Of which rows the release may hold moments. With a decoy, of the tilted ones: those of all rows would give
        the hidden means away. With a penalty alone, nothing of the hidden columns but their public range.

        `tell` gets what the tilted rows are worth, for the owner. DataError when it is fewer than 50 rows: the
        generator would imitate a few people."""
        if self.distance:
            tilted = tilt(rank_columns(rows, self.hidden), self.distance, self.hidden, rows.kinds)
            weights = Weights(tilted).checked(
                f"decoy={self.distance:g} over {len(self.hidden)} hidden columns",
                "few people would be imitated; hide fewer columns, or ask for a smaller decoy",
            )
            if tell is not None:
                tell["decoy"] = {"what": "the rows that the decoy imitates", **weights.facts()}
            return weights.values
        return "range" if self._ranged else None

    def settings(self, private: bool) -> dict[str, Any]:
        """What the owner's report says of the hiding (specs/ppem.md E7); no release shows it."""
        found = {"penalty": self.penalty, "rho": self.rho, "steep": self.steep, "effect": self.effect}
        decoy = 0.0 if private else self.distance
        weight = self.strength(private) if self._penalised(private) else 0.0
        return {"weight": weight, **found, "decoy": decoy, "steps": self.count(private)}

    def count(self, private: bool) -> int:
        return self.steps or (600 if private else 30_000)

    @property
    def distance(self) -> float:
        """The decoy's distance where there is no budget."""
        return 0.2 if self.decoy is None else self.decoy

    def config(self, coding: Coding, private: bool = False) -> Any:
        """The settings of training, from public facts and this method's options."""
        from nacre.synthesizers.ppem.config import TrainingConfig
        from nacre.synthesizers.ppem.losses import level_of

        return TrainingConfig(
            coding.heads(0),
            coding.heads(1),
            coding.layout.classes,
            tuple(coding.places(0, one) for one in self.hide),
            self.penalty if self._penalised(private) else "none",
            level_of(self.penalty, self.alpha, len(self.hide)),
            self.effect,
            not private and self.distance > 0,
            self.count(private),
            self.batch,
            self.width or (64 if private else 256),
            self.depth,
            steep=self.steep,
            rho=self.rho,
            norm=self.norm,
            activation=self.activation,
        )

    def pool(self, rows: revealed.Rows, seed: int) -> np.ndarray:
        """Places of the rows to learn from: all, or with a decoy as many by the weights of `show`. These depend on x'
        alone, so p(x*|x') is that of the data, and the real mix of x' is seen by nothing but a penalty on the energy or
        on the generator, where one is asked for."""
        if rows.shown is None:
            return np.arange(len(rows.kinds))
        return resample(rows.shown, len(rows.kinds), np.random.default_rng([seed, 311]))

    def data(self, rows: revealed.Rows, pool: np.ndarray) -> Any:
        """The arrays of training, with the median bandwidth of every hidden set and of all hidden columns."""
        from nacre.distances import median_distance
        from nacre.synthesizers.parts.adversarial import prepared

        hidden, visible = rows.vectors
        places = [list(rows.coding.places(0, one)) for one in (*self.hide, self.hidden)]
        for p, names in zip(places, self.hide):
            if not np.ptp(hidden[:, p], axis=0).any():
                raise DataError(f"hide: all rows are alike in {', '.join(names)}, so that nothing can be hidden there; "
                                "leave it out of the hidden columns")  # fmt: skip
        h = [median_distance(hidden[:, p]) for p in places]
        return prepared(hidden, visible, rows.kinds, rows.coding.layout.classes, h, pool)

    def moments(self, rows: revealed.Rows, pool: np.ndarray) -> finish.Moments | None:
        """The linear part of p(x*|x', class) in the rows learnt from; None where there is no number to move, and where
        nothing of the hidden columns but their range may be shown."""
        (hidden, visible), coding = rows.vectors, rows.coding
        h, d = coding.heads(0).numbers, coding.heads(1).numbers
        if self._ranged or not d:
            return None
        times = np.bincount(pool, minlength=len(rows.kinds))
        return finish.moments(hidden[:, :h], visible[:, :d], rows.kinds, coding.layout.classes, times)

    def released(self, coding: Coding, nets: Any, rows: int, moments: finish.Moments | None) -> PpemModel:
        """What is released of trained networks."""
        config = self.config(coding)
        linear = None if moments is None else finish.finish_of(config, nets, moments)
        return PpemModel(coding, config, nets, rows, Kept(nets["xi"], self.settings(False)), linear)

    def lane(self, seed: int) -> Any:
        """One training."""
        import jax
        import jax.numpy as jnp

        from nacre.synthesizers.ppem.training import Lane

        weight = jnp.asarray(self.strength(False), jnp.float32)
        return Lane(jax.random.key(seed), weight, jnp.float32(10.0 * (self.effect > 0)))
