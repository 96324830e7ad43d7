"""Bins of numbers by one public rule, for peers that take whole numbers only and tables without bins made by hand."""

from __future__ import annotations

import numpy as np

from nacre.table.columns import Column
from nacre.table.schema import Schema

FEW = 40  # values: a bin for each
WIDE = 1_000.0  # of a range from which on bins grow with the number
BINS = 24


def public_bins(schema: Schema) -> dict[str, list[float]]:
    return {name: edges(column) for name, column in schema.columns.items() if column.kind == "numeric"}


def edges(column: Column) -> list[float]:
    """Whole numbers from few to choose from get a bin each; narrow ranges equal widths; wide ones, as amounts have,
    widths in proportion to the number, with 0 in a bin of its own. Whole bins end before the next whole number."""
    assert column.ends is not None
    low, high = map(float, column.ends)
    if column.whole and high - low < FEW:
        return [float(v) for v in np.arange(low, high + 2)]
    found = _growing(low, high) if high - low >= WIDE and low <= 0 else np.linspace(low, high, BINS + 1)
    if column.whole:
        found = np.unique([*np.ceil(found[:-1]), np.floor(high) + 1])
    return [float(v) for v in found]


def _growing(low: float, high: float) -> np.ndarray:
    """0, 1 and on in equal ratios, and the same below 0 where the range reaches there."""
    up = np.geomspace(1.0, high, BINS)
    down = -np.geomspace(1.0, -low, BINS // 2)[::-1] if low < -1 else np.array([low] if low < 0 else [])
    return np.unique([*down, 0.0, *up])
