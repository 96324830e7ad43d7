"""Pairs of laws that no neighbours are easier to tell apart than, and their privacy losses on a grid.

For a pair (P, Q), L = log dP/dQ under P, and δ(t) = sup_S P(S) − e^t·Q(S); the best set is {L > t}. `deltas` answers δ
from above: what rounding may have taken is put back. `discretised` makes of such answers a measure on multiples of h
that may stand for L in every composition (docs/proofs/composition.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

UNIT = 2.0**-53
CARE = 2.0**-50  # a normal tail at x, and its logarithm's exponential, are right to this times 8 + x², relatively
_LOW = 8.5  # deviations; lower losses, of chance 1e-17, are moved up to there
_END = 40.0  # deviations; what lies beyond has a chance below 1e-349, which is nothing beside the sampler's error
_LEAST_SHIFT = 2.0**-40  # smaller ones are taken for this
_NODES = np.linspace(-12.0, 12.0, 121)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()


class Law(Protocol):
    """One pair. `rare` is a chance that may be moved to an infinite loss.

    `ends` are the lowest and the highest loss of interest. `nodes` are a rough sample of L with weights, and `small`
    says that losses are far below the total of a usual list: these choose a grid and prove nothing.
    """

    @property
    def small(self) -> bool: ...

    def ends(self, rare: float) -> tuple[float, float]: ...

    def deltas(self, t: np.ndarray) -> np.ndarray: ...

    def nodes(self, rare: float) -> tuple[np.ndarray, np.ndarray]: ...


def difference(first: np.ndarray, second: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """first − second from above, within [0, 1], for relative errors of both below CARE·(8 + squares)."""
    care = CARE * (8 + squares)
    return np.where(care < 0.01, np.clip(first * (1 + care) - second * (1 - care), 0.0, 1.0), 1.0)


def _beyond(rare: float) -> float:
    """The deviation that a normal variable passes with chance `rare`."""
    from scipy.special import ndtri

    return float(-ndtri(min(rare, 0.5)))


@dataclass(frozen=True)
class SampledGaussian:
    """P = (1 − q)·N(0, 1) + q·N(m, 1) and Q = N(0, 1); where `added`, the other way round."""

    q: float
    m: float
    added: bool = False

    @property
    def small(self) -> bool:
        return self.q < 1

    def ends(self, rare: float) -> tuple[float, float]:
        if self.added:
            low, high = -_log_ratio(self.q, self.m, np.array([_LOW, -_beyond(rare)]))
        else:
            low, high = _log_ratio(self.q, self.m, np.array([-_LOW, _top(self.q, self.m, rare)]))
        return float(low), float(high)

    def deltas(self, t: np.ndarray) -> np.ndarray:
        from scipy.special import log_ndtr, ndtr

        x = self._place(-t if self.added else t)
        squares = np.square(x) + np.square(x - self.m)
        if self.added:
            with np.errstate(divide="ignore"):
                log = np.log((1 - self.q) * ndtr(x) + self.q * ndtr(x - self.m))
            return difference(ndtr(x), np.exp(np.minimum(t + log, 0.0)), squares)
        first = (1 - self.q) * ndtr(-x) + self.q * ndtr(self.m - x)
        return difference(first, np.exp(np.minimum(t + log_ndtr(-x), 0.0)), squares)

    def _place(self, t: np.ndarray) -> np.ndarray:
        """The x where the logarithm of mixture over N(0, 1) is t, or the end of all that has a chance on that side."""
        if self.q == 1:
            return np.clip(t / self.m + self.m / 2, -_END, self.m + _END)
        above = np.maximum(t - math.log1p(-self.q), 0.0)
        with np.errstate(divide="ignore"):
            x = (t - math.log(self.q) + np.log(-np.expm1(-above))) / self.m + self.m / 2
        return np.clip(x, -_END, self.m + _END)

    def nodes(self, rare: float) -> tuple[np.ndarray, np.ndarray]:
        if self.added:
            return -_log_ratio(self.q, self.m, _NODES), _WEIGHTS
        x, weights = _mixture(self.q, self.m, rare)
        return _log_ratio(self.q, self.m, x), weights


@dataclass(frozen=True)
class ExchangedGaussian:
    """P = (1 − q)·N(0, 1) + q·N(m, 1) and Q = (1 − q)·N(0, 1) + q·N(−m, 1)."""

    q: float
    m: float

    @property
    def small(self) -> bool:
        return True

    def ends(self, rare: float) -> tuple[float, float]:
        low, high = self._loss(np.array([-_LOW - self.m, _top(self.q, self.m, rare)]))
        return float(low), float(high)

    def deltas(self, t: np.ndarray) -> np.ndarray:
        from scipy.special import log_ndtr, ndtr

        x = self._place(t)
        first = (1 - self.q) * ndtr(-x) + self.q * ndtr(self.m - x)
        second = math.log(self.q) + log_ndtr(-x - self.m)
        if self.q < 1:
            second = np.logaddexp(math.log1p(-self.q) + log_ndtr(-x), second)
        return difference(first, np.exp(np.minimum(t + second, 0.0)), np.square(x) + np.square(self.m + np.abs(x)))

    def _place(self, t: np.ndarray) -> np.ndarray:
        """m·x = t/2 + asinh((1 − q)/q·e^{m²/2}·sinh(t/2)), by the logarithm of what asinh is taken of."""
        if self.q == 1:
            return np.clip(t / (2 * self.m), -self.m - _END, self.m + _END)
        half = np.abs(t) / 2
        with np.errstate(divide="ignore"):
            log = half + np.log(-np.expm1(-2 * half) / 2)
        log += math.log1p(-self.q) - math.log(self.q) + self.m**2 / 2
        arc = np.where(log > 20, log + math.log(2), np.arcsinh(np.exp(np.minimum(log, 20))))
        return np.clip((t / 2 + np.sign(t) * arc) / self.m, -self.m - _END, self.m + _END)

    def nodes(self, rare: float) -> tuple[np.ndarray, np.ndarray]:
        x, weights = _mixture(self.q, self.m, rare)
        return self._loss(x), weights

    def _loss(self, x: np.ndarray) -> np.ndarray:
        return _log_ratio(self.q, self.m, x) - _log_ratio(self.q, self.m, -x)


@dataclass(frozen=True)
class Ranged:
    """The largest curve of any mechanism whose privacy loss has range ε (Dong, Durfee & Rogers 2020)."""

    epsilon: float

    @property
    def small(self) -> bool:
        return False

    def ends(self, rare: float) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    def deltas(self, t: np.ndarray) -> np.ndarray:
        """(e^{ε/2} − e^{t/2})²/(e^ε − 1) for |t| ≤ ε, in factors that neither cancel nor overflow."""
        t = np.asarray(t, dtype=np.float64)
        inside = np.square(np.expm1((np.clip(t, -self.epsilon, self.epsilon) - self.epsilon) / 2))
        inside = inside / -math.expm1(-self.epsilon)
        curve = np.where(t <= -self.epsilon, -np.expm1(np.minimum(t, 0)), np.where(t >= self.epsilon, 0.0, inside))
        return np.minimum(curve * (1 + 16 * CARE), 1.0)

    def nodes(self, rare: float) -> tuple[np.ndarray, np.ndarray]:
        first, masses, _ = discretised(self, self.epsilon / 64, 66, rare)
        return (first + np.arange(len(masses))) * self.epsilon / 64, masses


def ranged(epsilon: float) -> Ranged:
    return Ranged(max(epsilon, _LEAST_SHIFT))


def gaussian(mu: float) -> SampledGaussian:
    return SampledGaussian(1.0, max(mu, _LEAST_SHIFT))


def sampled(q: float, z: float, *, added: bool = False) -> SampledGaussian:
    return SampledGaussian(q, max(1 / z, _LEAST_SHIFT), added and q < 1)


def exchanged(q: float, z: float) -> ExchangedGaussian:
    return ExchangedGaussian(q, max(1 / z, _LEAST_SHIFT))


def _log_ratio(q: float, m: float, x: np.ndarray) -> np.ndarray:
    """log of (1 − q)·N(0, 1) + q·N(m, 1) over N(0, 1) at x."""
    shift = m * x - m**2 / 2
    if q == 1:
        return shift
    return np.where(
        shift > 1, np.logaddexp(math.log1p(-q), math.log(q) + shift), np.log1p(q * np.expm1(np.minimum(shift, 1)))
    )


def _top(q: float, m: float, rare: float) -> float:
    """What neither part of the mixture passes with more than that chance."""
    return max(_beyond(rare), m + _beyond(rare / q))


def _mixture(q: float, m: float, rare: float) -> tuple[np.ndarray, np.ndarray]:
    x = np.concatenate([_NODES, m + _NODES])
    kept = x <= _top(q, m, rare)
    return x[kept], np.concatenate([(1 - q) * _WEIGHTS, q * _WEIGHTS])[kept]


def discretised(law: Law, h: float, cells: int, rare: float) -> tuple[int, np.ndarray, float]:
    """(i, masses at i·h, (i + 1)·h, ..., mass at infinity) that stand for the losses of the law, from above.

    Between points the curve is replaced by chords in e^t; what lies below the first point is moved up to it and what
    lies above the last one to infinity. Indices stay within (−cells, cells); the first is below 0, the last above.
    """
    low, high = law.ends(rare)
    first = min(math.floor(max(low / h, 1 - cells)), -1)
    last = max(math.ceil(min(high / h, cells - 1)), 1)
    delta = law.deltas(np.arange(first, last + 1) * h)
    delta = np.maximum.accumulate(delta[::-1])[::-1]
    fall = -np.diff(delta)
    gain, loss = np.empty_like(delta), np.zeros_like(delta)
    gain[0], gain[1:] = 1 - delta[0], fall / -math.expm1(-h)
    loss[:-1] = fall / math.expm1(h) if h < 700 else 0.0
    masses = np.maximum(gain - loss, 0.0) + 8 * UNIT * (gain + loss)
    return first, masses, float(delta[-1])
