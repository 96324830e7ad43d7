"""The loop of the adversarial methods: several steps of the judge, one of the generator, compiled, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.nets.branched import forward, train_forward
from nacre.synthesizers.gans.rules import Rules
from nacre.synthesizers.parts.adversarial import ADAM, Data, averaged, balanced, chunks, finite, kept, moved, pace

CHUNK = 200
REBUILDING = 2_000  # steps of an autoencoder before the game


def start(rules: Rules, key: jax.Array) -> dict[str, Any]:
    keys = jax.random.split(key, 4)
    judge = rules.start_judge(keys[0])
    maker, running = rules.maker.start(keys[1])
    makers = {"maker": maker}
    state = {"judge": judge, "makers": makers, "running": running}
    if rules.decoder is not None:
        makers["decoder"] = rules.decoder.start(keys[2])[0]
        state["coder"] = rules.coder.start(keys[3])[0]  # type: ignore[attr-defined]
    return {
        **state,
        "mean": jax.tree.map(jnp.array, makers),
        "judging": ADAM.init(judge),
        "making": ADAM.init(makers),
    }


def rows_and_class(rules: Rules, data: Data, key: jax.Array) -> tuple[jax.Array, Any]:
    """A batch of real rows, half of it with every class equally often, and their one-hot class."""
    j = balanced(data, key, rules.batch, rules.classes)
    given = jax.nn.one_hot(data.kinds[j], rules.classes) if rules.classes > 1 else None
    return data.visible[j], given


def made(rules: Rules, makers: Any, running: Any, given: Any, key: jax.Array) -> tuple[jax.Array, Any]:
    """Generated rows for these classes, and the new running averages."""
    one, two = jax.random.split(key)
    z = jax.random.normal(one, (rules.batch, rules.latent))
    raw, running = train_forward(rules.maker, makers["maker"], running, rules.inputs(z, given))
    if rules.decoder is not None:
        raw = forward(rules.decoder, makers["decoder"], (raw,))
    return rules.heads.relaxed(raw, two), running


def step(state: Any, data: Data, key: jax.Array, number: Any, total: Any, rules: Rules) -> Any:
    speed, share = pace(number / total), kept(total)

    def turn(state: Any, key: jax.Array) -> tuple[Any, None]:
        a, b, c = jax.random.split(key, 3)
        real, given = rows_and_class(rules, data, a)
        fake = jax.lax.stop_gradient(made(rules, state["makers"], state["running"], given, b)[0])
        slope = jax.grad(rules.judge_loss)(state["judge"], real, fake, given, c)
        judge, judging = moved(state["judge"], slope, state["judging"], speed * rules.judge_rate)
        return {**state, "judge": judge, "judging": judging}, None

    keys = jax.random.split(key, rules.turns + 1)
    state, _ = jax.lax.scan(turn, state, keys[1:])

    def lose(makers: Any) -> tuple[jax.Array, Any]:
        a, b = jax.random.split(keys[0])
        _, given = rows_and_class(rules, data, a)
        fake, running = made(rules, makers, state["running"], given, b)
        return rules.maker_loss(state["judge"], fake, given), running

    slope, running = jax.grad(lose, has_aux=True)(state["makers"])
    makers, making = moved(state["makers"], slope, state["making"], speed * rules.maker_rate)
    mean = averaged(state["mean"], makers, share)
    return {**state, "makers": makers, "making": making, "running": running, "mean": mean}


@partial(jax.jit, static_argnames=("rules", "length"))
def _chunk(state: Any, data: Data, key: jax.Array, first: Any, total: Any, rules: Rules, length: int) -> Any:
    def one(state: Any, number: Any) -> tuple[Any, None]:
        return step(state, data, jax.random.fold_in(key, number), number, total, rules), None

    return jax.lax.scan(one, state, first + jnp.arange(length))[0]


@partial(jax.jit, static_argnames=("rules", "length"))
def _rebuild(state: Any, data: Data, key: jax.Array, rules: Any, length: int) -> Any:
    """The autoencoder of medGAN, trained on rows before the game."""
    both = {"coder": state["coder"], "decoder": state["makers"]["decoder"]}

    def one(carried: Any, key: jax.Array) -> tuple[Any, None]:
        both, memory = carried
        x, _ = rows_and_class(rules, data, key)
        slope = jax.grad(lambda b: rules.rebuilding_loss(b["coder"], b["decoder"], x))(both)
        return moved(both, slope, memory, 1e-3), None

    (both, _), _ = jax.lax.scan(one, (both, ADAM.init(both)), jax.random.split(key, length))
    makers = {**state["makers"], "decoder": both["decoder"]}
    return {**state, "coder": both["coder"], "makers": makers, "mean": jax.tree.map(jnp.array, makers)}


@partial(jax.jit, static_argnames=("rules", "length"))
def _chunks(states: Any, data: Data, keys: jax.Array, first: Any, total: Any, rules: Rules, length: int) -> Any:
    return jax.vmap(lambda s, d, k: _chunk(s, d, k, first, total, rules, length))(states, data, keys)


def train(
    data: Data, rules: Rules, steps: int, key: jax.Array, progress: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, dict[str, np.ndarray]]:
    """Weights of the generator (averaged over steps), and of the decoder where there is one. `steps` counts the
    judge's. Deterministic given key and device; ConvergenceError if a weight is not finite."""
    state = _begun(data, rules, steps, key)
    total = max(1, steps // rules.turns)
    for done, length in chunks(total, CHUNK):
        state = _chunk(state, data, key, done, float(total), rules, length)
        progress(done + length, total)
    return _nets(state)


def train_together(
    data: Sequence[Data], rules: Rules, steps: int, keys: Sequence[jax.Array]
) -> list[dict[str, dict[str, np.ndarray]]]:
    """What `train` gives for every table (all of one length) and key: one compiled loop over all of them, for a device
    that one training does not fill."""
    begun = [_begun(one, rules, steps, key) for one, key in zip(data, keys)]
    states, rows, stacked = (jax.tree.map(lambda *x: jnp.stack(x), *several) for several in (begun, data, keys))
    total = max(1, steps // rules.turns)
    for done, length in chunks(total, CHUNK):
        states = _chunks(states, rows, stacked, done, float(total), rules, length)
    return [_nets(jax.tree.map(lambda leaf: leaf[i], states)) for i in range(len(begun))]  # noqa: B023


def _begun(data: Data, rules: Rules, steps: int, key: jax.Array) -> dict[str, Any]:
    state = start(rules, jax.random.fold_in(key, 2**31 - 1))
    if rules.decoder is not None:
        state = _rebuild(state, data, jax.random.fold_in(key, 2**31 - 2), rules, min(REBUILDING, steps))
    return state


def _nets(state: Any) -> dict[str, dict[str, np.ndarray]]:
    nets = {**state["mean"], "maker": {**state["mean"]["maker"], **state["running"]}}
    return finite(nets, "; train fewer steps")
