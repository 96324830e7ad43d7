"""The made-up intensive-care table has the sizes and shares it promises."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.errors import DataError
from nacre.table.simulate.icu import simulate_icu


def area(score, truth):
    """Probability that a positive scores above a negative, by ranks."""
    from scipy.stats import rankdata

    ranks, positives = rankdata(score), int(truth.sum())
    return (ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * (len(truth) - positives))


def test_shares_and_signal():
    """6,000 stays: shares to three standard deviations, the oracle's AUC as documented."""
    made = simulate_icu(6000, seed=1)
    assert made.values.shape == (6000, 24, 104)
    assert abs((~made.observed).mean() - 0.891) < 0.004
    assert abs(made.died.mean() - 0.074) < 3 * np.sqrt(0.074 * 0.926 / 6000)
    assert abs(made.stayed.mean() - 0.47) < 3 * np.sqrt(0.25 / 6000)
    assert area(made.chance_died, made.died) == pytest.approx(0.901, abs=0.02)
    assert area(made.chance_stayed, made.stayed) == pytest.approx(0.731, abs=0.02)
    assert np.all(made.values[~made.observed] == 0)
    # What is measured, and how often, both tell of death: a ridge regression on last values, and mere counts.
    last, half = made.filled()[:, -1], slice(0, 3000)
    beta = np.linalg.solve(last[half].T @ last[half] + 100 * np.eye(104), last[half].T @ (made.died[half] - 0.074))
    assert area(last[3000:] @ beta, made.died[3000:]) == pytest.approx(0.825, abs=0.03)
    often = made.observed[:, :, 9:].sum(axis=(1, 2))
    assert area(often, made.died) == pytest.approx(0.85, abs=0.03)


def test_forward_fill_looks_at_one_stay_and_the_past():
    made = simulate_icu(20, seed=2)
    filled = made.filled()
    stay, measurement = 3, 0
    seen = np.flatnonzero(made.observed[stay, :, measurement])
    for hour in range(24):
        before = seen[seen <= hour]
        wanted = made.values[stay, before[-1], measurement] if len(before) else 0
        assert filled[stay, hour, measurement] == wanted
    alone = simulate_icu(20, seed=2)
    np.testing.assert_array_equal(filled[:5], type(alone)(**{k: v[:5] for k, v in vars(alone).items()}).filled())


def test_seed_and_refusal():
    np.testing.assert_array_equal(simulate_icu(5, 3).values, simulate_icu(5, 3).values)
    with pytest.raises(DataError, match="stays"):
        simulate_icu(0)
