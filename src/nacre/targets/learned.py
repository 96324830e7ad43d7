"""Weights learned from a few labelled rows: log w by a small network on standardised columns (spec section 8.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from nacre.table import Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid

WIDTH, DECAY, RATE, STEPS = 64, 0.03, 3e-3, 2_000
LEFT_OUT = 5  # one labelled row in five tells when to stop
WIDEST = 64  # more coordinates than this are replaced by the leading principal ones


def features(table: pa.Table, schema: Schema) -> np.ndarray:
    """[n, d]: numbers and pixels in units of their public range, labels one-hot; a missing number is at 0."""
    found = encode(table, schema)
    parts: list[np.ndarray] = []
    for name in schema.modelled:
        column: Any = schema.columns[name]
        values = found[name]
        if column.kind in ("numeric", "datetime", "tensor"):
            low, high = (float(e) for e in (column.ends if column.kind == "datetime" else column.bounds))
            x = (values.values.reshape(len(values), -1).astype(np.float64) - low) / max(high - low, 1e-300)
            parts.append(np.where(values.null[:, None], 0.0, x))
            if column.nullable:
                parts.append(values.null[:, None].astype(np.float64))
        else:
            grid = Grid.of(column)
            parts.append((grid.codes(values)[:, None] == np.arange(grid.cells)).astype(np.float64))
    return np.concatenate(parts, axis=1)


def predicted(few: np.ndarray, weights: np.ndarray, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Weights of `rows`. Coordinates are standardised by `rows`; of many, the 64 leading principal ones are used.

    Deterministic given the seed. Predictions stay within the range of the labels: a network knows nothing beyond it.
    """
    mean = rows.mean(axis=0)
    few, rows = few - mean, rows - mean
    if rows.shape[1] > WIDEST:
        _, axes = np.linalg.eigh(rows.T @ rows)
        few, rows = few @ axes[:, -WIDEST:], rows @ axes[:, -WIDEST:]
        spread = np.full(WIDEST, rows.std(axis=0).max())  # keeps the order of importance
    else:
        spread = rows.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    target = np.log(weights)
    level, scale = target.mean(), max(float(target.std()), 1e-6)
    out = _network((few / spread).astype(np.float32), ((target - level) / scale).astype(np.float32),
                   (rows / spread).astype(np.float32), seed)  # fmt: skip
    return np.exp(np.clip(out * scale + level, target.min(), target.max()))


def _network(x: np.ndarray, y: np.ndarray, rows: np.ndarray, seed: int) -> np.ndarray:
    """Two layers of 64, AdamW; the step with the least error on the rows left out is kept."""
    import jax
    import jax.numpy as jnp
    import optax

    order = np.random.default_rng(seed).permutation(len(x))
    held, used = order[: len(x) // LEFT_OUT], order[len(x) // LEFT_OUT :]
    adam = optax.adamw(RATE, weight_decay=DECAY)

    def run(net: Any, x: Any) -> Any:
        for w, b in net[:-1]:
            x = jax.nn.elu(x @ w + b)
        return (x @ net[-1][0] + net[-1][1])[:, 0]

    def loss(net: Any, x: Any, y: Any) -> Any:
        return jnp.mean((run(net, x) - y) ** 2)

    sizes = (x.shape[1], WIDTH, WIDTH, 1)
    keys = jax.random.split(jax.random.key(seed), 3)
    net = [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]

    @jax.jit
    def train(net: Any, xs: tuple[Any, Any], held: tuple[Any, Any]) -> Any:
        def step(carried: Any, _: Any) -> tuple[Any, None]:
            net, memory, best, least = carried
            change, memory = adam.update(jax.grad(loss)(net, *xs), memory, net)
            net = optax.apply_updates(net, change)
            now = loss(net, *held)
            best = jax.tree.map(lambda new, old: jnp.where(now < least, new, old), net, best)
            return (net, memory, best, jnp.minimum(now, least)), None

        return jax.lax.scan(step, (net, adam.init(net), net, jnp.inf), None, STEPS)[0][2]

    best = train(net, (x[used], y[used]), (x[held], y[held]))
    return np.asarray(jax.jit(run)(best, rows), np.float64)
