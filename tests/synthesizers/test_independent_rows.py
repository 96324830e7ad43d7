"""Rows that are drawn each for itself vary as a sample does; those of the default much less."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synthesizers.mixed import table
from tests.synthesizers.test_density import SCHEMA

import nacre

DRAWS, ROWS = 1000, 1000


@pytest.fixture(scope="module")
def release():
    return nacre.fit(table(), schema=SCHEMA, epsilon=1.0, delta=1e-5, noise_seed=1)


def met(drawn):
    return (drawn["y"].values == 1) & (drawn["c"].values == 0)


def test_counts_of_independent_rows_are_binomial(release):
    """Standard error of the variance of m counts: sqrt(2/m) of it; ten percent are 2.2 of those of 1,000 draws."""
    p = release.model.expected({"y": np.eye(2)[1:], "c": np.eye(4)[:1]}).shares[0, 0]
    rng = np.random.default_rng(1)
    alone = met(release.model.independent().draw(DRAWS * ROWS, rng)).reshape(DRAWS, ROWS).sum(1)
    assert alone.mean() == pytest.approx(ROWS * p, abs=4 * np.sqrt(ROWS * p * (1 - p) / DRAWS))
    assert alone.var() == pytest.approx(ROWS * p * (1 - p), rel=0.1)
    even = np.array([met(release.model.draw(ROWS, rng)).sum() for _ in range(200)])
    assert even.var() < 0.25 * alone.var()


def test_the_option_goes_through_all_ways_of_drawing(release, tmp_path):
    sampled = release.sample(100, seed=3, independent=True)
    assert not sampled.equals(release.sample(100, seed=3))
    release.write(tmp_path / "rows.csv", 100, seed=3, independent=True)
    (chunk,) = release.chunks(100, seed=3, independent=True)
    assert chunk.equals(release.sample(100, seed=3, independent=True, as_="pyarrow"))
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 101
    given = release.sample(500, where={"c": "a"}, rebalance={"y": {True: 0.5, False: 0.5}}, seed=1, independent=True)
    assert set(given.c) == {"a"} and 0.4 < given.y.mean() < 0.6
