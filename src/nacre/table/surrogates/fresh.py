"""The rows that are made anew: their numbers, their randomness, and the person that each of them is about."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from nacre.errors import DataError

_GOLDEN = (math.sqrt(5) - 1) / 2


class Fresh:
    """`rows` rows from the number `start` on, in the order in which they come out. `rng` is the drawing's own.

    All columns of a row ask the same object, so that a name and an e-mail address are one person's.
    """

    def __init__(self, start: int, rows: int, rng: np.random.Generator | None = None):
        self.start, self.rows = start, rows
        self.rng = rng or np.random.default_rng()
        self._shared: dict[Hashable, np.ndarray] = {}

    @property
    def numbers(self) -> np.ndarray:
        return np.arange(self.start, self.start + self.rows, dtype=np.int64)

    def codes(self, many: int, unique: bool = False) -> np.ndarray:
        """A code below `many` for every row, drawn, or with `unique` no code twice: the row's number, scrambled."""
        if not unique:
            return self.rng.integers(many, size=self.rows)
        if self.start + self.rows > many:
            raise DataError(f"{many:,} different values can be made for a key, and there are more rows: draw fewer")
        return self.numbers * _multiplier(many) % many

    def shared(self, what: Hashable, many: int) -> np.ndarray:
        """The codes below `many` that all columns of a row have for the same `what`."""
        if what not in self._shared:
            self._shared[what] = self.codes(many)
        return self._shared[what]


def _multiplier(many: int) -> int:
    """Coprime to `many`, so that multiples are a permutation; near its golden section, so that they scatter."""
    found = max(1, int(many * _GOLDEN))
    while math.gcd(found, many) > 1:
        found += 1
    return found
