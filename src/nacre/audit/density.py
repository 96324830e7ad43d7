"""Density ratio: is the release denser at a person than the population is? (after DOMIAS, van Breugel et al. 2023)

Score log p̂_syn(x) − log p̂_ref(x), both by the distance to the k-th nearest row: p̂ ∝ k/(n·r^d), so the score is
d·log(r_ref/r_syn) up to a constant, averaged over k = 1 to 5 (a copied row shows at k = 1 alone). The reference are
real rows that were not in the table. Unlike a plain distance, it does not call everybody in a crowd a member.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.audit.rates import Rate, area, found_at
from nacre.audit.records import Records, Scale, Space, blocks

NEIGHBOURS = 5
SMALL = 1e-6


@dataclass(frozen=True)
class DensityRatio:
    """Area under the curve (0.5: no better than a coin) with its standard error, and members found at few alarms."""

    auc: float
    auc_error: float
    at: dict[float, Rate]
    members: int
    others: int


def density_ratio(
    synthetic: Records, members: Records, others: Records, reference: Records, space: Space
) -> DensityRatio:
    """The attack on rows that were in the table and on as many that were not; `reference` is disjoint from both."""
    scale = Scale.of(synthetic, space)
    pools = [scale.points(r) for r in (synthetic, reference)]
    near, far = (-score(scale.points(r), *pools) for r in (members, others))
    auc, error = area(near, far)
    return DensityRatio(auc, error, {rate: found_at(near, far, rate) for rate in (0.01, 0.001)}, len(near), len(far))


def score(rows: np.ndarray, synthetic: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Mean over k of log(r_ref/r_syn), for every row."""
    take = min(NEIGHBOURS, len(synthetic), len(reference))
    far, near = (np.log(closest(rows, pool, take) + SMALL) for pool in (reference, synthetic))
    return (far - near).mean(axis=1)


def closest(rows: np.ndarray, pool: np.ndarray, take: int) -> np.ndarray:
    """Distances to the nearest `take` rows of the pool, nearest first: [n, take]."""
    parts = [np.sort(np.partition(distances, take - 1, axis=1)[:, :take], axis=1) for distances in blocks(rows, pool)]
    return np.concatenate(parts)
