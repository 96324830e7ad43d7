"""What adversarial trainings share: rows as compiled code reads them, steps of Adam, averages, and the end.

A training is a state that goes through chunks of compiled steps: several of the critic, one of the generator, whose
weights are averaged over the steps. How a step goes is the method's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.errors import ConvergenceError
from nacre.typed import Number, Tree

ADAM = optax.scale_by_adam(b1=0.5, b2=0.9)
MEMORY = 0.999  # of the average of the generators' weights over their steps, where there are thousands of steps


class Data(NamedTuple):
    """Encoded private rows: arguments of compiled code, never constants of it. With a decoy `hidden`, `visible` and
    `kinds` are the tilted rows, from which all is learnt, and `real` the hidden columns that must not be met; without
    one these are the same. `order`, `starts`, `counts` find the rows of a class; `bandwidths` has one h per hidden set
    and, last, that of all hidden columns."""

    real: jax.Array
    hidden: jax.Array
    visible: jax.Array
    kinds: jax.Array
    order: jax.Array
    starts: jax.Array
    counts: jax.Array
    bandwidths: jax.Array


def prepared(
    hidden: np.ndarray,
    visible: np.ndarray,
    kinds: np.ndarray,
    classes: int,
    bandwidths: Sequence[float] = (1.0,),
    pool: np.ndarray | None = None,
) -> Data:
    """The arrays that training reads; `pool`: which rows to learn from, where not from each once."""
    real = jnp.asarray(hidden, jnp.float32)
    if pool is not None:
        hidden, visible, kinds = hidden[pool], visible[pool], kinds[pool]
    counts = np.bincount(kinds, minlength=classes)
    return Data(
        real,
        jnp.asarray(hidden, jnp.float32),
        jnp.asarray(visible, jnp.float32),
        jnp.asarray(kinds, jnp.int32),
        jnp.asarray(np.argsort(kinds, kind="stable"), jnp.int32),
        jnp.asarray(np.cumsum(counts) - counts, jnp.int32),
        jnp.asarray(counts, jnp.int32),
        jnp.asarray(bandwidths, jnp.float32),
    )


def balanced(data: Data, key: jax.Array, batch: int, classes: int) -> jax.Array:
    """Places of a batch of rows: half of them uniformly, half by a uniform class."""
    one, two, three = jax.random.split(key, 3)
    plain = jax.random.randint(one, (batch,), 0, len(data.kinds))
    if classes == 1:
        return plain
    kind = jax.random.randint(two, (batch,), 0, classes)
    inside = jnp.floor(jax.random.uniform(three, (batch,)) * data.counts[kind]).astype(jnp.int32)
    chosen = data.order[jnp.minimum(data.starts[kind] + inside, len(data.kinds) - 1)]
    half = jnp.arange(batch) < batch // 2
    return jnp.where(half & (data.counts[kind] > 0), chosen, plain)


def moved(
    weights: Tree, slope: Any, memory: Any, rate: Number, rule: optax.GradientTransformation = ADAM
) -> tuple[Any, Any]:
    """The weights after one step of Adam, or of another rule, and its memory."""
    change, memory = rule.update(slope, memory)
    return jax.tree.map(lambda w, c: w - rate * c, weights, change), memory


def pace(share: Number) -> jax.Array:
    """Learning rates fall along a cosine to 2 % of their start."""
    return 0.02 + 0.49 * (1 + jnp.cos(jnp.pi * share))


def kept(total: Number) -> jax.Array:
    """How much of the averaged weights a generator step keeps, of `total` steps: at most 1 − 8/total, so that less than
    e⁻⁸ of the released weights are those before training, however short it is. May be traced."""
    return jnp.clip(1.0 - 8.0 / jnp.maximum(total, 1.0), 0.0, MEMORY)


def averaged(old: Tree, new: Tree, share: Number) -> Any:
    """The average that keeps so much of what it was."""
    return jax.tree.map(lambda a, b: share * a + (1 - share) * b, old, new)


def chunks(total: int, size: int) -> Iterator[np.ndarray]:
    """The numbers of the steps of every call of compiled code."""
    for done in range(0, total, size):
        yield np.arange(done, min(done + size, total), dtype=np.int32)


def finite(nets: Mapping[str, Tree], told: str) -> Any:
    """The weights as arrays; ConvergenceError if one is not finite."""
    found = jax.tree.map(lambda a: np.asarray(a, np.float32), nets)
    if not all(np.isfinite(a).all() for a in jax.tree.leaves(found)):
        raise ConvergenceError(f"training left finite numbers{told}")
    return found
