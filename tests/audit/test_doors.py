"""White-box audits of the Gaussian doors: claims stand, audits are tight, and noise that is too small is refuted.

20,000 draws, seeds of the operating system: a claim is refuted by chance with probability at most 1e-6 per audit.
"""

from __future__ import annotations

import pytest

from nacre.audit.doors import GAUSSIAN_DOORS, audit_door
from nacre.errors import NacreError
from nacre.privacy import curator as curators

DRAWS, ALPHA = 20_000, 1e-6


@pytest.mark.parametrize("door", GAUSSIAN_DOORS)
def test_claims_stand_and_audits_are_tight(door):
    bound = audit_door(door, 1.0, DRAWS, ALPHA)
    assert not bound.refuted, str(bound)
    assert bound.value > 0.88 * 1.0, str(bound)


def test_less_noise_is_refuted(monkeypatch):
    real = curators.rounded_gaussian
    monkeypatch.setattr(curators, "rounded_gaussian", lambda sigma, size, source: real(0.8 * sigma, size, source))
    for door in ("counts", "total"):
        assert audit_door(door, 1.0, DRAWS, ALPHA).refuted


def test_unknown_door():
    with pytest.raises(NacreError, match="door"):
        audit_door("reveal", 1.0)
