"""Exact contingency tables of integer codes: the counting behind the doors `counts`, `bounds` and `select`.

Counts are int64 and therefore the same whatever the order, chunking or machine, and merge exactly. A record whose
code is −1 in a column lands in no cell of any table with that column; otherwise it lands in exactly one cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nacre.errors import PlanError

MAX_CELLS = 1 << 28  # all tables of one entry together: 2 GiB of counts
_CHUNK = 1 << 15  # rows counted at a time, so that index arrays stay in the cache

Clique = tuple[str, ...]


class TableCounter:
    """Accumulates the tables of several column sets over chunks of rows.

    `sizes` gives the number of codes of each column. Codes outside [0, size) are taken as −1: the door, not the
    caller, makes sure that a record touches at most one cell of a table.
    """

    def __init__(self, cliques: Sequence[Clique], sizes: Mapping[str, int]):
        self.cliques = [tuple(c) for c in cliques]
        self.sizes = sizes
        # One spare code per column collects the records that land in no cell; it is cut off at the end.
        self._shapes = [tuple(sizes[c] + 1 for c in clique) for clique in self.cliques]
        cells = sum(math.prod(shape) for shape in self._shapes)
        if cells > MAX_CELLS:
            raise PlanError(
                f"{len(self.cliques)} tables with {cells:,} cells in all; at most {MAX_CELLS:,} fit in memory. "
                "Use fewer bins or categories, or fewer columns"
            )
        self._tables = [np.zeros(math.prod(shape), dtype=np.int64) for shape in self._shapes]

    def add(self, codes: Mapping[str, np.ndarray], rows: int, weights: np.ndarray | None = None) -> None:
        """Count `rows` records given as one code array per column, each as one or by its weight: whole numbers up to
        2^31, whose sums over a chunk are exact in floats."""
        for start in range(0, rows, _CHUNK):
            stop = min(start + _CHUNK, rows)
            chunk = {c: _legal(codes[c][start:stop], size) for c, size in self.sizes.items()}
            self._add_chunk(chunk, stop - start, None if weights is None else weights[start:stop].astype(np.float64))

    def _add_chunk(self, chunk: Mapping[str, np.ndarray], rows: int, weights: np.ndarray | None) -> None:
        tails: dict[Clique, np.ndarray] = {(): np.zeros(rows, dtype=np.int64)}
        for clique, shape, table in zip(self.cliques, self._shapes, self._tables):
            index = _flat_index(clique, shape, chunk, tails)
            table += np.bincount(index, weights, minlength=len(table)).astype(np.int64, copy=False)

    @property
    def cells(self) -> int:
        """How many numbers it holds."""
        return sum(map(len, self._tables))

    def merge(self, other: TableCounter) -> None:
        """Add what another counter of the same tables has counted."""
        if other._shapes != self._shapes:
            raise PlanError("counters of other tables cannot be merged")
        for table, more in zip(self._tables, other._tables):
            table += more

    def tables(self) -> list[np.ndarray]:
        """The tables so far, without the spare codes."""
        return [
            table.reshape(shape)[tuple(slice(0, s - 1) for s in shape)].copy()
            for table, shape in zip(self._tables, self._shapes)
        ]


def _legal(codes: np.ndarray, size: int) -> np.ndarray:
    codes = codes.astype(np.int64)
    codes[(codes < 0) | (codes >= size)] = size
    return codes


def _flat_index(clique: Clique, shape: tuple[int, ...], chunk: Mapping[str, np.ndarray], tails: dict) -> np.ndarray:
    """Row-major cell index; the part after the first column is shared between cliques with the same tail."""
    if not clique:
        return tails[()]
    if len(clique) == 1:
        return chunk[clique[0]]
    tail = clique[1:]
    if tail not in tails:
        tails[tail] = _flat_index(tail, shape[1:], chunk, tails)
    return chunk[clique[0]] * math.prod(shape[1:]) + tails[tail]
