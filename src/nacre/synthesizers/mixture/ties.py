"""Columns that go together in every row, as far as noisy tables tell: each particle is held to one of their parts.

"Never contacted" stands in two columns, a school's name beside its number: the groups of two such columns fall into
parts, and no row has a group of one part beside a group of another. A mixture held to independence leaks between them.
Here parts are read off the noisy table of the pair, and every particle is given to one part: what it does not hold has
no probability in it, and a fit that goes on from there keeps it so. Post-processing of noisy answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.mixture.fit import Fitted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counted = tuple[Floats, Floats]  # counts and the variances of their noise

CLEAR = 3.0  # standard errors at which rows between two parts are seen
SURE = 4.0  # standard errors by which independent columns would have more of them
SHARP = 0.2  # of what these would have, the most that noise may hide in all parts together


@dataclass(frozen=True)
class Tie:
    """Two columns, the part of each of their groups, and the share of rows in every part."""

    columns: tuple[int, int]
    parts: tuple[Ints, Ints]
    shares: Floats


def find(tables: Mapping[tuple[int, ...], Counted], apart: int | None = None) -> list[Tie]:
    """Ties in noisy tables of columns and of pairs, by column numbers (`Bought.tables`); none of number `apart`."""
    found = []
    for key, pair in tables.items():
        if len(key) == 2 and apart not in key:
            parts = _Pair(pair, tables[key[:1]], tables[key[1:]]).parts()
            held = np.sum([np.bincount(own, np.maximum(tables[j,][0], 1.0)) for own, j in zip(parts, key)], axis=0)
            if len(held) > 1:
                found.append(Tie((key[0], key[1]), parts, held / held.sum()))
    return found


class _Pair:
    """A noisy table of two columns, and those of each alone, which are known better."""

    def __init__(self, pair: Counted, first: Counted, second: Counted):
        self.counts, self.variance = pair
        self.margins = [np.maximum(first[0], 0.0), np.maximum(second[0], 0.0)]
        self.errors = [first[1], second[1]]
        self.total = max(float(self.margins[0].sum()), 1.0)

    def parts(self) -> tuple[Ints, Ints]:
        """The part of every group of either column: the largest cell of each joins, and parts that are not seen to be
        apart are joined, until all are."""
        rows, columns = self.counts.shape
        label = np.arange(rows + columns)
        largest = [*enumerate(self.counts.argmax(1)), *((a, b) for b, a in enumerate(self.counts.argmax(0)))]
        for a, b in largest:
            label[label == label[rows + b]] = label[a]
        label = np.unique(label, return_inverse=True)[1].reshape(-1)
        while label.max() > 0:
            worst, other = self._worst(label[:rows], label[rows:])
            if worst == other:
                break
            label[label == worst] = other
            label = np.unique(label, return_inverse=True)[1].reshape(-1)
        return label[:rows], label[rows:]

    def _worst(self, first: Ints, second: Ints) -> tuple[int, int]:
        """The part that is least apart, and the one to join it to; itself where all are apart."""
        parts = int(first.max()) + 1
        one, two = np.eye(parts)[first], np.eye(parts)[second]
        counts, variance = (one.T @ x @ two for x in (self.counts, self.variance))
        mass = [m @ x for m, x in zip(self.margins, (one, two))]
        noise = [e @ x for e, x in zip(self.errors, (one, two))]
        # Rows with but one of their two groups in a part, as the cells between parts tell them, and as margins do.
        outside, squares = ((x + x.T).sum(1) - 2 * x.diagonal() for x in (counts, variance))
        other = mass[0] + mass[1] - 2 * counts.diagonal()
        better = noise[0] + noise[1] + 4 * variance.diagonal()
        outside, squares = np.where(better < squares, other, outside), np.minimum(better, squares)
        error = np.sqrt(squares)
        alone = mass[0] + mass[1] - 2 * mass[0] * mass[1] / self.total
        badness = np.maximum(outside / (CLEAR * error), (outside + SURE * error) / np.maximum(alone, 1e-9))
        seen, hidden = float(outside.sum()), CLEAR * float(np.sqrt(squares.sum()))
        worst = int(badness.argmax())
        if badness[worst] <= 1 and seen <= hidden and max(seen, 0.0) + hidden <= SHARP * float(alone.sum()):
            return worst, worst
        between = (counts + counts.T) / np.sqrt(np.maximum(variance + variance.T, 1e-9))
        between[worst, worst] = -np.inf
        nearest = int(between[worst].argmax())
        if between[worst, nearest] < CLEAR:  # none is seen to be near: the smallest, where it does least harm
            size = mass[0] + mass[1]
            size[worst] = np.inf
            nearest = int(size.argmin())
        return worst, nearest


def divided(found: Fitted, ties: Sequence[Tie], sizes: Sequence[int], rng: np.random.Generator) -> Fitted:
    """Twice as many particles, each held to one part of every tie: drawn by how likely the part is in them, parts as
    the root of their share, with weights that make up for it. The same ones without ties."""
    edges = np.cumsum([0, *sizes])
    spots = [slice(a, b) for a, b in itertools.pairwise(edges.tolist())]
    if ties:
        found = Fitted(np.repeat(found.blocks, 2, axis=0), np.repeat(found.weights, 2))
    for tie in ties:
        found = _held(found, tie, [spots[j] for j in tie.columns], rng)
    return found


def _held(found: Fitted, tie: Tie, spots: Sequence[slice], rng: np.random.Generator) -> Fitted:
    count, parts = len(found.blocks), len(tie.shares)
    inside = [np.eye(parts)[part] for part in tie.parts]  # [groups, parts]
    likely = np.prod([found.blocks[:, spot].astype(np.float64) @ x for spot, x in zip(spots, inside)], axis=0)
    likely = np.maximum(likely, 1e-30)
    likely /= likely.sum(1, keepdims=True)
    pick = likely * (np.sqrt(tie.shares) / np.maximum(likely.sum(0), 1e-30))
    upto = np.cumsum(pick.T.ravel())  # a part after the other, particles in order within
    place = np.searchsorted(upto / upto[-1], (np.arange(count) + rng.random()) / count, side="right")
    part, parent = np.divmod(np.minimum(place, pick.size - 1), count)
    blocks = found.blocks[parent]
    for spot, x in zip(spots, inside):
        own = np.maximum(blocks[:, spot], 1e-12) * x.T[part]
        blocks[:, spot] = own / own.sum(1, keepdims=True)
    weights = found.weights[parent]
    held = np.bincount(part, weights, minlength=parts)
    weights = weights * np.where(held > 0, tie.shares / np.where(held > 0, held, 1.0), 0.0)[part]
    return Fitted(blocks.astype(np.float32), weights * (count / weights.sum()))
