"""One process of `speed-ppem` for nacre.

A step is five steps of the energies and one of the generators on batches of 256 rows of a made-up table with the shape
of credit-card payments: 227,845 rows, 2 hidden and 27 visible numbers, a class of one row in 600. Several seeds are one
compiled loop (vmap). On one core the time is processor time, which a busy machine does not change; otherwise wall time.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.clock import best
from nacre.synthesizers.parts.adversarial import Data, prepared
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.ppem import training
from nacre.synthesizers.ppem.config import TrainingConfig

ROWS, HIDDEN, VISIBLE, BATCH = 227_845, 2, 27, 256
CONFIG = TrainingConfig(Heads(HIDDEN, ()), Heads(VISIBLE, ()), 2, (tuple(range(HIDDEN)),), batch=BATCH, steps=0)
LOOKS = 20


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(hidden, visible, class)."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(ROWS, HIDDEN)) * np.exp(0.3 * rng.normal(size=(ROWS, 1)))
    visible = np.tanh(hidden @ rng.normal(size=(HIDDEN, VISIBLE))) + rng.normal(size=(ROWS, VISIBLE))
    return hidden.astype(np.float32), visible.astype(np.float32), (rng.random(ROWS) < 1 / 600).astype(np.int64)


@partial(jax.jit, static_argnames=("length",))
def several(states: Any, data: Data, lanes: training.Lane, first: Any, length: int) -> Any:
    """`length` whole steps of every seed, and the loss of the energies after each."""

    def one(state: Any, lane: training.Lane) -> Any:
        def turn(state: Any, number: Any) -> tuple[Any, jax.Array]:
            state = training.step(state, data, lane, number, 1e4, CONFIG)
            key = jax.random.fold_in(lane.key, 2**30 + number)
            return state, training.critic_loss(state["critics"], state, data, lane, key, CONFIG)

        return jax.lax.scan(turn, state, first + jnp.arange(length))

    if len(lanes.weight) > 1:
        return jax.vmap(one)(states, lanes)
    state, lane = jax.tree.map(lambda leaf: leaf[0], (states, lanes))
    return jax.tree.map(lambda leaf: leaf[None], one(state, lane))


def step(seeds: int, repeats: int, cores: int) -> dict[str, float]:
    now = time.process_time if cores == 1 else time.perf_counter
    data = prepared(*arrays(), 2, [1.0, 1.0])
    lanes = [training.Lane(jax.random.key(s), jnp.float32(10.0), jnp.float32(0.0)) for s in range(seeds)]
    stacked = jax.tree.map(lambda *found: jnp.stack(found), *lanes)
    states = jax.vmap(lambda k: training.start(CONFIG, k))(stacked.key)
    length = 4 if jax.default_backend() == "cpu" else 200
    run = partial(training._chunk, config=CONFIG, length=length)
    seconds = best(lambda: jax.block_until_ready(run(states, data, stacked, 0, 1e4)), repeats, now) / length
    finite = np.ones(seeds, bool)
    for look in range(LOOKS if repeats > 2 else 2):
        states, losses = several(states, data, stacked, look * length, length)
        finite &= np.isfinite(np.asarray(losses)).all(axis=1)
    rows = CONFIG.turns * BATCH * seeds / seconds
    return {"step_ms": 1e3 * seconds, "trained_rows_per_s": rows, "finite_share": float(finite.mean())}
