"""Fit particles (products of block distributions) to noisy contingency tables: specs/sketch.md 4.

Pure post-processing: sees noisy tables, their noise and the number of groups per column, never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from nacre.errors import ConvergenceError, NacreError
from nacre.synthesizers.mixture.loss import (
    Problem,
    Table,
    dense_problem,
    dense_step,
    gathered_problem,
    gathered_step,
    is_wide,
    places,
)


@dataclass(frozen=True)
class Config:
    """How hard to fit. The defaults were tuned on tables other than those reported (docs: sketch)."""

    particles: int = 1024
    steps: int = 300
    rate: float = 0.2
    spread: float = 1.0
    chunk: int = 50


class Fitted(NamedTuple):
    """Block probabilities of K particles, columns side by side, and their weights (mean one)."""

    blocks: NDArray[np.float32]
    weights: NDArray[np.float64]

    def table(self, sizes: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
        """The expected shares of one, two or three columns of a drawn row."""
        edges = np.cumsum([0, *sizes])
        parts = [self.blocks[:, edges[j] : edges[j + 1]] for j in columns]
        left = self.weights[:, None].astype(np.float32) * parts[0]
        if len(parts) == 1:
            return left.mean(0)
        if len(parts) == 3:
            left = (left[:, :, None] * parts[2][:, None, :]).reshape(len(left), -1)
        flat = left.T @ parts[1] / len(left)
        if len(parts) == 2:
            return flat
        return flat.reshape(parts[0].shape[1], parts[2].shape[1], parts[1].shape[1]).transpose(0, 2, 1)


def fit(
    group_sizes: Sequence[int],
    tables: Sequence[Table],
    total: float,
    target: int | None,
    config: Config,
    key: jax.Array,
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Particles whose tables agree with the noisy ones: blocks [K, sum(group_sizes)], each summing to one.

    ``progress(done, steps)`` is called between jitted chunks with public numbers only. Deterministic given key,
    tables and device. Raises NacreError on a table that does not fit the sizes, ConvergenceError if a value is not
    finite.
    """
    sizes = [int(s) for s in group_sizes]
    _check(sizes, tables, total, target)
    order = [j for j in range(len(sizes)) if j != target] + ([] if target is None else [target])
    if is_wide(sizes, tables):
        order, last, problem = list(range(len(sizes))), 0, gathered_problem(sizes, tables, total)
    else:
        last, problem = dense_problem(sizes, tables, total, target, order)
    start = one_way(sizes, tables, total)
    shares = np.concatenate([start[j] for j in order])
    member = np.repeat(np.arange(len(order)), [sizes[j] for j in order])
    found = _descend(shares, member, problem, last, config, key, progress)
    place = places(sizes, order)
    blocks = np.concatenate([found.blocks[:, place[j]] for j in range(len(sizes))], axis=1)
    if not np.isfinite(blocks).all():
        raise ConvergenceError("the particle fit left finite numbers: lower Config.rate")
    return Fitted(blocks, found.weights)


def one_way(sizes: Sequence[int], tables: Sequence[Table], total: float) -> list[NDArray[np.float64]]:
    """Group shares of each column: inverse-variance mean over every table that holds it, positive, sum one."""
    weight = [np.full(s, 1e-12) for s in sizes]
    value = [np.full(s, 1e-12 / s) for s in sizes]
    for table in tables:
        variance = np.broadcast_to(np.square(table.sigma), table.counts.shape)
        for axis, j in enumerate(table.columns):
            others = tuple(i for i in range(table.counts.ndim) if i != axis)
            w = (total**2) / np.maximum(variance.sum(axis=others), 1e-12)
            weight[j] += w
            value[j] += w * table.counts.sum(axis=others) / total
    out = []
    for v, w in zip(value, weight, strict=True):
        share = np.maximum(v / w, 0.02 / v.size * min(1.0, 10 / np.sqrt(total)))
        out.append(share / share.sum())
    return out


def _check(sizes: list[int], tables: Sequence[Table], total: float, target: int | None) -> None:
    if not total > 0:
        raise NacreError(f"total is {total}: the number of rows must be positive; declare it or buy it")
    for table in tables:
        shape = tuple(sizes[j] for j in table.columns)
        if table.counts.shape != shape:
            raise NacreError(f"table {table.columns} has shape {table.counts.shape}, its groups need {shape}")
        if len(set(table.columns)) != len(table.columns) or not 1 <= len(table.columns) <= 3:
            raise NacreError(f"table {table.columns}: one, two or three different columns are expected")
        if len(table.columns) == 3 and target not in table.columns:
            raise NacreError(f"table {table.columns}: a table of three columns must hold the target ({target})")


def _softmax(logits: jax.Array, member: jax.Array, blocks: int) -> jax.Array:
    """Softmax over ragged blocks by two thin products; block means are taken out, so exp cannot overflow."""
    one_hot = jax.nn.one_hot(member, blocks, dtype=logits.dtype)
    mean = jnp.matmul(logits, one_hot, precision="highest") / one_hot.sum(0)
    weight = jnp.exp(jnp.clip(logits - mean[:, member], -60.0, 60.0))
    return weight / jnp.matmul(weight, one_hot, precision="highest")[:, member]


def _through(p: jax.Array, grad: jax.Array, member: jax.Array, blocks: int) -> jax.Array:
    """Gradient by the logits from the gradient by the probabilities."""
    one_hot = jax.nn.one_hot(member, blocks, dtype=p.dtype)
    return p * (grad - jnp.matmul(p * grad, one_hot, precision="highest")[:, member])


@partial(jax.jit, static_argnames=("last", "blocks"), donate_argnames=("logits", "state"))
def _chunk(logits, state, rates, member, w, problem, last, blocks):
    def body(carry, rate):
        logits, state = carry
        p = _softmax(logits, member, blocks)
        loss, grad = gathered_step(p, problem) if problem.pairs is not None else dense_step(p, w, problem, last)
        update, state = _ADAM.update(_through(p, grad, member, blocks), state)
        return (logits - rate * update, state), loss

    (logits, state), losses = jax.lax.scan(body, (logits, state), rates)
    return logits, state, losses[-1]


_ADAM = optax.scale_by_adam(b1=0.8, b2=0.95, eps=1e-12)


def strata(share: NDArray[np.float64], particles: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Class and weight of every particle: classes of the target get particles as the root of their share.

    A rare class would otherwise be modelled by its few per cent of the particles; with more of them, each weighs less:
    the weights of a class sum to its share of ``particles``, their mean is one.
    """
    part = np.sqrt(share) / np.sqrt(share).sum()
    count = np.diff(np.rint(np.cumsum(part) * particles), prepend=0).astype(np.int64)
    kind = np.repeat(np.arange(share.size), count)
    weight = np.divide(share * particles, count, out=np.zeros_like(share), where=count > 0)[kind]
    return kind, weight * (particles / weight.sum())


def _descend(shares, member, problem: Problem, last: int, config: Config, key, progress) -> Fitted:
    """Adam on the logits from log shares + N(0, spread^2), in jitted chunks (specs/sketch.md 4)."""
    blocks = int(member.max()) + 1
    noise = jax.random.normal(key, (config.particles, shares.size), jnp.float32)
    logits = jnp.log(jnp.asarray(shares, jnp.float32)) + config.spread * noise
    weight = np.ones(config.particles)
    if last:
        share = shares[-last:]
        kind, weight = strata(share, config.particles)
        tilt = np.log(0.9 * np.eye(last)[kind] + 0.1 * share)
        logits = logits.at[:, -last:].set(jnp.asarray(tilt, jnp.float32) + 0.3 * noise[:, -last:])
    w, member = jnp.asarray(weight, jnp.float32), jnp.asarray(member, jnp.int32)
    state = _ADAM.init(logits)
    rates = config.rate * (1 + np.cos(np.pi * np.arange(config.steps) / config.steps)) / 2
    for done in range(0, config.steps, config.chunk):
        part = jnp.asarray(rates[done : done + config.chunk], jnp.float32)
        logits, state, loss = _chunk(logits, state, part, member, w, problem, last, blocks)
        if progress is not None:
            jax.block_until_ready(loss)
            progress(min(done + config.chunk, config.steps), config.steps)
    return Fitted(np.asarray(jax.jit(_softmax, static_argnames="blocks")(logits, member, blocks=blocks)), weight)
