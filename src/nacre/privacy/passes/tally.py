"""How often each text occurred, for tens of millions of texts: 128-bit names in place of the texts.

A name is a keyed hash whose key is drawn for the run and kept by nobody, so that no row can be made to collide with
another on purpose. Two of N texts share a name with probability at most N²/2¹²⁹; the accountant charges that for 2³²
texts as an error of the sampler (docs/proofs/composition.md). A name and its count take 24 bytes in a table that is
between 35 and 70 % full: 34 to 69 bytes a text however long, and half as much again while the table grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from nacre.errors import DataError

KEY_BYTES = 16
MAX_NAMES = 1 << 32  # what the accountant charges collisions for
_FREE, _TAKEN = 0, -1  # in place of a count: an empty slot, a slot whose count is about to be written
_FULL = 0.7
_PIECE = 1 << 20  # names moved at a time when the table grows


def names_of(texts: Sequence[bytes], key: bytes) -> np.ndarray:
    """The [n, 2] uint64 names of these texts."""
    hashed = b"".join([hashlib.blake2b(text, key=key, digest_size=16).digest() for text in texts])
    return np.frombuffer(hashed, dtype=np.uint64).reshape(-1, 2)


class Tally:
    """A hash table with open addressing, filled whole arrays at a time."""

    def __init__(self) -> None:
        self._used = 0
        self._allocate(1 << 12)

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        return self._names.nbytes + self._counts.nbytes

    def add(self, names: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Count names, each at most once in the array and at least once in the world; returns the counts before."""
        if self._used + len(names) > MAX_NAMES:
            raise DataError(f"more than {MAX_NAMES:,} different texts or persons; read the table in parts")
        while self._used + len(names) > _FULL * len(self._counts):
            self._grow()
        slots = self._slots(names)
        before = np.maximum(self._counts[slots], 0)
        self._counts[slots] = before + counts
        self._used += int((before == 0).sum())
        return before

    def pop_all(self) -> tuple[np.ndarray, np.ndarray]:
        """All names and counts, by name: an order that no row decides. The tally is empty afterwards."""
        taken = self._counts > 0
        names, counts = self._names[taken], self._counts[taken]
        self.__init__()
        order = np.lexsort((names[:, 1], names[:, 0]))
        return names[order], counts[order]

    def _allocate(self, capacity: int) -> None:
        self._names = np.zeros((capacity, 2), dtype=np.uint64)
        self._counts = np.full(capacity, _FREE, dtype=np.int64)

    def _grow(self) -> None:
        names, counts = self._names, self._counts
        self._allocate(2 * len(counts))
        for start in range(0, len(counts), _PIECE):
            kept = np.flatnonzero(counts[start : start + _PIECE]) + start
            slots = self._slots(names[kept])
            self._counts[slots] = counts[kept]

    def _slots(self, names: np.ndarray) -> np.ndarray:
        """Where each name stands, or the free slot it takes: the first one from its own place onwards."""
        last = len(self._counts) - 1
        slots = (names[:, 0] & np.uint64(last)).astype(np.int64)
        todo = np.arange(len(names))
        while len(todo):
            here = slots[todo]
            free = np.flatnonzero(self._counts[here] == _FREE)
            first, winner = np.unique(here[free], return_index=True)  # of names that want the same slot, one gets it
            self._names[first] = names[todo[free[winner]]]
            self._counts[first] = _TAKEN
            todo = todo[(self._names[here] != names[todo]).any(axis=1)]
            slots[todo] = (slots[todo] + 1) & last
        return slots
