"""The accountant against lower bounds that need no accountant, against another accountant, and in order.

A test for one event S gives δ ≥ P(S) − e^ε·Q(S) for every mechanism, whatever composes it. For sums of Poisson-sampled
Gaussians S is a half-space, beside an unsampled Gaussian a half-space across both, and under P the sum is a mixture of
binomially many Gaussians, exactly. For exponential mechanisms between two candidates all outcomes are counted.
Everything is done in logarithms, to relative errors near 1e-12. The ratio of `delta_at` to such a bound must never be
below 1; nor to the optimistic answer of dp-accounting, where that is above its own noise. And answers must come in the
order of what is asked: exactly for epsilon, delta and steps, for noise up to what they are above the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange, Event, Gaussian, PoissonGaussian
from nacre.privacy.ledger import cost
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy

EPSILONS = 25  # per list of events: between the δ of 0.3 and of 1e-16
LEAST = 1e-16
ROUNDING = 1e-11  # of the lower bound, relative to P(S)
ITS_NOISE = 1e-12  # of dp-accounting: its transforms leave 1e-13, of either sign


@dataclass(frozen=True)
class Mixture:
    """log of weights, and means of unit Gaussians under P; under Q the mean is 0, or, `exchanged`, minus that of P."""

    logs: np.ndarray
    means: np.ndarray
    exchanged: bool = False

    def bound(self, epsilon: float) -> float:
        """δ(ε) of the best half-space {s > c}, from below."""
        low, high = -60.0, 60.0 + float(self.means.max())
        for _ in range(50):
            c = (low + high) / 2
            low, high = (c, high) if self._density(c, 1) - self._density(c, -1) < epsilon else (low, c)
        inside = math.exp(self._above(high, 1))
        outside = math.exp(min(epsilon + self._above(high, -1), 0.0))
        return inside * (1 - ROUNDING) - outside * (1 + ROUNDING)

    def _density(self, c: float, side: int) -> float:
        """log of the density of P (1) or Q (-1) over that of a unit Gaussian around 0."""
        if side < 0 and not self.exchanged:
            return 0.0
        return float(logsumexp(self.logs + side * self.means * c - self.means**2 / 2))

    def _above(self, c: float, side: int) -> float:
        if side < 0 and not self.exchanged:
            return float(log_ndtr(-c))
        return float(logsumexp(self.logs + log_ndtr(side * self.means - c)))


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
    """Lists of events with their lower bounds: samples (every fifth of exchanged units), samples and a Gaussian, picks
    and a Gaussian, in turn."""
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
        if i % 5 == 1 and not mu:
            yield [PoissonGaussian(q, z, steps, "replace_one")], replace(sampled(q, z, steps), exchanged=True).bound
            continue
        yield [PoissonGaussian(q, z, steps), *([Gaussian(mu)] if mu else [])], sampled(q, z, steps, mu).bound


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
    """Ratios of what was answered to what must not be undercut; for orders, of the larger to the smaller answer."""

    ratios: list[float] = field(default_factory=list)
    least: float = 1.0  # the smallest δ of a lower bound that was compared

    def add(self, ours: float, bound: float, least: float = LEAST) -> None:
        if bound >= least:
            self.ratios.append(ours / bound)
            self.least = min(self.least, bound)

    def figures(self) -> dict[str, float]:
        excess = np.asarray(self.ratios) - 1
        return {"settings": len(excess), "violations": int((excess < 0).sum()), "least_excess": float(excess.min()),
                "median_excess": float(np.median(excess)), "least_delta": self.least}  # fmt: skip


def check_deltas(count: int, seed: int = 0) -> Found:
    """`delta_at` over the lower bound, on about that many settings of (events, ε)."""
    found = Found()
    for events, bound in lists(math.ceil(count / EPSILONS), seed):
        for epsilon in settings(bound, EPSILONS):
            found.add(accounting.delta_at(events, epsilon), bound(epsilon))
    return found


def check_ledger(count: int, seed: int = 1) -> Found:
    """The Gaussian and the failure that a release is charged, over the lower bound, on all of its curve."""
    found, rng = Found(), np.random.default_rng(seed)
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


def check_peer(count: int, seed: int = 2) -> Found:
    """`delta_at` over the optimistic answer of dp-accounting, for samples beside Gaussians."""
    from dp_accounting import pld

    laws, found, rng = pld.privacy_loss_distribution, Found(), np.random.default_rng(seed)
    for _ in range(math.ceil(count / EPSILONS)):
        q, steps = float(10 ** rng.uniform(-3, -0.5)), int(10 ** rng.uniform(0, 3))
        z, mu = float(rng.uniform(0.7, 4) * max(1.0, q * math.sqrt(steps))), float(10 ** rng.uniform(-1.5, 0))
        told = {"value_discretization_interval": 1e-3, "pessimistic_estimate": False, "use_connect_dots": False}
        theirs = laws.from_gaussian_mechanism(z, sampling_prob=q, **told).self_compose(steps)
        theirs = theirs.compose(laws.from_gaussian_mechanism(1 / mu, **told))
        events = [PoissonGaussian(q, z, steps), Gaussian(mu)]
        for epsilon in np.linspace(0, accounting.epsilon_at(events, 10 * ITS_NOISE), EPSILONS):
            lower = float(theirs.get_delta_for_epsilon(epsilon))
            found.add(accounting.delta_at(events, float(epsilon)), lower, 10 * ITS_NOISE)
    return found


Costs = tuple[float, float]  # what must be no less, and what must be no more


def check_order(count: int, seed: int = 3) -> Found:
    """delta over that of a larger epsilon, epsilon over that of a larger delta, more steps or picks over fewer."""
    return _pairs(count, seed, (_by_epsilon, _by_delta, _by_times))


def check_noise(count: int, seed: int = 4) -> Found:
    """A larger rate or range over a smaller, less noise over more: up to what the answers are above the truth."""
    return _pairs(count, seed, (_by_rate, _by_noise))


def _pairs(count: int, seed: int, ways: Sequence[Callable[[list[Event], float, float], Costs]]) -> Found:
    """One number of a list, or what is asked, made larger by a little or a lot."""
    found, rng = Found(), np.random.default_rng(seed)
    for events, bound in lists(math.ceil(count / EPSILONS), seed):
        low, high = settings(bound, 2)
        for i in range(EPSILONS):
            epsilon, by = float(rng.uniform(low, 2 * high - low)), 1 + float(10 ** rng.uniform(-12, 0.3))
            found.add(*ways[i % len(ways)](events, epsilon, by))
    return found


def _by_epsilon(events: list[Event], epsilon: float, by: float) -> Costs:
    return accounting.delta_at(events, epsilon), accounting.delta_at(events, epsilon * by)


def _by_delta(events: list[Event], epsilon: float, by: float) -> Costs:
    delta = min(max(accounting.delta_at(events, epsilon), LEAST), 0.4)
    return accounting.epsilon_at(events, delta), accounting.epsilon_at(events, delta * by)


def _by_times(events: list[Event], epsilon: float, by: float) -> Costs:
    one = events[0]
    assert isinstance(one, PoissonGaussian | BoundedRange)
    name = "steps" if isinstance(one, PoissonGaussian) else "times"
    return _dearer(events, epsilon, **{name: math.ceil(getattr(one, name) * by)})


def _by_rate(events: list[Event], epsilon: float, by: float) -> Costs:
    one = events[0]
    if isinstance(one, PoissonGaussian):
        return _dearer(events, epsilon, q=min(1.0, one.q * by))
    assert isinstance(one, BoundedRange)
    return _dearer(events, epsilon, epsilon=one.epsilon * by)


def _by_noise(events: list[Event], epsilon: float, by: float) -> Costs:
    one = events[0]
    return _dearer(events, epsilon, z=one.z / by) if isinstance(one, PoissonGaussian) else _by_rate(events, epsilon, by)


def _dearer(events: list[Event], at: float, **changes: float) -> Costs:
    changed = [replace(events[0], **changes), *events[1:]]
    return accounting.delta_at(changed, at), accounting.delta_at(events, at)


CHECKS: dict[str, tuple[Callable[[int, int], Found], str, float]] = {  # of how many settings
    "half-spaces": (check_deltas, "delta_at over what one test finds", 1.0),
    "ledger": (check_ledger, "the charge of a release over what one test finds", 0.25),
    "dp-accounting": (check_peer, "delta_at over the optimistic answer of dp-accounting", 0.25),
    "order": (check_order, "answers in order of epsilon, delta, steps and picks", 0.5),
    "noise": (check_noise, "answers in order of rate, range and noise", 0.5),
}
ONLY = tuple(CHECKS)
COUNT = 4_000


def run(options: Options, results: Results) -> None:
    """Every seed has lists of its own."""
    for name in options.of(ONLY):
        check, dataset, share = CHECKS[name]
        for seed in range(options.seeds):
            if not results.has(name, seed):
                count = math.ceil(share * (100 if options.quick else COUNT))
                figures = check(count, seed).figures()
                print(f"{name}, seed {seed}: {figures}", flush=True)
                results.add(Setting(name, dataset, guarantee=None), seed, figures, name)
                results.write()
