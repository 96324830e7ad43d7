"""Training by gradients through the door `descend`: plain SGD, DP-SGD, and full-batch noisy gradient descent.

The released parameters are the mean of the last half of the iterates: a function of noisy answers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from nacre.errors import PlanError
from nacre.learners import labelled, losses
from nacre.learners.training import Task, check_number
from nacre.nets.gru_d import GruD
from nacre.nets.taps import Tapped
from nacre.privacy.accounting.calibration import noise_for
from nacre.privacy.budget import Budget, default_delta
from nacre.privacy.plan import Descend, Entry, Part, Scope
from nacre.typed import Array, State


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent without noise or clipping: guarantee `none`."""

    loss: str = "bce"
    steps: int = 500
    batch: float = 256.0
    rate: float = 0.5
    l2: float = 0.0
    name: ClassVar[str] = "sgd"

    @property
    def private(self) -> bool:
        return False

    @property
    def extras(self) -> Mapping[str, Any]:
        return {}

    def budget(self, task: Task) -> Budget:
        return Budget(None, neighbours=task.neighbours)

    def entries(self, task: Task) -> tuple[Entry, ...]:
        losses.check(self.loss)
        check_number(rate=self.rate)
        check_number(zero=True, l2=self.l2)
        if isinstance(self.batch, bool) or not isinstance(self.batch, int | float) or not self.batch > 0:
            raise PlanError(f"batch={self.batch!r}: expected a number above 0 (float('inf') for all rows)")
        return (Descend("train", q=min(1.0, self.batch / task.rows), steps=self.steps, parts=(self._part(task),)),)

    def _part(self, task: Task) -> Part:
        return Part("gradient", clip=None, sigma=0.0)

    def train(self, task: Task) -> np.ndarray:
        return descend(task, self.loss, self.rate, self.l2)


@dataclass(frozen=True)
class DpSgd(Sgd):
    """DP-SGD with Poisson batches of expected size `batch`; gradients clipped to `clip`.

    With a `batch` of all rows or more it is full-batch noisy gradient descent (`NoisyGd`).
    """

    epsilon: float = 1.0
    delta: float | None = None
    clip: float = 1.0
    name: ClassVar[str] = "dpsgd"

    @property
    def private(self) -> bool:
        return self.epsilon is not None

    def budget(self, task: Task) -> Budget:
        delta = default_delta(task.rows) if self.delta is None else self.delta
        return Budget(self.epsilon, delta, task.neighbours)

    def _part(self, task: Task) -> Part:
        check_number(clip=self.clip)
        q = min(1.0, self.batch / task.rows)
        return Part(
            "gradient", clip=self.clip, sigma=noise_for(self.budget(task), Scope(task.neighbours), q, self.steps)
        )


@dataclass(frozen=True)
class NoisyGd(DpSgd):
    """Gradient descent on all rows at every step, with noise: no sampling of rows or parameters in its proof."""

    batch: float = float("inf")
    steps: int = 100
    name: ClassVar[str] = "noisy-gd"


def descend(task: Task, loss: str, rate: float, l2: float) -> np.ndarray:
    if task.network is not None:
        return _descend_network(task, task.network, loss, rate, l2)
    entry = task.plan["train"]
    outputs, half = losses.outputs(task.classes), entry.steps // 2

    def losses_of(parameters: Any, tape: Any, units: Any, keys: object, state: State) -> jax.Array:
        return losses.of_logits(loss, tape.dense("linear", parameters["linear"], units["x"]), units["y"])

    def update(state: State, noisy: Array, key: jax.Array) -> Any:
        """A step, and the running mean of the iterates of the last half."""
        now = jax.tree.map(lambda p, g: p - rate * (g + l2 * p), state["parameters"], noisy["gradient"])
        kept = jnp.maximum(state["step"] - half, 0) + 1
        mean = jax.tree.map(lambda m, p: m + (p - m) / kept, state["mean"], now)
        return {"parameters": now, "mean": mean, "step": state["step"] + 1}

    zero = {"weight": np.zeros((outputs, task.features), np.float32), "bias": np.zeros(outputs, np.float32)}
    state = {"parameters": {"linear": zero}, "mean": {"linear": zero}, "step": np.int32(0)}
    state = task.curator.descend(
        entry, Tapped(losses_of), state, update, records=labelled.records, units=task.rows, seed=task.seed
    )
    linear = state["mean"]["linear"]
    return np.concatenate([np.asarray(linear["weight"]), np.asarray(linear["bias"])[:, None]], axis=1).ravel()


def _descend_network(task: Task, network: GruD, loss: str, rate: float, l2: float) -> np.ndarray:
    """Gradients of one record at a time (`vmap(grad)`: recurrent weights are used many times), Adam on noisy sums."""
    entry, half = task.plan["train"], task.plan["train"].steps // 2
    rule = optax.adam(rate)

    def query(state: State, unit: Any, key: jax.Array) -> dict[str, Any]:
        def one(p: Any) -> jax.Array:
            return losses.of_logits(loss, network.logit(p, unit["x"])[None], unit["y"])

        return {"gradient": jax.grad(one)(state["parameters"])}

    def update(state: State, noisy: Array, key: jax.Array) -> Any:
        slope = jax.tree.map(lambda g, p: g + l2 * p, noisy["gradient"], state["parameters"])
        change, memory = rule.update(slope, state["memory"], state["parameters"])
        now = optax.apply_updates(state["parameters"], change)
        kept = jnp.maximum(state["step"] - half, 0) + 1
        mean = jax.tree.map(lambda m, p: m + (p - m) / kept, state["mean"], now)
        return {"parameters": now, "mean": mean, "memory": memory, "step": state["step"] + 1}

    start = jax.tree.map(jnp.asarray, network.start(task.seed))
    state = {"parameters": start, "mean": start, "memory": rule.init(start), "step": np.int32(0)}
    state = task.curator.descend(entry, query, state, update, records=labelled.records, units=task.rows, seed=task.seed)
    return np.asarray(ravel_pytree(state["mean"])[0])
