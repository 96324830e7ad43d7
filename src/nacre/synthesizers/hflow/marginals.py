"""One-way tables, bought first: how wide the cells of every axis are, so that the flow starts at the right marginals.

The identity flow then is the product of the bought marginals, and DP-SGD is left to learn how columns depend on each
other. All of it is post-processing of noisy counts.
"""

from __future__ import annotations

import math

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Scope, gaussian_share
from nacre.synthesizers.parts import grouping

NAME = "marginals"
FLOOR = 1e-3  # of every column's mass is spread evenly over its cells, so that no cell has the width 0
GROUPS = 64


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
