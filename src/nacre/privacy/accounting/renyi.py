"""A second upper bound on δ, by Rényi divergences of closed form.

Privacy losses composed on a grid are the tighter books, but for exponential mechanisms: the curve of one is the largest
of many mechanisms, at every t another, and the composition pays for all of them at once. ε²/8-zCDP does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacre.privacy.accounting.events import BoundedRange, PoissonGaussian

_WHOLE = np.unique(np.round(np.concatenate([np.arange(2, 65), np.geomspace(65, 1024, 65)])))  # orders, beside samples
_ANY = 1 + 2.0 ** (np.arange(-320, 321) / 32)  # orders, where none is sampled
_RELATIVE, _ABSOLUTE = 2.0**-40, 2.0**-36  # rounding of the logarithm of one moment


@dataclass(frozen=True)
class Renyi:
    """δ(ε) ≤ e^{logs − slopes·ε}, for each order."""

    logs: np.ndarray
    slopes: np.ndarray

    def __call__(self, epsilon: float, gamma: float) -> float:
        """The least of δ(t) + γ·(1 + e^t) over orders and t ≤ ε."""
        with np.errstate(over="ignore"):
            turns = (self.logs + np.log(self.slopes / gamma)) / (self.slopes + 1)
            t = np.minimum(epsilon, np.maximum(turns, 0.0))
            found = np.exp(np.minimum(self.logs - self.slopes * t, 1.0)) + gamma * (1 + np.exp(np.minimum(t, 700.0)))
        return float(found.min(initial=math.inf))


NO_ORDERS = Renyi(np.array([]), np.array([]))


def renyi(mu: float, rest: Sequence[BoundedRange | PoissonGaussian]) -> Renyi:
    """The bound of all events together: e^{(α−1)(R(α) − ε)}/(α−1)·(1 − 1/α)^α (Canonne, Kamath & Steinke 2020)."""
    if any(isinstance(e, PoissonGaussian) and e.relation == "replace_one" for e in rest):
        return NO_ORDERS
    orders = _WHOLE if any(isinstance(e, PoissonGaussian) for e in rest) else _ANY
    less = orders - 1
    with np.errstate(over="ignore"):
        logs = less * orders * np.square(mu) / 2
        for event in rest:
            if isinstance(event, BoundedRange):
                logs = logs + event.times * less * np.minimum(orders * np.square(event.epsilon) / 8, event.epsilon)
            else:
                logs = logs + event.steps * np.maximum(_log_moments(event.q, event.z), 0.0)
        steps = 1 + sum(e.steps if isinstance(e, PoissonGaussian) else 1 for e in rest)
        logs = logs * (1 + _RELATIVE) + steps * _ABSOLUTE + orders * np.log1p(-1 / orders) - np.log(less)
    kept = np.isfinite(logs)
    return Renyi(logs[kept], less[kept])


def _log_moments(q: float, z: float) -> np.ndarray:
    """log Σ_k C(α, k)·(1 − q)^{α−k}·q^k·e^{k(k−1)/2z²}: (α − 1)·R(α) of a sampled Gaussian at whole orders.

    That is the direction of removal, which is the larger one (Mironov, Talwar & Zhang 2019).
    """
    from scipy.special import gammaln, logsumexp

    if q == 1:
        return _WHOLE * (_WHOLE - 1) / (2 * z * z)
    alpha, k = _WHOLE[:, None], np.arange(_WHOLE[-1] + 1)[None, :]
    rest = np.maximum(alpha - k, 0)
    terms = gammaln(alpha + 1) - gammaln(k + 1) - gammaln(rest + 1) + rest * math.log1p(-q) + k * math.log(q)
    return np.asarray(logsumexp(np.where(k <= alpha, terms + k * (k - 1) / 2 / z / z, -np.inf), axis=1))
