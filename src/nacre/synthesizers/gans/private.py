"""What the private adversarial methods share: options, the plan, the generator's state, and the model at the end.

A method buys one-way tables, then trains through one door (`descend` or `teach`). The generator and everything made by
it are public: data enter only through the noisy answers of that door.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from nacre.nets.branched import check_size
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Scope, Teach
from nacre.synthesizers.base import Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.gans import bought
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.gans.model import GanModel
from nacre.synthesizers.options import MOST_STEPS, between, whole
from nacre.synthesizers.parts import one_way, revealed
from nacre.synthesizers.parts.generator_model import GENERATOR
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema
from nacre.typed import Array, Number, State

if TYPE_CHECKING:
    import jax

Tell = Callable[[int, int], None]  # steps done, steps in all
MEMORY, START = 0.99, 2.5  # of the averaged generator; less than e^-START of it are the weights it started with


@dataclass(frozen=True)
class PrivateGan(Synthesizer):
    """Subclasses say what is asked of the rows. `conditional`: the class is drawn by its noisy share and is a
    condition; otherwise it is a column like the others. `tables`: share of μ² for one-way tables.
    """

    model: ClassVar[type[GanModel]] = GanModel
    conditional: ClassVar[bool] = False
    entry: ClassVar[str] = "training"

    tables: float = between(0.1, 0, 1, open_ends=True, what=", the share of one-way tables")
    width: int = whole(64)
    steps: int = whole(1000, most=MOST_STEPS)

    def check(self) -> None:
        check_size(self.width)

    def supports(self, schema: Schema) -> None:
        super().supports(schema)
        self.layout(schema)

    def layout(self, schema: Schema) -> Layout:
        return Layout.of(schema, revealed.class_column(schema, self.target) if self.conditional else None, self.name)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = self.layout(schema)
        scope = scope_of(schema, budget)
        entries = (*before, one_way.entry(len(schema.modelled), budget, scope, before, self.tables))
        training = self.training(layout, rows, budget, scope, entries)
        return Plan(self.name, (*entries, training), budget, scope.cap, rows)

    def training(
        self, layout: Layout, rows: int | None, budget: Budget, scope: Scope, others: tuple[Entry, ...]
    ) -> Entry:
        """The entry of the training door, with all noise that is left."""
        raise NotImplementedError

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> GanModel:
        import jax
        import numpy as np

        layout = self.layout(curator.schema)
        progress("counting", 0, None)
        known = bought.buy(curator, plan, layout)
        config = self.config(known)
        tell = lambda done, of: progress("training", done, of)  # noqa: E731
        generator = self.train(curator, plan, known, config, seed, tell)
        weights = jax.tree.map(lambda a: np.asarray(a, np.float32), generator)
        return GanModel(known.coding, {GENERATOR: (config.generator, weights)}, known.shares, max(1, plan.rows or 1))

    def config(self, known: bought.Bought) -> Any:
        raise NotImplementedError

    def train(
        self,
        curator: Curator,
        plan: Plan,
        known: bought.Bought,
        config: object,
        seed: int,
        tell: Tell,
    ) -> Any:
        """The weights of the trained generator."""
        raise NotImplementedError


def teaching(planned: Teach, budget: Budget, scope: Scope, others: tuple[Entry, ...]) -> Teach:
    """The entry with the noise that the budget asks for; without a budget neither noise nor clip."""
    from nacre.privacy.accounting.calibration import teaching_noise_for

    noise = teaching_noise_for(budget, scope, planned, others)
    return replace(planned, sigma=noise, clip=planned.clip if noise else None)


def records(columns: Any, public: Any) -> dict[str, Any]:
    """Arrays of each row alone: its vector, its class, and whether it has one."""
    (rows,), kinds = public["coding"].encode(columns)
    return {"x": rows, "kind": kinds.clip(0), "there": kinds >= 0}


# ------------------------------------------------------------------------------- the generator's part of the state


def start(config: TrainingConfig, known: bought.Bought, key: jax.Array) -> dict[str, Any]:
    """Weights, their average, Adam's memory, and the public shares of the classes."""
    import jax
    import jax.numpy as jnp

    from nacre.synthesizers.parts.adversarial import ADAM

    generator = known.begun(config.generator.start(key)[0])
    return {
        "generator": generator,
        "mean": jax.tree.map(jnp.array, generator),
        "generator_memory": ADAM.init(generator),
        "log_shares": jnp.log(jnp.asarray(known.shares, jnp.float32) + 1e-9),
        "step": jnp.zeros((), jnp.int32),
    }


def made(config: TrainingConfig, generator: Any, log_shares: Any, key: jax.Array, rows: int) -> tuple[Any, Any]:
    """(generated rows with whole labels, their one-hot class or None); gradients pass as through relaxed labels."""
    import jax

    a, b = jax.random.split(key)
    if config.classes == 1:
        return generated_for(config, generator, None, a, rows), None
    given = jax.nn.one_hot(jax.random.categorical(b, log_shares, shape=(rows,)), config.classes)
    return generated_for(config, generator, given, a, rows), given


def generated_for(config: TrainingConfig, generator: Any, given: Any, key: jax.Array, rows: int) -> Any:
    """Generated rows of these classes."""
    import jax
    import jax.numpy as jnp

    from nacre.nets.branched import forward

    a, b = jax.random.split(key)
    z = jax.random.normal(a, (rows, config.latent))
    soft = config.heads.relaxed(forward(config.generator, generator, config.inputs(z, given)), b)
    numbers, sizes = config.heads.numbers, config.heads.sizes
    if not sizes:
        return soft
    owner = jnp.asarray(config.heads.owner)
    labels = soft[:, numbers:]
    top = jax.ops.segment_max(labels.T, owner, len(sizes))[owner].T
    whole = jnp.concatenate([soft[:, :numbers], (labels >= top).astype(soft.dtype)], axis=1)
    return soft + jax.lax.stop_gradient(whole - soft)


def generator_step(state: State, slope: Array, rate: Number, total: int) -> Any:
    """The state after one of `total` steps of the generator along `slope`, with its average."""

    from nacre.synthesizers.parts.adversarial import averaged, moved

    generator, generator_memory = moved(state["generator"], slope, state["generator_memory"], rate)
    share = min(MEMORY, max(0.0, 1 - START / max(total, 1)))
    return {
        **state,
        "generator": generator,
        "generator_memory": generator_memory,
        "mean": averaged(state["mean"], generator, share),
    }
