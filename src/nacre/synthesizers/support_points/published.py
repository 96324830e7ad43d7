"""The published algorithm: support points of the table, then a chain around them (specs/support_points.md 4, 9a).

Its scale divides by the sensitivity of the energy to the N records, while the chain compares with n support points,
which one record can move far. It is here to be compared with; it goes through `reveal` and promises nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nacre.privacy.curator import Curator
from nacre.privacy.doors.walk import Law, Walk
from nacre.privacy.plan import Plan
from nacre.synthesizers.support_points.geometry import CORNER, Geometry, apart, near
from nacre.synthesizers.support_points.sweep import support_points
from nacre.table.encoding import encode

WHY = (
    "mode 'support_points' compares with support points of the table, and one record can move those far: the published "
    "sensitivity is that of the energy to the records, so its parameter alpha is no epsilon (for one point on a line "
    "the loss is about alpha·rows/4)"
)


def run(method: Any, curator: Curator, plan: Plan, geometry: Geometry, count: int, seed: int) -> tuple:
    """(numbers, label probabilities) of the support points, or of the chain's last state when alpha is given."""
    warnings.warn(WHY, stacklevel=4)
    records = geometry.record_map()
    vectors = [np.zeros((0, geometry.width))]
    for batch in curator.reveal(plan["table"]):
        vectors.append(records(encode(batch, curator.schema).columns, geometry.public()))
    x = np.concatenate(vectors)
    y = support_points(x, count, seed)
    if method.alpha is None:
        return _parts(geometry, y)
    rate = published_rate(method.alpha, len(x), count, geometry.diameter)
    start = np.clip(y, 0.0, geometry.top)
    walk = Walk(count, geometry.top, geometry.blocks, method.chains)
    law = Law(near, apart, -geometry.diameter, 0.0)
    rng = np.random.default_rng([seed, 13])
    last, told = walk.run(law, (start.T, np.ones(count)), (rate, count / 2), method.moves, rng)
    curator.diagnostics["table"] = told
    return _parts(geometry, last[0])


def published_rate(alpha: float, rows: int, points: int, diameter: float) -> float:
    """Exponent alpha/(2D)·[e(Y) − e(Y')] with D = 2·diam·(2N − 1)/N², in units of Σ_records of mean distances."""
    sensitivity = 2 * diameter * (2 * rows - 1) / rows**2
    return alpha / (sensitivity * points)


def _parts(geometry: Geometry, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the numbers and shares of the labels; a block of a support point lies between corners."""
    labels = np.zeros((len(y), geometry.width - geometry.numbers))
    for start, size in geometry.blocks:
        share = np.clip(y[:, start : start + size] / CORNER, 0.0, 1.0) + 1e-12
        labels[:, start - geometry.numbers : start - geometry.numbers + size] = share / share.sum(axis=1, keepdims=True)
    return np.clip(y[:, : geometry.numbers], 0.0, 1.0), labels
