"""What a plan costs a population: whole units of μ² and of δ, rounded up.

A release counts as a Gaussian mechanism of parameter μ that fails with probability δ': its curve must lie below
δ' + (1 − δ')·δ_μ(t) at every t. Such releases add up, in whatever order and however chosen: μ² and δ' add
(docs/proofs/ledger.md). For unsampled Gaussians nothing is lost; other events are covered by the smallest Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacre.errors import BudgetError, BudgetExceeded, LedgerTampered
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange, Event, Failure, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.ledger.policy import FAILURE_UNIT, UNIT, Policy
from nacre.table.documents import UNFIT

KINDS = {kind.__name__: kind for kind in (Gaussian, BoundedRange, PoissonGaussian, Failure)}
_MARGIN = 1 + 1e-12  # floats are rounded to nearest: a little more than they say is charged
_TAILS = tuple(2.0**-k for k in range(4, 15, 2))  # shares of the failure cap that a covered tail may take
_STEPS = 1 << 12  # points of the curve that is to be covered


@dataclass(frozen=True)
class Cost:
    """Whole units, both 1 or more."""

    units: int
    failure: int

    def __post_init__(self) -> None:
        if self.units < 1 or self.failure < 1:
            raise ValueError(f"a release cannot cost nothing: {self}")


def whole(amount: float, unit: float) -> int:
    """Units that cover the amount: rounded up, 1 at least."""
    return max(1, math.ceil(amount / unit * _MARGIN))


def cost_of(events: Sequence[Event], policy: Policy) -> Cost:
    """What these events cost a population. BudgetExceeded where no cap covers them (raw rows)."""
    for event in events:
        if isinstance(event, Unbounded):
            raise BudgetExceeded(
                f"{event.reason or 'raw rows'}: no cap covers rows that leave unprotected, so a ledger cannot pay for "
                "it; nothing was read"
            )
    mu, failure, rest = accounting.split(events)
    # Every release may err once more in its sampler: (1 + e^ε)γ at the ε of the population.
    failure += accounting.sampler_cost(policy.epsilon)
    squared = mu**2
    if rest:
        covered, tail = _cover(tuple(rest), policy.unit_cap * UNIT, policy.failure_cap * FAILURE_UNIT)
        squared, failure = squared + covered**2, failure + tail
    return Cost(whole(squared, UNIT), whole(failure, FAILURE_UNIT))


@lru_cache(maxsize=64)
def _cover(rest: tuple[Event, ...], squares: float, failures: float) -> tuple[float, float]:
    """(μ, δ') whose curve lies above that of `rest`; of several δ', the one that takes the least of both caps."""
    t, curve = sampled_curve(accounting.composed(rest), min(_TAILS) * failures)
    found = []
    for share in _TAILS:
        mu = covering_mu(t, curve, share * failures)
        found.append((mu**2 / squares + share, mu, share * failures))
    _, mu, tail = min(found)
    return mu, tail


def sampled_curve(curve: Any, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Points t from 0 to where the curve falls to `tail`, and the curve there."""
    end = 1e-3
    while float(curve(end)) > tail:
        end *= 1.5
        if end > 1e3:
            raise BudgetExceeded("the privacy loss is too large to be covered by any Gaussian; use more noise")
    t = np.linspace(0.0, end, _STEPS + 1)
    return t, np.asarray(curve(t), dtype=np.float64)


def covering_mu(t: np.ndarray, curve: np.ndarray, tail: float) -> float:
    """The smallest μ with curve(t) ≤ tail + (1 − tail)·δ_μ(t) for all real t.

    t ≥ 0 is enough when the curve is the larger of both directions. Between two points both sides fall, so the curve at
    the left one is compared with the Gaussian at the right one; from the last point on the curve is below the tail.
    """
    left = (curve[:-1] - tail) / (1 - tail)

    def below(mu: float) -> bool:
        return not np.all(left <= _gaussian_curve(t[1:], mu))

    return accounting.largest(below, 1.0, tolerance=1e-9) * (1 + 1e-8)


def _gaussian_curve(t: np.ndarray, mu: float) -> np.ndarray:
    from scipy.special import log_ndtr, ndtr

    if mu == 0:
        return np.zeros_like(t)
    return ndtr(mu / 2 - t / mu) - np.exp(np.minimum(t + log_ndtr(-mu / 2 - t / mu), 0.0))


def to_json(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [{"event": type(event).__name__, **asdict(event)} for event in events]


def from_json(data: Sequence[dict[str, Any]]) -> list[Event]:
    try:
        found: list[Event] = [KINDS[e["event"]](**{k: v for k, v in e.items() if k != "event"}) for e in data]
        accounting.check_composable(found)
        return found
    except (*UNFIT, BudgetError) as error:
        raise LedgerTampered(f"an event in the ledger cannot be read ({error}); restore the ledger") from None
