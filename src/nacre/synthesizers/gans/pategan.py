"""`pategan`: teachers on disjoint parts of the rows vote, a student learns from noisy votes (Jordon and others 2019).

A teacher tells the rows of its part from generated ones. All teachers vote on a few generated rows at every step; the
sum of the votes gets Gaussian noise, priced by the bound that holds for any data (specs/ppem.md 8; the published
accountant depends on the votes, and its noise is of another order than they are). The student sees generated rows and
noisy votes only, those of many rounds, and the generator follows the student while it is held to the bought tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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

TURNS = 2  # steps of a teacher before each answer
ROWS = 16  # real rows in each of them
TEACHER_RATE = 2e-3
STUDIES = 20  # steps of the student, and of the generator, after each round of votes
NARROW = 16  # units of a teacher's layers
KEPT = 64  # rounds whose votes the student still reads
RIDGE = 1e-3  # on the student's weights: votes are few and noisy
HOLD = 10.0  # weight of the distance of generated rows from the bought one-way tables


@dataclass(frozen=True)
class Votes:
    """A teacher's steps and votes; what the student and the generator make of them."""

    config: Any
    teacher: Any
    steps: int
    rows: int
    rate: float

    def start(self) -> State:
        import jax

        from nacre.synthesizers.parts.adversarial import ADAM

        critic = self.teacher.start_critic(jax.random.key(7))
        return {"critic": critic, "memory": ADAM.init(critic)}

    def asked(self, state: State) -> Any:
        """The generated rows of this round: they follow from public randomness."""
        import jax

        key = jax.random.wrap_key_data(state["key"], impl="threefry2x32")
        return jax.lax.stop_gradient(
            private.made(self.config, state["generator"], state["log_shares"], key, self.rows)[0]
        )

    def learn(self, teacher: State, state: State, rows: Array, there: Array, key: jax.Array) -> Any:
        """A few steps of logistic regression by a small network: rows of the part against generated ones."""
        import jax

        from nacre.synthesizers.parts.adversarial import moved

        def one(teacher: State, turn: tuple) -> tuple[Any, None]:
            rows, there, key = turn
            fake = private.made(self.config, state["generator"], state["log_shares"], key, len(there))[0]

            def lose(critic: Tree) -> jax.Array:
                real = jax.nn.softplus(-self.teacher.value(critic, rows["x"], None)) * there
                return (real + jax.nn.softplus(self.teacher.value(critic, fake, None))).mean()

            critic, memory = moved(
                teacher["critic"], jax.grad(lose)(teacher["critic"]), teacher["memory"], TEACHER_RATE
            )
            return {"critic": critic, "memory": memory}, None

        turns = jax.tree.map(lambda x: x.reshape(TURNS, -1, *x.shape[1:]), (rows, there))
        return jax.lax.scan(one, teacher, (*turns, jax.random.split(key, TURNS)))[0]

    def answer(self, teacher: State, state: State) -> Any:
        """One vote per row: ½ for real, −½ for generated."""
        import jax.numpy as jnp

        return jnp.where(self.teacher.value(teacher["critic"], self.asked(state), None) > 0, 0.5, -0.5)

    def update(self, state: State, noisy: Array, key: jax.Array) -> State:
        """The votes are written down; then student and generator take turns, both on public things."""
        import jax
        import jax.numpy as jnp

        from nacre.synthesizers.parts.adversarial import moved, pace

        place = state["step"] % KEPT
        seen = state["seen"].at[place].set(self.asked(state))
        votes = state["votes"].at[place].set(noisy)
        known = jnp.minimum(state["step"] + 1, KEPT)
        speed = pace(state["step"] / self.steps)

        def study(state: State, key: jax.Array) -> tuple[Any, None]:
            a, b, c = jax.random.split(key, 3)
            at = (jax.random.randint(a, (64,), 0, known), jax.random.randint(b, (64,), 0, self.rows))

            def lose(student: Any) -> jax.Array:  # least squares: the mean of the votes, whatever their noise
                ridge = sum(jnp.square(w).sum() for name, w in student.items() if name.endswith("weight"))
                return ((self.config.value(student, seen[at], None) - votes[at]) ** 2).mean() + RIDGE * ridge

            student, studying = moved(
                state["student"], jax.grad(lose)(state["student"]), state["studying"], speed * self.rate
            )
            state = {**state, "student": student, "studying": studying}

            def please(generator: Tree) -> Any:
                rows = private.made(self.config, generator, state["log_shares"], c, 256)[0]
                apart = jnp.stack([rows.mean(axis=0), jnp.square(rows).mean(axis=0)]) - state["moments"]
                return HOLD * jnp.square(apart).sum() - self.config.value(student, rows, None).mean()

            return private.generator_step(
                state, jax.grad(please)(state["generator"]), speed * self.rate, self.steps * STUDIES
            ), None

        new, _ = jax.lax.scan(study, state, jax.random.split(key, STUDIES))
        return {**new, "seen": seen, "votes": votes, "step": state["step"] + 1, "key": jax.random.key_data(key)}


@dataclass(frozen=True)
class Pategan(private.PrivateGan):
    """`parts`: disjoint parts of the rows, each with a teacher; `steps`: rounds of votes; `rows`: generated rows that
    are voted on in a round; learning `rate` of student and generator."""

    name: ClassVar[str] = "pategan"

    steps: int = whole(100, most=MOST_STEPS)
    parts: int = whole(1000)
    rows: int = whole(32)
    rate: float = positive(5e-4)

    def training(
        self, layout: Layout, rows: int | None, budget: Budget, scope: Scope, others: tuple[Entry, ...]
    ) -> Entry:
        asked = Teach(self.entry, self.parts, 1.0, self.steps, self.rows, clip=0.5 * self.rows**0.5)
        return private.teaching(asked, budget, scope, others)

    def config(self, known: Bought) -> WganConfig:
        return WganConfig(known.coding.heads(0), 1, self.width)

    def train(self, curator: Curator, plan: Plan, known: Bought, config: Any, seed: int, tell: private.Tell) -> Any:
        import jax
        import jax.numpy as jnp

        from nacre.privacy.training.teaching import Lesson
        from nacre.synthesizers.parts.adversarial import ADAM

        voting = Votes(config, WganConfig(config.heads, 1, NARROW), self.steps, self.rows, self.rate)
        one, two, three = jax.random.split(jax.random.key(seed), 3)
        student = config.start_critic(three)
        state = {
            **private.start(config, known, one),
            "student": student,
            "studying": ADAM.init(student),
            "key": jax.random.key_data(two),
            "seen": jnp.zeros((KEPT, self.rows, config.heads.width)),
            "votes": jnp.zeros((KEPT, self.rows)),
            "moments": jnp.asarray(known.moments),
        }
        state = curator.teach(
            plan[self.entry],
            Lesson(voting.start, voting.learn, voting.answer, TURNS * ROWS),
            state,
            voting.update,
            records=private.records,
            public={"coding": known.coding, "config": config},
            seed=seed,
            progress=tell,
        )
        return state["mean"]
