"""Train the generator on a released embedding: PEARL's training against the critic, or DP-MERF's plain least squares.

Post-processing: it sees the noisy sums per class, their noise and the public frequencies. The classes are compared
unnormalised, Phi_c with p_c·phi_c (specs/pearl.md E4); a batch's squared error loses the variance of its mean and
the noise's own square (E6).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.synthesizers.parts.adversarial import chunks, finite
from nacre.synthesizers.pearl import critic, generator
from nacre.synthesizers.pearl.config import Embedding, TrainingConfig
from nacre.typed import Array

CHUNK = 200  # steps per jitted call
LOG = logging.getLogger(__name__)


def features(raw: jax.Array, key: jax.Array, t: jax.Array, config: TrainingConfig) -> jax.Array:
    """Features [rows, F] of generated rows, or their expectation given the noise z."""
    numbers = jax.nn.sigmoid(raw[:, : config.numbers])
    hot = _blocks(raw, key, config)
    if config.kind == "mixed":
        angle = _angle(numbers, t[:, : config.numbers])
        waves = [jnp.cos(angle) * len(t) ** -0.5, jnp.sin(angle) * len(t) ** -0.5] if config.numbers else []
        return jnp.concatenate([*waves, *(h * len(config.blocks) ** -0.5 for h in hot)], axis=1)
    if config.outputs == "exact":
        return jnp.concatenate(_product(numbers, hot, t, config), axis=1) * len(t) ** -0.5
    angle = _angle(jnp.concatenate([numbers, *hot], axis=1), t)
    return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1) * len(t) ** -0.5


def _angle(x: jax.Array, t: jax.Array) -> jax.Array:
    """t·x in full precision: accelerators would round the factors to ten bits."""
    return jnp.matmul(x, t.T, precision="highest")


def _blocks(raw: jax.Array, key: jax.Array, config: TrainingConfig) -> list[jax.Array]:
    found, start = [], config.numbers
    for size in config.blocks:
        logits = raw[:, start : start + size]
        if config.outputs == "straight-through":
            key, own = jax.random.split(key)
            soft = jax.nn.softmax(logits + jax.random.gumbel(own, logits.shape))
            hard = jax.nn.one_hot(soft.argmax(1), size, dtype=soft.dtype)
            found.append(hard + soft - jax.lax.stop_gradient(soft))
        else:
            found.append(jax.nn.softmax(logits))
        start += size
    return found


def _product(
    numbers: jax.Array, hot: Sequence[jax.Array], t: jax.Array, config: TrainingConfig
) -> tuple[jax.Array, jax.Array]:
    """E[e^{it·x} | z] = e^{i t·numbers} Π_blocks Σ_c p_c e^{i t_c}, exact (specs/pearl.md E7)."""
    angle = _angle(numbers, t[:, : config.numbers])
    re, im = jnp.cos(angle), jnp.sin(angle)
    start = config.numbers
    for size, p in zip(config.blocks, hot):
        part = t[:, start : start + size].T
        c, s = p @ jnp.cos(part), p @ jnp.sin(part)
        re, im = re * c - im * s, re * s + im * c
        start += size
    return re, im


def squared_error(value: jax.Array, kinds: jax.Array, released: Embedding) -> jax.Array:
    """Per coordinate, summed over classes: (released - p_c·batch mean)², unbiased for the generator's own error."""
    count = kinds.sum(0)[:, None]
    mean = kinds.T @ value / count
    second = kinds.T @ value**2 / count
    share = released.shares[:, None]
    wrong = (released.value - share * mean) ** 2 - share**2 * (second - mean**2) / (count - 1)
    return wrong.sum(0) - len(released.shares) * released.noise**2


def train(
    released: Embedding,
    config: TrainingConfig,
    key: jax.Array,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, np.ndarray]:
    """Weights and running averages of the generator. Deterministic given key and device."""
    released = Embedding(*(jnp.asarray(a, jnp.float32) for a in released))
    key, own = jax.random.split(key)
    state, log_start = begin(released, config, own)
    for numbers in chunks(config.steps, CHUNK):
        key, own = jax.random.split(key)
        state, done = advance(state, log_start, own, released, config, numbers), int(numbers[-1]) + 1
        progress(done, config.steps)
        if config.every and LOG.isEnabledFor(logging.INFO):
            weight = critic.weights(released.frequencies, log_start, state[3], config.spread)
            left = float(critic.effective_size(weight))
            LOG.info("step %d of %d: %.0f of %d frequencies effective", done, config.steps, left, len(weight))
    told = (
        f" in {config.steps} steps of {config.batch} rows: take fewer (option `steps`), or more rows a step (`batch`)"
    )
    return finite({**state[0], **state[1]}, told)


def begin(released: Embedding, config: TrainingConfig, key: jax.Array) -> tuple[Any, jax.Array]:
    """State before the first step (weights, running averages, log scales of the critic, memories of both players), and
    where the log scales begin."""
    net, running = generator.start(config.network, key, config.classes)
    # Frequencies of factor f have the mean square f² scale².
    factors = jnp.mean(jnp.asarray(config.spread) ** 2)
    log_start = jnp.log(jnp.sqrt(jnp.mean(released.frequencies**2, axis=0) / factors + 1e-12))
    optimiser = optax.adam(config.rate)
    return (net, running, optimiser.init(net), log_start, optimiser.init(log_start)), log_start


@partial(jax.jit, static_argnames="config")
def advance(
    state: Any, log_start: jax.Array, key: jax.Array, released: Embedding, config: TrainingConfig, numbers: Array
):
    """The state after the steps of these numbers."""
    optimiser = optax.adam(config.rate)
    network = config.network
    kinds = jax.nn.one_hot(jnp.arange(config.batch) % config.classes, config.classes)  # as many rows of every class

    def draw(key):
        return jnp.concatenate([jax.random.normal(key, (config.batch, network.latent)), kinds], axis=1)

    def weigh(wrong, log_scale):
        if not config.every:
            return jnp.sum(wrong)
        weight = critic.weights(released.frequencies, log_start, log_scale, config.spread)
        return jnp.sum(jnp.concatenate([weight, weight]) * wrong)

    def lose(net, running, log_scale, key):
        raw, running = generator.train_forward(network, net, running, draw(key))
        value = features(raw, jax.random.fold_in(key, 1), released.frequencies, config)
        return weigh(squared_error(value, kinds, released), log_scale), running

    def step(carry, now):
        net, running, first, log_scale, second = carry
        number, key = now
        grad, running = jax.grad(lose, has_aux=True)(net, running, log_scale, key)
        update, first = optimiser.update(grad, first)
        net: Any = optax.apply_updates(net, update)

        def play(log_scale, second):
            fresh = jax.random.fold_in(key, 2)
            raw = generator.forward(network, dict(net) | dict(running), draw(fresh))
            value = features(raw, jax.random.fold_in(fresh, 1), released.frequencies, config)
            wrong = squared_error(value, kinds, released)
            update, second = optimiser.update(jax.grad(lambda s: -weigh(wrong, s))(log_scale), second)
            moved = optax.apply_updates(log_scale, update)
            return critic.kept_in_play(
                log_start, log_scale, jnp.asarray(moved), released.frequencies, config.spread
            ), second

        if config.every:
            turn = number % config.every == config.every - 1
            log_scale, second = jax.lax.cond(turn, play, lambda *same: same, log_scale, second)
        return (net, running, first, log_scale, second), None

    carry, _ = jax.lax.scan(step, state, (numbers, jax.random.split(key, len(numbers))))
    return carry
