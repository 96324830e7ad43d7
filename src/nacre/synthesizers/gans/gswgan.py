"""`gswgan`: critics on disjoint parts of the rows teach the generator by noisy gradients (Chen, Orekondy, Fritz 2020).

Every part has a critic of its own, a Wasserstein one with gradient penalty, that never leaves the room. It answers with
the gradient of its value at the generated rows of the step; all rows of a step are clipped and noised as ONE answer. To
count each generated row as a release of its own would claim ε = 1.22 where 95.4 is true (specs/dphflow.md 8), and one
critic drawn for every step has no proof when critics learn only where they are drawn: here every part has a coin of its
own (docs/proofs/teach.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Scope, Teach
from nacre.synthesizers.gans import private
from nacre.synthesizers.gans.bought import Bought
from nacre.synthesizers.gans.wgan import WganConfig
from nacre.synthesizers.options import MOST_STEPS, positive, whole
from nacre.synthesizers.parts.layout import Layout
from nacre.typed import Array, State, Tree

if TYPE_CHECKING:
    import jax

TURNS = 4  # steps of a critic before each answer
ROWS = 24  # real rows in each of them
CRITIC_RATE = 2e-3


@dataclass(frozen=True)
class CriticTeaching:
    """A critic's steps and answer, and the generator's turn."""

    config: Any
    steps: int
    rows: int
    rate: float

    def start(self) -> State:
        """All critics begin alike."""
        import jax

        from nacre.synthesizers.parts.adversarial import ADAM

        critic = self.config.start_critic(jax.random.key(7))
        return {"critic": critic, "memory": ADAM.init(critic)}

    def asked(self, state: State, generator: Tree) -> tuple[Any, Any]:
        """The generated rows of this step, the same for all critics: they follow from public randomness."""
        import jax

        key = jax.random.wrap_key_data(state["key"], impl="threefry2x32")
        return private.made(self.config, generator, state["log_shares"], key, self.rows)

    def learn(self, teacher: State, state: Any, rows: Array, there: Array, key: jax.Array) -> Any:
        """A few steps of WGAN-GP on rows of the part against generated rows of the same classes."""
        import jax

        from nacre.synthesizers.gans.wgan import PENALTY_WEIGHT
        from nacre.synthesizers.parts.adversarial import moved
        from nacre.synthesizers.parts.lipschitz import penalty_between

        def one(teacher: State, turn: tuple) -> tuple[Any, None]:
            rows, there, key = turn
            a, b = jax.random.split(key)
            real, weight = rows["x"], there & rows["there"]
            given = jax.nn.one_hot(rows["kind"], self.config.classes) if self.config.classes > 1 else None
            fake = private.generated_for(self.config, state["generator"], given, a, len(real))
            mix = jax.random.uniform(b, (len(real), 1))

            def lose(critic: Tree) -> jax.Array:
                steep = penalty_between(lambda x: self.config.value(critic, x, given), real, fake, mix)
                apart = self.config.value(critic, fake, given) - self.config.value(critic, real, given)
                return ((apart + PENALTY_WEIGHT * steep) * weight).mean()

            critic, memory = moved(teacher["critic"], jax.grad(lose)(teacher["critic"]), teacher["memory"], CRITIC_RATE)
            return {"critic": critic, "memory": memory}, None

        turns = jax.tree.map(lambda x: x.reshape(TURNS, -1, *x.shape[1:]), (rows, there))
        return jax.lax.scan(one, teacher, (*turns, jax.random.split(key, TURNS)))[0]

    def answer(self, teacher: State, state: State) -> Any:
        """∂ mean f / ∂ rows, times sqrt(rows), so that a critic of slope one gives a vector of length one."""
        import jax

        x, given = jax.lax.stop_gradient(self.asked(state, state["generator"]))
        slope = jax.grad(lambda rows: self.config.value(teacher["critic"], rows, given).sum())(x)
        return slope.reshape(-1) / self.rows**0.5

    def update(self, state: State, noisy: Array, key: jax.Array) -> State:
        """The noisy gradients pass back through the generator."""
        import jax

        from nacre.synthesizers.parts.adversarial import pace

        rows, back = jax.vjp(lambda generator: self.asked(state, generator)[0], state["generator"])
        (slope,) = back(-noisy.reshape(rows.shape))
        new = private.generator_step(state, slope, pace(state["step"] / self.steps) * self.rate, self.steps)
        return {**new, "step": state["step"] + 1, "key": jax.random.key_data(key)}


@dataclass(frozen=True)
class Gswgan(private.PrivateGan):
    """`parts`: disjoint parts of the rows, each with a critic; `batch`: parts expected in a step; `rows`: generated
    rows that a critic is asked about; learning `rate` of the generator."""

    name: ClassVar[str] = "gswgan"
    conditional: ClassVar[bool] = True

    steps: int = whole(2000, most=MOST_STEPS)
    parts: int = whole(1000)
    batch: int = whole(20)
    rows: int = whole(32)
    rate: float = positive(2e-3)

    def check(self) -> None:
        super().check()
        if self.batch > self.parts:
            raise NacreError(
                f"batch={self.batch}: more than parts={self.parts}, so that no more than all parts can enter a step"
            )

    def training(
        self, layout: Layout, rows: int | None, budget: Budget, scope: Scope, others: tuple[Entry, ...]
    ) -> Entry:
        size = self.rows * (len(layout.numbers) + layout.edges[-1])
        return private.teaching(
            Teach(self.entry, self.parts, self.batch / self.parts, self.steps, size), budget, scope, others
        )

    def config(self, known: Bought) -> WganConfig:
        return WganConfig(known.coding.heads(0), known.coding.layout.classes, self.width)

    def train(self, curator: Curator, plan: Plan, known: Bought, config: Any, seed: int, tell: private.Tell) -> Any:
        import jax

        from nacre.privacy.training.teaching import Lesson

        taught = CriticTeaching(config, self.steps, self.rows, self.rate)
        one, two = jax.random.split(jax.random.key(seed))
        state = curator.teach(
            plan[self.entry],
            Lesson(taught.start, taught.learn, taught.answer, TURNS * ROWS),
            {**private.start(config, known, one), "key": jax.random.key_data(two)},
            taught.update,
            records=private.records,
            public={"coding": known.coding, "config": config},
            seed=seed,
            progress=tell,
        )
        return state["mean"]
