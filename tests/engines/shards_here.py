"""Rows in shards without a cluster: every task runs here, in an order of its own, some of them twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nacre.engines import FileRows


class ShardsHere(FileRows):
    """As a cluster does it: tasks end in any order, and one whose worker died is done again from the start."""

    def __init__(self, paths: Any, parts: int = 5, seed: int = 0):
        super().__init__(paths)
        self.shards, self._rng, self.closed = self.split(parts), np.random.default_rng(seed), 0

    def each(self, task: Any, given: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        for i in self._rng.permutation(len(given)):
            if self._rng.random() < 0.3:
                task(*given[i])  # its worker died before it could answer
            yield int(i), task(*given[i])

    def close(self) -> None:
        self.closed += 1
