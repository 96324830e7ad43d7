"""How an attack does: shares with their intervals, and the area under its curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def rate_of(hits: int, of: int, level: float = 0.95) -> Rate:
    """Clopper-Pearson: the beta quantiles, [0, 1] when nothing was tried."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 or of == 0 else float(beta.ppf(tail, hits, of - hits + 1))
    high = 1.0 if hits == of or of == 0 else float(beta.ppf(1 - tail, hits + 1, of - hits))
    return Rate(int(hits), int(of), low, high)


def area(near: np.ndarray, far: np.ndarray) -> tuple[float, float]:
    """P(member closer than other), ties half; standard error by the placements of both sides (DeLong)."""
    ordered = np.sort(far)
    above = len(far) - (np.searchsorted(ordered, near, "left") + np.searchsorted(ordered, near, "right")) / 2
    ordered = np.sort(near)
    below = (np.searchsorted(ordered, far, "left") + np.searchsorted(ordered, far, "right")) / 2
    spread = np.var(above / len(far), ddof=1) / len(near) if len(near) > 1 else np.inf
    spread += np.var(below / len(near), ddof=1) / len(far) if len(far) > 1 else np.inf
    return float(above.mean() / len(far)), float(np.sqrt(spread))


def found_at(near: np.ndarray, far: np.ndarray, rate: float) -> Rate:
    """Members closer than all but `rate` of the others: at most that share of false alarms."""
    allowed = int(rate * len(far) + 1e-9)
    return rate_of(int((near < np.sort(far)[min(allowed, len(far) - 1)]).sum()), len(near))
