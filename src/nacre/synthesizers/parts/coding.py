"""Mixed rows as vectors for networks, and back: standardised numbers, one-hot blocks, the class apart.

Built on `pearl.layout.Layout` (public bounds, blocks, the class column). Columns can be divided into parts, each with a
vector of its own: PPEM has the hidden columns in one and all others in the second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.parts.layout import Layout
from nacre.table.encoding import Values


@dataclass(frozen=True)
class Coding:
    """`parts`: sets of columns that together are all columns but the class. `mean`, `scale`: of each number, in units
    of its public range. `slope`, `root`: where given, the numbers of the last part enter as what linear regression on
    the numbers of the first leaves (slope [first, last]), with their correlations taken out (root, lower triangular:
    its square is the covariance of what is left). `centre` [classes, all numbers]: taken off first, the mean of the
    row's class. A network then has to learn only what is not linear. `clip`: standardised numbers are cut there."""

    layout: Layout
    parts: tuple[tuple[str, ...], ...]
    mean: np.ndarray
    scale: np.ndarray
    slope: np.ndarray | None = None
    root: np.ndarray | None = None
    centre: np.ndarray | None = None
    clip: float = math.inf

    def heads(self, part: int) -> Heads:
        numbers, blocks = self._members(part)
        return Heads(len(numbers), tuple(self.layout.blocks[b][1] for b in blocks))

    def _members(self, part: int) -> tuple[list[int], list[int]]:
        """Places of the part's columns among the numbers and the blocks of the layout."""
        names = set(self.parts[part])
        numbers = [j for j, n in enumerate(self.layout.numbers) if n in names]
        return numbers, [b for b, (n, _) in enumerate(self.layout.blocks) if n in names]

    def places(self, part: int, names: Sequence[str]) -> tuple[int, ...]:
        """The coordinates of these columns in the vector of a part."""
        numbers, blocks = self._members(part)
        found = [i for i, j in enumerate(numbers) if self.layout.numbers[j] in names]
        start = len(numbers)
        for b in blocks:
            name, size = self.layout.blocks[b]
            found += range(start, start + size) if name in names else ()
            start += size
        return tuple(found)

    def encode(self, records: Mapping[str, Values]) -> tuple[list[np.ndarray], np.ndarray]:
        """(one array [n, width] float32 per part, the class of every row: 0 without a target, -1 for none).

        A function of each row alone. A number that is missing stands at its mean; a label outside its list has a
        block of zeros.
        """
        _, codes = self.layout.encode(records)
        standard, kinds = self.standard(records)
        found = []
        for part in range(len(self.parts)):
            numbers, blocks = self._members(part)
            vector = np.zeros((len(kinds), self.heads(part).width), np.float32)
            vector[:, : len(numbers)] = self._whitened(standard, kinds) if self._mixed(part) else standard[:, numbers]
            start = len(numbers)
            for b in blocks:
                inside = np.flatnonzero(codes[b] >= 0)
                vector[inside, start + codes[b][inside]] = 1.0
                start += self.layout.blocks[b][1]
            found.append(vector)
        return found, kinds

    def standard(self, records: Mapping[str, Values]) -> tuple[np.ndarray, np.ndarray]:
        """(all numbers standardised and cut, the class of every row)."""
        share, codes = self.layout.encode(records)
        standard = np.clip((share - self.mean) / self.scale, -self.clip, self.clip)
        for (name, _), code in zip(self.layout.blocks, codes):
            if name in self.layout.numbers:
                standard[code == 1, self.layout.numbers.index(name)] = 0.0
        return standard, self.layout.kinds(records)

    def numbers_of(self, part: int) -> list[int]:
        """Places of a part's numbers among all numbers."""
        return self._members(part)[0]

    def centred(self, standard: np.ndarray, kinds: np.ndarray) -> np.ndarray:
        """All numbers without the mean of the row's class."""
        return standard - self._centre(kinds, list(range(standard.shape[1])))

    def decode(
        self, vectors: Sequence[np.ndarray], codes: Sequence[list[np.ndarray]], kinds: np.ndarray
    ) -> dict[str, Values]:
        """Values of the schema from the drawn vectors and category numbers of all parts."""
        share = np.empty((len(kinds), len(self.layout.numbers)))
        ordered: list[Any] = [None] * len(self.layout.blocks)
        for part, (vector, own) in enumerate(zip(vectors, codes)):
            numbers, blocks = self._members(part)
            standard = vector[:, : len(numbers)].astype(np.float64)
            if self._mixed(part):
                standard = standard @ self.root.T + self._first(vectors[0], kinds) @ self.slope  # type: ignore[union-attr]
                standard += self._centre(kinds, numbers)
            share[:, numbers] = standard * self.scale[numbers] + self.mean[numbers]
            for b, code in zip(blocks, own):
                ordered[b] = code
        return self.layout.decode(np.clip(share, 0.0, 1.0), ordered, kinds)

    def _mixed(self, part: int) -> bool:
        return self.root is not None and part == len(self.parts) - 1

    def _first(self, vector: np.ndarray, kinds: np.ndarray) -> np.ndarray:
        """The numbers of the first of two parts without the mean of the class; none where there is one part."""
        if len(self.parts) == 1:
            return vector[:, :0].astype(np.float64)
        numbers = self._members(0)[0]
        return vector[:, : len(numbers)].astype(np.float64) - self._centre(kinds, numbers)

    def _centre(self, kinds: np.ndarray, numbers: list[int]) -> np.ndarray:
        """Means of the classes of these rows; 0 for a row without a class."""
        if self.centre is None:
            return np.zeros((len(kinds), len(numbers)))
        return np.where(kinds[:, None] >= 0, self.centre[np.maximum(kinds, 0)][:, numbers], 0.0)

    def _whitened(self, standard: np.ndarray, kinds: np.ndarray) -> np.ndarray:
        # Column by column (forward substitution): a row's result does not depend on how many rows come with it.
        first = self._members(0)[0] if len(self.parts) > 1 else []
        last = self._members(len(self.parts) - 1)[0]
        standard = self.centred(standard, kinds)
        left = standard[:, last]
        assert self.slope is not None and self.root is not None
        for a, j in enumerate(first):
            left = left - standard[:, j, None] * self.slope[a]
        found = np.empty_like(left)
        for j in range(len(last)):
            rest = left[:, j].copy()
            for k in range(j):
                rest -= found[:, k] * self.root[j, k]
            found[:, j] = rest / self.root[j, j]
        return found


def moments(
    layout: Layout, batches: Sequence[Mapping[str, Values]], weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(mean, standard deviation) of every number in units of its public range, of these rows, each counted by its
    weight where there are weights: unprotected."""
    share = np.concatenate([layout.encode(b)[0] for b in batches])
    for j, name in enumerate(layout.numbers):
        null = np.concatenate([b[name].null for b in batches])
        share[null, j] = np.nan
    here = np.isfinite(share) * (1.0 if weights is None else weights[:, None])
    count = here.sum(axis=0)
    safe, share = np.where(count > 0, count, 1.0), np.where(np.isfinite(share), share, 0.0)
    mean = np.where(count > 0, (here * share).sum(axis=0) / safe, 0.5)
    spread = np.sqrt((here * (share - mean) ** 2).sum(axis=0) / safe)
    return mean, np.where(spread > 0, spread, 1.0)


def whitening(first: np.ndarray, last: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(slope, root) of standardised numbers: least squares of `last` on `first`, and the Cholesky root of what it
    leaves. A ridge of 1e-6 keeps columns that follow from others."""
    both = np.concatenate([first, last], axis=1).astype(np.float64)
    k = first.shape[1]
    counted = both if weights is None else both * (weights / max(weights.mean(), 1e-300))[:, None]
    cov = both.T @ counted / max(len(both), 1) + 1e-6 * np.eye(both.shape[1])
    slope = np.linalg.solve(cov[:k, :k], cov[:k, k:]) if k else np.zeros((0, last.shape[1]))
    return slope, np.linalg.cholesky(cov[k:, k:] - cov[k:, :k] @ slope)
