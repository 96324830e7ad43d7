"""Presence: can one tell from the synthetic rows who was in the table? (specs/mmd_gan_ehr.md 7, E2, E3)

The attack calls a person a member when some synthetic row lies within a distance. Headlines are the area under its
curve and what it finds at few false alarms; the published choice, the largest distance with precision above .55, is
given with its counts and intervals, and its precision only where at least 20 people were accused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.audit.records import Records, Scale, Space

LEAST = 20  # accused people behind a precision
PRECISION = 0.55


@dataclass(frozen=True)
class Rate:
    """k of n, with a Clopper-Pearson interval of 95 %."""

    hits: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.hits / self.of if self.of else float("nan")


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
    auc, error = _auc(near, far)
    return Presence(
        members=len(near),
        others=len(far),
        auc=auc,
        auc_error=error,
        at={rate: _found_at(near, far, rate) for rate in (0.01, 0.001)},
        radius=radius,
        radius_quantile=quantile,
        found=rate_of(hits, len(near)),
        alarms=rate_of(alarms, len(far)),
        precision=rate_of(hits, accused) if accused >= LEAST else None,
        ks_p=_one_sided_ks(near, far),
        copies=rate_of(int((near < real).sum()), len(near)),
    )


def rate_of(hits: int, of: int, level: float = 0.95) -> Rate:
    """Clopper-Pearson: the beta quantiles, [0, 1] when nothing was tried."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 or of == 0 else float(beta.ppf(tail, hits, of - hits + 1))
    high = 1.0 if hits == of or of == 0 else float(beta.ppf(1 - tail, hits + 1, of - hits))
    return Rate(int(hits), int(of), low, high)


def nearest(rows: np.ndarray, pool: np.ndarray, own: np.ndarray | None = None, cells: int = 1 << 22) -> np.ndarray:
    """Distance of every row to the closest row of the pool, but for its `own` place there; in pieces that fit into
    memory."""
    from scipy.spatial.distance import cdist

    step = max(1, cells // max(1, len(pool)))
    found = np.empty(len(rows))
    for a in range(0, len(rows), step):
        distances = cdist(rows[a : a + step], pool)
        if own is not None:
            distances[np.arange(len(distances)), own[a : a + step]] = np.inf
        found[a : a + step] = distances.min(axis=1)
    return found


def _auc(near: np.ndarray, far: np.ndarray) -> tuple[float, float]:
    """P(member closer than other), ties half; standard error by the placements of both sides (DeLong)."""
    ordered = np.sort(far)
    above = len(far) - (np.searchsorted(ordered, near, "left") + np.searchsorted(ordered, near, "right")) / 2
    ordered = np.sort(near)
    below = (np.searchsorted(ordered, far, "left") + np.searchsorted(ordered, far, "right")) / 2
    spread = np.var(above / len(far), ddof=1) / len(near) if len(near) > 1 else np.inf
    spread += np.var(below / len(near), ddof=1) / len(far) if len(far) > 1 else np.inf
    return float(above.mean() / len(far)), float(np.sqrt(spread))


def _found_at(near: np.ndarray, far: np.ndarray, rate: float) -> Rate:
    """Members closer than all but `rate` of the others: at most that share of false alarms."""
    allowed = int(rate * len(far) + 1e-9)
    return rate_of(int((near < np.sort(far)[min(allowed, len(far) - 1)]).sum()), len(near))


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
