"""Weights learned from a few labelled rows: log w by small networks on standardised columns (spec section 8.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nacre.table import Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.typed import Array

if TYPE_CHECKING:
    import jax

WIDTH, DECAY, RATE, STEPS = 64, 0.03, 3e-3, 2_000
FOLDS = 5  # networks; one labelled row in five tells each when to stop
WIDEST = 64  # more coordinates than this are replaced by the leading principal ones


def features(table: pa.Table, schema: Schema) -> np.ndarray:
    """[n, d]: numbers and pixels in units of their public range, labels one-hot; a missing number is at 0."""
    found = encode(table, schema)
    parts: list[np.ndarray] = []
    for name in schema.modelled:
        column = schema.columns[name]
        values = found[name]
        if column.measured or column.shape:
            low, high = (float(e) for e in column.ends or ())
            x = (values.values.reshape(len(values), -1).astype(np.float64) - low) / max(high - low, 1e-300)
            parts.append(np.where(values.null[:, None], 0.0, x))
            if column.nullable:
                parts.append(values.null[:, None].astype(np.float64))
        else:
            grid = Grid.of(column)
            parts.append((grid.codes(values)[:, None] == np.arange(grid.cells)).astype(np.float64))
    return np.concatenate(parts, axis=1)


def predicted(few: np.ndarray, weights: np.ndarray, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Weights of `rows`, learned from those of a few; see `learner`."""
    return learner(few, weights, rows, seed)(rows)


def learner(few: np.ndarray, weights: np.ndarray, rows: np.ndarray, seed: int = 0) -> Callable[..., np.ndarray]:
    """A function from rows to weights. Coordinates are standardised by `rows`; of many, the 64 leading principal ones
    are used.

    Deterministic given the seed. Predictions stay within the range of the labels: a network knows nothing beyond it.
    """
    mean = rows.mean(axis=0)
    axes = np.eye(rows.shape[1])
    spread = rows.std(axis=0)
    if rows.shape[1] > WIDEST:
        axes = np.linalg.eigh((rows - mean).T @ (rows - mean))[1][:, -WIDEST:]
        spread = np.full(WIDEST, ((rows - mean) @ axes).std(axis=0).max())  # keeps the order of importance
    spread = np.where(spread > 0, spread, 1.0)

    def scaled(x: np.ndarray) -> np.ndarray:
        return (((x - mean) @ axes) / spread).astype(np.float32)

    level = weights.mean()
    low, high = weights.min(), weights.max()
    run = _networks(scaled(few), (weights / level).astype(np.float32), seed)
    return lambda x: np.clip(level * np.exp(run(scaled(x))), low, high)


def _networks(x: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The mean of five networks for log y, each of two layers of 64, by AdamW. Each is shown four fifths of the rows
    and stopped where its loss on the last fifth is least.

    The loss, mean e^f − y·f, is least where e^f is the mean of y given x, so that weighted sums come out right; a
    squared error of logarithms would aim at the geometric mean, and make weights too even.
    """
    import jax
    import jax.numpy as jnp
    import optax

    fold = np.random.default_rng(seed).permutation(len(x)) % FOLDS
    used = (fold[None] != np.arange(FOLDS)[:, None]).astype(np.float32)
    adam = optax.adamw(RATE, weight_decay=DECAY)

    def run(net: Any, x: Any) -> Any:
        for w, b in net[:-1]:
            x = jax.nn.elu(x @ w + b)
        return (x @ net[-1][0] + net[-1][1])[:, 0]

    def loss(net: object, x: Array, y: Any, some: Any) -> jax.Array:
        f = run(net, x)
        return jnp.sum(some * (jnp.exp(f) - y * f)) / jnp.sum(some)

    def start(key: jax.Array) -> Any:
        sizes = (x.shape[1], WIDTH, WIDTH, 1)
        keys = jax.random.split(key, 3)
        return [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]

    def train(key: Any, used: Any, x: Any, y: Any) -> Any:
        def step(carried: Any, _: object) -> tuple[Any, None]:
            net, memory, best, least = carried
            change, memory = adam.update(jax.grad(loss)(net, x, y, used), memory, net)
            net = optax.apply_updates(net, change)
            now = loss(net, x, y, 1 - used)
            best = jax.tree.map(lambda new, old: jnp.where(now < least, new, old), net, best)
            return (net, memory, best, jnp.minimum(now, least)), None

        net = start(key)
        return jax.lax.scan(step, (net, adam.init(net), net, jnp.inf), None, STEPS)[0][2]

    keys = jax.random.split(jax.random.key(seed), FOLDS)
    nets = jax.jit(jax.vmap(train, (0, 0, None, None)))(keys, used, x, y)
    call = jax.jit(lambda rows: jax.vmap(run, (0, None))(nets, rows).mean(axis=0))
    return lambda rows: np.asarray(call(rows), np.float64)
