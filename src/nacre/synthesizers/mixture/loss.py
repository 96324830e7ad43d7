"""The loss of particles against noisy contingency tables, and its gradient: specs/sketch.md 4.

A particle k holds one distribution per column and a fixed weight w_k of mean one (W = diag w); the table of columns
a, b under K particles is M = P_a' W P_b / K and, with the target y, M_c = (P_a * P_y=c)' W P_b / K. The loss is the sum
over measured cells of ((M - counts/total) / sigma)^2, that is, with true inverse variances. Its gradient is written out
(M is symmetric in a, b), which saves a third of the products that automatic differentiation would need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """One noisy contingency table on groups of one, two or three columns (three only with the target among them).

    ``sigma`` is the standard deviation of a cell, or an array of them (a fine table summed into groups has
    sigma * sqrt(cells in the group)); infinite for cells that were not measured. ``empty`` marks cells that are known
    to hold nothing.
    """

    columns: tuple[int, ...]
    counts: NDArray[np.float64]
    sigma: float | NDArray[np.float64]
    empty: NDArray[np.bool_] | None = None


class Problem(NamedTuple):
    """Weights (inverse variances) and targets (shares); columns reordered so that the target block is last.

    Dense form: ``three`` [C*D, D] holds (a, b, y), ``two`` [D, D] the pairs, both symmetric with zero diagonal
    blocks. Gathered form (few pairs among many columns): ``left``, ``right`` [m] column numbers, ``two`` [m, G, G].
    ``near`` [D, C] holds (a, y), ``one`` [D + C] single columns. Absent levels are None.
    """

    one: Any
    near: Any = None
    two: Any = None
    three: Any = None
    pairs: Any = None


def places(sizes: list[int], order: list[int]) -> dict[int, slice]:
    """Where each column's block lies when the columns are laid out in ``order``."""
    edges = np.cumsum([0] + [sizes[j] for j in order])
    return {j: slice(int(edges[i]), int(edges[i + 1])) for i, j in enumerate(order)}


def is_wide(sizes: list[int], tables: Sequence[Table]) -> bool:
    """Gather blocks when the measured pairs are a small part of all of them."""
    if any(len(t.columns) == 3 for t in tables):
        return False
    pairs = {tuple(sorted(t.columns)) for t in tables if len(t.columns) == 2}
    cells = len(pairs) * max(sizes) ** 2
    return len(sizes) > 2 and 4 * cells < sum(sizes) ** 2


class _Level:
    """Inverse-variance sum of the tables that fall on the same cells."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.weight, self.value, self.used = np.zeros(shape), np.zeros(shape), False

    def add(self, where: tuple, counts: NDArray, sigma: NDArray | float, total: float) -> None:
        weight = np.broadcast_to(1.0 / np.maximum(np.square(np.asarray(sigma, np.float64)), 1e-12), counts.shape)
        self.weight[where] += weight
        self.value[where] += weight * (counts / total)
        self.used = True

    def arrays(self, scale: float) -> Any:
        if not self.used:
            return None
        mean = np.divide(self.value, self.weight, out=np.zeros_like(self.value), where=self.weight > 0)
        return jnp.asarray(self.weight / scale, jnp.float32), jnp.asarray(mean, jnp.float32)


def dense_problem(
    sizes: list[int], tables: Sequence[Table], total: float, target: int | None, order: list[int]
) -> tuple[int, Problem]:
    place = places(sizes, order)
    last = 0 if target is None else sizes[target]
    width = sum(sizes) - last
    one, near = _Level((width + last,)), _Level((width, max(last, 1)))
    two, three = _Level((width, width)), _Level((max(last, 1), width, width))
    for table in tables:
        counts, columns, sigma = _oriented(table, target, order)
        at = [place[j] for j in columns]
        if len(columns) == 1:
            one.add((at[0],), counts, sigma, total)
        elif len(columns) == 2 and columns[1] == target:
            near.add((at[0], slice(None)), counts, sigma, total)
        elif len(columns) == 2:
            two.add((at[0], at[1]), counts, sigma, total)
            two.add((at[1], at[0]), counts.T, sigma.T, total)
        else:
            three.add((slice(None), at[0], at[1]), counts.transpose(2, 0, 1), sigma.transpose(2, 0, 1), total)
            three.add((slice(None), at[1], at[0]), counts.transpose(2, 1, 0), sigma.transpose(2, 1, 0), total)
    scale = max(float(level.weight.max()) for level in (one, near, two, three))
    deep = three.arrays(scale)
    if deep is not None:
        deep = tuple(a.reshape(-1, width) for a in deep)
    one.used = True
    return last, Problem(one.arrays(scale), near.arrays(scale), two.arrays(scale), deep, None)


_PAIRS_AT_ONCE = 64


def gathered_problem(sizes: list[int], tables: Sequence[Table], total: float) -> Problem:
    """The measured pairs only, each padded to the widest block, in slices of a fixed number of pairs."""
    place, g = places(sizes, list(range(len(sizes)))), max(sizes)
    names = sorted({tuple(sorted(t.columns)) for t in tables if len(t.columns) == 2})
    rows = -(-max(len(names), 1) // _PAIRS_AT_ONCE) * _PAIRS_AT_ONCE
    one, two, ends = _Level((sum(sizes),)), _Level((rows, g, g)), np.zeros((rows, 2), np.int32)
    number = {pair: i for i, pair in enumerate(names)}
    for table in tables:
        counts, columns, sigma = _oriented(table, None, list(range(len(sizes))))
        if len(columns) == 1:
            one.add((place[columns[0]],), counts, sigma, total)
        else:
            i = number[columns[0], columns[1]]
            ends[i] = columns
            two.add((i, slice(0, counts.shape[0]), slice(0, counts.shape[1])), counts, sigma, total)
    scale = max(float(one.weight.max()), float(two.weight.max()))
    one.used = two.used = True
    slices = (-1, _PAIRS_AT_ONCE)
    pad = np.full((len(sizes), g), sum(sizes), np.int32)
    for j, where in place.items():
        pad[j, : sizes[j]] = np.arange(where.start, where.stop)
    flat = np.flatnonzero(pad.ravel() < sum(sizes)).astype(np.int32)
    pairs = (jnp.asarray(ends.reshape(*slices, 2)), jnp.asarray(pad), jnp.asarray(flat))
    stacked = tuple(a.reshape(*slices, g, g) for a in two.arrays(scale))
    return Problem(one.arrays(scale), None, stacked, None, pairs)


def _oriented(table: Table, target: int | None, order: list[int]) -> tuple[NDArray, list[int], NDArray]:
    """Counts and sigmas with the table's axes sorted like ``order``: the target comes last."""
    axes = sorted(range(len(table.columns)), key=lambda i: order.index(table.columns[i]))
    counts = np.asarray(table.counts, np.float64)
    sigma = np.broadcast_to(np.asarray(table.sigma, np.float64), counts.shape)
    return counts.transpose(axes), [table.columns[i] for i in axes], sigma.transpose(axes)


def dense_step(p: jax.Array, w: jax.Array, problem: Problem, last: int) -> tuple[jax.Array, jax.Array]:
    """Half the weighted squared error and its gradient by the block probabilities, times K (see above)."""
    k = p.shape[0]
    dot = partial(jnp.matmul, precision="highest")
    x = p[:, : p.shape[1] - last]
    y = p[:, p.shape[1] - last :] if last else jnp.ones((k, 1), p.dtype)
    w = w[:, None]
    weight, share = problem.one
    gap = (w * p).mean(0) - share
    loss, grad = jnp.sum(weight * gap**2) / 2, jnp.broadcast_to(weight * gap, p.shape)
    gx, gy = grad[:, : x.shape[1]], grad[:, x.shape[1] :]
    if problem.near is not None:
        weight, share = problem.near
        gap = dot((w * x).T, y) / k - share
        loss, gx, gy = loss + jnp.sum(weight * gap**2) / 2, gx + dot(y, (weight * gap).T), gy + dot(x, weight * gap)
    if problem.two is None and problem.three is None:
        return loss, w * (jnp.concatenate([gx, gy], axis=1) if last else gx)
    if problem.three is None:
        y, classes = jnp.ones((k, 1), p.dtype), 1
    else:
        classes = y.shape[1]
    d = x.shape[1]
    table = dot(((w * y)[:, :, None] * x[:, None, :]).reshape(k, classes * d).T, x) / k
    miss = jnp.zeros_like(table)
    if problem.three is not None:
        weight, share = problem.three
        miss = weight * (table - share)
        loss += jnp.sum(miss * (table - share)) / 4
    if problem.two is not None:
        weight, share = problem.two
        gap = table.reshape(classes, d, d).sum(0) - share
        miss += jnp.tile(weight * gap, (classes, 1))
        loss += jnp.sum(weight * gap**2) / 4
    back = dot(x, miss.T).reshape(k, classes, d)
    gx = gx + (y[:, :, None] * back).sum(1)
    if last and problem.three is not None:
        gy = gy + (x[:, None, :] * back).sum(2) / 2
    return loss, w * (jnp.concatenate([gx, gy], axis=1) if last else gx)


def gathered_step(p: jax.Array, problem: Problem) -> tuple[jax.Array, jax.Array]:
    """The same loss and gradient where only a list of pairs was measured: blocks [columns, groups, K] are gathered."""
    k = p.shape[0]
    weight, share = problem.one
    miss = weight * (p.mean(0) - share)
    loss, grad = jnp.sum(miss * (p.mean(0) - share)) / 2, jnp.broadcast_to(miss, p.shape)
    ends, pad, flat = problem.pairs
    blocks = jnp.concatenate([p.T, jnp.zeros((1, k), p.dtype)])[pad]
    dot = partial(jnp.einsum, precision="highest")

    def some(carry, xs):
        loss, back = carry
        ends, weight, share = xs
        a, b = blocks[ends[:, 0]], blocks[ends[:, 1]]
        gap = dot("mgk,mhk->mgh", a, b) / k - share
        miss = weight * gap
        back = back.at[ends[:, 0]].add(dot("mgh,mhk->mgk", miss, b)).at[ends[:, 1]].add(dot("mgh,mgk->mhk", miss, a))
        return (loss + jnp.sum(miss * gap) / 2, back), None

    (loss, back), _ = jax.lax.scan(some, (loss, jnp.zeros_like(blocks)), (ends, *problem.two))
    return loss, grad + back.reshape(-1, k)[flat].T
