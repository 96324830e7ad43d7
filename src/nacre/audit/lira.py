"""LiRA: who was a model trained on? The likelihood-ratio attack with shadow models (Carlini et al. 2022).

φ = log p − log(1 − p) for the probability p of a point's true label. Shadow models, trained by the *same method* on
random halves, give every point a normal law of φ when it was inside and one when it was outside. Online: the score of a
target is log N(φ; in) − log N(φ; out). Offline, without shadows that saw the point: how unusually high φ is for one
that was outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.errors import NacreError

CLIP = 1e-7
FEW = 64  # shadows on a side below which variances are pooled over points
SPREAD = 1e-3  # the least standard deviation of φ


def confidence(p: np.ndarray) -> np.ndarray:
    """φ of the probability of the true label."""
    p = np.clip(p, CLIP, 1 - CLIP)
    return np.log(p) - np.log1p(-p)


def halves(models: int, points: int, seed: int) -> np.ndarray:
    """Which points each model is trained on, [models, points]: exactly half of them, at random."""
    rng = np.random.default_rng([seed, 21])
    order = rng.random((models, points)).argsort(axis=1)
    return order < points // 2


@dataclass(frozen=True)
class Shadows:
    """Means and variances of φ per point, inside and outside; `counts` are the fewest shadows on each side."""

    inside: tuple[np.ndarray, np.ndarray]
    outside: tuple[np.ndarray, np.ndarray]
    counts: tuple[int, int]

    @staticmethod
    def of(phi: np.ndarray, members: np.ndarray) -> Shadows:
        """From φ [shadows, points] of shadow models and which points each saw."""
        if phi.shape != members.shape or len(phi) < 2:
            raise NacreError(
                f"shadows: φ {phi.shape}, members {members.shape}; expected two or more shadows of one shape"
            )
        laws, counts = [], []
        for side in (members, ~members):
            counted = side.sum(axis=0)
            if counted.min() < 1:
                raise NacreError("shadows: a point was on one side in every shadow; train more of them")
            mean = np.where(side, phi, 0).sum(axis=0) / counted
            squares = np.where(side, (phi - mean) ** 2, 0).sum(axis=0)
            if counted.min() < FEW:
                variance = np.full(phi.shape[1], squares.sum() / max(1, (counted - 1).sum()))
            else:
                variance = squares / (counted - 1)
            laws.append((mean, np.maximum(variance, SPREAD**2)))
            counts.append(int(counted.min()))
        return Shadows(laws[0], laws[1], (counts[0], counts[1]))

    def online(self, phi: np.ndarray) -> np.ndarray:
        """Λ of targets [targets, points]: high for members."""
        return _log_normal(phi, *self.inside) - _log_normal(phi, *self.outside)

    def offline(self, phi: np.ndarray) -> np.ndarray:
        """log of 1/P[N(out) > φ]: needs no shadow that saw the point."""
        from scipy.special import log_ndtr

        mean, variance = self.outside
        return -log_ndtr(-(phi - mean) / np.sqrt(variance))


def _log_normal(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return -0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance))


# --------------------------------------------------------------------------------------------------------------- curves


def least_rate(members: np.ndarray) -> float:
    """The smallest false-alarm rate worth reporting: ten false alarms among the points of one target."""
    return 10 / max(1, int((~members).sum(axis=-1).min()))


def found_at(scores: np.ndarray, members: np.ndarray, rate: float) -> float:
    """Share of the members of one target above all but a share `rate` of the others."""
    others = np.sort(scores[~members])[::-1]
    allowed = int(rate * len(others) + 1e-9)
    return float((scores[members] > others[min(allowed, len(others) - 1)]).mean())


def area(scores: np.ndarray, members: np.ndarray) -> float:
    """P(a member scores above another), ties half."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    inside = int(members.sum())
    return float((ranks[members].sum() - inside * (inside + 1) / 2) / (inside * (len(members) - inside)))


@dataclass(frozen=True)
class Curve:
    """True-positive rates over false-alarm rates: median of the targets, and their 5 % and 95 % quantiles."""

    rates: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(scores: np.ndarray, members: np.ndarray, points: int = 40) -> Curve:
        """From scores [targets, points]; on a logarithmic grid from the smallest resolvable rate to 1."""
        rates = np.geomspace(min(1.0, least_rate(members)), 1.0, points)
        found = np.array([[found_at(s, m, r) for r in rates] for s, m in zip(scores, members)])
        low, median, high = np.quantile(found, (0.05, 0.5, 0.95), axis=0)
        return Curve(rates, median, low, high)
