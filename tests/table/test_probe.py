"""From noisy histograms to facts: whatever the noise, a legal range comes out, and a clear signal is found."""

import numpy as np
import pytest

from nacre.table import Datetime, Numeric
from nacre.table.votes import probe, spans


@pytest.mark.parametrize("rows", [0, 50, 300, 1_500, 20_000])
@pytest.mark.parametrize("seed", range(12))
def test_any_noise_gives_legal_bounds(rows, seed):
    rng = np.random.default_rng(seed)
    months = np.bincount(rng.integers(2_400, 2_650, rows), minlength=probe.CELLS["month"])
    low, high = spans.month_bounds(months + rng.normal(0, 30, len(months)), 30.0)
    Datetime((low, high), unit="day")  # refuses reversed bounds
    sizes = np.bincount(rng.integers(600, 720, rows), minlength=probe.CELLS["magnitude"])
    for integer in (True, False):
        bounds = spans.numeric_bounds(sizes + rng.normal(0, 30, len(sizes)), 30.0, integer)
        Numeric(bounds, integer=integer)


def test_a_clear_signal_is_found_to_the_cell():
    months = np.zeros(probe.CELLS["month"])
    months[2_424:2_436] = 5_000  # the year 2002
    noise = np.random.default_rng(0).normal(0, 20, len(months))
    assert spans.month_bounds(months + noise, 20.0) == ("2002-01-01", "2002-12-31")


def test_noise_hardly_ever_widens_a_range():
    months, sizes = np.zeros(probe.CELLS["month"]), np.zeros(probe.CELLS["magnitude"])
    months[2_676:2_688] = 2_000  # one year
    sizes[700:710] = 2_000
    wide = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0, 60, len(months))
        for signal, first, last in ((months, 2_676, 2_687), (sizes, 700, 709)):
            low, high = spans.standing_out(signal + noise[: len(signal)], 60.0)
            wide += low < first - 12 or high > last + 12
    assert wide <= 4  # of 400


def test_a_thin_tail_is_found_as_a_whole():
    sizes = np.zeros(probe.CELLS["magnitude"])
    middle = len(sizes) // 2
    sizes[middle] = 30_000  # zeros
    where = np.searchsorted(spans.MAGNITUDE_EDGES, 1_000.0)
    sizes[where : where + 40] = 60  # each cell under the noise of 40, together far above it
    low, high = spans.numeric_bounds(sizes + np.random.default_rng(1).normal(0, 40, len(sizes)), 40.0, False)
    assert low == 0.0 and high > 10_000
