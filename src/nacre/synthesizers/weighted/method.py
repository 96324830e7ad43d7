"""`weighted`: a generator for a stated target, from rows of another law (specs/importance_weighted.md).

Every row enters the loss with its weight: by the squared MMD with a fixed kernel or an autoencoder's, or by the
cross-entropy of a discriminator. Weights concentrate influence: a row of weight W moves the generator W times as much,
so that the exposure of those it stands for rises with it. Promises nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nacre.errors import NacreError, SchemaError
from nacre.nets.branched import Branched
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, Synthesizer, silent
from nacre.synthesizers.options import MOST_GROUPS, MOST_STEPS, given, one_of, truth, whole
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.generator_model import GENERATOR
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.weighted.model import WeightedModel
from nacre.table import Schema
from nacre.targets import Shares, Target, Weights
from nacre.targets.weights import duplicated

LOSSES, KERNELS = ("mmd", "ce"), ("fixed", "autoencoder")
SCHEMES = ("sniw", "iw", "miw", "id", "conditional")
BATCHES = ("uniform", "weighted")
LATENT, CODE = 32, 32


@dataclass(frozen=True)
class Weighted(Synthesizer):
    """`weights`: the target (nacre.targets; `fit(target_shares=...)` or `fit(weights=...)` state it), None for the
    table's own law. `scheme`: "sniw" needs weights only up to a factor; "iw" rescales them to mean 1; "miw" takes the
    median over `groups` (robust, but biased: it discards the groups with rare heavy rows); "id" repeats rows;
    "conditional" is the baseline, a generator given the class `target`, drawn by its share in the target. `kernel`: of
    the loss "mmd". `batches`: "weighted" draws rows by their weight and uses the plain loss. `truncate`: weights of at
    most so many times their mean. `paper_exact`: copies by the ceiling (id), and the rank term in the generator's loss
    with the settings of Li and others (autoencoder). Elsewhere `target` is a column like any other."""

    name: ClassVar[str] = "weighted"
    model: ClassVar[type[WeightedModel]] = WeightedModel

    weights: Target | None = given(None, read=revealed.checked_target)
    loss: str = one_of("mmd", LOSSES)
    scheme: str = one_of("sniw", SCHEMES)
    kernel: str = one_of("fixed", KERNELS)
    batches: str = one_of("uniform", BATCHES)
    truncate: float | None = given(None, "number", revealed.checked_truncate)
    groups: int = whole(7, most=MOST_GROUPS)
    steps: int = whole(10_000, most=MOST_STEPS)
    batch: int = whole(512)
    width: int = whole(128)
    paper_exact: bool = truth(False)

    def check(self) -> None:
        if self.loss == "ce" and self.kernel != "fixed":
            raise NacreError("kernel: the loss 'ce' has a discriminator and no kernel; leave it out")
        if self.scheme == "conditional" and self.loss == "mmd":
            raise NacreError("scheme='conditional' is a baseline of the loss 'ce'; add loss='ce'")
        if self.paper_exact and self.scheme != "id" and self.kernel != "autoencoder":
            raise NacreError("paper_exact changes the scheme 'id' and the kernel 'autoencoder' alone; leave it out")
        if self.batches == "weighted" and self.scheme != "sniw":
            raise NacreError(f"batches='weighted' puts the weights into the drawing; scheme {self.scheme!r} wants them")
        self.refuse_idle(f"with scheme {self.scheme!r}", groups=self.scheme == "miw")
        self.refuse_idle("without weights", batches=self.weights is not None)
        if self.truncate is not None and (self.weights is None or self.scheme == "conditional"):
            raise NacreError("truncate bounds weights in the loss, and there are none here; leave it out")
        if self.scheme == "miw" and self.batch < 2 * self.groups:
            raise NacreError(f"groups={self.groups}: expected at least two of the {self.batch} rows of a batch in each")

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        if self.scheme != "conditional":
            return
        if revealed.class_column(schema, self.target) is None:
            raise SchemaError("scheme='conditional' needs a target with few labels: name it with target=")
        if isinstance(self.weights, Shares) and {*self.weights.shares} != {self.target}:
            raise NacreError(
                f"scheme='conditional' draws the class {self.target!r} by its share and weighs nothing else: shares of "
                f"{', '.join(map(repr, self.weights.shares))} would not come out; use another scheme"
            )

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        return revealed.reveal_plan(self.name, schema, rows, budget, before)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> WeightedModel:
        import jax

        from nacre.synthesizers.weighted.training import prepared, train

        conditional = self.scheme == "conditional"
        layout = Layout.of(curator.schema, self.target if conditional else None, self.name)
        progress("reading rows", 0, None)
        names = tuple(n for n in curator.schema.modelled if n != layout.target)
        found = revealed.read(curator, plan, layout, (names,), self.weights, truncate=self.truncate)
        weights, copies = self.weighed(found.weights, len(found.kinds), seed)
        given = np.eye(layout.classes)[found.kinds] if layout.classes > 1 else None
        config = self.config(found.coding.heads(0), 0 if given is None else layout.classes)
        data = prepared(found.vectors[0], np.ones(len(weights)) if conditional else weights, given, copies)
        net = train(data, config, self.steps, jax.random.key(seed), lambda done, of: progress("training", done, of))
        nets = {GENERATOR: (config.generator.net, net)}
        return WeightedModel(found.coding, nets, found.shares, plan.rows or len(found.kinds))

    def weighed(self, weights: Weights | None, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """(weights of mean 1, copies of each row where rows are repeated)."""
        found = Weights(np.ones(rows), True) if weights is None else weights
        copies = None
        if self.scheme == "id":
            places = duplicated(found.scaled, np.random.default_rng([seed, 5]), ceiling=self.paper_exact)
            copies = np.bincount(places, minlength=rows).astype(np.float64)
        return found.scaled, copies

    def config(self, heads: Any, given: int = 0) -> Any:
        """Networks and losses for rows of this shape; `given`: the size of a condition."""
        from nacre.synthesizers.weighted.config import CriticConfig, TrainingConfig
        from nacre.synthesizers.weighted.nets import Plain

        condition = (given,) if given else ()
        generator = Plain(Branched((LATENT, *condition), heads.width, self.width, 2, "none", True, "elu"))
        scheme = "plain" if self.scheme in ("id", "conditional") else self.scheme
        same: dict[str, Any] = {"scheme": scheme, "heads": heads, "latent": LATENT, "batch": self.batch,
                                "groups": self.groups, "by_weight": self.batches == "weighted"}  # fmt: skip
        if self.loss == "ce":
            critic = Plain(Branched((heads.width, *condition), 1, self.width, 2))
            return TrainingConfig(generator, "ce", critic=critic, turns=2, rate=3e-4, critic_rate=3e-4, **same)
        if self.kernel == "fixed":
            return TrainingConfig(generator, **same)
        coder = Plain(Branched((heads.width,), CODE, self.width, 2, activation="elu"))
        back = Plain(Branched((CODE,), heads.width, self.width, 2, activation="elu"))
        if self.paper_exact:
            critic_config = CriticConfig(
                rebuild=8.0, rank=16.0, clamp=0.01, steep=0.0, warm=True, rank_in_generator=True
            )
            rates: dict[str, Any] = {"rate": 5e-5, "critic_rate": 5e-5, "optimiser": "rmsprop"}
        else:
            critic_config, rates = CriticConfig(), {"rate": 3e-4, "critic_rate": 3e-4}
        scales = (1.0, 2.0, 4.0, 8.0, 16.0)
        return TrainingConfig(
            generator, critic=coder, back=back, critic_config=critic_config, form="v", scales=scales, **rates, **same
        )
