"""The allowed points of a lattice on one line of whole numbers, along Hilbert's curve, and its cells.

Squares that lie in the region as a whole are found from the largest down; those that its border cuts are divided as far
as `DEEPEST`. What is left out takes no numbers, so that every number but those in cut squares is an allowed point.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from nacre.errors import SchemaError
from nacre.table.places import hilbert
from nacre.table.places.region import Region

DEEPEST = 11  # times that a square is divided, at most,
POINTS = 14  # but where so many times give single points
MOST_CELLS = 8_192
_TRIED = 64  # points of a cut square, among which an allowed one is looked for
_NEAR = 16  # leaves that are looked at for the nearest allowed point
_STEPS = (0.5, 0.75, 0.875, 1.0)  # of the way to it
_SLACK = 1e-9  # of a square, by which edges are taken to reach farther


class Axis(NamedTuple):
    """Numbers `low`, `low + step`, ... : `points` of them, written by `scale` where they are decimals."""

    low: float
    step: float
    points: int
    scale: float | None

    def values(self, index: np.ndarray) -> np.ndarray:
        if self.scale is None:
            return self.low + (index + 0.5) * self.step
        return (index + round(self.low * self.scale)) / self.scale

    def index(self, values: np.ndarray) -> np.ndarray:
        """The nearest points."""
        if self.scale is None:
            found = np.floor((values - self.low) / self.step)
        else:
            found = np.rint(values * self.scale) - round(self.low * self.scale)
        return np.clip(found, 0, self.points - 1).astype(np.int64)

    def begins(self, index: np.ndarray) -> np.ndarray:
        """Where the lattice squares of these points begin."""
        return self.low + (index - (0.0 if self.scale is None else 0.5)) * self.step


@dataclasses.dataclass(frozen=True)
class _Squares:
    """Squares of one size: places among those of that size, and pairs (square, edge that meets it)."""

    level: int
    x: np.ndarray
    y: np.ndarray
    square: np.ndarray
    edge: np.ndarray

    def take(self, chosen: np.ndarray) -> _Squares:
        """Those where `chosen`."""
        place = np.cumsum(chosen) - 1
        kept = chosen[self.square]
        return _Squares(self.level, self.x[chosen], self.y[chosen], place[self.square[kept]], self.edge[kept])

    def quartered(self) -> _Squares:
        many = len(self.x)
        x = np.concatenate([2 * self.x + i for i in (0, 0, 1, 1)])
        y = np.concatenate([2 * self.y + i for i in (0, 1, 0, 1)])
        square = np.concatenate([self.square + i * many for i in range(4)])
        return _Squares(self.level + 1, x, y, square, np.tile(self.edge, 4))


@dataclasses.dataclass(frozen=True, eq=False)
class Quadtree:
    """The points of two axes (x, y) that lie in `region`; all of them without one."""

    axes: tuple[Axis, Axis]
    region: Region | None
    place: str  # begins messages

    @cached_property
    def levels(self) -> int:
        return max(int(axis.points - 1).bit_length() for axis in self.axes)

    @cached_property
    def _leaves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(first position on the curve, length, whether it is cut) of every square that is left, in order."""
        edges = np.zeros((0, 4)) if self.region is None else self.region.edges
        zero = np.zeros(1, np.int64)
        squares = self._met(_Squares(0, zero, zero, np.zeros(len(edges), np.int64), np.arange(len(edges))), edges)
        found: list[tuple[_Squares, bool]] = []
        while True:
            cut = np.bincount(squares.square, minlength=len(squares.x)) > 0
            cut |= self._over(squares)
            whole = squares.take(~cut)
            found.append((whole.take(self._allowed(*self._middle(whole))), False))
            squares = squares.take(cut)
            if not len(squares.x) or squares.level == (self.levels if self.levels <= POINTS else DEEPEST):
                break
            squares = self._met(squares.quartered(), edges)
        if squares.level == self.levels:  # single points
            inside = (squares.x < self.axes[0].points) & (squares.y < self.axes[1].points)
            squares = squares.take(inside)
            found.append((squares.take(self._allowed(squares.x, squares.y)), False))
        else:
            found.append((squares, True))
        starts = np.concatenate([self._start(s) for s, _ in found])
        sizes = np.concatenate([np.full(len(s.x), 4 ** (self.levels - s.level)) for s, _ in found])
        divided = np.concatenate([np.full(len(s.x), cut) for s, cut in found])
        order = np.argsort(starts)
        return starts[order], sizes[order], divided[order]

    def _start(self, squares: _Squares) -> np.ndarray:
        left = self.levels - squares.level
        position = hilbert.along(squares.x << left, squares.y << left, self.levels)
        return position >> (2 * left) << (2 * left)

    def _over(self, squares: _Squares) -> np.ndarray:
        """Which reach beyond the lattice."""
        side = 1 << (self.levels - squares.level)
        over = [(p + 1) * side > axis.points for p, axis in zip((squares.x, squares.y), self.axes)]
        return over[0] | over[1]

    def _met(self, squares: _Squares, edges: np.ndarray) -> _Squares:
        """With the edges that meet each square, and without the squares that lie beyond the lattice."""
        side = 1 << (self.levels - squares.level)
        there = (squares.x * side < self.axes[0].points) & (squares.y * side < self.axes[1].points)
        squares = squares.take(there)
        box = []
        for p, axis in zip((squares.x, squares.y), self.axes):
            slack = _SLACK * side * axis.step
            box += [axis.begins(p * side) - slack, axis.begins((p + 1) * side) + slack]
        meets = _meets(edges[squares.edge], *(b[squares.square] for b in box))
        return dataclasses.replace(squares, square=squares.square[meets], edge=squares.edge[meets])

    def _middle(self, squares: _Squares) -> tuple[np.ndarray, np.ndarray]:
        side = 1 << (self.levels - squares.level)
        return squares.x * side + side // 2, squares.y * side + side // 2

    def _allowed(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Which lattice points may occur."""
        found = (x < self.axes[0].points) & (y < self.axes[1].points)
        if self.region is None:
            return found
        return found & self.region.holds(self.axes[0].values(x), self.axes[1].values(y))

    @cached_property
    def _offsets(self) -> np.ndarray:
        sizes = self._leaves[1]
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def _anchors(self) -> tuple[np.ndarray, np.ndarray]:
        """An allowed lattice point of every leaf; of those in which none was found, that of the nearest."""
        starts, sizes, cut = self._leaves
        x, y = hilbert.at(starts + sizes // 2, self.levels)
        known = ~cut
        if cut.any():
            tried = np.arange(_TRIED) * sizes[cut][:, None] // _TRIED
            px, py = hilbert.at(starts[cut][:, None] + tried, self.levels)
            fits = self._allowed(px.ravel(), py.ravel()).reshape(px.shape)
            first = np.argmax(fits, 1)[:, None]
            x[cut], y[cut] = (np.take_along_axis(p, first, 1)[:, 0] for p in (px, py))
            known[cut] = fits.any(1)
        if not known.any():
            raise SchemaError(f"{self.place}: the mask allows no point within the bounds; correct one of the two")
        if not known.all():
            _, near = KDTree(np.stack([x[known], y[known]], 1)).query(np.stack([x[~known], y[~known]], 1))
            x[~known], y[~known] = x[known][near], y[known][near]
        return x, y

    @property
    def size(self) -> int:
        """How many numbers there are."""
        _ = self._anchors  # somewhere a point is allowed
        return int(self._offsets[-1])

    # -- points and numbers -----------------------------------------------------------------------------------

    def number(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The number of each point; of one that is not allowed, that of an allowed point near by."""
        starts, sizes, cut = self._leaves
        ix, iy = self.axes[0].index(x), self.axes[1].index(y)
        position = hilbert.along(ix, iy, self.levels)
        leaf = np.maximum(np.searchsorted(starts, position, side="right") - 1, 0)
        good = (position >= starts[leaf]) & (position < starts[leaf] + sizes[leaf])
        unsure = np.flatnonzero(good & cut[leaf])
        good[unsure] = self._allowed(ix[unsure], iy[unsure])
        if not good.all():
            bad = np.flatnonzero(~good)
            position[bad] = hilbert.along(*self._moved(ix[bad], iy[bad]), self.levels)
            leaf[bad] = np.searchsorted(starts, position[bad], side="right") - 1
        return self._offsets[leaf] + position - starts[leaf]

    def _moved(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An allowed lattice point next to each: of some leaves near by, the nearest point, or the one that is known of
        a cut one."""
        starts, sizes, cut = self._leaves
        near = min(_NEAR, len(starts))
        _, leaf = self._nearest.query(np.stack([x, y], 1), k=near)
        leaf = leaf.reshape(-1, near)
        side = np.rint(np.sqrt(sizes[leaf])).astype(np.int64)
        found = []
        for p, corner, anchor in zip((x, y), hilbert.at(starts[leaf], self.levels), self._anchors):
            first = corner // side * side
            found.append(np.where(cut[leaf], anchor[leaf], np.clip(p[:, None], first, first + side - 1)))
        best = np.argmin((found[0] - x[:, None]) ** 2.0 + (found[1] - y[:, None]) ** 2.0, axis=1)[:, None]
        return np.take_along_axis(found[0], best, 1)[:, 0], np.take_along_axis(found[1], best, 1)[:, 0]

    @cached_property
    def _nearest(self) -> KDTree:
        return KDTree(np.stack(self._anchors, 1))

    def point(self, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """An allowed point for every number: of cut squares, one on the way to an allowed point of it."""
        starts, _, cut = self._leaves
        leaf = np.clip(np.searchsorted(self._offsets, number, side="right") - 1, 0, len(starts) - 1)
        ix, iy = hilbert.at(starts[leaf] + number - self._offsets[leaf], self.levels)
        left = np.flatnonzero(cut[leaf])
        left = left[~self._allowed(ix[left], iy[left])]
        fx, fy = ix[left], iy[left]
        for share in _STEPS:
            ax, ay = self._anchors[0][leaf[left]], self._anchors[1][leaf[left]]
            nx, ny = (p + np.rint((a - p) * share).astype(np.int64) for p, a in ((fx, ax), (fy, ay)))
            fits = self._allowed(nx, ny)
            ix[left[fits]], iy[left[fits]] = nx[fits], ny[fits]
            left, fx, fy = left[~fits], fx[~fits], fy[~fits]
        return self.axes[0].values(ix), self.axes[1].values(iy)

    # -- cells ------------------------------------------------------------------------------------------------

    @cached_property
    def _cells(self) -> tuple[int, np.ndarray, np.ndarray]:
        """(level, first number, square) of the cells: squares of one size, the smallest of which there are not too
        many."""
        found = 0, np.zeros(1, np.int64), np.zeros(1, np.int64)
        for level in range(1, self.levels + 1):
            finer = self._cells_of(level)
            if finer is None:
                break
            found = level, *finer
        return found

    def _cells_of(self, level: int) -> tuple[np.ndarray, np.ndarray] | None:
        starts, sizes, _ = self._leaves
        side = 2 * (self.levels - level)
        pieces = np.maximum(sizes >> side, 1)  # squares that are larger are divided
        if pieces[pieces > 1].sum() > MOST_CELLS:
            return None
        piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        square, first = np.unique((np.repeat(starts, pieces) + (piece << side)) >> side, return_index=True)
        if len(square) > MOST_CELLS:
            return None
        return (np.repeat(self._offsets[:-1], pieces) + (piece << side))[first], square

    @property
    def cells(self) -> np.ndarray:
        """Where the cells begin."""
        return self._cells[1]

    def meeting(self, x: tuple[float, float], y: tuple[float, float]) -> list[tuple[int, int]]:
        """Runs of numbers, among which are all of the points with coordinates in these ranges."""
        level, starts, square = self._cells
        left = self.levels - level
        met = np.ones(len(starts), bool)
        for p, axis, (low, high) in zip(hilbert.at(square << (2 * left), self.levels), self.axes, (x, y)):
            first, last = axis.index(np.array([low, high]))
            met &= (p >> left << left <= last) & (((p >> left) + 1) << left > first)
        ends = np.append(starts[1:], self.size) - 1
        runs = np.flatnonzero(np.diff(met, prepend=False, append=False))
        return [(int(starts[a]), int(ends[b - 1])) for a, b in zip(runs[::2], runs[1::2])]


def _meets(edges: np.ndarray, west: np.ndarray, east: np.ndarray, south: np.ndarray, north: np.ndarray) -> np.ndarray:
    """Which edges meet their boxes: neither beside it, nor all of the box on one side of their line."""
    x1, y1, x2, y2 = edges.T
    beside = (np.maximum(x1, x2) < west) | (np.minimum(x1, x2) > east)
    beside |= (np.maximum(y1, y2) < south) | (np.minimum(y1, y2) > north)
    corners = [(x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) for x in (west, east) for y in (south, north)]
    return ~beside & (np.minimum.reduce(corners) <= 0) & (np.maximum.reduce(corners) >= 0)
