"""The loop: steps of the critic where there is one, a step of the generator, compiled in chunks; many seeds by vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.distances.kernels import RBFSum
from nacre.synthesizers.parts.adversarial import averaged, chunks, finite, moved, pace
from nacre.synthesizers.weighted import losses
from nacre.synthesizers.weighted.config import Batch, Data, TrainingConfig
from nacre.typed import Array, Number, State, Tree

CHUNK = 500
RULES = {
    "adam": optax.scale_by_adam(b1=0.5, b2=0.99),
    "rmsprop": optax.scale_by_rms(decay=0.99),
}


def prepared(rows: Any, weights: Any, given: Any = None, copies: Any = None, fixed: bool = True) -> Data:
    """`copies`: how often each row is repeated, for importance duplication; by default the weights themselves. `fixed`:
    the kernel is fixed, and its bandwidths are in units of the rows' median distance."""
    from nacre.distances.kernels import median_distance

    rows = np.asarray(rows, np.float32)
    draw = np.cumsum(np.asarray(weights if copies is None else copies, np.float64))
    upto = np.minimum(np.rint(draw / draw[-1] * 2.0**32), 2.0**32 - 1).astype(np.uint32)  # floats are too coarse
    given = np.zeros((len(rows), 0)) if given is None else given
    if fixed and rows.ndim == 2:
        heavy = np.random.default_rng(0).choice(len(rows), min(2_000, len(rows)), p=weights / np.sum(weights))
        distance = median_distance(rows[heavy])
    else:
        distance = 1.0
    scaled = np.asarray(weights, np.float32)
    return Data(rows, scaled, upto, np.asarray(given, np.float32), np.float32(distance))


def start(config: TrainingConfig, key: jax.Array) -> dict[str, Any]:
    one, two, three = jax.random.split(key, 3)
    generator = config.generator.start(one)
    critic = {} if config.critic is None else {"critic": config.critic.start(two)}
    critic |= {} if config.back is None else {"back": config.back.start(three)}
    rule = RULES[config.optimiser]
    return {
        "generator": generator,
        "critic": critic,
        "mean": jax.tree.map(jnp.array, generator),
        "generator_memory": rule.init(generator),
        "critic_memory": rule.init(critic),
    }


# ------------------------------------------------------------------------------------------------------- batches


def batch(config: TrainingConfig, data: Data, key: jax.Array) -> Batch:
    """Rows uniformly drawn, or by weight for losses that know no weights."""
    n = len(data.rows)
    if config.by_weight or config.scheme == "plain":
        u = jax.random.bits(key, (config.batch,), jnp.uint32)
        i = jnp.minimum(jnp.searchsorted(data.upto, u, side="right"), n - 1)
    else:
        i = jax.random.randint(key, (config.batch,), 0, n)
    return Batch(data.rows[i], data.weights[i], data.given[i])


def made(config: TrainingConfig, generator: Tree, given: Array, key: jax.Array) -> Any:
    """Generated rows for these conditions."""
    one, two = jax.random.split(key)
    z = jax.random.normal(one, (len(given), config.latent))
    raw = config.generator(generator, (z, given) if given.shape[1] else (z,))
    return raw if config.heads is None else config.heads.relaxed(raw, two)


def estimator(config: TrainingConfig) -> losses.Estimator:
    return losses.Estimator("plain" if config.by_weight else config.scheme, config.form, config.groups)


# -------------------------------------------------------------------------------------------------------- losses


def distance(
    config: TrainingConfig, data: Data, critic: Any, real: Batch, fake: Any, key: jax.Array
) -> tuple[Any, Any, Any]:
    """(squared MMD on codes, or on the rows for a fixed kernel; codes of real rows; codes of generated ones)."""
    x, y = real.rows, fake
    if config.critic is None:
        kernel = RBFSum(tuple(s * data.distance for s in config.scales))
    else:
        x, y = (config.critic(critic["critic"], (r,)) for r in (x, y))
        kernel = RBFSum(config.scales)
    return losses.squared_mmd(kernel, x, y, real.weights, estimator(config), key), x, y


def critic_loss(critic: Any, config: TrainingConfig, data: Data, real: Batch, fake: Any, key: jax.Array) -> Any:
    one, two = jax.random.split(key)
    (x, w, given), y, scheme = real, fake, estimator(config).scheme
    p = losses.shares(w, scheme)
    if config.loss == "ce":
        value = lambda rows: config.critic(critic["critic"], (rows, given) if given.shape[1] else (rows,))[:, 0]  # noqa: E731
        found = losses.real_loss(value(x), w, scheme, one, config.groups) + losses.fake_loss(value(y))
        return found + config.flat * losses.flatness(value, x, p) if config.flat else found
    critic_config = config.critic_config
    u, ex, ey = distance(config, data, critic, real, y, one)
    again = [config.back(critic["back"], (e,)) for e in (ex, ey)]
    flat = [r.reshape(len(r), -1) for r in (x, y, *again)]
    even = jnp.full(len(y), 1 / len(y))
    found = critic_config.rebuild * (losses.rebuilding(flat[0], flat[2], p) + losses.rebuilding(flat[1], flat[3], even))
    found -= critic_config.pull * (losses.root(u) if critic_config.root else u)
    found -= critic_config.rank * losses.rank(ex, ey, p) if critic_config.rank else 0.0
    if critic_config.steep:
        found += critic_config.steep * losses.lipschitz_penalty(
            lambda r: config.critic(critic["critic"], (r,)), x, y, two
        )
    return found


def generator_loss(generator: Any, critic: Any, config: TrainingConfig, data: Data, key: jax.Array) -> Any:
    one, two, three = jax.random.split(key, 3)
    real = batch(config, data, one)
    given = real.given
    y = made(config, generator, given, two)
    if config.loss == "ce":
        return losses.generator_loss(config.critic(critic["critic"], (y, given) if given.shape[1] else (y,))[:, 0])
    u, ex, ey = distance(config, data, critic, real, y, three)
    if config.critic is None or not config.critic_config.root:
        return u
    extra = config.critic_config.rank * losses.rank(ex, ey, losses.shares(real.weights, estimator(config).scheme))
    return losses.root(u) + (extra if config.critic_config.rank_in_generator else 0.0)


# --------------------------------------------------------------------------------------------------------- steps


def turn(state: State, data: Data, key: jax.Array, speed: Number, config: TrainingConfig) -> State:
    """One step of the critic."""
    a, b, c = jax.random.split(key, 3)
    critic = state["critic"]
    if config.critic_config.clamp and config.loss == "mmd":
        cut = config.critic_config.clamp
        critic = {**critic, "critic": jax.tree.map(lambda v: jnp.clip(v, -cut, cut), critic["critic"])}
    real = batch(config, data, a)
    fake = jax.lax.stop_gradient(made(config, state["generator"], real.given, b))
    slope = jax.grad(critic_loss)(critic, config, data, real, fake, c)
    critic, critic_memory = moved(
        critic, slope, state["critic_memory"], speed * config.critic_rate, RULES[config.optimiser]
    )
    return {**state, "critic": critic, "critic_memory": critic_memory}


def step(state: State, data: Data, key: jax.Array, number: Number, total: Number, config: TrainingConfig) -> State:
    speed = pace(number / total)
    one, two = jax.random.split(key)
    if config.critic is not None:
        turns: Any = config.turns
        if config.critic_config.warm and config.loss == "mmd":
            turns = jnp.where((number < 25) | (number % 500 == 0), 100, config.turns)
        state = jax.lax.fori_loop(
            0, turns, lambda i, s: turn(s, data, jax.random.fold_in(one, i), speed, config), state
        )
    slope = jax.grad(generator_loss)(state["generator"], state["critic"], config, data, two)
    generator, generator_memory = moved(
        state["generator"], slope, state["generator_memory"], speed * config.rate, RULES[config.optimiser]
    )
    kept = jnp.minimum(config.memory, (1.0 + number) / (10.0 + number))  # the average forgets its start soon
    return {
        **state,
        "generator": generator,
        "generator_memory": generator_memory,
        "mean": averaged(state["mean"], generator, kept),
    }


@partial(jax.jit, static_argnames="config")
def chunk(state: State, data: Data, key: jax.Array, numbers: Array, total: Number, config: TrainingConfig) -> Any:
    """The steps of these numbers; with several keys, state and data have a leading axis of trainings, too."""

    def one(state: State, data: Data, key: jax.Array) -> State:
        def go(state: State, number: Number) -> tuple[Any, None]:
            return step(state, data, jax.random.fold_in(key, number), number, total, config), None

        return jax.lax.scan(go, state, numbers)[0]

    return jax.vmap(one)(state, data, key) if key.ndim else one(state, data, key)


def train(
    data: Data,
    config: TrainingConfig,
    steps: int,
    key: jax.Array,
    progress: Callable[[int, int], None] = lambda done, of: None,
    keep: Callable[[Any, int], bool] | None = None,
) -> Any:
    """Weights of the generator, averaged over steps; with several keys, of as many trainings at once, whose data stand
    one above the other.

    `keep(state, done)` is called after every chunk and may end the training. ConvergenceError if a weight is not
    finite (of many trainings the caller looks).
    """
    many = key.ndim > 0
    begin = jax.random.fold_in if not many else jax.vmap(jax.random.fold_in, (0, None))
    first = jax.vmap(partial(start, config)) if many else partial(start, config)
    state = first(begin(key, 2**31 - 1))
    data = jax.tree.map(jnp.asarray, data)
    for numbers in chunks(steps, CHUNK):
        state, done = chunk(state, data, key, numbers, float(steps), config), int(numbers[-1]) + 1
        progress(done, steps)
        if keep is not None and keep(state, done):
            break
    if many:
        return jax.tree.map(lambda a: np.asarray(a, np.float32), state["mean"])
    return finite(state["mean"], "; train fewer steps, or lower the rates")
