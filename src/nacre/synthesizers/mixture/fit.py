"""Fit particles (products of block distributions) to noisy contingency tables: specs/sketch.md 4.

Pure post-processing: sees noisy tables, their noise and the number of groups per column, never a row. Minimised is
chi^2/2 of the tables plus ``pull`` times the mean Kullback-Leibler divergence of a particle from the one-way shares: of
all mixtures that explain the tables equally well, the one nearest to independence (maximum entropy). Without the pull a
longer fit is a worse one, noise or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacre.errors import ConvergenceError
from nacre.synthesizers.mixture.loss import Blocks, Folds, Problem, Table, check, expected, pooled

_BETA1, _BETA2 = np.float32(0.8), np.float32(0.95)  # of Adam
_PROGRESS = 50  # steps between two calls of `progress`
_FURTHEST = 30.0  # of a logit from the log of its share


@dataclass(frozen=True)
class Config:
    """How hard to fit. The defaults were tuned on tables other than those reported (docs: sketch)."""

    particles: int = 1024
    steps: int = 200
    rate: float = 0.2
    spread: float = 0.3
    pull: float = 300.0


class Fitted(NamedTuple):
    """Block probabilities of K particles, columns side by side, and their weights (mean one)."""

    blocks: NDArray[np.float32]
    weights: NDArray[np.float64]

    def table(self, sizes: Sequence[int], columns: Sequence[int], folds: Folds | None = None) -> NDArray[np.float64]:
        """The expected shares of some columns of a drawn row, on wider groups where ``folds`` names some."""
        edges = np.cumsum([0, *sizes])
        parts = [np.ascontiguousarray(self.blocks[:, edges[j] : edges[j + 1]].T) for j in columns]
        for i, fold in enumerate(folds or ()):
            if fold is not None:
                parts[i] = np.eye(int(fold.max()) + 1, dtype=np.float32)[:, fold] @ parts[i]
        return expected(parts, self.weights / len(self.weights)).astype(np.float64)


def fit(
    group_sizes: Sequence[int],
    tables: Sequence[Table],
    total: float,
    target: int | None,
    config: Config,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    start: Fitted | None = None,
) -> Fitted:
    """Particles whose tables agree with the noisy ones: blocks [K, sum(group_sizes)], each summing to one.

    ``start`` is an earlier fit of the same columns to go on from. ``progress(done, steps)`` is called with public
    numbers only. Deterministic given seed, tables and machine. Raises NacreError on a table that does not fit the
    sizes, ConvergenceError if a value is not finite.
    """
    sizes = [int(s) for s in group_sizes]
    check(sizes, tables, total)
    # The target leads in every table and lies last among the blocks, so that what follows a lead lies together.
    lay = [j for j in range(len(sizes)) if j != target] + ([] if target is None else [target])
    place = {j: i for i, j in enumerate(lay)}
    moved = [replace(t, columns=tuple(place[j] for j in t.columns)) for t in tables]
    lead = lay[-1:] if target is not None else []
    order = [place[j] for j in lead] + [i for i, j in enumerate(lay) if j not in lead]
    laid = [sizes[j] for j in lay]
    shares = [one_way(sizes, tables, total)[j] for j in lay]
    descent = _Descent(laid, Problem(laid, pooled(moved, total, order)), shares, total, config)
    weights = descent.begin(np.random.default_rng(seed), target is not None, _laid(start, sizes, lay))
    blocks = descent.run(progress)
    if not np.isfinite(blocks).all():
        raise ConvergenceError("the particle fit left finite numbers: lower Config.rate")
    edges = np.cumsum([0, *laid])
    back = [blocks[edges[place[j]] : edges[place[j] + 1]] for j in range(len(sizes))]
    return Fitted(np.ascontiguousarray(np.concatenate(back).T), weights if start is None else start.weights)


def _laid(start: Fitted | None, sizes: Sequence[int], lay: Sequence[int]) -> Fitted | None:
    """An earlier fit with its columns laid out in another order."""
    if start is None:
        return None
    edges = np.cumsum([0, *sizes])
    return Fitted(np.concatenate([start.blocks[:, edges[j] : edges[j + 1]] for j in lay], 1), start.weights)


def one_way(sizes: Sequence[int], tables: Sequence[Table], total: float) -> list[NDArray[np.float64]]:
    """Group shares of each column: inverse-variance mean over every table that holds it, positive, sum one."""
    weight = [np.full(s, 1e-12) for s in sizes]
    value = [np.full(s, 1e-12 / s) for s in sizes]
    for table in tables:
        if table.single:  # says little that the tables of few columns do not
            continue
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


class _Descent:
    """Adam on the logits; particles in the last axis, arrays written in place."""

    def __init__(self, sizes: Sequence[int], problem: Problem, shares: Sequence[NDArray], total: float, config: Config):
        self.problem, self.config, self.shares = problem, config, shares
        edges = np.cumsum([0, *sizes])
        self.spots = [slice(a, b) for a, b in itertools.pairwise(edges.tolist())]
        self.base = np.log(np.concatenate(shares)).astype(np.float32)[:, None]
        self.pull = np.float32(config.pull / (total**2 * problem.scale))

    def begin(self, rng: np.random.Generator, with_target: bool, start: Fitted | None) -> NDArray[np.float64]:
        """Logits from log shares + N(0, spread^2), or from an earlier fit; the weights of the particles."""
        config, weights = self.config, np.ones(self.config.particles)
        if start is not None:
            weights = start.weights
            self.logits = np.log(np.maximum(start.blocks.T, 1e-12)).astype(np.float32)
        else:
            noise = rng.standard_normal((len(self.base), config.particles), np.float32)
            self.logits = self.base + np.float32(config.spread) * noise
            if with_target:
                share, last = self.shares[-1], self.spots[-1]
                kind, weights = strata(share, config.particles)
                tilt = np.log(0.9 * np.eye(share.size)[kind] + 0.1 * share).T
                self.logits[last] = tilt + np.float32(0.3) * noise[last]
        self.weights = weights.astype(np.float32)
        return weights

    def run(self, progress: Callable[[int, int], None] | None) -> Blocks:
        steps = self.config.steps
        first, second, room = (np.zeros_like(self.logits) for _ in range(3))
        for step in range(steps):
            p = self._softmax()
            _, grad = self.problem.step(p, self.weights)
            self._through(p, grad)
            rate = self.config.rate * (1 + np.cos(np.pi * step / steps)) / 2
            self._adam(grad, first, second, room, rate, step + 1)
            if progress is not None and ((step + 1) % _PROGRESS == 0 or step + 1 == steps):
                progress(step + 1, steps)
        return self._softmax()

    def _softmax(self) -> Blocks:
        p = np.exp(self.logits)
        for spot in self.spots:
            p[spot] /= p[spot].sum(0)
        return p

    def _through(self, p: Blocks, grad: Blocks) -> None:
        """From the gradient by the probabilities, and the pull, to the gradient by the logits."""
        # d KL / dp = log p - log q + 1, and log p is the logit less a constant of its block, which drops out below.
        grad += self.pull * (self.logits - self.base)
        for spot in self.spots:
            own, held = grad[spot], p[spot]
            own -= (own * held).sum(0)
            own *= held

    def _adam(self, grad: Blocks, first: Blocks, second: Blocks, room: Blocks, rate: float, step: int) -> None:
        first *= _BETA1
        np.multiply(grad, np.float32(1) - _BETA1, out=room)
        first += room
        second *= _BETA2
        np.multiply(grad, grad, out=grad)
        grad *= np.float32(1) - _BETA2
        second += grad
        np.multiply(second, np.float32(1 / (1 - _BETA2**step)), out=room)
        np.sqrt(room, out=room)
        room += np.float32(1e-12)
        np.divide(first, room, out=room)
        room *= np.float32(rate / (1 - _BETA1**step))
        self.logits -= room
        np.clip(self.logits, self.base - _FURTHEST, self.base + _FURTHEST, out=self.logits)
