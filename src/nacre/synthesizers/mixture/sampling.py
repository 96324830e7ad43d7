"""Fitted particles: drawing fine codes, exact conditioning, saving. NumPy only: a release is read without JAX.

A row is drawn as particle -> group of each column -> fine cell given the group. Since the columns of a particle are
independent, a condition on some columns is exact: particles are weighted by its probability and their blocks restricted
(specs/sketch.md 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.errors import NacreError
from nacre.synthesizers.mixture.refine import refine

_BELOW_ONE = 1.0 - 1e-9
Masks = Mapping[int, NDArray[np.float64]]


@dataclass(frozen=True)
class Particles:
    """A mixture of K products.

    blocks: [K, D] group probabilities, columns side by side; luts: per column, fine cell -> group; insides: per
    column, share of each fine cell in its group; weights: of the particles, None for equal ones.
    """

    blocks: NDArray[np.float32]
    luts: Sequence[NDArray[np.int32]]
    insides: Sequence[NDArray[np.float64]]
    weights: NDArray[np.float64] | None = None

    @property
    def sizes(self) -> list[int]:
        return [int(lut.max()) + 1 for lut in self.luts]

    def block(self, column: int) -> NDArray[np.float64]:
        """Group probabilities of one column, [K, groups], each row summing to one."""
        edges = np.cumsum([0, *self.sizes])
        part = self.blocks[:, edges[column] : edges[column + 1]].astype(np.float64)
        return part / part.sum(1, keepdims=True)

    def shares(self) -> NDArray[np.float64]:
        """The weights of the particles, summing to one."""
        count = len(self.blocks)
        return np.full(count, 1.0 / count) if self.weights is None else self.weights / self.weights.sum()

    def masses(self, column: int) -> NDArray[np.float64]:
        """The share of rows in each group of a column."""
        return self.shares() @ self.block(column)

    def probability(self, masks: Masks | None = None) -> float:
        """Probability that a row satisfies the masks (per column, the share of each fine cell that does)."""
        return float(self._given(masks)[0].sum())

    def table(self, members: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Probabilities of the combinations of cells of some columns, axes in the order of ``members``: of each column
        [cells, fine cells], the share of every fine cell that lies in a cell."""
        found = self.shares()[:, None]
        for j, member in members.items():
            whole = np.bincount(self.luts[j], self.insides[j])
            held = np.array([np.bincount(self.luts[j], self.insides[j] * m) / whole for m in member])
            part = self.block(j) @ held.T
            found = (found[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        return found.sum(0).reshape([len(m) for m in members.values()])

    def draw(
        self,
        rows: int,
        rng: np.random.Generator,
        masks: Masks | None = None,
        fixed: Mapping[int, NDArray[np.int32]] | None = None,
        independent: bool = False,
    ) -> NDArray[np.int32]:
        """Fine codes [rows, columns], in random order, given the condition of ``masks``.

        ``fixed`` gives the fine code of some columns row by row; the rest is drawn given it. Rows are stratified over
        particles and cells, each with the law of the mixture, and then refined (`refine`): frequencies vary much less
        than those of ``independent`` rows. A condition of probability zero raises NacreError.
        """
        if fixed:
            return self._draw_fixed(rows, rng, masks or {}, fixed, independent)
        weight, blocks = self._given(masks)
        if not weight.sum() > 0:
            raise NacreError("the condition has probability zero in this release: no row can satisfy it; widen it")
        weight /= weight.sum()
        if independent:
            particle = np.sort(rng.choice(weight.size, size=rows, p=weight))
        else:
            particle = np.repeat(np.arange(weight.size), _systematic(weight, rows, rng))
        groups = np.empty((len(self.luts), rows), np.int32)
        for j, block in enumerate(blocks):
            u = rng.random(rows) if independent else _stratified(particle, rng)
            groups[j] = _pick(block.ravel(), np.arange(0, block.size, block.shape[1]), particle, u)
            groups[j] -= (particle * block.shape[1]).astype(np.int32)
        if not independent:
            refine(groups, particle, blocks, weight, rng)
        out = np.empty((rows, len(self.luts)), np.int32)
        order = rng.permutation(rows)
        for j, group in enumerate(groups):
            out[order, j] = self._fine(j, group, masks, rng, independent)
        return out

    def _draw_fixed(self, rows, rng, masks, fixed, independent) -> NDArray[np.int32]:
        names = sorted(fixed)
        wanted = np.stack([np.broadcast_to(np.asarray(fixed[j]), (rows,)) for j in names], axis=1)
        combinations, which = np.unique(wanted, axis=0, return_inverse=True)
        out = np.empty((rows, len(self.luts)), np.int32)
        for i, codes in enumerate(combinations):
            here = np.flatnonzero(which.ravel() == i)
            only = dict(masks)
            for j, code in zip(names, codes, strict=True):
                spot = np.zeros(self.luts[j].size)
                spot[code] = 1.0
                only[j] = spot * only.get(j, 1.0)
            out[here] = self.draw(here.size, rng, only, independent=independent)
        return out

    def _given(self, masks: Masks | None) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """The mixture given the masks: joint probability of particle and condition, and the restricted blocks."""
        weight, blocks = self.shares(), [self.block(j) for j in range(len(self.luts))]
        for j, mask in (masks or {}).items():
            share = self.insides[j]
            if np.shape(mask) != share.shape:
                raise NacreError(f"mask of column {j} has shape {np.shape(mask)}, expected ({share.size},)")
            held = np.bincount(self.luts[j], share * np.asarray(mask, np.float64), minlength=self.sizes[j])
            part = blocks[j] * held
            total = part.sum(1, keepdims=True)
            weight = weight * total[:, 0]
            # A particle that the condition excludes is never drawn; its block only has to be one.
            blocks[j] = np.where(total > 0, part / np.where(total > 0, total, 1.0), blocks[j])
        return weight, blocks

    def _fine(
        self, j: int, group: NDArray[np.int32], masks: Masks | None, rng: np.random.Generator, independent: bool
    ) -> NDArray[np.int32]:
        """A fine cell for each row's group."""
        share = self.insides[j] if not masks or j not in masks else self.insides[j] * np.asarray(masks[j], np.float64)
        cells = np.argsort(self.luts[j], kind="stable")
        firsts = np.concatenate([[0], np.cumsum(np.bincount(self.luts[j]))[:-1]])
        order = np.argsort(group, kind="stable")
        u = np.empty(group.size)
        u[order] = rng.random(group.size) if independent else _stratified(group[order], rng)
        return cells[_pick(share[cells], firsts, group, u)].astype(np.int32)

    def to_arrays(self) -> dict[str, NDArray]:
        """Named arrays for safetensors; :meth:`from_arrays` restores an equal object."""
        out: dict[str, NDArray] = {"blocks": self.blocks}
        if self.weights is not None:
            out["weights"] = self.weights
        for j, (lut, share) in enumerate(zip(self.luts, self.insides, strict=True)):
            out[f"lut.{j}"], out[f"inside.{j}"] = lut.astype(np.int32), share.astype(np.float64)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Particles:
        count = sum(name.startswith("lut.") for name in arrays)
        luts = [arrays[f"lut.{j}"] for j in range(count)]
        insides = [arrays[f"inside.{j}"] for j in range(count)]
        return cls(arrays["blocks"], luts, insides, arrays.get("weights"))


def _systematic(weight: NDArray, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many of ``rows`` fall to each state: within one of rows * weight, unbiased, summing to rows."""
    upto = np.cumsum(weight) / weight.sum()
    upto /= upto[-1]
    return (
        np.diff(np.floor(upto * rows + rng.random()), prepend=0.0).astype(np.int64)
        if rows
        else np.zeros(weight.size, np.int64)
    )


def _stratified(state: NDArray, rng: np.random.Generator) -> NDArray[np.float64]:
    """One uniform per row, spread evenly among the rows of the same state (Latin hypercube); states are sorted."""
    n = state.size
    if n == 0:
        return np.zeros(0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(state)) + 1])
    count = np.diff(np.append(first, n))
    run = np.repeat(np.arange(first.size), count)
    rank = np.argsort(run + rng.random(n)) - first[run]
    return np.minimum((rank + rng.random(n)) / count[run], _BELOW_ONE)


def _pick(weight: NDArray, firsts: NDArray, row: NDArray, u: NDArray) -> NDArray:
    """Draw an index from segment ``row`` of ``weight`` by inversion, for all rows in one search on row + cdf.

    Returns the position in ``weight``. Cells of zero weight are never drawn: each cdf is divided by its own last value,
    so that it ends at exactly one.
    """
    upto = np.cumsum(weight, dtype=np.float64)
    size = np.diff(np.append(firsts, weight.size))
    base = np.repeat(np.concatenate([[0.0], upto])[firsts], size)
    upto = upto - base
    end = np.repeat(upto[firsts + size - 1], size)
    cdf = np.divide(upto, end, out=np.ones_like(upto), where=end > 0)
    segment = np.repeat(np.arange(firsts.size), size)
    return np.searchsorted(segment + cdf, row + u, side="right")
