"""Audits of learners by thousands of trainings: the ratio has its law, claims stand, less noise is refuted.

4,000 trainings a side, seeds of the operating system: a claim is refuted by chance with probability at most 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

from nacre.audit.descents import descent_ratios
from nacre.audit.method import Effort, audit_method, claimed_mu, judged
from nacre.learners.descending import DpSgd, NoisyGd
from nacre.learners.exponential import Rejection
from nacre.learners.planned import Planned
from nacre.privacy.training import stream

ALPHA, RUNS = 1e-6, 4000
NOISY = NoisyGd("bce", steps=4, rate=0.5, epsilon=4.0, delta=1e-5, clip=0.1)  # every gradient is longer than that


def white(training, runs=RUNS):
    job = Planned.of(training, 12)
    absent, present = descent_ratios(job, runs)
    mu = claimed_mu(job.plan)
    found = judged("white box", (absent, present), job.plan.budget, mu, ALPHA, middle=0.0)
    return absent, present, {f.bound.metric: f.bound for f in found}


def test_the_ratio_has_its_law_and_claims_stand():
    """The ratio of a record at its clip is N(∓μ²/2, μ²), μ = √steps/σ, for somebody who knows the others."""
    absent, present, bounds = white(NOISY)
    mu = bounds["mu"].claim
    for world, mean in ((absent, -(mu**2) / 2), (present, mu**2 / 2)):
        assert world.mean() == pytest.approx(mean, abs=5 * mu / RUNS**0.5 + 0.01 * mu**2)
        assert world.std() == pytest.approx(mu, rel=0.06)
    assert not any(b.refuted for b in bounds.values())
    assert bounds["mu"].value > 0.6 * mu


@pytest.mark.slow
def test_less_noise_is_refuted(monkeypatch):
    real = stream.normals
    monkeypatch.setattr(stream, "normals", lambda *a: real(*a) / 8)
    assert white(NOISY)[2]["epsilon"].refuted


@pytest.mark.slow
def test_poisson_batches_and_exact_draws():
    bounds = white(DpSgd("bce", 4, 6.0, 0.5, epsilon=4.0, delta=1e-5))[2]
    assert set(bounds) == {"epsilon"} and not bounds["epsilon"].refuted
    exact = audit_method(Planned.of(Rejection(2.0, delta=1e-5), 12), Effort(runs=200), ALPHA)
    assert not exact.refuted and np.isfinite(exact.findings[0].bound.value)
