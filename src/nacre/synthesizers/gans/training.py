"""The loop of the adversarial methods: several steps of the critic, one of the generator, compiled, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.nets.branched import forward, train_forward
from nacre.synthesizers.gans.config import TrainingConfig
from nacre.synthesizers.parts.adversarial import ADAM, Data, averaged, balanced, chunks, finite, kept, moved, pace
from nacre.synthesizers.parts.generator_model import GENERATOR
from nacre.typed import Array, Number, State

CHUNK = 200
REBUILDING = 2_000  # steps of an autoencoder before the adversarial training


def start(config: TrainingConfig, key: jax.Array) -> dict[str, Any]:
    keys = jax.random.split(key, 4)
    critic = config.start_critic(keys[0])
    generator, running = config.generator.start(keys[1])
    generators = {GENERATOR: generator}
    state = {"critic": critic, "generators": generators, "running": running}
    if config.decoder is not None:
        generators["decoder"] = config.decoder.start(keys[2])[0]
        state["coder"] = config.coder.start(keys[3])[0]  # type: ignore[attr-defined]
    return {
        **state,
        "mean": jax.tree.map(jnp.array, generators),
        "critic_memory": ADAM.init(critic),
        "generator_memory": ADAM.init(generators),
    }


def rows_and_class(config: TrainingConfig, data: Data, key: jax.Array) -> tuple[jax.Array, Any]:
    """A batch of real rows, half of it with every class equally often, and their one-hot class."""
    j = balanced(data, key, config.batch, config.classes)
    given = jax.nn.one_hot(data.kinds[j], config.classes) if config.classes > 1 else None
    return data.visible[j], given


def made(config: TrainingConfig, generators: Any, running: Any, given: Any, key: jax.Array) -> tuple[jax.Array, Any]:
    """Generated rows for these classes, and the new running averages."""
    one, two = jax.random.split(key)
    z = jax.random.normal(one, (config.batch, config.latent))
    raw, running = train_forward(config.generator, generators[GENERATOR], running, config.inputs(z, given))
    if config.decoder is not None:
        raw = forward(config.decoder, generators["decoder"], (raw,))
    return config.heads.relaxed(raw, two), running


def step(state: State, data: Data, key: jax.Array, number: Number, total: Number, config: TrainingConfig) -> State:
    speed, share = pace(number / total), kept(total)

    def turn(state: State, key: jax.Array) -> tuple[State, None]:
        a, b, c = jax.random.split(key, 3)
        real, given = rows_and_class(config, data, a)
        fake = jax.lax.stop_gradient(made(config, state["generators"], state["running"], given, b)[0])
        slope = jax.grad(config.critic_loss)(state["critic"], real, fake, given, c)
        critic, critic_memory = moved(state["critic"], slope, state["critic_memory"], speed * config.critic_rate)
        return {**state, "critic": critic, "critic_memory": critic_memory}, None

    keys = jax.random.split(key, config.turns + 1)
    state, _ = jax.lax.scan(turn, state, keys[1:])

    def lose(generators: State) -> tuple[jax.Array, Any]:
        a, b = jax.random.split(keys[0])
        _, given = rows_and_class(config, data, a)
        fake, running = made(config, generators, state["running"], given, b)
        return config.generator_loss(state["critic"], fake, given), running

    slope, running = jax.grad(lose, has_aux=True)(state["generators"])
    generators, generator_memory = moved(
        state["generators"], slope, state["generator_memory"], speed * config.generator_rate
    )
    mean = averaged(state["mean"], generators, share)
    return {**state, "generators": generators, "generator_memory": generator_memory, "running": running, "mean": mean}


@partial(jax.jit, static_argnames="config")
def _chunk(state: State, data: Data, key: jax.Array, numbers: Array, total: Number, config: TrainingConfig) -> State:
    def one(state: State, number: Number) -> tuple[Any, None]:
        return step(state, data, jax.random.fold_in(key, number), number, total, config), None

    return jax.lax.scan(one, state, numbers)[0]


@partial(jax.jit, static_argnames=("config", "length"))
def _rebuild(state: State, data: Data, key: jax.Array, config: Any, length: int) -> Any:
    """The autoencoder of medGAN, trained on rows before."""
    both = {"coder": state["coder"], "decoder": state["generators"]["decoder"]}

    def one(carried: Any, key: jax.Array) -> tuple[Any, None]:
        both, memory = carried
        x, _ = rows_and_class(config, data, key)
        slope = jax.grad(lambda b: config.rebuilding_loss(b["coder"], b["decoder"], x))(both)
        return moved(both, slope, memory, 1e-3), None

    (both, _), _ = jax.lax.scan(one, (both, ADAM.init(both)), jax.random.split(key, length))
    generators = {**state["generators"], "decoder": both["decoder"]}
    return {**state, "coder": both["coder"], "generators": generators, "mean": jax.tree.map(jnp.array, generators)}


@partial(jax.jit, static_argnames="config")
def _chunks(
    states: object, data: Data, keys: jax.Array, numbers: Array, total: Number, config: TrainingConfig
) -> State:
    return jax.vmap(lambda s, d, k: _chunk(s, d, k, numbers, total, config))(states, data, keys)


def train(
    data: Data,
    config: TrainingConfig,
    steps: int,
    key: jax.Array,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, dict[str, np.ndarray]]:
    """Weights of the generator (averaged over steps), and of the decoder where there is one. `steps` counts the
    critic's. Deterministic given key and device; ConvergenceError if a weight is not finite."""
    state = _begun(data, config, steps, key)
    total = max(1, steps // config.turns)
    for numbers in chunks(total, CHUNK):
        state = _chunk(state, data, key, numbers, float(total), config)
        progress(int(numbers[-1]) + 1, total)
    return _nets(state)


def train_together(
    data: Sequence[Data], config: TrainingConfig, steps: int, keys: Sequence[jax.Array]
) -> list[dict[str, dict[str, np.ndarray]]]:
    """What `train` gives for every table (all of one length) and key: one compiled loop over all of them, for a device
    that one training does not fill."""
    begun = [_begun(one, config, steps, key) for one, key in zip(data, keys)]
    states, rows, stacked = (jax.tree.map(lambda *x: jnp.stack(x), *several) for several in (begun, data, keys))
    total = max(1, steps // config.turns)
    for numbers in chunks(total, CHUNK):
        states = _chunks(states, rows, stacked, numbers, float(total), config)
    return [_nets(jax.tree.map(lambda leaf: leaf[i], states)) for i in range(len(begun))]  # noqa: B023


def _begun(data: Data, config: TrainingConfig, steps: int, key: jax.Array) -> dict[str, Any]:
    state = start(config, jax.random.fold_in(key, 2**31 - 1))
    if config.decoder is not None:
        state = _rebuild(state, data, jax.random.fold_in(key, 2**31 - 2), config, min(REBUILDING, steps))
    return state


def _nets(state: State) -> dict[str, dict[str, np.ndarray]]:
    nets = {**state["mean"], GENERATOR: {**state["mean"][GENERATOR], **state["running"]}}
    return finite(nets, "; train fewer steps")
