"""What `descend` is asked of one record, and what is done with the noisy answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from nacre.nets import flow
from nacre.nets.dequantise import Dequantiser
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Tape, Tapped
from nacre.synthesizers.base import Progress
from nacre.synthesizers.hflow import warm
from nacre.typed import Array, State, Tree

EDGE = 1e-6  # points of the box stay this far from its ends: their normal quantiles are below 4.8
ROWS_AT_ONCE, PRETRAINING_AT_ONCE = 4096, 250


@dataclass(frozen=True)
class Objective:
    """A lower bound on the log-probability of a record, by one point of its box (dphflow.md 3.2).

    `space`: where the flow lives. "normal": normal quantiles of the box, so that the identity makes all axes
    independent and uniform; "uniform": sqrt(3)(2y - 1), the paper's. `one_hots`: (first axis, labels) of the columns
    encoded so. `codes`: labels of every column with labels. `group`: records of one unit.
    """

    shape: Shape
    space: str
    one_hots: tuple[tuple[int, int], ...]
    codes: tuple[int, ...]
    one_hot_codes: tuple[int, ...]
    label_codes: tuple[int, ...]
    dequantiser: Dequantiser | None = None
    group: int = 1

    def start(self, key: jax.Array) -> dict[str, Any]:
        parameters = flow.start(self.shape, key)
        if self.dequantiser is not None:
            parameters |= self.dequantiser.start(jax.random.fold_in(key, 1))
        return parameters

    def loss(self, parameters: Mapping[str, Any], tape: Tape, units: Any, keys: jax.Array, state: State) -> jax.Array:
        """The negative bound [batch]; of a person with several rows, the sum over those that are there."""
        if self.group == 1:
            return -self.bound(parameters, _Once(tape), units, keys)
        records, present = units
        once, total = _Once(tape), jnp.zeros(len(keys))
        for i in range(self.group):
            one = jax.tree.map(lambda x: x[:, i], records)  # noqa: B023
            own = jax.vmap(jax.random.fold_in, (0, None))(keys, i)
            total = total - jnp.where(present[:, i], self.bound(parameters, once, one, own), 0.0)
        return total

    def bound(self, parameters: Mapping[str, Tree], tape: Any, record: Any, keys: jax.Array) -> jax.Array:
        """log p(y) - log q(u) at one point of every record's box; the box's own volume is left out."""
        batch, axes = record["low"].shape
        log_q = jnp.zeros(batch)
        if self.dequantiser is None:
            u = jax.vmap(lambda k: jax.random.uniform(k, (axes,)))(keys)
        else:
            noise = jax.vmap(lambda k: jax.random.normal(k, (axes,)))(keys)
            context = jnp.concatenate([self._one_hot(record["codes"], self.codes), 2 * record["low"] - 1], axis=1)
            u, log_q = self.dequantiser(parameters, tape, context, noise)
        y = jnp.clip(self._swapped(record["low"] + record["width"] * u, record["codes"]), EDGE, 1 - EDGE)
        h, log_slope = self.to_line(y)
        labels = self._one_hot(record["codes"], self.shape_codes) if any(self.shape.cells) else None
        return flow.log_density(self.shape, parameters, tape, h, labels) + log_slope - log_q

    @property
    def shape_codes(self) -> tuple[int, ...]:
        """Labels of every coded column that the network reads, 0 for the others."""
        return tuple(size if i in self.label_codes else 0 for i, size in enumerate(self.codes))

    def to_line(self, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        """h of y in (0, 1)^d and Σ log dh/dy."""
        if self.space == "uniform":
            return math.sqrt(3) * (2 * y - 1), jnp.full(len(y), y.shape[1] * math.log(2 * math.sqrt(3)))
        h = jax.scipy.special.ndtri(y)
        return h, (0.5 * jnp.square(h) + 0.5 * math.log(2 * math.pi)).sum(axis=1)

    def _one_hot(self, codes: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
        """Of a code of -1 nothing is said."""
        return jnp.concatenate(
            [jnp.zeros((len(codes), 0)), *(jax.nn.one_hot(codes[:, i], n) for i, n in enumerate(sizes) if n)], axis=1
        )

    def _swapped(self, y: jax.Array, codes: jax.Array) -> jax.Array:
        """A uniform point of the part of [0, 1]^K where the label's axis is the largest: the largest changes places."""
        for (first, size), column in zip(self.one_hots, self.one_hot_codes):
            block, code = y[:, first : first + size], codes[:, column]
            mine = jax.nn.one_hot(code, size, dtype=bool)
            most = block.max(axis=1, keepdims=True)
            here = jnp.where(mine, block, 0.0).sum(axis=1, keepdims=True)
            swapped = jnp.where(mine, most, jnp.where(block == most, here, block))
            y = y.at[:, first : first + size].set(jnp.where((code >= 0)[:, None], swapped, block))
        return y


class _Once:
    """A tape that hands out a record's own copies once, however often they are asked for in a pass."""

    def __init__(self, tape: Tape):
        self.tape, self.kept = tape, {}

    def dense(self, *use: Any) -> jax.Array:
        return self.tape.dense(*use)

    def own(self, name: str, value: Array) -> Any:
        if name not in self.kept:
            self.kept[name] = self.tape.own(name, value)
        return self.kept[name]


@dataclass(frozen=True)
class Descending:
    """AdaBelief (dphflow.md 3.12) and an average of the weights: functions of noisy gradients only."""

    steps: int
    rate: float = 1e-3
    decay: str = "constant"
    averaging: float = 0.0

    def optimiser(self) -> optax.GradientTransformation:
        rate = optax.cosine_decay_schedule(self.rate, self.steps) if self.decay == "cosine" else self.rate
        return optax.adabelief(rate, b1=0.9, b2=0.999, eps=1e-16)

    def start(self, parameters: Tree) -> dict[str, Any]:
        state = {"parameters": parameters, "optimiser": self.optimiser().init(parameters)}
        return state | ({"average": parameters, "count": jnp.int32(0)} if self.averaging else {})

    def update(self, state: State, noisy: Mapping[str, Any], key: jax.Array) -> Any:
        moves, optimiser = self.optimiser().update(noisy["gradient"], state["optimiser"], state["parameters"])
        parameters = optax.apply_updates(state["parameters"], moves)
        new = {"parameters": parameters, "optimiser": optimiser}
        if self.averaging:
            count = state["count"]  # the first steps are forgotten sooner: the start must not weigh on short runs
            share = jnp.maximum(1 - self.averaging, 9 / (10 + count))
            new["count"] = count + 1
            new["average"] = jax.tree.map(lambda a, p: a + share * (p - a), state["average"], parameters)
        return new

    def end(self, state: State) -> Any:
        return state["average"] if self.averaging else state["parameters"]


def pretrained(
    objective: Objective, parameters: Any, records: Mapping[str, Any], steps: int, key: jax.Array, progress: Progress
) -> Any:
    """The parameters after so many steps of plain descent on public records."""
    count, optimiser = len(records["low"]), optax.adabelief(optax.cosine_decay_schedule(warm.RATE, steps))
    batch = min(warm.BATCH, count)

    def loss(parameters: Any, records: Any, key: jax.Array) -> jax.Array:
        choice, noise = jax.random.split(key)
        some = {name: values[jax.random.randint(choice, (batch,), 0, count)] for name, values in records.items()}
        return -objective.bound(parameters, _Once(Tape(batch)), some, jax.random.split(noise, batch)).mean()

    @jax.jit
    def descended(state: Any, records: Any, first: jax.Array, last: jax.Array) -> Any:
        def step(number: jax.Array, state: Any) -> Any:
            slope = jax.grad(loss)(state[0], records, jax.random.fold_in(key, number))
            moves, own = optimiser.update(slope, state[1], state[0])
            return optax.apply_updates(state[0], moves), own

        return jax.lax.fori_loop(first, last, step, state)

    state, records = (parameters, optimiser.init(parameters)), jax.device_put(dict(records))
    for first in range(0, steps, PRETRAINING_AT_ONCE):
        progress("learning from tables", first, steps)
        state = descended(state, records, first, min(first + PRETRAINING_AT_ONCE, steps))
    return state[0]


def query(objective: Objective) -> Tapped:
    return Tapped(objective.loss)


def log_probabilities(
    objective: Objective, parameters: Any, records: Mapping[str, Any], samples: int, key: jax.Array
) -> Any:
    """log (1/S) Σ p(y_s)·volume of the box [n]: a lower bound in expectation, the tighter the more samples."""
    import numpy as np

    @jax.jit
    def bound(parameters: Any, some: Any, key: jax.Array) -> jax.Array:
        n = len(some["low"])

        def draw(k: jax.Array) -> jax.Array:
            return objective.bound(parameters, Tape(n), some, jax.random.split(k, n))

        found = jax.lax.map(draw, jax.random.split(key, samples))
        volume = jnp.log(jnp.where(some["width"] > 0, some["width"], 1.0)).sum(axis=1)
        for (_, size), column in zip(objective.one_hots, objective.one_hot_codes):
            volume = volume - jnp.where(some["codes"][:, column] >= 0, math.log(size), 0.0)
        return jax.nn.logsumexp(found, axis=0) - math.log(samples) + volume

    rows, parts = len(records["low"]), []
    batch = min(ROWS_AT_ONCE, 1 << max(rows - 1, 0).bit_length())
    for start in range(0, rows, batch):
        some = {k: v[start : start + batch] for k, v in records.items()}
        short = batch - len(some["low"])
        padded = {k: np.pad(v, ((0, short), (0, 0))) for k, v in some.items()}
        parts.append(np.asarray(bound(parameters, padded, jax.random.fold_in(key, start)))[: batch - short])
    return np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float64)
