"""What the private adversarial methods share: options, the plan, the generator's state, and the model at the end.

A method buys one-way tables, then trains through one door (`descend` or `teach`). The generator and everything made by
it are public: data enter only through the noisy answers of that door.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from nacre.errors import NacreError
from nacre.nets.branched import check_size
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Scope, Teach
from nacre.synthesizers.base import Progress, check_whole, refuse_tensors, refuse_unknown_target, silent
from nacre.synthesizers.gans import bought
from nacre.synthesizers.gans.model import GanModel
from nacre.synthesizers.gans.rules import Rules
from nacre.synthesizers.hflow import marginals
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.layout import Layout
from nacre.table import Schema

Tell = Callable[[int, int], None]  # steps done, steps in all
IDLE = {"turns": "the generator would never learn", "batch": "no more than all parts can enter a step"}
MEMORY, START = 0.99, 2.5  # of the averaged generator; less than e^-START of it are the weights it started with


@dataclass(frozen=True)
class PrivateGan:
    """Subclasses say what is asked of the rows. `conditional`: the class is drawn by its noisy share and is a
    condition; otherwise it is a column like the others. `tables`: share of μ² for one-way tables.
    """

    name: ClassVar[str]
    model: ClassVar[type[GanModel]] = GanModel
    conditional: ClassVar[bool] = False
    entry: ClassVar[str] = "training"

    target: str | None = None
    tables: float = 0.1
    width: int = 64
    steps: int = 1000

    def __post_init__(self) -> None:
        check_whole(self, *(n for n in ("steps", "width", "batch", "parts", "turns", "rows") if hasattr(self, n)))
        check_size(self.width)
        for option, most in (("turns", "steps"), ("batch", "parts")):
            if hasattr(self, option) and hasattr(self, most) and getattr(self, option) > getattr(self, most):
                given = f"{option}={getattr(self, option)}"
                raise NacreError(f"{given}: more than {most}={getattr(self, most)}, so that {IDLE[option]}")
        for option in (n for n in ("clip", "rate") if hasattr(self, n)):
            above_zero(option, getattr(self, option))
        if isinstance(self.tables, bool) or not isinstance(self.tables, int | float) or not 0 < self.tables < 1:
            raise NacreError(f"tables={self.tables!r}: expected a number between 0 and 1, the share of one-way tables")

    def supports(self, schema: Schema) -> None:
        refuse_tensors(schema, self.name)
        refuse_unknown_target(schema, self.target)
        self.layout(schema)

    def layout(self, schema: Schema) -> Layout:
        return Layout.of(schema, revealed.class_column(schema, self.target) if self.conditional else None, self.name)

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        layout = self.layout(schema)
        scope = Scope(budget.neighbours, schema.unit.cap if schema.unit else 1)
        entries = (*before, marginals.entry(len(schema.modelled), budget, scope, before, self.tables))
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
        rules = self.rules(known)
        tell = lambda done, of: progress("training", done, of)  # noqa: E731
        maker = self.train(curator, plan, known, rules, seed, tell)
        weights = jax.tree.map(lambda a: np.asarray(a, np.float32), maker)
        return GanModel(known.coding, {"maker": (rules.maker, weights)}, known.shares, max(1, plan.rows or 1))

    def rules(self, known: bought.Bought) -> Any:
        raise NotImplementedError

    def train(
        self,
        curator: Curator,
        plan: Plan,
        known: bought.Bought,
        rules: Any,
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


def above_zero(option: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise NacreError(f"{option}={value!r}: expected a number above 0")


def records(columns: Any, public: Any) -> dict[str, Any]:
    """Arrays of each row alone: its vector, its class, and whether it has one."""
    (rows,), kinds = public["coding"].encode(columns)
    return {"x": rows, "kind": kinds.clip(0), "there": kinds >= 0}


# ------------------------------------------------------------------------------- the generator's part of the state


def start(rules: Rules, known: bought.Bought, key: Any) -> dict[str, Any]:
    """Weights, their average, Adam's memory, and the public shares of the classes."""
    import jax
    import jax.numpy as jnp

    from nacre.synthesizers.ppem.training import ADAM

    maker = known.begun(rules.maker.start(key)[0])
    return {
        "maker": maker,
        "mean": jax.tree.map(jnp.array, maker),
        "making": ADAM.init(maker),
        "log_shares": jnp.log(jnp.asarray(known.shares, jnp.float32) + 1e-9),
        "step": jnp.zeros((), jnp.int32),
    }


def made(rules: Rules, maker: Any, log_shares: Any, key: Any, rows: int) -> tuple[Any, Any]:
    """(generated rows with whole labels, their one-hot class or None); gradients pass as through relaxed labels."""
    import jax

    a, b = jax.random.split(key)
    if rules.classes == 1:
        return made_for(rules, maker, None, a, rows), None
    given = jax.nn.one_hot(jax.random.categorical(b, log_shares, shape=(rows,)), rules.classes)
    return made_for(rules, maker, given, a, rows), given


def made_for(rules: Rules, maker: Any, given: Any, key: Any, rows: int) -> Any:
    """Generated rows of these classes."""
    import jax
    import jax.numpy as jnp

    from nacre.nets.branched import forward

    a, b = jax.random.split(key)
    z = jax.random.normal(a, (rows, rules.latent))
    soft = rules.heads.relaxed(forward(rules.maker, maker, rules.inputs(z, given)), b)
    numbers, sizes = rules.heads.numbers, rules.heads.sizes
    if not sizes:
        return soft
    owner = jnp.asarray(rules.heads.owner)
    labels = soft[:, numbers:]
    top = jax.ops.segment_max(labels.T, owner, len(sizes))[owner].T
    whole = jnp.concatenate([soft[:, :numbers], (labels >= top).astype(soft.dtype)], axis=1)
    return soft + jax.lax.stop_gradient(whole - soft)


def improved(state: Any, slope: Any, rate: Any, total: int) -> Any:
    """The state after one of `total` steps of the generator along `slope`, with its average."""
    import jax

    from nacre.synthesizers.ppem.training import moved

    maker, making = moved(state["maker"], slope, state["making"], rate)
    share = min(MEMORY, max(0.0, 1 - START / max(total, 1)))
    mean = jax.tree.map(lambda old, new: share * old + (1 - share) * new, state["mean"], maker)
    return {**state, "maker": maker, "making": making, "mean": mean}
