"""Groups, shares inside groups and densities inside cells, from noisy one-way counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.synthesizers.parts import grouping

counts_lists = st.lists(st.integers(-500, 5000), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(counts_lists, st.booleans(), st.integers(1, 30), st.floats(0, 500), st.booleans())
def test_lookup_tables_are_valid_for_any_noisy_counts(values, ordered, limit, floor, nullable):
    counts = np.array(values, float)
    null = counts.size - 1 if nullable else None
    lut = grouping.group(counts, 20.0, ordered, limit, floor, null)
    assert lut.dtype == np.int32 and lut.shape == counts.shape
    assert np.array_equal(np.unique(lut), np.arange(lut.max() + 1)), "numbered without gaps"
    assert lut.max() + 1 <= max(limit, 2 if nullable else 1)
    if ordered:
        body = np.delete(lut, null) if nullable else lut
        assert (np.diff(body) >= 0).all(), "groups of an ordered column are runs"


@settings(max_examples=100, deadline=None)
@given(counts_lists, st.booleans(), st.booleans())
def test_shares_inside_groups_sum_to_one(values, ordered, nullable):
    counts = np.array(values, float)
    null = counts.size - 1 if nullable else None
    width = np.where(np.arange(counts.size) % 7 == 0, 0.0, 1.0) if ordered else None
    lut = grouping.group(counts, 20.0, ordered, 8, 60.0, null)
    share = grouping.inside(counts, 20.0, lut, width, null)
    assert (share >= 0).all() and np.allclose(np.bincount(lut, share), 1.0)
    assert np.isclose(grouping.shares(counts, 20.0, lut, width, null).sum(), 1.0)


@settings(max_examples=100, deadline=None)
@given(counts_lists, st.floats(0.1, 1e5))
def test_simplex_is_the_nearest_point(values, total):
    counts = np.array(values, float)
    point = grouping.simplex(counts, total)
    assert (point >= 0).all() and np.isclose(point.sum(), total)
    # Optimality (KKT): the same shift in every positive cell, at least as much in the empty ones.
    shift = counts - point
    kept = point > 0
    assert np.ptp(shift[kept]) < 1e-6 * max(1.0, total)
    assert (shift[~kept] <= shift[kept].max() + 1e-6 * max(1.0, total)).all()


def test_spikes_stand_alone_and_the_rest_has_equal_mass():
    counts = np.full(100, 100.0)
    counts[40] = 20_000.0
    lut = grouping.group(counts, 5.0, True, 11, 200.0)
    assert (lut == lut[40]).sum() == 1
    others = np.bincount(np.delete(lut, 40), minlength=lut.max() + 1)
    others = others[others > 0]
    assert len(others) == 10 and others.max() <= 2 * others.min()


def test_rare_categories_are_not_inflated():
    """300 empty categories beside three real ones: clipping the noise would give them about 6,000 rows of noise."""
    rng = np.random.default_rng(3)
    truth = np.concatenate([[6000.0, 3000.0, 1000.0], np.zeros(300)])
    counts = truth + np.round(50 * rng.normal(size=truth.size))
    assert np.maximum(counts, 0)[3:].sum() > 5000
    lut = grouping.group(counts, 50.0, False, 20, 200.0)
    share = grouping.shares(counts, 50.0, lut)
    # The unclipped sum of the rest has a standard deviation of 50*sqrt(300) = 866 rows: three of them at most.
    assert share[3:].sum() * counts.sum() < 3 * 866
    assert np.abs(share[:3] * counts.sum() - truth[:3]).max() < 5 * 50


def test_steps_leave_empty_stretches_empty_and_keep_edges_and_spikes():
    rng = np.random.default_rng(4)
    truth = np.concatenate([np.full(40, 500.0), np.zeros(400)])
    truth[300] = 400.0
    steps = grouping.stepped(truth + 30 * rng.normal(size=truth.size), 30.0)
    assert np.flatnonzero(steps[40:]).tolist() == [260] and abs(steps[300] - 400) < 4 * 30
    assert np.abs(steps[:40] - 500).max() < 4 * 30
    assert abs(steps[:40].sum() - 20_000) < 5 * 30 * np.sqrt(40)


def _price(counts, ends, price, level):
    """Penalised error of the step function whose runs end before `ends`."""
    total = 0.0
    for start, end in zip([0, *ends], [*ends, counts.size], strict=True):
        run = counts[start:end]
        value = run.mean() if run.sum() > level * np.sqrt(run.size) else 0.0
        total += ((run - value) ** 2).sum() + price * np.log(counts.size)
    return total


def test_steps_are_the_best_of_all_dyadic_ones():
    """Against every dyadic partition of eleven cells, the last of them cut off by the end of the table."""

    def partitions(start, size):
        if start >= 11:
            return [[]]
        half = size // 2
        both = [a + b for a in partitions(start, half) for b in partitions(start + half, half)] if half else []
        return [[start], *both]

    rng = np.random.default_rng(6)
    for price, level in ((2.0, 3.0), (0.3, 2.0)):
        counts = rng.normal(size=11) + np.where(np.arange(11) < 5, 4.0, 0.0) + np.where(np.arange(11) == 7, 9.0, 0.0)
        best = min(_price(counts, p[1:], price, level) for p in partitions(0, 16))
        steps = grouping.stepped(counts, 1.0, price, level)
        found = [p for p in partitions(0, 16) if np.isclose(_price(counts, p[1:], price, level), best)]
        assert any(set(np.flatnonzero(np.diff(steps)) + 1) <= set(p) for p in found)
        runs = np.split(counts, found[0][1:])
        assert np.allclose(steps, np.concatenate([
            np.full(r.size, r.mean() if r.sum() > level * np.sqrt(r.size) else 0.0) for r in runs
        ]))  # fmt: skip


def test_the_end_of_a_skewed_column_holds_no_noise():
    """A long empty stretch up to the bound: noise there would multiply the mean, however little mass it has."""
    rng = np.random.default_rng(9)
    truth = np.concatenate([20_000 * np.diff(-np.exp(-np.arange(61) / 12)), np.zeros(340)])
    middle, sigma = np.arange(400) + 0.5, 25.0
    ratios = []
    for _ in range(20):
        counts = truth + sigma * rng.normal(size=400)
        lut = grouping.group(counts, sigma, True, 30, 5 * sigma)
        share = grouping.inside(counts, sigma, lut, np.ones(400)) * np.bincount(lut, truth)[lut] / truth.sum()
        ratios.append((share @ middle) / (truth @ middle / truth.sum()))
    assert 0.9 < np.mean(ratios) < 1.05 and max(ratios) < 1.15  # positive parts of the noise alone: above 2
    noise = np.maximum(truth + sigma * rng.normal(size=400), 0)
    assert (noise @ middle / noise.sum()) / (truth @ middle / truth.sum()) > 2


def test_smooth_recovers_a_density_from_few_groups():
    edges = np.linspace(-4, 4, 201)
    truth = np.diff(1 / (1 + np.exp(-1.7 * edges)))
    truth /= truth.sum()
    lut = np.minimum((np.cumsum(truth) * 12).astype(np.int32), 11)
    mass = np.bincount(lut, truth)
    out = grouping.smooth(mass, lut, np.diff(edges))
    flat = mass[lut] / np.bincount(lut)[lut]
    assert np.allclose(np.bincount(lut, out), mass)
    assert np.abs(out - truth).sum() < 0.6 * np.abs(flat - truth).sum()


def test_james_stein_helps_smooth_columns_and_keeps_single_spikes():
    rng = np.random.default_rng(5)
    x = np.arange(120)
    truth = 400 * np.exp(-(((x - 50) / 30) ** 2))
    truth[90] += 900.0
    lut = np.minimum(x // 12, 9).astype(np.int32)
    raw = shrunk = 0.0
    for _ in range(20):
        counts = truth + np.round(40 * rng.normal(size=truth.size))
        share = grouping.inside(counts, 40.0, lut, np.ones(120))
        mass = np.bincount(lut, truth)
        shrunk += np.abs(share * mass[lut] - truth).sum()
        raw += np.abs(np.maximum(counts, 0) - truth).sum()
        assert share[90] * mass[lut[90]] > 600
    assert shrunk < 0.75 * raw


def test_no_staircase_inside_bins():
    """Draws from ten bins of a linear density: with slopes the Kolmogorov distance falls to sampling error."""
    edges = np.linspace(0, 1, 11)
    share, width = np.diff(edges**2), np.diff(edges)
    rng = np.random.default_rng(6)
    codes = rng.choice(10, size=2_000_000, p=share)
    sloped = edges[codes] + grouping.bend(rng.random(codes.size), grouping.slopes(share, width)[codes]) * 0.1
    flat = edges[codes] + rng.random(codes.size) * 0.1

    def distance(values):
        inner = values[(values > 0.1) & (values < 0.9)]  # the end cells have no neighbour to learn a slope from
        cdf = (np.sort(inner) ** 2 - 0.01) / 0.8
        return np.abs(cdf - np.arange(inner.size) / inner.size).max()

    # Kolmogorov: P(distance > 1.95/sqrt(n)) = 1e-3.
    assert distance(sloped) < 1.95 / np.sqrt(0.8 * codes.size) < distance(flat)


@pytest.mark.parametrize("slope", [-2.0, -0.7, 0.0, 1e-9, 1.3, 2.0])
def test_bend_inverts_the_distribution_function(slope):
    u = np.linspace(0, 1 - 1e-9, 1001)
    x = grouping.bend(u, np.full(u.size, slope))
    assert ((x >= 0) & (x < 1)).all()
    assert np.allclose(x * (1 - slope / 2) + slope * x**2 / 2, u, atol=1e-9)


def test_slopes_vanish_beside_atoms_and_stay_bounded():
    share = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    slope = grouping.slopes(share, np.array([0.0, 1.0, 1.0, 1.0, 0.0]))
    assert slope[0] == slope[1] == slope[3] == slope[4] == 0 and (np.abs(slope) <= 2).all()


def test_known_masses_replace_the_noisy_sums_of_groups():
    rng = np.random.default_rng(0)
    truth = np.repeat([200.0, 100.0, 50.0], 40)
    lut = np.repeat([0, 1, 2], 40).astype(np.int32)
    known = np.bincount(lut, truth)
    share = grouping.shares(truth + 60 * rng.normal(size=truth.size), 60.0, lut, np.ones(truth.size), None, known)
    assert np.allclose(np.bincount(lut, share), known / known.sum())
