"""Where the axes of a column may lie, given a condition on the column and the axes before: for `flow_sampling.given`.

The intervals hold every point whose decoded value meets the condition and, but for rounding, no other: the model
checks the values once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.synthesizers.hflow.axes import Axes
from nacre.table import Condition
from nacre.table.grid import Grid, IntegerGrid

MOST = 64  # intervals on an axis; a condition with more of them is left to the check of the values

Ends = tuple[np.ndarray, np.ndarray]


class Conditions:
    """`ends(axis, y)`: (low, high) [n, intervals] in [0, 1] of an axis given y [n, axis] of those before; None for
    the whole axis."""

    def __init__(self, axes: Axes, where: Mapping[str, Condition]):
        self.axes = axes
        self.masks = {name: condition.mask(axes.grids[name]) for name, condition in where.items()}
        self.intervals = {name: _intervals(axes, name, where[name], mask) for name, mask in self.masks.items()}
        self.firsts = {a.column: i for i, a in reversed(list(enumerate(axes.axes)))}

    def ends(self, axis: int, y: np.ndarray) -> Ends | None:
        what = self.axes.axes[axis]
        mask = self.masks.get(what.column)
        if mask is None or (mask == 1).all():
            return None
        before = y[:, self.firsts[what.column] :]
        if what.kind == "bit":
            return _bits(mask > 0, what.place, before)
        if what.kind == "one-hot":
            return _one_hot(mask > 0, what.place, before)
        if what.kind == "choice":
            special = self.axes.specials[what.column]
            low, high = np.arange(what.size) / what.size, np.arange(1, what.size + 1) / what.size
            return _every(low, np.where(np.append(True, mask[special] > 0), high, low), len(y))
        low, high = self.intervals[what.column]
        if len(low) > MOST:
            return None
        low, high = _every(low, high, len(y))
        if before.shape[1]:  # a special value was chosen: the cells say nothing
            size = self.axes.axes[axis - 1].size
            special = (before[:, :1] * size).astype(np.int64) > 0
            first = np.arange(low.shape[1]) == 0
            low, high = np.where(special, 0.0, low), np.where(special, np.where(first, 1.0, 0.0), high)
        return low, high


def _every(low: np.ndarray, high: np.ndarray, rows: int) -> Ends:
    return np.broadcast_to(low, (rows, len(low))), np.broadcast_to(high, (rows, len(high)))


def _bits(wanted: np.ndarray, place: int, before: np.ndarray) -> Ends:
    """A bit is possible where it leads on to the string of a wanted label; strings wrap around as in `decode`."""
    strings = wanted[np.arange(1 << (place + 1 + before.shape[1])) % len(wanted)]
    leads: np.ndarray = np.any(strings.reshape(-1, 1 << place), axis=1)  # [2^(bits so far and this one)]
    so_far = ((before >= 0.5) @ (1 << np.arange(before.shape[1])[::-1])).astype(np.int64)
    low = np.broadcast_to([0.0, 0.5], (len(before), 2))
    return low, np.where(leads[2 * so_far[:, None] + np.arange(2)], [0.5, 1.0], low)


def _one_hot(wanted: np.ndarray, place: int, before: np.ndarray) -> Ends | None:
    """The largest axis is the label: once no wanted label is to come, one of them must be the largest so far."""
    if wanted[place + 1 :].any():
        return None
    most = before.max(axis=1, initial=0.0)
    leads = wanted[before.argmax(axis=1)] if place else np.zeros(len(before), bool)
    if wanted[place]:
        return np.where(leads, 0.0, most)[:, None], np.ones((len(before), 1))
    return np.zeros((len(before), 1)), np.where(leads, most, 0.0)[:, None]


def _intervals(axes: Axes, name: str, condition: Condition, mask: np.ndarray) -> Ends:
    """The parts of an axis of cells that meet the condition, those that touch put together."""
    grid, edges = axes.grids[name], axes.edges[name]
    found = [(edges[c], edges[c + 1]) for c in np.flatnonzero(mask == 1)]
    for cell in np.flatnonzero((mask > 0) & (mask < 1)):
        wide = edges[cell + 1] - edges[cell]
        for low, high in condition.spans:
            start, end = _part(grid, int(cell), low, high)
            if start < end:
                found.append((edges[cell] + start * wide, edges[cell] + end * wide))
    joined: list[list[float]] = []
    for low, high in sorted(found):
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    ends = np.array(joined).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _part(grid: Grid, cell: int, low: Any, high: Any) -> tuple[float, float]:
    """The share of a cell at which [low, high] begins and ends."""
    first, end = grid.low[cell], grid.high[cell]
    if isinstance(grid, IntegerGrid):
        low, high = -(-low // grid.step), high // grid.step + 1
    return (max(low, first) - first) / (end - first), (min(high, end) - first) / (end - first)
