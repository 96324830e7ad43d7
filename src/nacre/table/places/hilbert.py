"""Hilbert's curve through a lattice of 2^levels by 2^levels points: neighbours on it are neighbours in the plane, and
every square of a quadtree is one run of it.

D. Hilbert (1891), Ueber die stetige Abbildung einer Linie auf ein Flaechenstueck.
"""

from __future__ import annotations

import numpy as np

MOST_LEVELS = 30  # positions stay below 2^60


def along(x: np.ndarray, y: np.ndarray, levels: int) -> np.ndarray:
    """The position of each lattice point on the curve. Its first 2k bits are those of the square of side 2^(levels - k)
    that the point lies in."""
    x, y = x.astype(np.int64), y.astype(np.int64)
    found = np.zeros_like(x)
    for bit in range(levels - 1, -1, -1):
        right, up = (x >> bit) & 1, (y >> bit) & 1
        found = (found << 2) | ((3 * right) ^ up)
        x, y = _turned(x, y, right, up, levels)
    return found


def at(position: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """The lattice point at each position: the inverse of `along`."""
    x, y = np.zeros_like(position), np.zeros_like(position)
    for bit in range(levels):
        quarter = (position >> (2 * bit)) & 3
        right = quarter >> 1
        up = (quarter ^ right) & 1
        x, y = _turned(x, y, right, up, bit)
        x, y = x | (right << bit), y | (up << bit)
    return x, y


def _turned(
    x: np.ndarray, y: np.ndarray, right: np.ndarray, up: np.ndarray, levels: int
) -> tuple[np.ndarray, np.ndarray]:
    """The square of 2^levels turned as the curve runs through this quarter: the first is mirrored at one diagonal, the
    last at the other."""
    last = (1 << levels) - 1
    over = (up == 0) & (right == 1)
    x, y = np.where(over, last - x, x), np.where(over, last - y, y)
    return np.where(up == 0, y, x), np.where(up == 0, x, y)
