"""How wide the kernel around a point is: a public constant, or bought by an exponential mechanism on a public list.

Score of width h: Σ_records clip(log p_h(x)/d, −5, 5), the log density per column of the mixture of kernels (0 for
uniform numbers; specs/support_points.md 9e). A maximum-likelihood width with Laplace noise is not offered: its noise,
of sd .18/ε, exceeds the whole range of widths at ε = 1 and is of use only above ε of about 20.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacre.errors import NacreError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import NO_NOISE, Entry, Plan, Select
from nacre.privacy.selection import RecordScore
from nacre.synthesizers.support_points.geometry import Geometry

WIDTHS = np.geomspace(0.005, 0.125, 20)
LIMIT = 5.0
SHARE = 0.1  # of epsilon


def check(bandwidth: Any) -> None:
    number = isinstance(bandwidth, int | float) and not isinstance(bandwidth, bool)
    if bandwidth != "bought" and not (number and 0 <= bandwidth <= 0.5):
        raise NacreError(f"bandwidth={bandwidth!r}: expected 'bought' or a number from 0 to 0.5")


def entries(bandwidth: Any, budget: Budget) -> list[Entry]:
    if bandwidth != "bought":
        return []
    epsilon = NO_NOISE if budget.epsilon is None else SHARE * budget.epsilon
    return [Select("bandwidth", picks=1, epsilon=epsilon, exact=False)]  # logarithms of library floats


def find(bandwidth: Any, curator: Curator, plan: Plan, geometry: Geometry, numbers: np.ndarray) -> float:
    """The public width, or the one bought; 0 for a table without numbers."""
    if bandwidth != "bought":
        return float(bandwidth)
    public = {**geometry.public(), "points": np.ascontiguousarray(numbers), "widths": WIDTHS}
    score = RecordScore(log_densities(geometry), len(WIDTHS), -LIMIT, LIMIT, public)
    (pick,) = curator.select(plan["bandwidth"], score)
    return float(WIDTHS[pick])


def log_densities(geometry: Geometry) -> Callable[[Mapping[str, Any], Any], np.ndarray]:
    """log p_h(x)/d of every record for every width, rounded so that last bits do not matter."""
    layout = geometry.layout

    def score(records: Mapping[str, Any], public: Any) -> np.ndarray:
        x, _ = layout.encode(records)
        points, widths = public["points"], public["widths"]
        d = x.shape[1]
        if d == 0:
            return np.zeros((len(next(iter(records.values()))), len(widths)))
        square = np.zeros((len(x), len(points)))
        for c in range(d):
            square += (x[:, c : c + 1] - points[:, c]) ** 2
        closest = square.min(axis=1, keepdims=True)
        out = np.empty((len(x), len(widths)))
        for i, h in enumerate(widths):
            kernels = np.exp((closest - square) / (2 * h * h)).sum(axis=1) / len(points)
            logs = np.log(kernels) - closest[:, 0] / (2 * h * h) - d * math.log(h * math.sqrt(2 * math.pi))
            out[:, i] = np.round(logs / d, 6)
        return out

    return score
