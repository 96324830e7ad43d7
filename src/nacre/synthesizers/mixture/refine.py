"""Rows whose tables are near the expected ones: drawing with low variance (specs/sketch.md, second form).

Rows drawn independently of a model miss its tables by sampling error, often more than noise and model leave. Here
single cells are drawn anew, each from its row's own particle, and what brings the tables of one, two and three columns
nearer to their expectation is kept. Conditions hold, since particles are given with the condition in them; rows are no
longer independent of each other. The law of a single row stays what it was as far as cells hold rows enough to be
counted: an expectation of a few rows is rounded at random, or rare combinations would never occur, and tables with
fewer rows than cells are left out, so that a few rows are drawn as they come. Post-processing: sees a model and drawn
rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.mixture.loss import expected

Codes = NDArray[np.int32]

MOST_CELLS = 1 << 20  # of all tables together
FULL = 2.0  # rows in a cell of a table, on average: emptier ones say nothing
SMALL = 4.0  # rows in a cell up to which its expectation is rounded at random
SWEEPS = 1  # how often a cell of a row is proposed anew, on average
MOST_LOOKUPS = 5e7  # of cells, by all proposals: about a second
BATCH = 2048  # proposals looked at together
FEW = 12  # of those that promise something, taken together


def refine(codes: Codes, state: NDArray, blocks: Sequence[NDArray], weights: NDArray, rng: np.random.Generator) -> None:
    """Draw cells of ``codes`` [columns, rows] anew, in place.

    state: the particle of every row; blocks: per column, probabilities [K, groups]; weights: of the particles, sum one.
    """
    rows = codes.shape[1]
    kept = _Residual.of(codes, blocks, weights, rng)
    if not kept.cells.size:
        return
    free = [j for j, block in enumerate(blocks) if block.shape[1] > 1]
    upto = [np.cumsum(b, axis=1).T.astype(np.float32) for b in blocks]
    each = max(sum(len(t.start) for t in kept.holding) / max(len(free), 1), 1.0)
    batches = int(min(SWEEPS * rows * len(free), MOST_LOOKUPS / each)) // BATCH + 1
    for _ in range(batches if free else 0):
        j = free[rng.integers(len(free))]
        here = rng.integers(rows, size=min(BATCH, rows))
        own = upto[j][:, state[here]]
        new = (own[:-1] < rng.random(here.size, np.float32) * own[-1]).sum(0, dtype=np.int32)
        here, new = _unlike(here, new, codes[j])
        kept.move(codes, j, here, new)


def _unlike(here: NDArray, new: Codes, old: Codes) -> tuple[NDArray, Codes]:
    """Proposals that change something, one for each row."""
    here, first = np.unique(here, return_index=True)
    new = new[first]
    changed = new != old[here]
    return here[changed], new[changed]


@dataclass(frozen=True)
class _Tables:
    """The tables that hold one column: where each begins, the stride of that column, and two others with theirs."""

    start: NDArray
    own: NDArray
    others: tuple[NDArray, NDArray]
    strides: tuple[NDArray, NDArray]


@dataclass(frozen=True)
class _Residual:
    """Counted less expected rows in all cells of all tables, and which tables hold a column."""

    cells: NDArray[np.float32]
    holding: Sequence[_Tables]

    @staticmethod
    def of(codes: Codes, blocks: Sequence[NDArray], weights: NDArray, rng: np.random.Generator) -> _Residual:
        rows = codes.shape[1]
        sizes = [b.shape[1] for b in blocks]
        columns = [np.ascontiguousarray(b.T, np.float32) for b in blocks]
        found, residual, start = [[] for _ in sizes], [], 0
        for clique in _cliques(sizes, rows):
            share = expected([columns[j] for j in clique], weights).ravel()
            strides = np.cumprod([1, *(sizes[j] for j in clique[:0:-1])])[::-1]
            index = sum(codes[j] * np.int64(s) for j, s in zip(clique, strides))
            wanted = rows * share.astype(np.float64)
            wanted = np.where(wanted < SMALL, np.floor(wanted + rng.random(wanted.size)), wanted)
            residual.append(np.bincount(index, minlength=share.size) - wanted)
            for axis, j in enumerate(clique):
                rest = [(k, s) for i, (k, s) in enumerate(zip(clique, strides)) if i != axis]
                found[j].append((start, strides[axis], *itertools.chain(*(rest + [(0, 0)] * (2 - len(rest))))))
            start += share.size
        return _Residual(np.concatenate([np.zeros(0), *residual]).astype(np.float32), [_held(f) for f in found])

    def move(self, codes: Codes, j: int, here: NDArray, new: Codes) -> None:
        """Take the proposals that lower the sum of squares. Each is judged as if it were alone, a few at a time, or too
        many would leave a cell that has a row too many."""
        tables = self.holding[j]
        rows = codes[:, here]
        place = tables.start + sum(rows[k] * s for k, s in zip(tables.others, tables.strides))
        before, after = place + tables.own * rows[j], place + tables.own * new
        gain = (self.cells[before] - self.cells[after]).sum(0) > len(place)
        if len(here) > FEW:
            good = np.flatnonzero(gain)
            for start in range(0, len(good), FEW):
                part = good[start : start + FEW]
                self.move(codes, j, here[part], new[part])
            return
        codes[j, here[gain]] = new[gain]
        np.subtract.at(self.cells, before[:, gain], np.float32(1))
        np.add.at(self.cells, after[:, gain], np.float32(1))


def _held(tables: list[tuple[int, ...]]) -> _Tables:
    start, own, one, first, two, second = np.array(tables, np.int32).reshape(-1, 6).T
    return _Tables(start[:, None], own[:, None], (one, two), (first[:, None], second[:, None]))


def _cliques(sizes: Sequence[int], rows: int) -> list[tuple[int, ...]]:
    """Columns, pairs and triples whose tables are not too empty, the smallest first, as long as there is room."""
    names = [j for j, s in enumerate(sizes) if s > 1]
    found, held = [], 0
    for order in (1, 2, 3):
        own = sorted(itertools.combinations(names, order), key=lambda c: math.prod(sizes[j] for j in c))
        for clique in own:
            cells = math.prod(sizes[j] for j in clique)
            if held + cells > MOST_CELLS or cells * FULL > rows:
                break
            found.append(clique)
            held += cells
    return found
