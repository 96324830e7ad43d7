"""One-way tables, bought before a network is trained: where it starts, so that training has to learn how columns depend
on each other. All but the door is post-processing of noisy counts."""

from __future__ import annotations

import math

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Scope, gaussian_share
from nacre.synthesizers.parts import grouping
from nacre.table.grid import Grid

NAME = "marginals"
FLOOR = 1e-3  # of every column's mass is spread evenly over its cells, so that no cell has the width 0
GROUPS = 64
CLIP = 8.0  # of standardised numbers


def entry(columns: int, budget: Budget, scope: Scope, before: tuple[Entry, ...], share: float) -> Counts:
    """Tables of all columns with `share` of what is left of μ²."""
    each = gaussian_share(budget, scope, before) * share / columns
    return Counts(NAME, sigmas=(1 / math.sqrt(each),) * columns)


def shares(curator: Curator, planned: Counts) -> dict[str, np.ndarray]:
    """The shares of the cells of every modelled column, all above 0."""
    columns = list(curator.schema.modelled)
    found = {}
    for name, counts, sigma in zip(columns, curator.counts(planned, [(c,) for c in columns]), planned.sigmas):
        grid = curator.grids[name]
        width = grid.width if grid.ordered else None
        lut = grouping.group(counts, sigma, grid.ordered, GROUPS, 3 * sigma, grid.null)
        share = grouping.shares(counts, sigma, lut, width, grid.null)
        found[name] = (1 - FLOOR) * share / share.sum() + FLOOR / len(share)
    return found


def place(grid: Grid, counts: np.ndarray, sigma: float) -> tuple[float, float]:
    """(middle, spread) in units of the public range, from noisy counts: the median, and a quarter of the distance of
    the 2.3 % and 97.7 % quantiles, which is the standard deviation of a normal law."""
    cells = len(grid.low)
    held = np.where(counts[:cells] > 2 * sigma, counts[:cells], 0).astype(np.float64)
    low, high = grid.low.astype(np.float64), np.maximum(grid.high, grid.low).astype(np.float64)
    span = max(high[-1] - low[0], 1e-300)
    if not held.sum() > 0:
        return 0.5, 0.25
    upto = np.concatenate([[0.0], np.cumsum(held) / held.sum()])
    ends = np.append(low, high[-1])
    at = [float(np.interp(q, upto, ends)) for q in (0.023, 0.5, 0.977)]
    least = float(np.median(high - low)) / 2
    return (at[1] - low[0]) / span, max((at[2] - at[0]) / 4, least, 1e-9 * span) / span
