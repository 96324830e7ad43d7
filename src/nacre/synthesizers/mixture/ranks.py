"""How the numbers of a row depend on one another inside their groups: a Gaussian copula behind the groups.

The groups of a row come from its particle. Behind them each ordered column has a normal score z, Phi(z) being its
rank: the scores of a row follow N(0, R) cut to the intervals of its groups, drawn by sweeps of Gibbs sampling
(Geweke 1991, "Efficient simulation from the multivariate normal ... subject to linear constraints"). The place of a
value in its group is the place of its score in the interval, corrected so that over all rows it is uniform there:
one-way tables stay as they are. R comes from the noisy tables of pairs. Public numbers only, NumPy and SciPy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from nacre.synthesizers.mixture.sampling import Particles
from nacre.table.grid import Grid

Floats = NDArray[np.float64]

SWEEPS = 2
KNOTS = 8  # quantiles of the places in a group that are corrected
REFERENCE = 20_000  # rows that the correction is learnt from
ENOUGH = 20 * KNOTS  # of them in a group, for a correction of its own
CLEAR = 3.0  # standard errors by which a product stands out
FAINT = 0.1  # columns without a correlation above this stay independent inside their groups
ORDER = 16  # of the expansion in Hermite polynomials
FAR = 1e-30  # a tail of float32
SMALLEST = 0.01  # eigenvalue of R


@dataclass(frozen=True)
class Line:
    """One ordered column: its groups as intervals of normal scores, and its cells as intervals of places in a group."""

    column: int
    edges: Floats  # of the groups, as scores: group g reaches from edges[g] to edges[g + 1]
    lut: NDArray[np.int32]
    null: int | None
    inside: Floats
    spacious: bool = False  # a cell holds several values

    @staticmethod
    def of(particles: Particles, grids: Sequence[Grid], j: int) -> Line | None:
        """None for columns without order, and those whose shares inside groups depend on the target."""
        grid, lut, share = grids[j], particles.luts[j], particles.insides[j]
        if not grid.ordered or grid.column.kind == "categorical" or share.ndim > 1:
            return None
        body = lut if grid.null is None else lut[: grid.null]
        if body.size == 0 or (np.diff(body) < 0).any() or body[0] != 0:
            return None
        mass = particles.masses(j)[: body[-1] + 1]
        upto = np.concatenate([[0.0], np.cumsum(mass)])
        step = (grid.column.step or 0) + 1e-9
        return Line(j, ndtri(upto / upto[-1]), lut, grid.null, share, bool((grid.width > step).any()))

    @property
    def groups(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def starts(self) -> Floats:
        """Where each cell but null begins, as g + place in group g: increasing."""
        share = self.inside if self.null is None else self.inside[: self.null]
        lut = self.lut[: len(share)]
        whole = np.bincount(lut, share, minlength=self.groups)
        upto = np.cumsum(share) - share
        first = np.concatenate([[0.0], np.cumsum(whole)])[lut]
        return lut + np.clip((upto - first) / np.maximum(whole[lut], 1e-300), 0.0, 1.0)

    @cached_property
    def moves(self) -> bool:
        """Whether any group has several cells or a cell of many values, so that places in it differ."""
        return bool((np.bincount(self.lut[: len(self.starts)]) > 1).any()) or self.spacious

    @cached_property
    def scores(self) -> Floats:
        """Mean score of every group."""
        density = _density(self.edges)
        return (density[:-1] - density[1:]) / np.maximum(np.diff(ndtr(self.edges)), 1e-12)

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        upto = ndtr(self.edges)
        return upto[:-1], 1 / np.maximum(np.diff(upto), 1e-300)

    def place(self, cells: NDArray[np.int32], z: NDArray[np.float32]) -> Floats:
        """The places of scores in the intervals of the groups of these cells; of null, any."""
        g = np.minimum(self.lut[cells], self.groups - 1)
        first, scale = self._levels
        return np.clip((ndtr(z) - first[g]) * scale[g], 0.0, 1 - 1e-9)

    def expansion(self) -> Floats:
        """Coefficients of the scores, a function of the normal score in steps, in Hermite polynomials 1 .. ORDER."""
        x = np.clip(self.edges, -12, 12)
        density = _density(self.edges)
        before, here, found = np.zeros_like(x), density, []
        for k in range(1, ORDER + 1):
            found.append(float(self.scores @ (here[:-1] - here[1:])) / np.sqrt(float(k)))
            # normalised: h_k = (x h_(k-1) - sqrt(k-1) h_(k-2)) / sqrt(k)
            before, here = here, (x * here - np.sqrt(k - 1.0) * before) / np.sqrt(float(k))
        return np.array(found)


def _density(x: Floats) -> Floats:
    return np.exp(-0.5 * np.clip(x, -40, 40) ** 2) / np.sqrt(2 * np.pi)


class Counted(Protocol):
    """A noisy table (`loss.Table`, without the JAX that it comes with)."""

    @property
    def columns(self) -> tuple[int, ...]: ...
    @property
    def counts(self) -> Floats: ...
    @property
    def sigma(self) -> float | Floats: ...


def correlation(particles: Particles, lines: Sequence[Line], tables: Sequence[Counted] = ()) -> Floats:
    """R: the correlation of normal scores under which the scores of groups have the product that they do have: in the
    noisy tables where it stands out there, for particles keep less of a strong dependence; else in the particles."""
    weight = particles.shares()
    scores, there = [], []
    for line in lines:
        block = particles.block(line.column)[:, : line.groups]
        scores.append(block @ line.scores)
        there.append(block.sum(1))
    s, t = np.array(scores), np.array(there)
    mean = (s * weight) @ s.T / np.maximum((t * weight) @ t.T, 1e-12)
    place = {line.column: i for i, line in enumerate(lines)}
    for table in tables:
        pair = [j for j in table.columns if j in place]
        if len(pair) == 2:
            a, b = (place[j] for j in pair)
            found, error = _product(table, lines[a], lines[b])
            if abs(found) > CLEAR * error:
                mean[a, b] = mean[b, a] = found
    terms = np.array([line.expansion() for line in lines])
    grid = np.linspace(-0.995, 0.995, 200)
    powers = grid[:, None] ** np.arange(1, ORDER + 1)
    out = np.eye(len(lines))
    for a in range(len(lines)):
        for b in range(a):
            expected = np.maximum.accumulate(powers @ (terms[a] * terms[b]))
            out[a, b] = out[b, a] = np.interp(mean[a, b], expected, grid)
    return _nearest(out)


def _product(table: Counted, first: Line, second: Line) -> tuple[float, float]:
    """The mean product of the scores of two columns in a noisy table, and its standard error."""
    axes = [table.columns.index(line.column) for line in (first, second)]
    rest = tuple(i for i in range(table.counts.ndim) if i not in axes)
    variance = np.broadcast_to(np.square(table.sigma), table.counts.shape)
    counts, variance = (x.sum(axis=rest) for x in (table.counts, variance))
    if axes[0] > axes[1]:
        counts, variance = counts.T, variance.T
    counts, variance = (x[: first.groups, : second.groups] for x in (counts, variance))
    rows = max(float(counts.sum()), 1.0)
    error = np.sqrt(first.scores**2 @ variance @ second.scores**2)
    return float(first.scores @ counts @ second.scores) / rows, float(error) / rows


def _nearest(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    out = (vectors * np.maximum(values, SMALLEST)) @ vectors.T
    scale = np.sqrt(np.diag(out))
    return out / scale[:, None] / scale


@dataclass(frozen=True)
class Ranks:
    """The copula of some columns. `knots` [columns, groups, KNOTS + 1]: quantiles of the raw places in each group."""

    lines: tuple[Line, ...]
    correlation: Floats
    knots: Floats

    @staticmethod
    def learn(particles: Particles, grids: Sequence[Grid], tables: Sequence[Counted] = ()) -> Ranks | None:
        """None where no two columns depend on each other."""
        lines = [x for j in range(len(grids)) if (x := Line.of(particles, grids, j)) is not None and x.groups > 1]
        if len(lines) < 2:
            return None
        found = correlation(particles, lines, tables)
        kept = np.flatnonzero((np.abs(found - np.eye(len(lines))) > FAINT).any(0))
        if len(kept) < 2 or not any(lines[i].moves for i in kept):
            return None
        lines, found = tuple(lines[i] for i in kept), found[np.ix_(kept, kept)]
        even = np.linspace(0, 1, KNOTS + 1)
        knots = np.tile(even, (len(lines), max(x.groups for x in lines), 1))
        rng = np.random.default_rng(0)
        codes = particles.draw(REFERENCE, rng)
        raw = Ranks(lines, found, knots)
        for i, (line, u) in enumerate(zip(lines, raw.raw(codes, (), rng), strict=True)):
            g = np.where(codes[:, line.column] == line.null, -1, line.lut[codes[:, line.column]])
            if not line.moves:
                continue
            for group in np.flatnonzero(np.bincount(g[g >= 0], minlength=line.groups) >= ENOUGH):
                knots[i, group, 1:-1] = np.quantile(u[g == group], even[1:-1])
        return Ranks(lines, found, knots)

    def to_arrays(self) -> dict[str, NDArray]:
        columns = np.array([line.column for line in self.lines], np.int32)
        return {"ranks.columns": columns, "ranks.correlation": self.correlation, "ranks.knots": self.knots}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], particles: Particles, grids: Sequence[Grid]) -> Ranks | None:
        """None where the file has none; ValueError where they do not fit the rest of it."""
        if "ranks.columns" not in arrays:
            return None
        columns, matrix, knots = (arrays[f"ranks.{name}"] for name in ("columns", "correlation", "knots"))
        if columns.dtype.kind not in "iu" or columns.ndim != 1 or len(set(columns.tolist())) != len(columns):
            raise ValueError("ranks.columns")
        if len(columns) < 2 or columns.min() < 0 or columns.max() >= len(grids):
            raise ValueError("ranks.columns")
        lines = tuple(x for j in columns.tolist() if (x := Line.of(particles, grids, j)) is not None)
        m = len(columns)
        if len(lines) < m or matrix.shape != (m, m) or knots.shape != (m, max(x.groups for x in lines), KNOTS + 1):
            raise ValueError("ranks: shapes")
        if matrix.dtype.kind != "f" or knots.dtype.kind != "f" or not (np.isfinite(matrix).all()):
            raise ValueError("ranks: numbers")
        if not (np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1)):
            raise ValueError("ranks.correlation")
        if np.linalg.eigvalsh(matrix)[0] < SMALLEST / 10:
            raise ValueError("ranks.correlation")
        if not ((np.diff(knots, axis=2) >= 0).all() and (knots[..., 0] == 0).all() and (knots[..., -1] == 1).all()):
            raise ValueError("ranks.knots")
        return cls(lines, matrix, knots)

    def place(
        self, codes: NDArray[np.int32], fixed: Collection[int], rng: np.random.Generator
    ) -> Mapping[int, tuple[NDArray[np.int32], Floats]]:
        """Per column, the cells of all rows and the places in the cells; columns in `fixed` keep their cells."""
        out = {}
        for i, (line, u) in enumerate(zip(self.lines, self.raw(codes, fixed, rng), strict=True)):
            if not line.moves:
                continue
            cells = codes[:, line.column]
            starts, ends = self._spans[i]
            place = line.lut[cells] + u
            found = cells if line.column in fixed else np.searchsorted(starts, place, side="right") - 1
            if line.null is not None:
                found = np.where(cells == line.null, cells, found)
            here = np.minimum(found, len(starts) - 1)
            inner = (place - starts[here]) / np.maximum(ends - starts, 1e-300)[here]
            out[line.column] = found.astype(np.int32), np.clip(inner, 0.0, 1 - 1e-9)
        return out

    @cached_property
    def _spans(self) -> list[tuple[Floats, Floats]]:
        """Per column, where cells begin and end, as g + raw place in group g: raw places have the law of `knots`."""
        found = []
        for line, knots in zip(self.lines, self.knots, strict=True):
            groups = np.arange(line.groups)[:, None]
            x, y = (groups + np.linspace(0, 1, KNOTS + 1)).ravel(), (groups + knots[: line.groups]).ravel()
            starts = np.interp(line.starts, x, y)
            last = line.lut[: len(starts)] + 1.0
            found.append((starts, np.minimum(np.append(starts[1:], np.inf), last)))
        return found

    def whole(self, column: int, mask: Floats) -> Floats | None:
        """The mask of all cells of the groups that `mask` cuts through; None where it cuts through none of a column
        of these."""
        for line in self.lines:
            if line.column == column:
                touched = np.bincount(line.lut, mask > 0)[line.lut] > 0
                if line.null is not None:
                    touched[line.null] = mask[line.null] > 0
                return touched.astype(np.float64) if (touched != mask).any() else None
        return None

    def _bounds(self, i: int, cells: NDArray[np.int32], alone: bool) -> tuple[Floats, Floats, Floats]:
        """(least, greatest, some score) of each row's group in column `i`, or of its cell alone."""
        line = self.lines[i]
        g = np.minimum(line.lut[cells], line.groups - 1)
        a, b, s = line.edges[g], line.edges[g + 1], line.scores[g]
        if alone:
            starts, ends = self._spans[i]
            spot, first, last = np.minimum(cells, len(ends) - 1), ndtr(a), ndtr(b)
            low, high = (e - line.lut[: len(ends)] for e in (starts, ends))
            a, b = (ndtri(first + np.clip(e[spot], 0, 1) * (last - first)) for e in (low, high))
            s = _middle(a, b)
        if line.null is not None:
            empty = cells == line.null
            a, b, s = np.where(empty, -np.inf, a), np.where(empty, np.inf, b), np.where(empty, 0.0, s)
        return a, b, s

    def raw(self, codes: NDArray[np.int32], fixed: Collection[int], rng: np.random.Generator) -> list[Floats]:
        """Per column, the place of each row's score in the interval of its group; in `fixed` columns of its cell."""
        bounds = [self._bounds(i, codes[:, line.column], line.column in fixed) for i, line in enumerate(self.lines)]
        low, high, z = (np.array(x, np.float32) for x in zip(*bounds, strict=True))
        precision = np.linalg.inv(self.correlation)
        places = [np.zeros(0)] * len(self.lines)
        moving = [i for i, line in enumerate(self.lines) if line.moves]  # the others stand at the mean of their group
        for sweep in range(SWEEPS):
            for i in moving:
                coefficient = -precision[i] / precision[i, i]
                coefficient[i] = 0.0
                spread = np.float32(precision[i, i] ** -0.5)
                mean = coefficient.astype(np.float32) @ z
                z[i] = mean + spread * _cut((low[i] - mean) / spread, (high[i] - mean) / spread, rng)
                if sweep == SWEEPS - 1:
                    places[i] = self.lines[i].place(codes[:, self.lines[i].column], z[i])
        return places


def _middle(low: Floats, high: Floats) -> Floats:
    """A score between two, wherever they are."""
    return np.clip((np.clip(low, -4, 4) + np.clip(high, -4, 4)) / 2, low, high)


def _cut(low: NDArray[np.float32], high: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Normal numbers between `low` and `high`, in whichever tail has the digits."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    u = 1 - rng.random(len(low), dtype=np.float32)
    first, last = ndtr(low), ndtr(high)
    z = ndtri(first + u * (last - first))
    far = np.flatnonzero(last < FAR)  # beyond the digits, the law is exponential
    z[far] = high[far] + np.log(u[far]) / -np.minimum(high[far], -1)
    z = np.clip(z, low, high)
    return np.where(flip, -z, z)
