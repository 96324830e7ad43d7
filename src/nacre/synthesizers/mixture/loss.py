"""The loss of particles against noisy contingency tables, and its gradient: specs/sketch.md 4.

A particle k holds one distribution per column and a fixed weight w_k of mean one. Blocks lie with the particles in the
last axis, P [groups of all columns, K]; the table of columns (a, ..., z) is M = (A w) B' / K, where A and B are the
products of the blocks of the first and of the last columns, cell by cell. The loss is half the sum over measured cells
of ((M - counts/total) / sigma)^2, that is, with true inverse variances. Any number of columns makes a table. NumPy
only: the products are all of the work, and nothing needs to be compiled.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from nacre.errors import NacreError

KNOWN = 100.0  # times the weight of a measured cell: one that is known to be empty

Blocks = NDArray[np.floating]  # of 32 bits wherever there are many
Folds = tuple[NDArray[np.int32] | None, ...]


@dataclass(frozen=True)
class Table:
    """One noisy contingency table on groups of some columns.

    ``sigma`` is the standard deviation of a cell, or an array of them (a fine table summed into groups has
    sigma * sqrt(cells in the group)); infinite for cells that were not measured. ``empty`` marks cells that are known
    to hold nothing. ``folds``: by axis, which of fewer, wider groups each group of the column falls into; None where
    every group has a cell of its own. ``single``: of a clique chosen by itself, not one of all of their kind.
    """

    columns: tuple[int, ...]
    counts: NDArray[np.float64]
    sigma: float | NDArray[np.float64]
    empty: NDArray[np.bool_] | None = None
    folds: Folds | None = None
    single: bool = False


@dataclass(frozen=True)
class Clique:
    """All that was measured of one set of columns: inverse variances and the shares that they weigh."""

    columns: tuple[int, ...]
    weight: NDArray[np.float64]
    share: NDArray[np.float64]
    folds: Folds | None = None


def pooled(tables: Sequence[Table], total: float, order: Sequence[int]) -> list[Clique]:
    """Tables of the same columns as one, axes in ``order``; folded tables each for itself."""
    sums: dict[tuple[int, ...], tuple[NDArray, NDArray]] = {}
    folded = []
    for table in tables:
        axes = sorted(range(len(table.columns)), key=lambda i: order.index(table.columns[i]))
        columns = tuple(table.columns[i] for i in axes)
        sigma = np.broadcast_to(np.asarray(table.sigma, np.float64), table.counts.shape).transpose(axes)
        weight = 1.0 / np.maximum(np.square(sigma), 1e-12)
        if table.empty is not None:
            weight = np.where(table.empty.transpose(axes), KNOWN * weight, weight)
        share = np.asarray(table.counts, np.float64).transpose(axes) / total
        if table.folds is not None and any(f is not None for f in table.folds):
            folded.append(Clique(columns, weight, share, tuple(table.folds[i] for i in axes)))
            continue
        value = weight * share
        held = sums.get(columns)
        sums[columns] = (weight, value) if held is None else (held[0] + weight, held[1] + value)
    plain = [Clique(c, w, np.divide(v, w, out=np.zeros_like(v), where=w > 0)) for c, (w, v) in sorted(sums.items())]
    return plain + folded


class Problem:
    """Measured tables arranged as few, large products.

    sizes: groups of every column, in the order in which their blocks lie. Weights are divided by the largest,
    ``scale``, so that the loss is of the order of squared shares.
    """

    def __init__(self, sizes: Sequence[int], cliques: Sequence[Clique]):
        self.places = _places(sizes)
        self.scale = max(float(c.weight.max()) for c in cliques)
        self._fans, splits = _arranged(cliques, self.places, self.scale)
        self._splits = [_Split(c, self.places, self.scale) for c in splits]

    def step(self, p: Blocks, w: Blocks) -> tuple[float, Blocks]:
        """The loss and K times its gradient by the block probabilities, each particle's divided by its weight."""
        grad = np.zeros_like(p)
        loss = sum(term.step(p, w, grad) for term in (*self._fans, *self._splits))
        return float(loss), grad


class _Fan:
    """Tables (lead..., b) for several columns b: one product of the lead with the blocks of all b, side by side."""

    def __init__(self, lead: tuple[int, ...], cliques: Sequence[Clique], places: Sequence[slice], scale: float):
        self.lead = [_Block(places[j]) for j in lead]
        spots = [places[c.columns[-1]] for c in cliques]
        rows = math.prod(cliques[0].share.shape[:-1])
        self.weight = np.concatenate([c.weight.reshape(rows, -1) for c in cliques], 1).astype(np.float32)
        self.weight /= np.float32(scale)
        self.share = np.concatenate([c.share.reshape(rows, -1) for c in cliques], 1).astype(np.float32)
        index = np.concatenate([np.arange(s.start, s.stop) for s in spots])
        together = index[-1] - index[0] + 1 == index.size
        self.rest: slice | NDArray = slice(int(index[0]), int(index[-1]) + 1) if together else index

    def step(self, p: Blocks, w: Blocks, grad: Blocks) -> float:
        blocks = [b.of(p) for b in self.lead]
        left = product(blocks) if blocks else np.ones((1, p.shape[1]), p.dtype)
        right = p[self.rest]
        loss, miss = _gap((left * w) @ right.T, p.shape[1], self.weight, self.share)
        grad[self.rest] += miss.T @ left
        if self.lead:
            _share_out(self.lead, blocks, miss @ right, grad)
        return loss


class _Split:
    """One table of many columns: the product of its first columns with the product of its last."""

    def __init__(self, clique: Clique, places: Sequence[slice], scale: float):
        folds = clique.folds or (None,) * len(clique.columns)
        blocks = [_Block(places[j], fold) for j, fold in zip(clique.columns, folds)]
        sizes = clique.share.shape
        cut = min(range(1, len(sizes)), key=lambda h: math.prod(sizes[:h]) + math.prod(sizes[h:]))
        self.left, self.right = blocks[:cut], blocks[cut:]
        rows = math.prod(sizes[:cut])
        self.weight = (clique.weight.reshape(rows, -1) / scale).astype(np.float32)
        self.share = clique.share.reshape(rows, -1).astype(np.float32)

    def step(self, p: Blocks, w: Blocks, grad: Blocks) -> float:
        ones, others = [b.of(p) for b in self.left], [b.of(p) for b in self.right]
        left, right = product(ones), product(others)
        loss, miss = _gap((left * w) @ right.T, p.shape[1], self.weight, self.share)
        _share_out(self.left, ones, miss @ right, grad)
        _share_out(self.right, others, miss.T @ left, grad)
        return loss


class _Block:
    """The groups of one column, or wider ones that they are summed into."""

    def __init__(self, place: slice, fold: NDArray[np.int32] | None = None):
        self.place = place
        self.sums = None if fold is None else np.eye(int(fold.max()) + 1, dtype=np.float32)[:, fold]

    def of(self, p: Blocks) -> Blocks:
        return p[self.place] if self.sums is None else self.sums @ p[self.place]

    def add(self, grad: Blocks, into: Blocks) -> None:
        into[self.place] += grad if self.sums is None else self.sums.T @ grad


def product(blocks: Sequence[Blocks]) -> Blocks:
    """The joint law of independent columns within every particle, [cells, K]."""
    return reduce(lambda a, b: (a[:, None, :] * b[None, :, :]).reshape(-1, a.shape[1]), blocks)


def expected(parts: Sequence[Blocks], masses: NDArray) -> Blocks:
    """The table of several columns of a mixture: blocks [groups, K] of each, and the probability of every particle."""
    cut = (len(parts) + 1) // 2
    left = product(parts[:cut]) * masses.astype(np.float32)
    flat = left @ product(parts[cut:]).T if len(parts) > 1 else left.sum(1)
    return flat.reshape([len(p) for p in parts])


def _gap(table: Blocks, particles: int, weight: Blocks, share: Blocks) -> tuple[float, Blocks]:
    table /= np.float32(particles)
    table -= share
    miss = weight * table
    return float(np.vdot(miss, table)) / 2, miss


def _share_out(homes: Sequence[_Block], blocks: Sequence[Blocks], grad: Blocks, into: Blocks) -> None:
    """Gradient by a product of blocks, handed to each of them."""
    if len(homes) == 1:
        homes[0].add(grad, into)
        return
    head, last = product(blocks[:-1]), blocks[-1]
    cube = grad.reshape(len(head), len(last), -1)
    homes[-1].add(np.einsum("hk,hnk->nk", head, cube), into)
    _share_out(homes[:-1], blocks[:-1], np.einsum("nk,hnk->hk", last, cube), into)


def _places(sizes: Sequence[int]) -> list[slice]:
    edges = np.cumsum([0, *sizes]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _arranged(cliques: Sequence[Clique], places: Sequence[slice], scale: float) -> tuple[list[_Fan], list[Clique]]:
    """Tables with the same leading columns as one fan; tables of many columns that share no lead, each for itself."""
    by_lead: dict[tuple[int, ...], list[Clique]] = defaultdict(list)
    for clique in cliques:
        if clique.folds is None:
            by_lead[clique.columns[:-1]].append(clique)
    alone = [own[0] for lead, own in by_lead.items() if len(own) == 1 and len(lead) > 2]
    fans = [_Fan(lead, own, places, scale) for lead, own in by_lead.items() if len(own) > 1 or len(lead) <= 2]
    return fans, alone + [c for c in cliques if c.folds is not None]


def check(sizes: Sequence[int], tables: Sequence[Table], total: float) -> None:
    """Raise NacreError for tables that do not fit the columns."""
    if not total > 0:
        raise NacreError(f"total is {total}: the number of rows must be positive; declare it or buy it")
    for table in tables:
        if len(set(table.columns)) != len(table.columns) or not table.columns:
            raise NacreError(f"table {table.columns}: different columns are expected")
        folds = table.folds or (None,) * len(table.columns)
        shape = tuple(sizes[j] if f is None else int(f.max()) + 1 for j, f in zip(table.columns, folds))
        if table.counts.shape != shape:
            raise NacreError(f"table {table.columns} has shape {table.counts.shape}, its groups need {shape}")
