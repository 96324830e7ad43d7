"""Presence: can one tell from the synthetic rows who was in the table? (specs/mmd_gan_ehr.md 7, E2, E3)

The attack calls a person a member when some synthetic row lies within a distance. Headlines are the area under its
curve and what it finds at few false alarms; the published choice, the largest distance with precision above .55, is
given with its counts and intervals, and its precision only where at least 20 people were accused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.audit.rates import Rate, area, found_at, rate_of
from nacre.audit.records import Records, Scale, Space, nearest

LEAST = 20  # accused people behind a precision
PRECISION = 0.55


@dataclass(frozen=True)
class Presence:
    """`at` : false-alarm rate -> members found; `radius`: the largest distance with precision above .55 (None: there is
    none), also as the share of members whose nearest other row of the private table is closer (`radius_quantile`).
    `copies`: members with a synthetic row closer than that; m fresh rows beside a table of n have about m/(m + n)."""

    members: int
    others: int
    auc: float
    auc_error: float
    at: dict[float, Rate]
    radius: float | None
    radius_quantile: float | None
    found: Rate
    alarms: Rate
    precision: Rate | None
    ks_p: float
    copies: Rate


def presence(synthetic: Records, table: Records, members: np.ndarray, others: Records, space: Space) -> Presence:
    """The attack on rows of the private table, at the places `members`, and on rows that were not in it; the latter
    unseen by everything else."""
    scale = Scale.of(synthetic, space)
    known, whole, outside = (scale.points(r) for r in (synthetic, table, others))
    near, far = nearest(whole[members], known), nearest(outside, known)
    real = nearest(whole[members], whole, own=members)
    radius, hits, alarms = _published_radius(near, far)
    quantile = None if radius is None else float(np.mean(real < radius))
    accused = hits + alarms
    auc, error = area(near, far)
    return Presence(
        members=len(near),
        others=len(far),
        auc=auc,
        auc_error=error,
        at={rate: found_at(near, far, rate) for rate in (0.01, 0.001)},
        radius=radius,
        radius_quantile=quantile,
        found=rate_of(hits, len(near)),
        alarms=rate_of(alarms, len(far)),
        precision=rate_of(hits, accused) if accused >= LEAST else None,
        ks_p=_one_sided_ks(near, far),
        copies=rate_of(int((near < real).sum()), len(near)),
    )


def curve(near: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(radii, members within, others within) at every radius where one of them changes; within means ≤ here."""
    radii = np.unique(np.concatenate([near, far]))
    return radii, np.searchsorted(np.sort(near), radii, "right"), np.searchsorted(np.sort(far), radii, "right")


def _published_radius(near: np.ndarray, far: np.ndarray) -> tuple[float | None, int, int]:
    """(largest radius whose precision exceeds .55, members within, others within)."""
    radii, hits, alarms = curve(near, far)
    good = np.flatnonzero(hits > PRECISION * (hits + alarms))
    if not len(good):
        return None, 0, 0
    return float(radii[good[-1]]), int(hits[good[-1]]), int(alarms[good[-1]])


def _one_sided_ks(near: np.ndarray, far: np.ndarray) -> float:
    """p-value of "members are closer": the distribution function of `near` lies above that of `far`."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(near, far, alternative="greater").pvalue)
