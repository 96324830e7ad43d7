"""Many linear classifiers at once, for membership attacks: one compiled program, one pass over shared features.

The same updates as `descending` and the same flows as `flow`, on subsets given as masks. These models are for attacks
on a method and are thrown away: their noise is seeded and no curator stands between them and the rows.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import PlanError
from nacre.learners import flow as flows
from nacre.learners import losses
from nacre.learners.descending import DpSgd, Sgd
from nacre.learners.exponential import prior_sd, smooth_utility
from nacre.learners.flow import ExpmNf
from nacre.learners.training import Task


def train_shadows(
    training: object, x: np.ndarray, y: np.ndarray, members: np.ndarray, seed: int = 0, at_once: int = 64
) -> np.ndarray:
    """Parameter vectors [models, features + 1] of two-class models, model m trained on the rows of members[m].

    `x` is scaled as a learner scales it and `y` holds 0 or 1; every model must have as many rows as the others.
    """
    sizes = members.sum(axis=1)
    if len({*sizes.tolist()}) != 1:
        raise PlanError("shadow models: expected the same number of rows for every model")
    task = Task(x.shape[1], 2, int(sizes[0]), "replace_one", seed)
    if isinstance(training, ExpmNf):
        train = _flows(training, task)
    elif isinstance(training, Sgd):
        train = _descents(training, task)
    else:
        raise PlanError(
            f"shadow models: {type(training).__name__} is not trained in one program; use Sgd, DpSgd or ExpmNf"
        )
    keys = jax.random.split(jax.random.key(seed), len(members))
    places = np.stack([np.flatnonzero(m) for m in members])
    rows, labels = jnp.asarray(x), jnp.asarray(y)
    found = []
    for a in range(0, len(members), at_once):
        some = slice(a, a + at_once)
        found.append(np.asarray(train(jnp.asarray(places[some]), keys[some], rows, labels)))
    return np.concatenate(found)


# ---------------------------------------------------------------------------------------------------- gradients


def summed_gradient(loss: str, w: jax.Array, x: jax.Array, y: jax.Array, weight: jax.Array, clip: Any) -> jax.Array:
    """Σ weight·clip(∇ loss): for a linear model the gradient is (slope·x, slope), its norm |slope|·sqrt(|x|² + 1)."""
    logit = x @ w[:-1] + w[-1]
    slope = jax.vmap(jax.grad(lambda t, label: losses.of_logits(loss, t[None], label)))(logit, y)
    if clip is not None:
        norm = jnp.abs(slope) * jnp.sqrt(jnp.square(x).sum(1) + 1)
        slope = slope * jnp.minimum(1.0, clip / jnp.maximum(norm, 1e-12))
    weighed = weight * slope
    return jnp.concatenate([weighed @ x, weighed.sum()[None]])


def batch_of(key: jax.Array, q: float, rows: int) -> tuple[jax.Array, jax.Array]:
    """(places, which of them count): each of `rows` rows by a coin of chance q, from the gaps between those that enter,
    which are geometric. As many gaps are drawn as a batch has rows and eight standard deviations."""
    room = min(rows, math.ceil(q * rows + 8 * math.sqrt(q * rows) + 16))
    u = jax.random.uniform(key, (room,), minval=2.0**-30)
    skipped = jnp.minimum(jnp.floor(jnp.log(u) / math.log1p(-q)), rows).astype(jnp.int32)
    places = jnp.cumsum(skipped + 1) - 1
    return jnp.minimum(places, rows - 1), places < rows


def _descents(training: Sgd, task: Task) -> Any:
    """(places of the members [models, rows], keys, x, y) -> parameters."""
    entry: Any = training.entries(task)[0]
    private = isinstance(training, DpSgd)
    clip, sigma = (entry.parts[0].clip, entry.parts[0].sigma) if private else (None, 0.0)
    half = entry.steps // 2

    def one(members: jax.Array, key: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        inside = jnp.zeros(len(x), x.dtype).at[members].set(1)

        def total(w: jax.Array, key: jax.Array) -> jax.Array:
            if entry.q == 1:
                return summed_gradient(training.loss, w, x, y, inside, clip)
            entered, counts = batch_of(key, entry.q, task.rows)
            rows = members[entered]
            return summed_gradient(training.loss, w, x[rows], y[rows], counts.astype(x.dtype), clip)

        def step(carried: tuple, i: jax.Array) -> tuple:
            w, mean = carried
            a, b = jax.random.split(jax.random.fold_in(key, i))
            noise = sigma * (clip or 0.0) * jax.random.normal(b, w.shape)
            w = w - training.rate * ((total(w, a) + noise) / (entry.q * task.rows) + training.l2 * w)
            return (w, mean + (w - mean) / (jnp.maximum(i - half, 0) + 1)), None

        zero = jnp.zeros(x.shape[1] + 1, x.dtype)
        return jax.lax.scan(step, (zero, zero), jnp.arange(entry.steps))[0][1]

    return jax.jit(jax.vmap(one, (0, 0, None, None)))


# ---------------------------------------------------------------------------------------------------- flows


def _flows(training: ExpmNf, task: Task) -> Any:
    """(places of the members, keys, x, y) -> one draw of each flow: the released model. As in `ExpmNf.train`, the
    training has the key of a public seed, which an attacker knows, and only the draw has one of its own."""
    shape, size = training.shape, losses.size(task.features, 2)
    worth = smooth_utility(task.features, 2).per_record
    rate = training.epsilon_tilde / (2 * losses.sensitivity(2))
    target = flows.Target(worth, rate, prior_sd(training.tau, size))
    public = flows.public_key(task.seed)

    def one(places: jax.Array, key: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        columns = jnp.concatenate([x[places].T, y[places][None].astype(x.dtype)])
        flow = flows.train(shape, size, target, columns, public)
        return flows.draw(flow, shape, size, 1, jax.random.fold_in(key, 3))[0][0]

    return jax.jit(jax.vmap(one, (0, 0, None, None)))
