"""Long tails of a faint sketch: their groups are counted, and modelled together.

Groups far out hold few rows. How many is known well, each being a margin of many tables; how they depend on other
columns is not, where the cells of those tables are faint. There a fit would only learn noise from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.mixture.denoise import near_target
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.sketch.coarse import Coarse


def joined(
    coarse: Sequence[Coarse], tables: Sequence[Table], total: float, target: int | None
) -> tuple[list[Coarse], list[Table]]:
    """Columns and tables with divided tails in one piece, inside which the masses of its groups are kept."""
    near = near_target([c.groups for c in coarse], tables, total, target)
    home = [np.arange(c.groups) if j == target else c.undivided() for j, c in enumerate(coarse)]
    found = [c if j == target else c.joined(near[j].sum(1)) for j, c in enumerate(coarse)]
    return found, [_merged(t, home) for t in tables]


def _merged(table: Table, home: list[NDArray[np.int64]]) -> Table:
    counts, variance = table.counts, np.broadcast_to(np.square(table.sigma), table.counts.shape)
    for axis, j in enumerate(table.columns):
        if home[j][-1] + 1 < len(home[j]):
            starts = np.searchsorted(home[j], np.arange(home[j].max() + 1))
            counts, variance = (np.add.reduceat(x, starts, axis=axis) for x in (counts, variance))
    if counts.shape == table.counts.shape:
        return table
    return replace(table, counts=counts, sigma=np.sqrt(variance))
