"""One process of `speed-expm` for nacre.

`expm-nf`: a training step of the flow (parameter draws, batch of rows, reverse KL, RMSProp), as `expm-icu` makes them,
and `expm-nf-few` with a quarter of the draws. `dpsgd`: a whole step of
the door `descend`, with coins for all rows. `sgd`: the same without clip and noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.expm import icu_grid as grid
from benchmarks.expm.icu_data import Data
from benchmarks.speed.clock import of_steps
from nacre.learners import flow as flows
from nacre.learners.descending import DpSgd, Sgd
from nacre.learners.exponential import prior_sd
from nacre.nets.gru_d import GruD

ROWS, HOURS, INPUTS, HIDDEN = 15_313, 24, 104, 10
BATCH = {"lr": 256, "grud": 128}  # rows of a step, for every method
DRAWS = {"lr": {"expm-nf": 16, "expm-nf-few": 4}, "grud": {"expm-nf": 8, "expm-nf-few": 2}}  # parameters of a step
STEPS = 10


def made(model: str) -> Data:
    rng = np.random.default_rng(0)
    network = GruD(HOURS, INPUTS, HIDDEN) if model == "grud" else None
    x = rng.standard_normal((ROWS, HOURS * INPUTS), np.float32).clip(-1, 1)
    if network:
        x = np.concatenate([x, rng.random(x.shape, np.float32) < 0.11], axis=1).astype(np.float32)
    return Data(x, (rng.random((1, ROWS)) < 0.3).astype(np.int32), ROWS, network)


def flow_steps(method: str, model: str, data: Data) -> Callable[[], Any]:
    size = data.task.size
    shape = flows.FlowShape(
        layers=4, affine=False, sd=0.02, draws=DRAWS[model][method], batch=BATCH[model], steps=STEPS, rate=1e-3
    )
    key, table = jax.random.key(0), jnp.asarray(np.concatenate([data.x, data.outcomes[0][:, None]], axis=1, dtype="f4"))
    start = shape.start(size, key)
    keys, rate, tau = jax.random.split(key, STEPS), jnp.float32(0.5), jnp.float32(prior_sd(3.0, size))
    run = flows._trainer(shape, size, data.utility.per_record, data.cut)
    return lambda: jax.block_until_ready(run(start, keys, table, rate, tau))


def descents(model: str, data: Data, private: bool) -> Callable[[], Any]:
    sizes = ("l2", STEPS, float(BATCH[model]), 1e-3)
    training = DpSgd(*sizes, epsilon=1.0, delta=1e-5) if private else Sgd(*sizes)
    run, keys = grid.ready([(0, training)], data, 0), jnp.arange(4, dtype=jnp.uint32)[None]
    return lambda: jax.block_until_ready(run(keys))


def step(method: str, model: str, repeats: int) -> dict[str, float]:
    data = made(model)
    flow = method.startswith("expm-nf")
    run = flow_steps(method, model, data) if flow else descents(model, data, method == "dpsgd")
    return of_steps(run, STEPS, repeats, wall=jax.default_backend() != "cpu")
