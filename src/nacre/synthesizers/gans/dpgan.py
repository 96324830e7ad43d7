"""`dpgan`: a Wasserstein GAN whose critic learns by DP-SGD (Xie and others 2018; specs/ppem.md 8).

Only the critic's value of real rows touches the data: its gradient, one row at a time, is clipped and noised by the
door `descend`. The value of generated rows, clipped in the same way, and the gradient penalty at generated rows are
public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Descend, Entry, Part, Plan, Scope
from nacre.synthesizers.base import chance
from nacre.synthesizers.gans import private
from nacre.synthesizers.gans.bought import Bought
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.options import positive, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.typed import Array, State, Tree

if TYPE_CHECKING:
    import jax

    from nacre.nets.taps import Tape

PENALTY_WEIGHT = 10.0
AROUND = 0.3  # how far around generated rows the penalty looks


@dataclass(frozen=True)
class DpganConfig(TrainingConfig):
    """A critic of dense layers, so that taps serve. Losses are functions of the critic's value of each row alone."""

    penalty_weight: ClassVar[float] = PENALTY_WEIGHT

    def start_critic(self, key: jax.Array) -> State:
        from nacre.nets import dense

        return dense.start_mlp(key, (self.heads.width + sum(self.condition), self.width, self.width, 1))

    def value(self, critic: Any, tape: Tape, x: Any, given: Array) -> Any:
        import jax
        import jax.numpy as jnp

        from nacre.nets import dense

        x = x if given is None else jnp.concatenate([x, given], axis=1)
        return dense.mlp(critic, tape, x, activation=lambda a: jax.nn.leaky_relu(a, 0.2))[:, 0]

    def of_real(self, value: Array) -> Any:
        return -value

    def of_fake(self, value: Array) -> Any:
        return value

    def of_generator(self, value: Array) -> Any:
        return -value


@dataclass(frozen=True)
class CriticDescent:
    """The two halves of a step of `descend`."""

    config: Any
    steps: int
    turns: int
    clip: float
    rate: float
    group: int = 1

    def loss(self, critic: Tree, tape: Any, units: Any, keys: Any, state: Tree) -> Any:
        """The critic's loss of real rows, one by one; of a person, the sum over the rows that are there."""
        import jax
        import jax.numpy as jnp

        rows, present = (units, None) if self.group == 1 else units
        total = jnp.zeros(len(keys))
        for i in range(self.group):
            one = rows if present is None else jax.tree.map(lambda x: x[:, i], rows)  # noqa: B023
            given = jax.nn.one_hot(one["kind"], self.config.classes) if self.config.classes > 1 else None
            here = one["there"] if present is None else one["there"] & present[:, i]
            lost = self.config.of_real(self.config.value(critic, tape, one["x"], given))
            total = total + jnp.where(here, lost, 0.0)
        return total

    def public_slope(self, state: State, key: jax.Array) -> Any:
        """The gradient of the critic's loss of generated rows, each clipped like a real one, and of the penalty."""
        import jax
        import jax.numpy as jnp

        from nacre.nets.taps import Tape, Tapped
        from nacre.privacy.training import clipping
        from nacre.synthesizers.parts.lipschitz import slope_norm

        one, two = jax.random.split(key)
        x, given = private.made(self.config, state["generator"], state["log_shares"], one, self.config.batch)
        lost = Tapped(lambda critic, tape, rows, keys, s: self.config.of_fake(self.config.value(critic, tape, *rows)),
                      parameters=lambda s: s["critic"])  # fmt: skip
        keys, mask = jax.random.split(two, len(x)), jnp.ones(len(x), bool)
        layers = lost.contributions(state, (x, given), keys)["gradient"]
        slope = jax.tree.map(lambda a: a / len(x), clipping.flat(layers, self.clip, mask, keys))
        if not self.config.penalty_weight:
            return slope
        near = x + AROUND * jax.random.normal(jax.random.fold_in(two, 1), x.shape)

        def penalty(critic: Tree) -> Any:
            steep = slope_norm(lambda a: self.config.value(critic, Tape(len(x)), a, given), near)
            return self.config.penalty_weight * (jnp.maximum(0.0, steep - 1.0) ** 2).mean()

        return jax.tree.map(jnp.add, slope, jax.grad(penalty)(state["critic"]))

    def update(self, state: State, noisy: Array, key: jax.Array) -> State:
        import jax
        import jax.numpy as jnp

        from nacre.nets.taps import Tape
        from nacre.synthesizers.parts.adversarial import moved, pace

        one, two = jax.random.split(key)
        speed = pace(state["step"] / self.steps)
        slope = jax.tree.map(jnp.add, noisy["gradient"], self.public_slope(state, one))
        critic, critic_memory = moved(state["critic"], slope, state["critic_memory"], speed * self.rate)
        new = {**state, "critic": critic, "critic_memory": critic_memory, "step": state["step"] + 1}

        def lose(generator: Tree) -> jax.Array:
            x, given = private.made(self.config, generator, state["log_shares"], two, self.config.batch)
            return self.config.of_generator(self.config.value(critic, Tape(len(x)), x, given)).mean()

        def turn(state: State) -> State:
            return private.generator_step(
                state, jax.grad(lose)(state["generator"]), speed * self.rate, self.steps // self.turns
            )

        return jax.lax.cond(new["step"] % self.turns == 0, turn, lambda s: s, new)


@dataclass(frozen=True)
class Dpgan(private.PrivateGan):
    """`batch`: rows expected in a step of the critic (of a declared number of rows; otherwise one in 32); `turns`:
    steps of the critic for one of the generator; `clip` of a row's gradient; learning `rate` of both."""

    name: ClassVar[str] = "dpgan"
    kind: ClassVar[type[DpganConfig]] = DpganConfig

    batch: int = whole(2048)
    turns: int = whole(4)
    clip: float = positive(1.0)
    rate: float = positive(2e-3)

    def check(self) -> None:
        super().check()
        if self.turns > self.steps:
            raise NacreError(
                f"turns={self.turns}: more than steps={self.steps}, so that the generator would never learn"
            )

    def training(
        self, layout: Layout, rows: int | None, budget: Budget, scope: Scope, others: tuple[Entry, ...]
    ) -> Entry:
        from nacre.privacy.accounting.calibration import noise_for

        q = chance(self, self.batch, rows)
        noise = noise_for(budget, scope, q, self.steps, others)
        part = Part("gradient", clip=self.clip if noise else None, sigma=noise)
        return Descend(self.entry, q=q, steps=self.steps, parts=(part,))

    def config(self, known: Bought) -> DpganConfig:
        return self.kind(known.coding.heads(0), known.coding.layout.classes, self.width)

    def train(self, curator: Curator, plan: Plan, known: Bought, config: Any, seed: int, tell: private.Tell) -> Any:
        import jax

        from nacre.nets.taps import Tapped
        from nacre.synthesizers.parts.adversarial import ADAM

        duel = CriticDescent(config, self.steps, self.turns, self.clip, self.rate, plan.cap)
        one, two = jax.random.split(jax.random.key(seed))
        critic = config.start_critic(two)
        state = {**private.start(config, known, one), "critic": critic, "critic_memory": ADAM.init(critic)}
        state = curator.descend(
            plan[self.entry],
            Tapped(duel.loss, parameters=lambda s: s["critic"]),
            state,
            duel.update,
            records=private.records,
            units=max(1, plan.rows or 1),
            public={"coding": known.coding, "config": config},
            seed=seed,
            progress=tell,
        )
        return state["mean"]
