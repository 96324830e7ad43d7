"""All one-way and two-way distances of two tables, with their means: for tests that look at single columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.counts import distances


@dataclass(frozen=True)
class Marginals:
    one: Mapping[str, float]
    two: Mapping[tuple[str, ...], float]

    @property
    def tvd1(self) -> float:
        return float(np.mean(list(self.one.values())))

    @property
    def tvd1_max(self) -> float:
        return max(self.one.values())

    @property
    def tvd2(self) -> float:
        return float(np.mean(list(self.two.values())))


def marginals(a: Cells, b: Cells) -> Marginals:
    one = distances(a, b, [(c,) for c in a.sizes]).values
    return Marginals({c: value for (c,), value in one.items()}, distances(a, b, combinations(a.sizes, 2)).values)
