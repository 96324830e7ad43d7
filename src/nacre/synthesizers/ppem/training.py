"""Training without a promise: one jitted scan over generator steps, several lanes (seeds, controls) at once by vmap.

specs/ppem.md 3.5. The class, where there is one, belongs to x*: p(x*|x') = p(class|x') p(rest|x', class). The
conditional pair sees every class equally often in half of its rows, which leaves what it models as it is because the
class is one of its conditions. The first factor is fitted by likelihood on the same rows, with the logits moved by what
the batch does to the shares of the classes: a class of one row in a thousand is in every batch and keeps its rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.nets.branched import forward, train_forward
from nacre.synthesizers.parts.adversarial import ADAM, Data, averaged, balanced, chunks, finite, kept, moved, pace
from nacre.synthesizers.parts.lipschitz import penalty_between
from nacre.synthesizers.ppem import losses
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.synthesizers.ppem.outset import with_norms
from nacre.typed import Array, Number, State

CHUNK = 200  # generator steps per jitted call
# Of the squared weights of p(class | x') in its loss: a rare class has few rows, which it sees thousands of times.
# Chosen by the likelihood of held-out classes on splits of credit-card payments that no figure uses.
DECAY = 1e-3


class Lane(NamedTuple):
    """One training: its key, λ_α (one, or one per hidden set), and whether the penalty on the generator is on."""

    key: jax.Array
    weight: jax.Array
    push: jax.Array


def start(config: TrainingConfig, key: jax.Array) -> dict[str, Any]:
    keys = jax.random.split(key, 5)
    critics = {"xi": config.xi.start(keys[0])[0], "gamma": config.gamma.start(keys[1])[0]}
    critics["chooser"] = config.chooser.start(keys[2])[0]
    (omega, run_omega), (v, run_v) = config.omega.start(keys[3]), config.v.start(keys[4])
    generators = {"omega": omega, "v": v}
    return {
        "critics": critics,
        "generators": generators,
        "running": {"omega": run_omega, "v": run_v},
        "mean": jax.tree.map(jnp.array, generators),
        "critic_memory": ADAM.init(critics),
        "generator_memory": ADAM.init(generators),
    }


def condition(config: TrainingConfig, hidden: jax.Array, kinds: jax.Array) -> jax.Array:
    if config.classes == 1:
        return hidden
    return jnp.concatenate([hidden, jax.nn.one_hot(kinds, config.classes)], axis=1)


def class_loss(config: TrainingConfig, chooser: Any, data: Data, j: jax.Array) -> jax.Array:
    """Negative log-likelihood of the classes of the rows `balanced` drew, and a ridge. Drawn so, the logits of a row
    are those of p(class | x') plus log(share of the class among drawn rows / share of it among all)."""
    logits = forward(config.chooser, chooser, (data.hidden[j],)) + drawn_shift(data.counts)
    size = sum(jnp.sum(a**2) for name, a in chooser.items() if name.endswith(".weight"))
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, data.kinds[j])) + DECAY * size


def drawn_shift(counts: jax.Array) -> jax.Array:
    """log(share among the rows of `balanced` / share among all rows) of every class; 0 for a class without rows."""
    there, share = counts > 0, counts / counts.sum()
    lacking = 1 - there.mean()  # draws of a class without rows are draws of any row
    drawn = 0.5 * there / len(counts) + share * (0.5 + 0.5 * lacking)
    return jnp.log(jnp.where(there, drawn, 1.0) / jnp.where(there, share, 1.0))


def with_label_noise(config: TrainingConfig, hidden: jax.Array, key: jax.Array) -> jax.Array:
    """One-hot coordinates with a little noise, for scores."""
    if not config.hidden.sizes:
        return hidden
    noise = losses.LABEL_NOISE * jax.random.normal(key, hidden.shape)
    return hidden + noise * (jnp.arange(hidden.shape[1]) >= config.hidden.numbers)


def hiding(config: TrainingConfig, marginal: Callable, rows: jax.Array, data: Data, weight: jax.Array) -> jax.Array:
    """Σ over hidden sets of λ_α times the penalty on the energy."""
    s = losses.scores(marginal, rows)
    each = jnp.broadcast_to(weight, (len(config.sets),))
    return sum(
        (
            each[j]
            * losses.penalty(losses.pair_values(rows, s, places, data.bandwidths[j]), config.penalty, config.level)
            for j, places in enumerate(config.sets)
        ),
        jnp.zeros(()),
    )


def critic_loss(critics: Any, state: Any, data: Data, lane: Lane, key: jax.Array, config: TrainingConfig) -> jax.Array:
    """J_xi + J_gamma + the likelihood of the class: disjoint weights, one gradient."""
    keys = jax.random.split(key, 8)
    i = jax.random.randint(keys[0], (config.batch,), 0, len(data.hidden))
    j = balanced(data, keys[1], config.batch, config.classes)
    real, given = data.hidden[i], condition(config, data.hidden[j], data.kinds[j])
    generators, running = state["generators"], state["running"]
    z = jax.random.normal(keys[2], (2, config.batch, LATENT))
    fake = config.hidden.relaxed(
        train_forward(config.omega, generators["omega"], running["omega"], (z[0],))[0], keys[3]
    )
    other = config.visible.relaxed(train_forward(config.v, generators["v"], running["v"], (z[1], given))[0], keys[4])
    fake, other = jax.lax.stop_gradient((fake, other))
    mix = jax.random.uniform(keys[5], (2, config.batch, 1))

    def marginal(x: jax.Array) -> jax.Array:
        return losses.energy(config.xi, critics["xi"], x, anchor=losses.ANCHOR)

    def conditional(x: jax.Array) -> jax.Array:
        return losses.energy(config.gamma, critics["gamma"], x, given)

    high, low = marginal(fake), marginal(real)
    total = jnp.mean(losses.margin_loss(low, high, config.margin)) + losses.floor_penalty(low, high)
    total += config.steep * jnp.mean(penalty_between(marginal, real, fake, mix[0]))
    visible = data.visible[j]
    total += jnp.mean(losses.margin_loss(conditional(visible), conditional(other), config.margin))
    total += config.steep * jnp.mean(penalty_between(conditional, visible, other, mix[1]))
    if config.penalty != "none":
        k = jax.random.randint(keys[6], (config.batch,), 0, len(data.real)) if config.tilted else i
        total += config.rho * hiding(
            config, marginal, with_label_noise(config, data.real[k], keys[7]), data, lane.weight
        )
    if config.classes > 1:
        total += class_loss(config, critics["chooser"], data, j)
    return total


def generator_loss(
    generators: State, state: State, data: Data, lane: Lane, key: jax.Array, config: TrainingConfig
) -> tuple[jax.Array, Any]:
    """L_omega + L_v (+ the penalty on what is released), and the new running averages."""
    keys = jax.random.split(key, 5)
    j = balanced(data, keys[0], config.batch, config.classes)
    given = condition(config, data.hidden[j], data.kinds[j])
    z = jax.random.normal(keys[1], (2, config.batch, LATENT))
    raw, run_omega = train_forward(config.omega, generators["omega"], state["running"]["omega"], (z[0],))
    fake = config.hidden.relaxed(raw, keys[2])
    raw, run_v = train_forward(config.v, generators["v"], state["running"]["v"], (z[1], given))
    other = config.visible.relaxed(raw, keys[3])
    critics = state["critics"]
    total = jnp.mean(losses.energy(config.xi, critics["xi"], fake, anchor=losses.ANCHOR))
    total += jnp.mean(losses.energy(config.gamma, critics["gamma"], other, given))
    if config.effect:
        k = jax.random.randint(keys[4], (config.batch,), 0, len(data.real))
        near = losses.nearness(fake, data.real[k], data.bandwidths[-1], config.effect)
        total += lane.push * near / config.effect**2
    return total, {"omega": run_omega, "v": run_v}


def step(state: State, data: Data, lane: Lane, number: Number, total: Number, config: TrainingConfig) -> State:
    """`turns` steps of the energies, one of the generators."""
    keys = jax.random.split(jax.random.fold_in(lane.key, number), config.turns + 1)
    speed = pace(number / total)

    def turn(state: State, key: jax.Array) -> tuple[State, None]:
        slope = jax.grad(critic_loss)(state["critics"], state, data, lane, key, config)
        critics, critic_memory = moved(state["critics"], slope, state["critic_memory"], speed * config.energy_rate)
        return {**state, "critics": critics, "critic_memory": critic_memory}, None

    state, _ = jax.lax.scan(turn, state, keys[1:])
    slope, running = jax.grad(generator_loss, has_aux=True)(state["generators"], state, data, lane, keys[0], config)
    generators, generator_memory = moved(
        state["generators"], slope, state["generator_memory"], speed * config.generator_rate
    )
    share = kept(total)
    mean = averaged(state["mean"], generators, share)
    return {**state, "generators": generators, "generator_memory": generator_memory, "running": running, "mean": mean}


@partial(jax.jit, static_argnames="config")
def _chunk(states: Any, data: Data, lanes: Lane, numbers: Array, total: Number, config: TrainingConfig) -> State:
    def one(state: State, data: Data, lane: Lane) -> State:
        return jax.lax.scan(lambda s, number: (step(s, data, lane, number, total, config), None), state, numbers)[0]

    if len(lanes.weight) > 1:
        return jax.vmap(one, (0, 0 if data.kinds.ndim == 2 else None, 0))(states, data, lanes)
    # A lane alone is not batched: on a processor, products of stacked matrices are several times slower.
    state, lane = jax.tree.map(lambda leaf: leaf[0], (states, lanes))
    return jax.tree.map(lambda leaf: leaf[None], one(state, data, lane))


def train(
    data: Data | Sequence[Data],
    config: TrainingConfig,
    lanes: Sequence[Lane],
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[dict[str, dict[str, np.ndarray]]]:
    """The trained networks of every lane: generators (averaged over steps), p(class | x') and the marginal energy.

    Lanes share their rows, or have rows of their own (a list, all of one length).

    Deterministic given the lanes and the device. Raises ConvergenceError if a weight is not finite.
    """
    total = max(1, config.steps // config.turns)
    quiet = replace(config, steps=0)  # another number of steps compiles nothing anew
    stacked = jax.tree.map(lambda *found: jnp.stack(found), *lanes)
    rows = data if isinstance(data, Data) else jax.tree.map(lambda *found: jnp.stack(found), *data)
    states = jax.vmap(lambda k: start(config, jax.random.fold_in(k, 2**31 - 1)))(stacked.key)
    for numbers in chunks(total, CHUNK):
        states = _chunk(states, rows, stacked, numbers, float(total), quiet)
        progress(int(numbers[-1]) + 1, total)
    found = []
    for number in range(len(lanes)):
        own = jax.tree.map(lambda leaf: leaf[number], states)  # noqa: B023
        nets = {**own["mean"], "chooser": own["critics"]["chooser"], "xi": own["critics"]["xi"]}
        nets = finite(nets, ": lower the option `weight`, or train fewer steps")
        found.append(with_norms(config, nets) if config.norm == "batch" else nets)
    return found
