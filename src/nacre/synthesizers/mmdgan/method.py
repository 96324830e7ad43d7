"""`mmdgan`: numbers standardised, labels one-hot, a critic that encodes rows and must be able to rebuild them.

specs/mmd_gan_ehr.md 4 and 5. Which network is kept is decided on rows held out of the training, never on those it was
trained on, for that would reward copying. Neither the distance nor the critic bounds what one row can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nacre.errors import NacreError
from nacre.nets.branched import Branched, forward
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan
from nacre.synthesizers.base import Progress, Synthesizer, silent
from nacre.synthesizers.options import MOST_STEPS, given, one_of, truth, whole
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.generator_model import GENERATOR
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.weighted.model import WeightedModel
from nacre.table import Schema
from nacre.targets import Target
from nacre.typed import State

MODES = ("ehr", "li2017", "ae01")
LATENT, CODE, DEPTH = 64, 64, 2  # three layers: the first and two more
HELD, MOST_HELD = 10, 2_000  # one row in ten, at most so many, chooses the checkpoint
EVERY, PATIENCE = 1_000, 10  # steps between two looks; looks without progress before the end
LEVEL_ROWS, LEVEL_ROUNDS = 4_096, 200


@dataclass(frozen=True)
class Mmdgan(Synthesizer):
    """`mode`: "ehr" rebuilds rows and takes a tenth of the squared MMD (the thesis), with a bound on the encoder's
    slope; "li2017" is MMD-GAN as published (root of the MMD, rank term, clamped encoder); "ae01" weighs the other way
    round. `weights`: a target (nacre.targets), None for the table's own law; `truncate`: of at most so many
    times their mean. `paper_exact`: labels come from linear
    outputs by the largest one, which shifts their shares, and in "li2017" the rank term enters the generator's loss.
    `target` is a column like any other."""

    name: ClassVar[str] = "mmdgan"
    model: ClassVar[type[WeightedModel]] = WeightedModel

    weights: Target | None = given(None, read=revealed.checked_target)
    mode: str = one_of("ehr", MODES)
    truncate: float | None = given(None, "number", revealed.checked_truncate)
    steps: int = whole(30_000, most=MOST_STEPS)
    batch: int = whole(200)
    width: int = whole(100)
    paper_exact: bool = truth(False)

    def check(self) -> None:
        if self.truncate is not None and self.weights is None:
            raise NacreError("truncate bounds weights, and no target gives any; leave it out")

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        return revealed.reveal_plan(self.name, schema, rows, budget, before)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> WeightedModel:
        import jax

        from nacre.synthesizers.weighted.training import prepared, train

        layout = Layout.of(curator.schema, None, self.name)
        progress("reading rows", 0, None)
        everything = (layout.schema.modelled,)
        found = revealed.read(curator, plan, layout, everything, self.weights, False, truncate=self.truncate)
        x, heads = found.vectors[0], found.coding.heads(0)
        w = np.ones(len(x)) if found.weights is None else found.weights.scaled
        order = np.random.default_rng([seed, 7]).permutation(len(x))
        held, used = np.split(order, [min(len(x) // HELD, MOST_HELD)])
        config = self.config(heads)
        best = Best(config.generator.net, heads, self.paper_exact, x[held], w[held], seed)
        data = prepared(x[used], w[used] / w[used].mean())
        train(data, config, self.steps, jax.random.key(seed), lambda done, of: progress("training", done, of),
              keep=lambda state, done: best.look(state, done, self.steps))  # fmt: skip
        net = best.net
        if not self.paper_exact:
            wanted = np.average(x[used][:, heads.numbers :], axis=0, weights=w[used])
            net = levelled(config.generator.net, heads, net, wanted, seed)
        nets = {GENERATOR: (config.generator.net, net)}
        return WeightedModel(found.coding, nets, np.ones(1), plan.rows or len(x), self.paper_exact)

    def config(self, heads: Heads) -> Any:
        """Networks and losses of the mode."""
        from nacre.synthesizers.weighted.config import CriticConfig, TrainingConfig
        from nacre.synthesizers.weighted.nets import Plain

        def net(inputs: int, outputs: int) -> Plain:
            return Plain(Branched((inputs,), outputs, self.width, DEPTH, activation="elu"))

        critic_config, rate = {
            "ehr": (CriticConfig(rebuild=1.0, pull=0.1, root=False, steep=1.0, warm=True), 1e-3),
            "ae01": (CriticConfig(rebuild=0.1, pull=1.0, root=False, steep=1.0, warm=True), 1e-3),
            "li2017": (
                CriticConfig(
                    8.0, 1.0, 16.0, root=True, clamp=0.01, steep=0.0, warm=True, rank_in_generator=self.paper_exact
                ),
                5e-5,
            ),
        }[self.mode]
        return TrainingConfig(
            net(LATENT, heads.width), critic=net(heads.width, CODE), back=net(CODE, heads.width),
            critic_config=critic_config, heads=None if self.paper_exact else heads, latent=LATENT,
            batch=self.batch, form="v", scales=(1.0, 2.0, 4.0, 8.0, 16.0),
            rate=rate, critic_rate=rate, optimiser="rmsprop",
        )  # fmt: skip


def levelled(generator: Branched, heads: Heads, net: dict[str, Any], wanted: np.ndarray, seed: int) -> dict[str, Any]:
    """The network with the biases of its last layer moved until labels have these shares: training leaves them a few
    points off (specs/mmd_gan_ehr.md 3 allows .02). Each round is one of iterative scaling."""
    from scipy.special import softmax

    noise = np.random.default_rng([seed, 10]).standard_normal((LEVEL_ROWS, generator.inputs[0])).astype(np.float32)
    logits = forward(generator, net, (noise,))[:, heads.numbers :]
    cuts = np.cumsum(heads.sizes)[:-1]
    shift = np.zeros(logits.shape[1])
    for _ in range(LEVEL_ROUNDS if heads.sizes else 0):
        now = [softmax(part, axis=1).mean(axis=0) for part in np.split(logits + shift, cuts, axis=1)]
        shift += np.log(np.maximum(wanted, 1e-4) / np.maximum(np.concatenate(now), 1e-4))
    bias = net["out.bias"].copy()
    bias[heads.numbers :] += shift
    return {**net, "out.bias": bias}


class Best:
    """The generator with the least energy distance to held-out rows so far."""

    def __init__(
        self, generator: Branched, heads: Heads, exact: bool, rows: np.ndarray, weights: np.ndarray, seed: int
    ):
        from nacre.targets.weights import resample

        rng = np.random.default_rng([seed, 8])
        self.generator, self.heads, self.exact = generator, heads, exact
        self.rows = rows[resample(weights, len(rows), rng)]  # rows of the target, where weights state one
        self.noise = rng.standard_normal((len(rows), generator.inputs[0])).astype(np.float32)
        self.seed, self.least, self.since = seed, np.inf, 0
        self.net: Any = None

    def look(self, state: State, done: int, steps: int) -> bool:
        """Keep the averaged generator if it is the best; true when there was no progress for long."""
        from nacre.distances import energy_distance

        if done % EVERY and done < steps:
            return False
        net = {k: np.asarray(v, np.float32) for k, v in state["mean"].items()}
        raw = forward(self.generator, net, (self.noise,))
        if not np.isfinite(raw).all():
            return self.net is not None
        made = self.heads.whole(raw) if self.exact else self.heads.hard(raw, np.random.default_rng([self.seed, 9]))
        now = energy_distance(made[0], self.rows)
        self.since += 1
        if now < self.least or self.net is None:
            self.net, self.least, self.since = net, now, 0
        return self.since >= PATIENCE
