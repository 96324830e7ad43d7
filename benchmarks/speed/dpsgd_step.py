"""One process of `speed-dpsgd` for nacre."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.speed.clock import of_steps
from nacre.nets import dense, flow
from nacre.nets.flow_shape import Shape
from nacre.nets.taps import Tape, Tapped
from nacre.privacy.plan import Descend, Part
from nacre.privacy.training import descent, unit_arrays

ROWS, WIDTHS = 39_073, (108, 256, 256, 1)
FLOW = Shape(15, hidden=128)
STEPS = 20
SLOW = ("dp-sparse", "dp-vmap")  # a run of these has two steps


def mlp_loss(parameters: Any, tape: Tape, units: Any, keys: Any, state: Any) -> jax.Array:
    logit = dense.mlp(parameters, tape, units["x"])[:, 0]
    return jax.nn.softplus(jnp.where(units["y"], -logit, logit))


def flow_loss(parameters: Any, tape: Tape, units: Any, keys: Any, state: Any) -> jax.Array:
    return -flow.log_density(FLOW, parameters, tape, units["x"])


def made(model: str) -> tuple[Any, Any, Any]:
    """(loss, parameters, records)."""
    rng, key = np.random.default_rng(0), jax.random.key(0)
    columns = WIDTHS[0] if model == "mlp" else FLOW.columns
    records = {"x": rng.normal(size=(ROWS, columns)).astype(np.float32), "y": rng.random(ROWS) < 0.3}
    if model == "mlp":
        return mlp_loss, dense.start_mlp(key, WIDTHS), records
    return flow_loss, flow.start(FLOW, key), records


def private(
    method: str, loss: Any, parameters: Any, records: Any, batch: int, steps: int = STEPS
) -> Callable[[], None]:
    optimiser = optax.adabelief(1e-3)
    clipping = "flat" if method in ("dp-vmap", "non-private") else method.removeprefix("dp-")
    part = Part("gradient", clip=1.0, sigma=1.0, clipping=clipping)
    if method == "non-private":  # what a method does with epsilon=None
        part = Part("gradient", clip=None, sigma=0.0)
    entry = Descend("speed", q=batch / ROWS, steps=steps, parts=(part,))
    query: Any = Tapped(loss)
    if method == "dp-vmap":
        query = query.__call__  # the same query without its taps

    def update(state: Any, noisy: Any, key: Any) -> Any:
        moves, own = optimiser.update(noisy["gradient"], state["optimiser"], state["parameters"])
        return {"parameters": optax.apply_updates(state["parameters"], moves), "optimiser": own}

    units = jax.device_put(unit_arrays.single(records))
    state = {"parameters": parameters, "optimiser": optimiser.init(parameters)}
    size = descent.chunk_size(entry, query, state, units.take(jnp.arange(1)), ROWS)
    job = descent.Descent(entry, query, update, float(batch), size)
    key = jnp.arange(4, dtype=jnp.uint32)
    run = descent.compiled(job.several)
    return lambda: jax.block_until_ready(run(state, (), units, key, jnp.int32(0), jnp.int32(steps)))


def plain(loss: Any, parameters: Any, records: Any, batch: int) -> Callable[[], None]:
    optimiser = optax.adabelief(1e-3)
    records = jax.device_put(records)

    def mean(parameters: Any, units: Any) -> jax.Array:
        return loss(parameters, Tape(batch), units, None, None).mean()

    def one(carried: Any, key: jax.Array) -> Any:
        parameters, own = carried
        places = jax.random.randint(key, (batch,), 0, ROWS)
        gradient = jax.grad(mean)(parameters, jax.tree.map(lambda x: x[places], records))
        moves, own = optimiser.update(gradient, own, parameters)
        return (optax.apply_updates(parameters, moves), own), None

    run = jax.jit(lambda carried, keys: jax.lax.scan(one, carried, keys)[0])
    start = (parameters, optimiser.init(parameters))
    keys = jax.random.split(jax.random.key(1), STEPS)
    return lambda: jax.block_until_ready(run(start, keys))


def step(method: str, model: str, repeats: int, records: int) -> dict[str, float]:
    loss, parameters, rows = made(model)
    steps = 2 if method in SLOW else STEPS
    if method == "plain-loop":
        run = plain(loss, parameters, rows, records)
    else:
        run = private(method, loss, parameters, rows, records, steps)
    return of_steps(run, steps, repeats, wall=jax.default_backend() != "cpu")
