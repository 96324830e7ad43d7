"""What a fit misses: bias comes back, noise does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacre.synthesizers.mixture.fit import Config, Fitted, fit
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.mixture.missed import clearly, sharpened

ROWS, SIZE, SIGMA = 20_000.0, 16, 25.0


def banded(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A table of two columns with rank correlation near .9, and the same with noise."""
    near = np.exp(-0.5 * np.subtract.outer(np.arange(SIZE), np.arange(SIZE)) ** 2 / 4)
    truth = ROWS * near / near.sum()
    return truth, truth + SIGMA * rng.normal(size=truth.shape)


def test_noise_alone_is_not_missed():
    rng = np.random.default_rng(0)
    for axes in ([0], [0, 1]):
        found = [np.abs(clearly(rng.normal(size=(20, 20)), axes)).sum() for _ in range(20)]
        assert np.mean(np.array(found) == 0) >= 0.5, "about a third of noisy tables has a number beyond its level"


def test_smooth_dependence_too_faint_for_cells_is_found_along_ordered_columns():
    rng = np.random.default_rng(1)
    score = np.sqrt(12) * ((np.arange(SIZE) + 0.5) / SIZE - 0.5)
    truth = 0.6 * np.outer(score, score)  # no cell beyond two standard errors
    gap = truth + rng.normal(size=truth.shape)
    assert np.abs(clearly(gap, [0, 1]) - truth).sum() < 0.5 * np.abs(truth).sum()


def test_a_second_fit_holds_what_the_pull_took():
    truth, noisy = banded(np.random.default_rng(2))
    table = Table((0, 1), noisy, SIGMA)
    hard = Config(particles=256, pull=2000.0)
    first = fit([SIZE, SIZE], [table], ROWS, None, hard, 0)
    again = sharpened([table], first, [SIZE, SIZE], ROWS, [True, True])
    second = fit([SIZE, SIZE], again, ROWS, None, replace(hard, steps=80, rate=0.1), 0, start=first)
    off = [np.abs(ROWS * f.table([SIZE, SIZE], (0, 1)) - truth).sum() / 2 / ROWS for f in (first, second)]
    assert off[1] < 0.75 * off[0]


def test_cells_that_say_nothing_and_tables_of_labels_are_left_alone():
    counts, sigma = np.full((4, 4), 100.0), np.full((4, 4), 1.0)
    sigma[0], empty = np.inf, np.zeros((4, 4), bool)
    empty[1] = True
    even = Fitted(np.full((1, 8), 0.25, np.float32), np.ones(1))
    pair, one = Table((0, 1), counts, sigma, empty), Table((0,), np.full(4, 400.0), 1.0)
    found, same = sharpened([pair, one], even, [4, 4], 1000.0, [False, True])
    assert same is one and sharpened([pair], even, [4, 4], 1000.0, [False, False])[0] is pair
    assert np.array_equal(found.counts[:2], counts[:2]) and np.allclose(found.counts[2:], 137.5)
