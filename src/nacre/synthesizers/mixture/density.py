"""The log-probability of rows under a mixture of products, exactly, with no valid row impossible.

p(row) = Σ_k π_k Π_j m_kj(cell of column j) · Π_j f_j(value | cell), where m_kj is the probability of a cell in particle
k and f_j the sloped density inside it. Both are mixed with a little of the uniform law, of weight w = 1 / (rows + 1):
m' = (1 - w) m + w / cells, f' = (1 - w) f + w. That is a law still; it costs a likely row at most 2w nats a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nacre.synthesizers.mixture.sampling import Particles
from nacre.table.encoding import Values
from nacre.table.grid import Grid

Floats = NDArray[np.float64]
AT_ONCE = 1 << 22  # numbers in memory: rows times particles


def log_density(
    particles: Particles, grids: Mapping[str, Grid], slopes: Sequence[Floats], rows: int, records: Mapping[str, Values]
) -> Floats:
    """Log-mass of labels, whole numbers, null and atoms, log-density per unit elsewhere. `rows`: of the table, which
    sets the smoothing. A value that lands in no cell says nothing."""
    weight = 1.0 / (rows + 1)
    count = len(next(iter(records.values())).values)
    chunk = max(1, AT_ONCE // len(particles.blocks))
    inner = np.zeros(count)
    codes = []
    for (name, grid), slope in zip(grids.items(), slopes, strict=True):
        cell = grid.codes(records[name]).astype(np.int64)
        inner += np.where(cell >= 0, _inside(grid, np.maximum(cell, 0), records[name], slope, weight), 0.0)
        codes.append(cell)
    parts = [_mixture(particles, [c[i : i + chunk] for c in codes], weight) for i in range(0, count, chunk)]
    return np.concatenate([np.zeros(0), *parts]) + inner


def _inside(grid: Grid, cell: NDArray[np.int64], values: Values, slope: Floats, weight: float) -> Floats:
    """log f'(value | cell): the mean of the density over what the value takes of its cell, times its size."""
    start, part = grid.within(cell, values.values)
    density = 1 + slope[cell] * (start + part / 2 - 0.5)
    width = np.where(part > 0, 1.0, np.where(grid.width[cell] > 0, grid.width[cell], 1.0))
    return np.log((1 - weight) * density + weight) + np.log(np.where(part > 0, part, 1.0)) - np.log(width)


def _mixture(particles: Particles, codes: Sequence[NDArray[np.int64]], weight: float) -> Floats:
    """log Σ_k π_k Π_j m'_kj(cell): for some rows."""
    shares = particles.shares()
    found = np.zeros((len(codes[0]), len(shares))) + np.log(np.where(shares > 0, shares, 1e-300))
    for j, cell in enumerate(codes):
        some, place = np.unique(cell, return_inverse=True)
        lut, inside = particles.luts[j], particles.insides[j]
        share = inside / np.bincount(lut, inside)[lut]
        mass = particles.block(j).T[lut[some]] * share[some, None]
        table = np.log((1 - weight) * mass + weight / len(lut))
        found += np.where(some[:, None] >= 0, table, 0.0)[place.ravel()]
    return np.asarray(logsumexp(found, axis=1), np.float64)
