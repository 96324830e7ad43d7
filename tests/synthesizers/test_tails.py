"""The outermost group of a column: its mass and its reach from counts of which none stands out alone."""

import numpy as np
import pytest

from nacre.synthesizers.parts import grouping, tails

SIGMA = 30.0
EDGES = np.linspace(0, 100, 201)


def pareto_counts(rows=2000, shape=0.3, scale=4.0):
    left = (1 + shape * EDGES / scale) ** (-1 / shape)
    mass = left[:-1] - left[1:]
    return rows * mass / mass.sum()


@pytest.mark.parametrize(
    "shape", [0.0001, 0.3, 0.5]
)  # the prior leans from the first, an exponential law, to the others
def test_a_tail_keeps_its_quantile_and_its_mean_where_no_cell_stands_out(shape):
    truth = pareto_counts(shape=shape)
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    rng = np.random.default_rng(5)
    means, beyond = [], []
    for _ in range(30):
        noisy = truth + SIGMA * rng.normal(size=truth.size)
        found = tails.tail(noisy, SIGMA, np.diff(EDGES), [(slice(0, truth.size), truth.sum())])
        assert (found >= 0).all()
        means.append(found @ middle / found.sum())
        beyond.append(found[middle > 20].sum() / found.sum())
    assert np.median(means) == pytest.approx(truth @ middle / truth.sum(), rel=0.2 if shape < 0.1 else 0.1)
    assert np.median(beyond) == pytest.approx(truth[middle > 20].sum() / truth.sum(), abs=0.02)
    # What was done before, cells that stand out and nothing beyond, loses the reach.
    cut = np.where(middle < 12, truth, 0)
    assert abs(cut @ middle / cut.sum() - np.median(means)) > 0.1 * np.median(means)


def test_a_value_that_stands_out_of_a_tail_is_kept_and_does_not_bend_it():
    truth = pareto_counts()
    spiked = truth.copy()
    spiked[180] += 400.0
    noisy = spiked + SIGMA * np.random.default_rng(1).normal(size=truth.size)
    found = tails.tail(noisy, SIGMA, np.diff(EDGES))
    assert found[180] == pytest.approx(400, abs=4 * SIGMA)
    assert np.delete(found, 180)[100:].sum() == pytest.approx(truth[100:].sum(), abs=60)


def test_long_tails_are_divided_and_even_ends_are_not():
    truth = pareto_counts(rows=6000)
    lut = np.repeat([0, 1, 2], [4, 16, 180]).astype(np.int32)
    found = grouping.reach(lut, truth, 1.0, np.diff(EDGES), 50.0)
    assert found.max() > 2 and (np.diff(found) >= 0).all()
    assert np.bincount(found, truth).min() >= 50 - 1
    even = grouping.reach(lut, np.full(200, 30.0), 1.0, np.diff(EDGES), 50.0)
    assert even.max() == 2


def test_groups_of_a_column_with_null_stay_runs_when_a_tail_is_divided():
    truth = np.append(pareto_counts(rows=6000), 900.0)
    for null in (2, 3):  # with the last group, and alone
        lut = np.append(np.repeat([0, 1, 2], [4, 16, 180]), null).astype(np.int32)
        found = grouping.reach(lut, truth, 1.0, np.append(np.diff(EDGES), 0.0), 50.0, 200)
        assert np.array_equal(np.unique(found), np.arange(found.max() + 1))
        assert (np.diff(found[:-1]) >= 0).all()
        assert (found[-1] in found[:-1]) == (null == 2)
        shares = grouping.inside(
            truth, 1.0, found, np.append(np.diff(EDGES), 0.0), 200, np.bincount(found, truth).astype(float)
        )
        assert np.allclose(np.bincount(found, shares), 1)
