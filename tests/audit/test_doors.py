"""White-box audits of the Gaussian doors: claims stand, audits are tight, and noise that is too small is refuted.

10,000 draws, seeds of the operating system: a claim is refuted by chance with probability at most 1e-6 per audit.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nacre.audit.bounds import Guesses
from nacre.audit.doors import (
    GAUSSIAN_DOORS,
    RANGE_DOORS,
    audit_door,
    audit_poisson,
    audit_range_door,
    poisson_threshold,
)
from nacre.errors import NacreError
from nacre.privacy import opening as rooms
from nacre.privacy.accounting.accountant import PoissonGaussian, epsilon_at

DRAWS, ALPHA = 10_000, 1e-6


SLOW_DOORS = ("bounds", "teach")


@pytest.mark.parametrize(
    "door", [pytest.param(d, marks=pytest.mark.slow) if d in SLOW_DOORS else d for d in GAUSSIAN_DOORS]
)
def test_claims_stand_and_audits_are_tight(door):
    bound = audit_door(door, 1.0, DRAWS, ALPHA)
    assert not bound.refuted, str(bound)
    assert bound.value > 0.75, str(bound)  # about .86 with a spread of .02: five of them


@pytest.mark.parametrize("door", [pytest.param(d, marks=pytest.mark.slow) if d == "select" else d for d in RANGE_DOORS])
def test_choices_stand_and_are_near(door):
    """The ratio of the rare outcome tends to e^ε: with four voices against it, the bound passes half of the claim."""
    bound = audit_range_door(door, 1.0, 40_000, ALPHA)
    assert not bound.refuted and bound.value > 0.5, str(bound)


@pytest.mark.slow
def test_poisson_steps():
    """One step at rate 0.5 and noise 0.5: the claim of its accountant stands, and the bound is not empty."""
    events = [PoissonGaussian(0.5, 0.5, 1, "add_or_remove_one")]
    claim = epsilon_at(events, 1e-5)
    bound = audit_poisson(0.5, 0.5, (claim, 1e-5), 10_000, ALPHA)
    assert not bound.refuted and bound.value > 0.5, str(bound)


def test_the_threshold_of_poisson_steps_is_the_best_of_a_grid():
    """By quadrature of the two laws: no other threshold of the grid has a larger bound at the expected counts."""
    q, sigma, delta, draws, alpha = 0.1, 0.8, 1e-5, 100_000, 1e-5
    at = poisson_threshold(q, sigma, delta, draws, alpha)

    def bound(t):
        alone = stats.norm.sf(t, scale=sigma)
        seen = (1 - q) * alone + q * stats.norm.sf(t, 1, sigma)
        return Guesses(round(draws * seen), draws, round(draws * alone), draws).epsilon(delta, alpha)

    assert bound(at) == pytest.approx(max(bound(t) for t in np.linspace(0, 5, 101)), rel=0.02)
    assert bound(at) > 0.3


def test_less_noise_is_refuted(monkeypatch):
    real = rooms.rounded_gaussian
    monkeypatch.setattr(rooms, "rounded_gaussian", lambda sigma, size, source: real(0.8 * sigma, size, source))
    for door in ("counts", "total"):
        assert audit_door(door, 1.0, DRAWS, ALPHA).refuted


def test_unknown_door():
    with pytest.raises(NacreError, match="door"):
        audit_door("reveal", 1.0)
