"""Checks of rejection and of learners that claim DP, ready to be run on nacre and on broken twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.learners import small
from tests.privacy_contract import checks

from nacre.errors import PlanError
from nacre.learners.descending import DpSgd, NoisyGd
from nacre.learners.exponential import Rejection as ExactTraining
from nacre.learners.fixed_point import THETA_STEPS, linear_utility
from nacre.privacy.doors import rejection
from nacre.privacy.plan import Sample
from nacre.privacy.transcript import Transcript

POINTS = np.array([[-8.0, 2.0], [0.0, 0.0], [4.0, -1.0], [16.0, 16.0], [-16.0, -16.0]])


def listed_prior(rng: np.random.Generator, count: int) -> np.ndarray:
    return POINTS[rng.integers(0, len(POINTS), count)]


def drawn(x: np.ndarray, y: np.ndarray, epsilon: float, count: int, seed: int, neighbours: str, patience: int) -> Any:
    """`count` draws from five candidates through the door: (their places, [5] log chances the sampler used)."""
    task = small.task(ExactTraining(epsilon), x, y, checks.FixedNoise(seed), neighbours=neighbours, rows=50)
    entry = Sample("draw", epsilon=epsilon, draws=count)
    object.__setattr__(task.plan, "entries", (entry,))
    gaps: list[tuple[int, float]] = []
    real = rejection.survives
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            rejection, "survives", lambda gap, rate, noise: (gaps.append((gap, rate)), real(gap, rate, noise))[1]
        )
        found = task.curator.sample(entry, linear_utility(1, 2), rejection.Rejection(listed_prior, 2, patience))
    vectors = np.concatenate([np.rint(x * 2**12), y[:, None]], axis=1)
    lost = (rejection.STEPS - linear_utility(1, 2).steps(vectors, POINTS)).sum(axis=0)
    assert {gap for gap, _ in gaps} <= set(lost.tolist()), "a loss that is not the sum of the records' own"
    places = (found[:, None, :] == POINTS).all(axis=2).argmax(axis=1)
    return places, -gaps[0][1] * lost


def with_end(log_chances: np.ndarray, patience: int) -> np.ndarray:
    """log law of the five candidates and of "ended", by its formula."""
    mass = np.append(math.log((1 - 1 / patience) / len(POINTS)) + log_chances, -math.log(patience))
    return mass - np.logaddexp.reduce(mass)


def losses(tmp_path) -> None:
    """On neighbours, the exact laws differ by at most ε, "ended" included; worst rows and random ones."""
    rng = np.random.default_rng(0)
    for trial in range(3):
        x, y = rng.uniform(-1, 1, (50, 1)), rng.integers(0, 2, 50)
        x[0], y[0] = (1.0, 0) if trial % 2 else (rng.uniform(-1, 1), 1)
        for neighbours, (x2, y2) in {
            "add_or_remove_one": (x[1:], y[1:]),
            "replace_one": (np.concatenate([-x[:1], x[1:]]), np.append(1 - y[0], y[1:])),
        }.items():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(rejection, "survives", lambda gap, rate, noise: True)  # chances are read only
                laws = [with_end(drawn(a, b, 0.5, 1, trial, neighbours, 10**6)[1], 20) for a, b in ((x, y), (x2, y2))]
            assert np.abs(laws[0] - laws[1]).max() <= 0.5 + 1e-9, neighbours


def law(tmp_path) -> None:
    """3,000 draws have the law of the formula: chi-square, one comparison at ALPHA, and ε/2 or 2ε are rejected."""
    from scipy import stats

    x, y = small.data(50)
    patience, count = 500, 3000
    places, log_chances = drawn(x, y, 0.3, count, 7, "replace_one", patience)
    counts = np.bincount(places, minlength=5)

    def p_value(scale: float) -> float:
        expected = np.exp(with_end(log_chances * scale, patience))
        expected = expected[:5] + expected[5] / 5  # "ended" puts out a fresh candidate
        return float(stats.chisquare(counts, count * expected).pvalue)

    assert p_value(1.0) > checks.ALPHA
    assert p_value(0.5) < checks.ALPHA and p_value(2.0) < checks.ALPHA
    # The rate is that of the claim: ε/(2·span) per unit of loss for exchanged rows.
    yhat = 1 / (1 + np.exp(-(POINTS[:, :1] * x[:, 0] + POINTS[:, 1:])))
    told = -0.15 * np.square(yhat - y).sum(axis=1)
    np.testing.assert_allclose(log_chances, told, atol=0.05)


def replay(tmp_path) -> None:
    """Given the same noisy answers, a fit on a neighbour asks the same and gives the same parameters."""
    x, y = small.data(40, 2)
    others = {
        "row exchanged": (np.concatenate([-x[:1], x[1:]]), np.append(1 - y[0], y[1:])),
        "row beyond the bounds": (np.concatenate([np.full((1, 2), 1e30), x[1:]]), y),
        "not a number": (np.concatenate([np.full((1, 2), np.nan), x[1:]]), y),
    }
    for training in (DpSgd(epsilon=4.0, steps=3, batch=20.0), NoisyGd(epsilon=4.0, steps=2), ExactTraining(0.1)):

        def run(x: np.ndarray, y: np.ndarray, recorded: Any = None, training: Any = training) -> tuple:
            transcript = Transcript(replay=recorded)
            task = small.task(training, x, y, checks.FixedNoise(4), transcript)
            return training.train(task).tobytes(), repr(transcript.questions), transcript

        *wanted, recorded = run(x, y)
        for name, table in others.items():
            try:
                found = run(*table, recorded)[:2]
            except PlanError as error:
                pytest.fail(f"{training.name}, {name}: {error}")
            assert list(found) == wanted, f"{training.name}, {name}: the fit differs"


def fixed_point(tmp_path) -> None:
    """Candidates are whole multiples of the grid, so that sums of products are exact."""
    seen: list[np.ndarray] = []
    real = rejection.Utility.steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejection.Utility, "steps", lambda self, v, p: (seen.append(p), real(self, v, p))[1])
        x, y = small.data(20)
        task = small.task(ExactTraining(0.1, tau=0.3), x, y, checks.FixedNoise(1))
        ExactTraining(0.1, tau=0.3).train(task)
    scaled = np.concatenate(seen) * THETA_STEPS
    assert np.array_equal(scaled, np.rint(scaled))
