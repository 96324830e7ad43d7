"""The books: what a list of privacy events costs, by privacy-loss distributions and by Rényi divergence.

Events are plain public records. `epsilon_at` and `delta_at` compose them:

- unsampled Gaussians alone compose exactly: μ² adds, δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018);
- anything else is composed by PLD (grid 1e-4, pessimistic) and by RDP, and the smaller answer is taken
  (both are upper bounds, so is their minimum);
- `Failure` adds to δ; a sampler error γ costs (1 + e^ε)·γ once, at the total ε (docs/proofs/composition.md).

The list must have been fixed before the data were read: that is what a `Plan` is for.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacre.errors import BudgetError

GRID = 1e-4  # interval of the privacy-loss grid
SAMPLER_ERROR = 2.0**-68  # total variation of 2³² certified draws at 2⁻¹⁰⁰ each
HASH_ERROR = 2.0**-64  # 2³² texts and 2³² persons told apart by 128-bit hashes: 2·(2³²)²/2¹²⁹
_ORDERS = tuple(np.concatenate([np.linspace(1.01, 10.9, 100), np.arange(11, 64), [80, 128, 256, 512, 1024]]))


@dataclass(frozen=True)
class Gaussian:
    """An unsampled Gaussian mechanism whose sensitivity is μ noise standard deviations (relation included)."""

    mu: float


@dataclass(frozen=True)
class BoundedRange:
    """`times` exponential mechanisms, each with a privacy loss of range ε: ε-DP and ε²/8-zCDP each."""

    epsilon: float
    times: int = 1


@dataclass(frozen=True)
class PoissonGaussian:
    """`steps` Gaussian mechanisms on Poisson samples of rate q; z = σ / clip, relation as given."""

    q: float
    z: float
    steps: int
    relation: str = "add_or_remove_one"


@dataclass(frozen=True)
class Failure:
    """With at most this probability the mechanism does something its law does not cover."""

    delta: float


@dataclass(frozen=True)
class Unbounded:
    """Raw rows left the curator: no bound of any kind."""

    reason: str


Event = Gaussian | BoundedRange | PoissonGaussian | Failure | Unbounded


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of the μ-GDP mechanism, exact."""
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr, ndtr

    first = ndtr(mu / 2 - epsilon / mu)
    return float(max(0.0, first - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))))


def largest(holds, high: float, tolerance: float = 1e-12) -> float:
    """The largest x in [0, ∞) with holds(x), for a monotone `holds`, from below (so that it holds)."""
    low = 0.0
    while holds(high):
        low, high = high, 2 * high
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian_mu(epsilon: float, delta: float, others: Sequence[Event] = ()) -> float:
    """The largest μ such that Gaussian(μ), composed with `others`, is within (ε, δ)."""
    if not others:
        return largest(lambda mu: gaussian_delta(epsilon, mu) + sampler_cost(epsilon) <= delta, 1.0)
    return largest(lambda mu: delta_at([*others, Gaussian(mu)], epsilon) <= delta, 0.5, tolerance=2e-5)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The analytic Gaussian noise: the smallest σ for which adding N(0, σ²) is (ε, δ)-DP."""
    return sensitivity / gaussian_mu(epsilon, delta)


def bounded_range_delta(epsilon: float, t: np.ndarray) -> np.ndarray:
    """The largest hockey-stick divergence at t of any ε-bounded-range mechanism (Dong, Durfee & Rogers 2020)."""
    t = np.asarray(t, dtype=np.float64)
    inside = (np.exp(epsilon / 2) - np.exp(np.minimum(t, epsilon) / 2)) ** 2 / np.expm1(epsilon)
    return np.where(t <= -epsilon, -np.expm1(np.minimum(t, 0)), np.where(t >= epsilon, 0.0, inside))


def bounded_range_epsilon(epsilon: float, delta: float) -> float:
    """The largest range of one exponential mechanism that is (ε, δ)-DP."""
    return largest(lambda share: float(bounded_range_delta(share, np.asarray(epsilon))) <= delta, epsilon)


def sampler_cost(epsilon: float) -> float:
    """(1 + e^ε)γ: what the errors γ of the noise sampler and of hashed names add to δ."""
    return (1 + math.exp(min(epsilon, 700.0))) * (SAMPLER_ERROR + HASH_ERROR)


def split(events: Sequence[Event]) -> tuple[float, float, list[Event]]:
    """(μ of all unsampled Gaussians, total failure probability, the other events)."""
    mu = math.sqrt(math.fsum(e.mu**2 for e in events if isinstance(e, Gaussian)))
    failure = math.fsum(e.delta for e in events if isinstance(e, Failure))
    return mu, failure, [e for e in events if not isinstance(e, Gaussian | Failure)]


def check_composable(events: Sequence[Event]) -> None:
    """Raise BudgetError for a list that would take minutes or gigabytes to compose: no promise covers such losses.

    For lists that come from a file, before anything is composed.
    """
    sampled = [e for e in events if isinstance(e, BoundedRange | PoissonGaussian)]
    if len(set(sampled)) > 64:
        raise BudgetError(f"{len(set(sampled)):,} different selections and samples in one list; expected at most 64")
    for e in sampled:
        if isinstance(e, BoundedRange):
            mean, endless = e.times * min(e.epsilon**2 / 8, e.epsilon), e.epsilon > 64
        else:
            mean, endless = e.steps * min(1.0, (e.q / e.z) ** 2), e.z < 0.1 or e.steps > 1 << 24
        if endless or not mean <= 2_000:
            raise BudgetError(f"{e}: costs more than any promise covers, or takes too long to compose")


def delta_at(events: Sequence[Event], epsilon: float) -> float:
    """An upper bound on δ at the given ε for the composition of all events (1.0 when there is none)."""
    mu, failure, rest = split(events)
    if any(isinstance(e, Unbounded) for e in rest):
        return 1.0
    if not rest:
        bound = gaussian_delta(epsilon, mu)
    else:
        bound = min(float(_pld(mu, tuple(rest)).get_delta_for_epsilon(epsilon)), _rdp_delta(mu, rest, epsilon))
    return min(1.0, bound + failure + sampler_cost(epsilon))


def epsilon_at(events: Sequence[Event], delta: float) -> float:
    """An upper bound on ε at the given δ for the composition of all events (inf when there is none)."""
    if delta_at(events, 0.0) <= delta:
        return 0.0
    # (1 + e^ε)·γ makes the bound rise again for very large ε, so the bracket grows by small factors.
    low, high = 0.0, 0.01
    while delta_at(events, high) > delta:
        low, high = high, 1.2 * high
        if high > 60:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(events, middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=64)
def _part_pld(event: Event):
    """The privacy-loss distribution of one event that is not an unsampled Gaussian."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as distributions

    if isinstance(event, BoundedRange):
        top = math.ceil(event.epsilon / GRID)
        steps = np.arange(-top, top + 1)
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(GRID, steps, bounded_range_delta(event.epsilon, steps * GRID))
        return distributions.PrivacyLossDistribution(pmf).self_compose(event.times)
    assert isinstance(event, PoissonGaussian)
    relation = {
        "add_or_remove_one": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "zero_out": NeighboringRelation.REPLACE_SPECIAL,
        "replace_one": NeighboringRelation.REPLACE_ONE,
    }[event.relation]
    return distributions.from_gaussian_mechanism(
        event.z,
        value_discretization_interval=GRID,
        sampling_prob=event.q,
        neighboring_relation=relation,
    ).self_compose(event.steps)


def composed(events: Sequence[Event]):
    """The privacy-loss distribution of sampled Gaussians and exponential mechanisms (one or more) together."""
    return _pld(0.0, tuple(events))


@lru_cache(maxsize=64)
def _pld(mu: float, rest: tuple[Event, ...]):
    from dp_accounting.pld import privacy_loss_distribution as distributions

    total = _part_pld(rest[0]) if len(rest) == 1 else _pld(0.0, rest[:-1]).compose(_part_pld(rest[-1]))
    if mu == 0:
        return total
    return total.compose(distributions.from_gaussian_mechanism(1 / mu, value_discretization_interval=GRID))


def _rdp_delta(mu: float, rest: Sequence[Event], epsilon: float) -> float:
    """δ by Rényi divergence; 1.0 when an event has no Rényi bound here (Poisson under replace-one)."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = np.asarray(_ORDERS)
    total = orders * mu**2 / 2
    for event in rest:
        if isinstance(event, BoundedRange):
            total = total + event.times * np.minimum(orders * event.epsilon**2 / 8, event.epsilon)
        elif isinstance(event, PoissonGaussian) and event.relation != "replace_one":
            total = total + _poisson_rdp(event)
        else:
            return 1.0
    return float(rdp.compute_delta(list(_ORDERS), total.tolist(), epsilon)[0])


@contextlib.contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """That logger says errors alone, meanwhile."""
    named = logging.getLogger(logger)
    before = named.level
    named.setLevel(logging.ERROR)
    try:
        yield
    finally:
        named.setLevel(before)


@lru_cache(maxsize=64)
def _poisson_rdp(event: PoissonGaussian) -> np.ndarray:
    import dp_accounting
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(list(_ORDERS))
    step = dp_accounting.PoissonSampledDpEvent(event.q, dp_accounting.GaussianDpEvent(event.z))
    with _quiet("absl"):  # it warns of every order whose series does not converge, and leaves the order out
        accountant.compose(dp_accounting.SelfComposedDpEvent(step, event.steps))
    return np.asarray(accountant._rdp)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """δ at ε of a ρ-zCDP mechanism: inf over α of exp((α−1)(αρ−ε))/(α−1)·(1−1/α)^α (Canonne et al. 2020)."""
    from scipy.optimize import minimize_scalar

    def log_delta(log_gap: float) -> float:
        gap = math.exp(log_gap)
        alpha = 1 + gap
        return gap * (alpha * rho - epsilon) - log_gap + alpha * math.log1p(-1 / alpha)

    best = minimize_scalar(log_delta, bounds=(-12.0, 12.0), method="bounded", options={"xatol": 1e-10})
    return min(1.0, math.exp(best.fun))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest ε for which ρ-zCDP gives (ε, δ)-DP."""
    return largest(lambda epsilon: zcdp_delta(rho, epsilon) > delta, 1.0)
