"""Distances of whole rows, as features."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from nacre.metrics.domain import Domain
from nacre.metrics.features import Features
from nacre.metrics.joint import divergence, row_distances

DOMAIN = Domain.of({"x": (-5.0, 5.0), "c": ["a", "b"]})


def table(rows, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(shift, 1, rows).clip(-5, 5), "c": rng.choice(["a", "b"], rows)})


def test_distances_of_all_rows_equal_scipy():
    a, b = table(60, 0), table(60, 1, shift=0.5)
    found, rows = row_distances(a, b, DOMAIN)
    features = Features.of(a, DOMAIN, None)
    x, y = features(a).astype(float), features(b).astype(float)
    energy = 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()
    assert rows == 60 and found["energy"] == pytest.approx(energy, rel=1e-5)
    far, _ = row_distances(a, table(60, 1, shift=2.0), DOMAIN)
    assert far["mmd2"] > found["mmd2"] > -0.05 and far["energy"] > found["energy"]


def test_samples_are_repeatable_and_small_tables_have_no_distance():
    a, b = table(200, 0), table(150, 1)
    first, rows = row_distances(a, b, DOMAIN, limit=100)
    assert rows == 100 and first == row_distances(a, b, DOMAIN, limit=100)[0]
    assert np.isnan(row_distances(a, b.head(1), DOMAIN)[0]["energy"])


def test_tables_of_one_and_the_same_row_are_equal():
    same = pd.DataFrame({"x": [3.0] * 5})
    domain = Domain.of({"x": (0.0, 9.0)})
    assert row_distances(same, same, domain)[0] == {"mmd2": 0.0, "mmd_p": 1.0, "energy": 0.0}
    other = row_distances(same, pd.DataFrame({"x": [3.0] * 4 + [4.0]}), domain)[0]
    assert other["energy"] > 0


def test_the_divergence_of_gaussians_and_tables_without_one():
    """KL(N(0,1) || N(1,1)) = 1/2; the estimate from 4,000 rows has a deviation of about 0.05."""
    domain = Domain.of({"x": (-9.0, 9.0)})
    far, rows = divergence(table(4_000, 0), table(4_000, 1, shift=1.0), domain)
    assert far == pytest.approx(0.5, abs=0.2) and rows == 4_000
    assert abs(divergence(table(4_000, 0), table(4_000, 1), domain)[0]) < 0.2
    assert divergence(table(4_000, 0), table(4_000, 1), domain, limit=500)[1] == 500
    assert np.isnan(divergence(table(50, 0), table(50, 1), Domain.of({"c": ["a", "b"]}))[0])


def test_the_p_value_of_mmd_tells_a_shift_from_none():
    assert row_distances(table(200, 0), table(200, 1, shift=1.0), DOMAIN)[0]["mmd_p"] < 0.01
    assert row_distances(table(200, 0), table(200, 1), DOMAIN)[0]["mmd_p"] > 0.01  # false alarm 1 %
