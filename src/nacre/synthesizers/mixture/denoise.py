"""Denoise measured tables before the fit: pool what they share, shrink what is left. Post-processing only.

1. Every column's (column, target) table is estimated once, from all tables that hold the column (inverse variances).
2. A table of two columns (per class of the target) is their conditional independence given the target plus a
   residual with zero margins. The noise of the residual is white with known sigma, and real dependence has few
   singular directions: its singular values are shrunk optimally in Frobenius norm (Gavish and Donoho 2017,
   "Optimal shrinkage of singular values", eq. 7), which sends those inside the noise bulk to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.parts.grouping import simplex

Floats = NDArray[np.float64]


def denoise(
    sizes: Sequence[int], tables: Sequence[Table], total: float, target: int | None, shrink: float = 1.0
) -> list[Table]:
    """The same tables with less noise; columns, shapes and sigmas (which the fit uses as weights) are kept.

    Tables of one column, and of a column with the target, become margins of the pooled estimate. Exact tables
    (sigma -> 0) come back unchanged up to rounding. `shrink` between 0 and 1 is how much of the shrinkage is applied
    (at 0 margins are pooled and no more; cells below zero are cut at 1 only, since cutting raw noise adds mass).
    """
    if any(len(t.columns) > 2 + (target in t.columns) for t in tables if not t.single):
        return list(tables)  # all tables of three columns and more: small ones, whose noise the fit averages
    classes = 1 if target is None else sizes[target]
    near = near_target(sizes, [t for t in tables if not t.single], total, target)
    share = next(iter(near.values())).sum(0) if near else np.full(classes, total / classes)
    out = []
    for table in tables:
        others = [j for j in table.columns if j != target]
        if table.single:
            out.append(table)
        elif len(others) == 2:
            out.append(replace(table, counts=_pair(table, others, near, share, target, shrink)))
        elif len(others) == 1:
            held = near[others[0]] if target in table.columns else near[others[0]].sum(1)
            out.append(replace(table, counts=held if table.columns[0] == others[0] else held.T))
        else:
            out.append(replace(table, counts=share))
    return [t if t.empty is None else replace(t, counts=np.where(t.empty, 0.0, t.counts)) for t in out]


def near_target(sizes: Sequence[int], tables: Sequence[Table], total: float, target: int | None) -> dict[int, Floats]:
    """Per column, its pooled table with the target [groups, classes] ([groups, 1] without), >= 0, summing to total.

    Class totals are the same in all of them. Tables without the target inform the column's margin only: the
    correction that they ask for is spread evenly over the classes, which is least squares for white noise.
    """
    classes = 1 if target is None else sizes[target]
    names = [j for j in range(len(sizes)) if j != target]
    both = {j: _Pool((sizes[j], classes)) for j in names}
    alone = {j: _Pool((sizes[j],)) for j in names}
    for table in tables:
        variance = np.broadcast_to(np.square(np.asarray(table.sigma, np.float64)), table.counts.shape)
        for axis, j in enumerate(table.columns):
            if j == target:
                continue
            keep = (axis, table.columns.index(target)) if target in table.columns else (axis,)
            drop = tuple(i for i in range(table.counts.ndim) if i not in keep)
            counts, spread = table.counts.sum(axis=drop), variance.sum(axis=drop)
            if len(keep) == 2 and keep[0] > keep[1]:
                counts, spread = counts.T, spread.T
            (both if len(keep) == 2 else alone)[j].add(counts, spread)
    joint = {j: _combine(both[j], alone[j]) for j in names}
    share = _classes(joint, tables, total, target, classes)
    return {j: np.stack([simplex(v[:, c], share[c]) for c in range(classes)], 1) for j, v in joint.items()}


class _Pool:
    """Running inverse-variance mean."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.weight, self.sum = np.zeros(shape), np.zeros(shape)

    def add(self, counts: Floats, variance: Floats) -> None:
        weight = 1.0 / np.maximum(variance, 1e-12)
        self.weight, self.sum = self.weight + weight, self.sum + weight * counts

    @property
    def mean(self) -> Floats:
        return np.divide(self.sum, self.weight, out=np.zeros_like(self.sum), where=self.weight > 0)


def _combine(both: _Pool, alone: _Pool) -> Floats:
    """Least squares of a joint estimate and an independent estimate of its row sums."""
    mean, classes = both.mean, both.weight.shape[1]
    if not both.weight.any():
        return np.repeat(alone.mean[:, None] / classes, classes, axis=1)
    held = (1.0 / np.maximum(both.weight, 1e-300)).sum(1)
    pull = held * alone.weight / (1.0 + held * alone.weight)
    return mean + (pull * (alone.mean - mean.sum(1)) / classes)[:, None]


def _classes(joint: dict[int, Floats], tables: Sequence[Table], total: float, target, classes: int) -> Floats:
    """Class totals (sum: total): the columns' estimates weighed by their number of groups, with (y) if measured."""
    pool = _Pool((classes,))
    for value in joint.values():
        pool.add(value.sum(0), np.full(classes, float(value.shape[0])))
    mean = pool.mean if joint else np.full(classes, total / classes)
    own = [t for t in tables if t.columns == (target,)]
    if own and joint:
        mean = _class_mean(mean, own, joint, tables)
    return simplex(mean, total)


def _class_mean(mean: Floats, own: list[Table], joint: dict[int, Floats], tables: Sequence[Table]) -> Floats:
    pool = _Pool(mean.shape)
    for table in own:
        pool.add(table.counts, np.broadcast_to(np.square(table.sigma), mean.shape))
    for table in (t for t in tables if len(t.columns) > 1 and own[0].columns[0] in t.columns):
        axis = table.columns.index(own[0].columns[0])
        drop = tuple(i for i in range(table.counts.ndim) if i != axis)
        variance = np.broadcast_to(np.square(table.sigma), table.counts.shape).sum(axis=drop)
        pool.add(table.counts.sum(axis=drop), variance)
    return pool.mean


def _pair(
    table: Table, others: list[int], near: dict[int, Floats], share: Floats, target: int | None, shrink: float
) -> Floats:
    """One (a, b) or (a, b, y) table: conditional independence plus the shrunk residual."""
    axes = [table.columns.index(j) for j in others] + ([table.columns.index(target)] if target in table.columns else [])
    counts = np.transpose(table.counts, axes)
    a, b = near[others[0]], near[others[1]]
    prior = np.einsum("ac,bc,c->abc", a, b, 1.0 / np.maximum(share, 1e-9))
    if counts.ndim == 2:
        counts, prior = counts[:, :, None], prior.sum(2, keepdims=True)
    sigma = float(np.sqrt(np.mean(np.square(table.sigma))))
    residual = _centred(counts - prior)
    rows, columns, classes = residual.shape
    left = _shrunk(residual.reshape(rows, -1), sigma, rows - 1, (columns - 1) * classes)
    right = _shrunk(residual.transpose(1, 0, 2).reshape(columns, -1), sigma, columns - 1, (rows - 1) * classes)
    mean = (left.reshape(residual.shape) + right.reshape(columns, rows, classes).transpose(1, 0, 2)) / 2
    out = np.maximum(prior + mean, 0.0) if shrink == 1 else prior + shrink * mean + (1 - shrink) * residual
    return np.transpose(out if len(axes) == 3 else out[:, :, 0], np.argsort(axes))


def _centred(residual: Floats) -> Floats:
    """Zero row and column sums in every class."""
    out = residual - residual.mean(0, keepdims=True)
    return out - out.mean(1, keepdims=True)


def _shrunk(matrix: Floats, sigma: float, rows: int, columns: int) -> Floats:
    """Optimal singular value shrinkage in Frobenius norm; rows, columns: dimensions that hold noise."""
    small, large = sorted((rows, columns))
    if small < 1:
        return np.zeros_like(matrix)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    unit = max(sigma, 1e-9) * np.sqrt(large)
    ratio, y = small / large, values / unit
    kept = np.sqrt(np.maximum((y**2 - ratio - 1) ** 2 - 4 * ratio, 0.0)) / np.maximum(y, 1e-9)
    return (left * np.where(y > 1 + np.sqrt(ratio), kept * unit, 0.0)) @ right
