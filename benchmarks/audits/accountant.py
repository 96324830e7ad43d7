"""The accountant against lower bounds that need no accountant: python -m benchmarks.audits.accountant [settings].

A test for one event S gives δ ≥ P(S) − e^ε·Q(S) for every mechanism, whatever composes it. For sums of Poisson-sampled
Gaussians S is a half-space, beside an unsampled Gaussian a half-space across both, and under P the sum is a mixture of
binomially many Gaussians, exactly. For exponential mechanisms between two candidates all outcomes are counted.
Everything is done in logarithms, to relative errors near 1e-12. The ratio of `delta_at` to such a bound must never be
below 1.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange, Event, Gaussian, PoissonGaussian
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy

EPSILONS = 25  # per list of events: between the δ of 0.3 and of 1e-16
LEAST = 1e-16
ROUNDING = 1e-11  # of the lower bound, relative to P(S)


@dataclass(frozen=True)
class Mixture:
    """log of weights, and means of unit Gaussians under P; under Q the mean is 0."""

    logs: np.ndarray
    means: np.ndarray

    def bound(self, epsilon: float) -> float:
        """δ(ε) of the best half-space {s > c}, from below."""
        low, high = -60.0, 60.0 + float(self.means.max())
        for _ in range(50):
            c = (low + high) / 2
            ratio = logsumexp(self.logs + self.means * c - self.means**2 / 2)
            low, high = (c, high) if ratio < epsilon else (low, c)
        inside = float(np.exp(logsumexp(self.logs + log_ndtr(self.means - high))))
        outside = math.exp(min(epsilon + float(log_ndtr(-high)), 0.0))
        return inside * (1 - ROUNDING) - outside * (1 + ROUNDING)


def sampled(q: float, z: float, steps: int, mu: float = 0.0) -> Mixture:
    """Sums of `steps` samples and an unsampled Gaussian, along the direction in which their means differ."""
    mean, spread = steps * q, math.sqrt(steps * q * (1 - q))
    first, last = math.floor(max(0, mean - 9 * spread)), math.ceil(min(steps, mean + 9 * spread + 40))
    k = np.arange(first, last + 1)
    logs = gammaln(steps + 1) - gammaln(k + 1) - gammaln(steps - k + 1) + k * math.log(q)
    logs = logs + ((steps - k) * math.log1p(-q) if q < 1 else np.where(k == steps, 0.0, -np.inf))
    one = 1 / (z * math.sqrt(steps))
    length = math.hypot(one * mean, mu)
    return Mixture(logs, (k * one * one * mean + mu * mu) / length)


def picked(epsilon: float, times: int, mu: float) -> Callable[[float], float]:
    """δ of `times` choices between two candidates beside a Gaussian, for the best of several leanings."""

    def bound(at: float) -> float:
        return max(_between_two(epsilon, times, mu, lean, at) for lean in np.linspace(0.05, 0.95, 19))

    return bound


def _between_two(epsilon: float, times: int, mu: float, lean: float, at: float) -> float:
    """Candidate 1 has chance `lean` under Q and odds e^ε times as large under P: all numbers of picks of it."""
    j = np.arange(times + 1)
    ways = gammaln(times + 1) - gammaln(j + 1) - gammaln(times - j + 1)
    total = math.log1p(lean * math.expm1(epsilon))
    q = ways + j * math.log(lean) + (times - j) * math.log1p(-lean)
    p = q + j * epsilon - times * total
    loss = p - q
    if mu == 0:
        first, second = p[loss > at], q[loss > at]
    else:
        edge = (at - loss) / mu
        first, second = p + log_ndtr(mu / 2 - edge), q + log_ndtr(-mu / 2 - edge)
    if not len(first):
        return 0.0
    return float(np.exp(logsumexp(first)) * (1 - ROUNDING) - np.exp(at + logsumexp(second)) * (1 + ROUNDING))


def lists(count: int, seed: int = 0) -> Iterator[tuple[list[Event], Callable[[float], float]]]:
    """Lists of events with their lower bounds: samples, samples and a Gaussian, picks and a Gaussian, in turn."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        if i % 4 == 3:
            times, mu = int(10 ** rng.uniform(0, 2.3)), float(rng.choice([0.0, 10 ** rng.uniform(-1.5, 0)]))
            epsilon = float(10 ** rng.uniform(-0.7, 0.6) / math.sqrt(times))
            yield [BoundedRange(epsilon, times), *([Gaussian(mu)] if mu else [])], picked(epsilon, times, mu)
            continue
        q = float(10 ** rng.uniform(-4, 0)) if rng.random() < 0.95 else 1.0
        steps = int(10 ** rng.uniform(0, 4.5)) if rng.random() < 0.7 else 1
        z = float(10 ** rng.uniform(-0.3, 0.8) * max(1.0, q * math.sqrt(steps)))
        mu = float(10 ** rng.uniform(-1.5, 0)) if i % 4 == 2 else 0.0
        mixture = sampled(q, z, steps, mu)
        yield [PoissonGaussian(q, z, steps), *([Gaussian(mu)] if mu else [])], mixture.bound


def settings(bound: Callable[[float], float], count: int) -> list[float]:
    """Epsilons between which the lower bound falls from 0.3 (or from its largest) to 1e-16."""
    high = 1e-3
    while bound(high) > LEAST and high < 1e3:
        high *= 1.3
    low = high
    while bound(low) < 0.3 and low > 1e-4:
        low /= 1.3
    return [float(e) for e in np.linspace(low, high, count + 1)[:-1]]


@dataclass
class Found:
    """How many settings were checked, and the smallest and the median ratio."""

    ratios: list[float]
    least: float = 1.0  # the smallest δ of a lower bound that was compared

    def add(self, ours: float, bound: float) -> None:
        if bound >= LEAST:
            self.ratios.append(ours / bound)
            self.least = min(self.least, bound)

    def __str__(self) -> str:
        r = np.asarray(self.ratios)
        return (
            f"{len(r):,} settings, deltas from {self.least:.1e}: smallest ratio 1 + {r.min() - 1:.2g}, median "
            f"{np.median(r):.4f}, largest {r.max():.3g}"
        )


def check_deltas(count: int, seed: int = 0) -> Found:
    """`delta_at` over the lower bound, on about that many settings of (events, ε)."""
    found = Found([])
    for events, bound in lists(math.ceil(count / EPSILONS), seed):
        for epsilon in settings(bound, EPSILONS):
            found.add(accounting.delta_at(events, epsilon), bound(epsilon))
    return found


def check_ledger(count: int, seed: int = 1) -> Found:
    """The Gaussian and the failure that a release is charged, over the lower bound, on all of its curve."""
    found, rng = Found([]), np.random.default_rng(seed)
    for events, bound in lists(math.ceil(count / EPSILONS), seed):
        delta = float(10 ** rng.uniform(-15, -5))
        try:
            charged = cost.cost_of(events, Policy(3.0, delta))
        except accounting.BudgetError:
            continue
        mu, tail = math.sqrt(charged.units * UNIT), charged.failure * FAILURE_UNIT
        for epsilon in settings(bound, EPSILONS):
            exact = sampled(1.0, 1 / mu, 1).bound(epsilon) * (1 + 3 * ROUNDING)
            found.add(tail + (1 - tail) * exact, bound(epsilon))
    return found


def main(count: int) -> None:
    for name, check, share in (("delta_at", check_deltas, count), ("ledger", check_ledger, count // 4)):
        start = time.perf_counter()
        print(f"{name}: {check(share)}; {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
