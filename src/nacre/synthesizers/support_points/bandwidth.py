"""How wide the kernel around a point is: a public constant, or bought (specs/support_points.md 7, 9e).

`bought`: an exponential mechanism on a public list of widths h with the score Σ_records clip(log p_h(x)/d, −5, 5), the
log density per column of the mixture of kernels (0 for uniform numbers).

`laplace` and `gaussian`: noise on a sum. With every record given to its nearest point, the width of largest likelihood
is the root of the mean of s(x) = min_j ‖x − y_j‖²/d. Each s is clipped to at most 1/64, the square of the largest
width, so that one record moves the sum by at most 1/64 whatever the others are. The published estimate has no such
bound: one record can move it across the whole range, and noise for that, of sd .18/ε, exceeds the range at ε = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.doors.select import STEPS, Nearness, RecordScore
from nacre.privacy.plan import NO_NOISE, Entry, Plan, Scope, Select, Total, gaussian_share
from nacre.synthesizers.options import expect, is_number
from nacre.synthesizers.support_points.geometry import Geometry

if TYPE_CHECKING:
    from nacre.privacy.passes.feature_sums import Features
    from nacre.table.encoding import Values

WIDTHS = np.geomspace(0.005, 0.125, 20)
LIMIT = 5.0
SHARE = 0.1  # of epsilon
WIDEST = 1 / 64  # squared
SQUARES = 400  # squared widths of `laplace`, evenly spaced: its noise is in steps of 1/400 of their range
GAUSSIAN_SHARE = 0.05  # of μ²
BOUGHT = ("bought", "laplace", "gaussian")


def checked(name: str, bandwidth: Any) -> str | float:
    good = bandwidth in BOUGHT or (is_number(bandwidth) and 0 <= bandwidth <= 0.5)
    expect(good, name, bandwidth, f"{', '.join(map(repr, BOUGHT))}, or a number from 0 to 0.5")
    return bandwidth


def entries(bandwidth: Any, budget: Budget, scope: Scope, before: Sequence[Entry] = ()) -> list[Entry]:
    """What the width costs: a tenth of ε, or a twentieth of what `before` leaves to Gaussian noise."""
    if bandwidth == "gaussian":
        mu2 = GAUSSIAN_SHARE * gaussian_share(budget, scope, before)
        return [Total("bandwidth", size=1, bound=1.0, sigma=scope.sum / scope.table / math.sqrt(mu2))]
    if bandwidth not in BOUGHT:
        return []
    epsilon = NO_NOISE if budget.epsilon is None else SHARE * budget.epsilon
    # Logarithms are of library floats; squared distances are sums and products of a record's own numbers.
    return [Select("bandwidth", picks=1, epsilon=epsilon, exact=bandwidth == "laplace")]


def find(bandwidth: Any, curator: Curator, plan: Plan, geometry: Geometry, numbers: np.ndarray) -> float:
    """The public width, or the one bought."""
    if bandwidth not in BOUGHT:
        return float(bandwidth)
    entry, public = plan["bandwidth"], {**geometry.public(), "points": np.ascontiguousarray(numbers)}
    if bandwidth == "bought":
        public["widths"] = WIDTHS
        (pick,) = curator.select(entry, RecordScore(log_densities(geometry), len(WIDTHS), -LIMIT, LIMIT, public))
        return float(WIDTHS[pick])
    if bandwidth == "gaussian":
        (total,) = curator.total(entry, squares(geometry), public)
        return math.sqrt(WIDEST * float(np.clip(total / max(plan.rows or 1, 1), 1 / SQUARES, 1)))
    steps = STEPS * (plan.rows or 1)  # of all records at the clip
    places = np.array([j * steps // SQUARES for j in range(1, SQUARES + 1)])
    (pick,) = curator.select(entry, Nearness(RecordScore(squares(geometry), 1, 0.0, 1.0, public), places))
    return math.sqrt(WIDEST * (pick + 1) / SQUARES)


def squares(geometry: Geometry) -> Features:
    """s(x) of every record in units of its clip, [n, 1]: the squared distance to the nearest point, per column."""
    layout = geometry.layout

    def score(records: Mapping[str, Values], public: Any) -> np.ndarray:
        x, _ = layout.encode(records)
        nearest = _square_distances(x, public["points"]).min(axis=1, keepdims=True)
        return np.minimum(nearest / (max(x.shape[1], 1) * WIDEST), 1.0)

    return score


def _square_distances(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """[n, points], column by column: the same bits for a record in any company."""
    square = np.zeros((len(x), len(points)))
    for c in range(x.shape[1]):
        square += (x[:, c : c + 1] - points[:, c]) ** 2
    return square


def log_densities(geometry: Geometry) -> Features:
    """log p_h(x)/d of every record for every width, rounded so that last bits do not matter."""
    layout = geometry.layout

    def score(records: Mapping[str, Values], public: Any) -> np.ndarray:
        x, _ = layout.encode(records)
        points, widths = public["points"], public["widths"]
        d = x.shape[1]
        if d == 0:
            return np.zeros((len(next(iter(records.values()))), len(widths)))
        square = _square_distances(x, points)
        closest = square.min(axis=1, keepdims=True)
        out = np.empty((len(x), len(widths)))
        for i, h in enumerate(widths):
            kernels = np.exp((closest - square) / (2 * h * h)).sum(axis=1) / len(points)
            logs = np.log(kernels) - closest[:, 0] / (2 * h * h) - d * math.log(h * math.sqrt(2 * math.pi))
            out[:, i] = np.round(logs / d, 6)
        return out

    return score
