"""The books: what a list of privacy events costs.

`epsilon_at` and `delta_at` compose events and never answer below the truth (docs/proofs/composition.md):

- unsampled Gaussians alone compose exactly: μ² adds, δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018);
- anything else is composed by privacy losses on a grid, with an allowance for every rounding (`composition`), and by
  Rényi divergences of closed form (`renyi`): both are upper bounds, so is the smaller;
- `Failure` adds to δ; a sampler error γ costs (1 + e^ε)·γ once, at the total ε.

The list must have been fixed before the data were read: that is what a `Plan` is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from nacre.errors import BudgetError
from nacre.privacy.accounting.composition import NO_BOUND, Curve, Term, compose
from nacre.privacy.accounting.events import BoundedRange as BoundedRange
from nacre.privacy.accounting.events import Event as Event
from nacre.privacy.accounting.events import Failure as Failure
from nacre.privacy.accounting.events import Gaussian as Gaussian
from nacre.privacy.accounting.events import PoissonGaussian as PoissonGaussian
from nacre.privacy.accounting.events import Unbounded as Unbounded
from nacre.privacy.accounting.events import check_composable as check_composable
from nacre.privacy.accounting.events import merged, wrong
from nacre.privacy.accounting.events import split as split
from nacre.privacy.accounting.losses import CARE, Ranged, exchanged, gaussian, ranged, sampled
from nacre.privacy.accounting.renyi import NO_ORDERS, renyi
from nacre.privacy.budget import check_delta

SAMPLER_ERROR = 2.0**-68  # total variation of 2³² certified draws at 2⁻¹⁰⁰ each
HASH_ERROR = 2.0**-64  # 2³² texts and 2³² persons told apart by 128-bit hashes: 2·(2³²)²/2¹²⁹
GAMMA = SAMPLER_ERROR + HASH_ERROR
_DEVIATION = 9.0  # passed with chance 1.1e-19: a little before the turning point, where that chance is γ = 5.8e-20
_UP = 1 + 2.0**-48  # covers the last few roundings
_STRONGEST, _FAINTEST = 1e12, 1e-12  # losses above the one are taken for infinite, a budget below the other for none
_SOME = 64  # events for which a second bound is worth its time
_OCTAVE = 2**15  # steps of a factor 2 in which μ beside other events is found


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of the μ-GDP mechanism, from above: exact but for what rounding may have taken, which is put back."""
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr, ndtr

    ratio = epsilon / mu
    if not (ratio < 1e150 and mu < _STRONGEST):  # the tails of the normal law end at 38
        return 0.0 if ratio > mu else 1.0
    first = float(ndtr(mu / 2 - ratio))
    second = math.exp(min(epsilon + float(log_ndtr(-mu / 2 - ratio)), 0.0))
    care = CARE * (8 + 4 * (mu / 2 + ratio) ** 2)
    return min(1.0, max(0.0, first - second + care * (first + second)))


def largest(holds: Callable[[float], bool], high: float, tolerance: float = 1e-12) -> float:
    """The largest x in [0, 2^1000] with holds(x), for a monotone `holds`, from below (so that it holds); 0 if none."""
    low, most = 0.0, 2.0**1000
    while holds(high):
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > tolerance * high and high > 2.0**-1000:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def last_within(excess: Callable[[int], float], start: int, stride: int, ends: tuple[int, int]) -> int | None:
    """The largest whole number within the ends whose excess is not positive, for an excess that rises; None if none is.

    It depends on the excess alone, not on the way: where less may be spent, no more is answered. The search begins at
    `start` in steps of `stride`, then follows chords.
    """
    at = lru_cache(maxsize=None)(excess)
    low = high = start
    while at(high) <= 0:
        if high == ends[1]:
            return high
        low, high, stride = high, min(ends[1], high + stride), 4 * stride
    while at(low) > 0:
        if low == ends[0]:
            return None
        low, high, stride = max(ends[0], low - stride), low, 4 * stride
    below, above, side = at(low), at(high), 0
    while high - low > 1:
        middle = min(max(low + round((high - low) * below / (below - above)), low + 1), high - 1)
        if at(middle) <= 0:
            above, side = above / 2 if side < 0 else above, -1
            low, below = middle, at(middle)
        else:
            below, side = below / 2 if side > 0 else below, 1
            high, above = middle, at(middle)
    return low


def gaussian_mu(epsilon: float, delta: float, others: Sequence[Event] = ()) -> float:
    """The largest μ such that Gaussian(μ), composed with `others`, is within (ε, δ): alone to 1e-12, else to 2e-5.

    BudgetError where no Gaussian is, because others spend it or because the sampler's own error does.
    """
    check_delta(delta)

    def excess(mu: float) -> float:
        return math.log(delta_at([*others, Gaussian(mu)], epsilon) / delta)

    if others:
        most = 16 * _OCTAVE
        found = last_within(lambda k: excess(2.0 ** (k / _OCTAVE)), -2 * _OCTAVE, _OCTAVE, (-4 * most, most))
        mu = 2.0 ** (found / _OCTAVE) if found is not None else 0.0
    else:
        mu = largest(lambda mu: _alone(mu, epsilon) * _UP <= delta, 1.0)
    if not _FAINTEST < mu < _STRONGEST:
        raise BudgetError(
            f"epsilon={epsilon:g}, delta={delta:g}: no Gaussian noise fits within (mu would be {mu:.3g}). Raise "
            "epsilon or delta, or spend less on the rest"
        )
    return mu


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The analytic Gaussian noise: the smallest σ for which adding N(0, σ²) is (ε, δ)-DP."""
    return sensitivity / gaussian_mu(epsilon, delta)


def bounded_range_delta(epsilon: float, t: np.ndarray) -> np.ndarray:
    """The largest hockey-stick divergence at t of any ε-bounded-range mechanism (Dong, Durfee & Rogers 2020)."""
    return Ranged(epsilon).deltas(t)


def bounded_range_epsilon(epsilon: float, delta: float) -> float:
    """The largest range of one exponential mechanism that is (ε, δ)-DP."""
    return largest(lambda share: float(bounded_range_delta(share, np.asarray(epsilon))) <= delta, epsilon)


def sampler_cost(epsilon: float) -> float:
    """(1 + e^ε)γ: what the errors γ of the noise sampler and of hashed names add to δ."""
    return (1 + math.exp(min(epsilon, 700.0))) * GAMMA


def delta_at(events: Sequence[Event], epsilon: float) -> float:
    """An upper bound on δ at the given ε for the composition of all events (1.0 when there is none).

    It falls in ε: the sampler's cost rises with ε, and what holds at a smaller ε holds.
    """
    if not epsilon >= 0:
        raise BudgetError(f"epsilon={epsilon!r}: expected a number, 0 or more")
    for event in events:
        if wrong(event):
            raise BudgetError(wrong(event))
    if any(isinstance(e, Unbounded) for e in events):
        return 1.0
    mu, failure, rest = split(events)
    chosen = merged(rest)
    spent = _together(mu, chosen)(epsilon) if chosen else _alone(mu, epsilon)
    return min(1.0, (spent + failure) * _UP)


def epsilon_at(events: Sequence[Event], delta: float) -> float:
    """An upper bound on ε at the given δ for the composition of all events (inf when there is none)."""
    check_delta(delta)
    if delta_at(events, 0.0) <= delta:
        return 0.0
    if delta_at(events, math.inf) > delta:
        return math.inf
    low, high = 0.0, 0.01
    while delta_at(events, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(events, middle) <= delta else (middle, high)
    return high


def _alone(mu: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian, with the sampler's cost; from Φ(−μ/2 − ε/μ) = γ on, more ε costs more than it brings."""
    turn = max(0.0, mu * (_DEVIATION - mu / 2)) if mu < _STRONGEST else 0.0
    return _turned(lambda e: gaussian_delta(e, mu), turn, epsilon)


def _turned(curve: Callable[[float], float], turn: float, epsilon: float) -> float:
    """The least of curve + sampler's cost up to ε, for a sum that falls until `turn`."""
    return curve(min(epsilon, turn)) + sampler_cost(min(epsilon, turn))


@lru_cache(maxsize=16)
def _together(mu: float, rest: tuple[BoundedRange | PoissonGaussian, ...]) -> Callable[[float], float]:
    """δ(ε) of selections and samples beside a Gaussian, with the sampler's cost."""
    one = rest[0]
    if mu == 0 and len(rest) == 1 and isinstance(one, BoundedRange) and one.times == 1 and one.epsilon < 700:
        last = max(0.0, one.epsilon - 2 * math.log1p(GAMMA * math.expm1(one.epsilon)))
        return lambda epsilon: _turned(lambda e: float(bounded_range_delta(one.epsilon, np.asarray(e))), last, epsilon)
    curve, other = _composed(mu, rest), renyi(mu, rest) if len(rest) <= _SOME else NO_ORDERS
    turn = curve.turn(GAMMA)
    return lambda epsilon: min(_turned(lambda e: float(curve(e)), turn, epsilon), other(epsilon, GAMMA))


def composed(events: Sequence[Event]) -> Curve:
    """The curve of the selections and samples of a list, together, without the sampler's error."""
    return _composed(0.0, merged(events))


def _composed(mu: float, rest: tuple[BoundedRange | PoissonGaussian, ...]) -> Curve:
    if max(mu, *(e.epsilon if isinstance(e, BoundedRange) else 1 / e.z for e in rest)) > _STRONGEST:
        return NO_BOUND
    one_sided = any(isinstance(e, PoissonGaussian) and e.relation != "replace_one" for e in rest)
    return compose([_terms(mu, rest, added) for added in ((False, True) if one_sided else (False,))])


def _terms(mu: float, rest: Sequence[BoundedRange | PoissonGaussian], added: bool) -> list[Term]:
    """The laws of one direction between neighbours: a unit removed, or added."""
    found: list[Term] = [(gaussian(mu), 1)] if mu > 0 else []
    for event in rest:
        if isinstance(event, BoundedRange):
            found.append((ranged(event.epsilon), event.times))
        elif event.relation == "replace_one":
            found.append((exchanged(event.q, event.z), event.steps))
        else:
            found.append((sampled(event.q, event.z, added=added), event.steps))
    return found


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
    """The smallest ε for which ρ-zCDP gives (ε, δ)-DP, from above."""
    return largest(lambda epsilon: zcdp_delta(rho, epsilon) > delta, 1.0) * (1 + 1e-11)
