"""Fitted particles: drawing fine codes, exact conditioning, saving. NumPy only: a release is read without JAX.

A row is drawn as particle -> target class -> group of each column -> fine cell given the group (and the class, where
it was measured). Since the columns of a particle are independent, a condition on some columns is exact: particles
are weighted by its probability and their blocks restricted (specs/sketch.md 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.errors import NacreError

_BELOW_ONE = 1.0 - 1e-9
Masks = Mapping[int, NDArray[np.float64]]


@dataclass(frozen=True)
class Particles:
    """A mixture of K products.

    blocks: [K, D] group probabilities, columns side by side; luts: per column, fine cell -> group; insides: per
    column, share of each fine cell in its group, [cells] or [cells, classes] (one share per group of the target);
    target: column whose group picks among them, or None; weights: of the particles, None for equal ones.
    """

    blocks: NDArray[np.float32]
    luts: Sequence[NDArray[np.int32]]
    insides: Sequence[NDArray[np.float64]]
    target: int | None = None
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
        return float(self._states(self._groups(masks)).sum())

    def draw(
        self,
        rows: int,
        rng: np.random.Generator,
        masks: Masks | None = None,
        fixed: Mapping[int, NDArray[np.int32]] | None = None,
    ) -> NDArray[np.int32]:
        """Fine codes [rows, columns], in random order, given the condition of ``masks``.

        ``fixed`` gives the fine code of some columns row by row; the rest is drawn given it. Rows are stratified
        over particles and cells: every row has the exact law, frequencies vary less than those of independent rows.
        A condition of probability zero raises NacreError.
        """
        if fixed:
            return self._draw_fixed(rows, rng, masks or {}, fixed)
        groups = self._groups(masks)
        weight = self._states(groups)
        if not weight.sum() > 0:
            raise NacreError("the condition has probability zero in this release: no row can satisfy it; widen it")
        classes = weight.shape[1]
        state = np.repeat(np.arange(weight.size), _systematic(weight.ravel(), rows, rng))
        particle, kind = np.divmod(state, classes)
        out = np.empty((rows, len(self.luts)), np.int32)
        order = rng.permutation(rows)
        for j in range(len(self.luts)):
            u = _stratified(state, rng)
            if j == self.target:
                code = self._fine(j, kind, np.zeros_like(kind), u, masks)
            else:
                g, u = self._group(j, particle, kind, u, groups)
                code = self._fine(j, g, kind, u, masks)
            out[order, j] = code
        return out

    def _draw_fixed(self, rows, rng, masks, fixed) -> NDArray[np.int32]:
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
            out[here] = self.draw(here.size, rng, only)
        return out

    def _groups(self, masks: Masks | None) -> dict[int, NDArray[np.float64]]:
        """Per masked column, the probability [groups, classes or 1] of its mask given group and class."""
        out = {}
        for j, mask in (masks or {}).items():
            share = self.insides[j].reshape(self.luts[j].size, -1)
            if np.shape(mask) != (share.shape[0],):
                raise NacreError(f"mask of column {j} has shape {np.shape(mask)}, expected ({share.shape[0]},)")
            held = share * np.asarray(mask, np.float64)[:, None]
            out[j] = np.stack([np.bincount(self.luts[j], h, minlength=self.sizes[j]) for h in held.T], axis=1)
        return out

    def _states(self, groups: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Probability of (particle, class, condition): [K, classes], or [K, 1] without a target."""
        k = self.blocks.shape[0]
        mass = np.full(k, 1.0 / k) if self.weights is None else self.weights / self.weights.sum()
        weight = mass[:, None] if self.target is None else mass[:, None] * self.block(self.target)
        for j, held in groups.items():
            weight = weight * (held.T if j == self.target else self.block(j) @ held)
        return weight

    def _group(self, j: int, particle, kind, u, groups) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        table = self.block(j)
        row = particle
        if j in groups:
            held = groups[j]
            table = (table[:, None, :] * held.T[None]).reshape(-1, table.shape[1])
            row = particle * held.shape[1] + (kind if held.shape[1] > 1 else 0)
        size = table.shape[1]
        place, u = _pick(table.ravel(), np.arange(0, table.size, size), row, u)
        return place - row * size, u

    def _fine(self, j: int, g, kind, u, masks: Masks | None) -> NDArray[np.int32]:
        share = self.insides[j].reshape(self.luts[j].size, -1)
        if masks and j in masks:
            share = share * np.asarray(masks[j], np.float64)[:, None]
        cells = np.argsort(self.luts[j], kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.luts[j]))[:-1]])
        kinds, n, m = share.shape[1], cells.size, starts.size
        firsts = (np.arange(kinds)[:, None] * n + starts).ravel()
        row = g + (kind * m if kinds > 1 else 0)
        place, _ = _pick(share[cells].T.ravel(), firsts, row, u)
        return cells[place % n].astype(np.int32)

    def to_arrays(self) -> dict[str, NDArray]:
        """Named arrays for safetensors; :meth:`from_arrays` restores an equal object."""
        out = {"blocks": self.blocks, "target": np.array([-1 if self.target is None else self.target], np.int32)}
        if self.weights is not None:
            out["weights"] = self.weights
        for j, (lut, share) in enumerate(zip(self.luts, self.insides, strict=True)):
            out[f"lut.{j}"], out[f"inside.{j}"] = lut.astype(np.int32), share.astype(np.float64)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Particles:
        count = sum(name.startswith("lut.") for name in arrays)
        target = int(arrays["target"][0])
        luts = [arrays[f"lut.{j}"] for j in range(count)]
        insides = [arrays[f"inside.{j}"] for j in range(count)]
        return cls(arrays["blocks"], luts, insides, None if target < 0 else target, arrays.get("weights"))


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


def _pick(weight: NDArray, firsts: NDArray, row: NDArray, u: NDArray) -> tuple[NDArray, NDArray]:
    """Draw an index from segment ``row`` of ``weight`` by inversion, for all rows in one search on row + cdf.

    Returns the position in ``weight`` and the part of u left over, again uniform. Cells of zero weight are never
    drawn: each cdf is divided by its own last value, so that it ends at exactly one.
    """
    upto = np.cumsum(weight, dtype=np.float64)
    size = np.diff(np.append(firsts, weight.size))
    base = np.repeat(np.concatenate([[0.0], upto])[firsts], size)
    upto = upto - base
    end = np.repeat(upto[firsts + size - 1], size)
    cdf = np.divide(upto, end, out=np.ones_like(upto), where=end > 0)
    segment = np.repeat(np.arange(firsts.size), size)
    place = np.searchsorted(segment + cdf, row + u, side="right")
    low = np.where(place > firsts[row], cdf[np.maximum(place - 1, 0)], 0.0)
    left = (u - low) / np.maximum(cdf[place] - low, 1e-300)
    return place, np.clip(left, 0.0, _BELOW_ONE)
