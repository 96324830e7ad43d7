"""Rows drawn from particles: their law, exact conditioning, and the arrays they are saved as."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy.stats import chi2

from nacre.errors import NacreError
from nacre.synthesizers.mixture import refine as refining
from nacre.synthesizers.mixture.fit import Fitted
from nacre.synthesizers.mixture.sampling import Particles

ALPHA = 1e-4  # false alarm rate of each chi-square test below; stratified draws only lower it


def particles(k=7, seed=0):
    rng = np.random.default_rng(seed)
    luts = [np.array([0, 0, 1, 2, 2, 2]), np.array([1, 0, 1, 2]), np.array([0, 1])]
    sizes = [3, 3, 2]
    blocks = np.concatenate([rng.dirichlet(np.ones(s), k) for s in sizes], axis=1).astype(np.float32)
    blocks[0, :3] = [1, 0, 0]
    insides = []
    for lut in luts:
        weight = rng.random(lut.size) + 0.1
        insides.append(weight / np.bincount(lut, weight)[lut])
    return Particles(blocks, [lut.astype(np.int32) for lut in luts], insides)


def law(model):
    """Probability of every combination of fine cells, by the definition."""
    blocks = [model.block(j) for j in range(3)]
    out = np.zeros([lut.size for lut in model.luts])
    for k in range(len(model.blocks)):
        parts = [blocks[j][k, model.luts[j]] * model.insides[j] for j in range(3)]
        out += np.einsum("a,b,c->abc", *parts) / len(model.blocks)
    return out


def chi_square(codes, probabilities):
    shape = probabilities.shape
    seen = np.bincount(np.ravel_multi_index(codes.T, shape), minlength=probabilities.size)
    expected = probabilities.ravel() * len(codes)
    assert (seen[expected == 0] == 0).all(), "cells of probability zero are never drawn"
    kept = expected > 0
    statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
    return statistic, chi2.isf(ALPHA, kept.sum() - 1)


@pytest.mark.parametrize("independent", [False, True])
def test_frequencies_equal_probabilities(independent):
    model = particles()
    truth = law(model)
    assert np.isclose(truth.sum(), 1)
    found, limit = chi_square(model.draw(60_000, np.random.default_rng(1), independent=independent), truth)
    assert found < limit
    # Many tiny draws: every single row has the exact law, not only large samples.
    rng = np.random.default_rng(2)
    singles = np.concatenate([model.draw(1, rng, independent=independent) for _ in range(4000)])
    found, limit = chi_square(singles, truth)
    assert found < limit


def test_conditioning_equals_rejection_sampling():
    model = particles(seed=3)
    masks = {0: np.array([0, 0.25, 1, 0, 0.5, 0]), 2: np.array([0.3, 1.0])}
    weight = law(model) * masks[0][:, None, None] * masks[2]
    assert np.isclose(model.probability(masks), weight.sum())
    rng = np.random.default_rng(4)
    drawn = model.draw(60_000, rng, masks)
    assert (masks[0][drawn[:, 0]] > 0).all()
    found, limit = chi_square(drawn, weight / weight.sum())
    assert found < limit
    free = model.draw(150_000, rng)
    kept = free[rng.random(len(free)) < masks[0][free[:, 0]] * masks[2][free[:, 2]]]
    found, limit = chi_square(kept, weight / weight.sum())
    assert found < limit


def test_fixed_codes_row_by_row():
    model = particles(seed=5)
    rng = np.random.default_rng(6)
    wanted = rng.choice([1, 3], size=40_000, p=[0.8, 0.2]).astype(np.int32)
    codes = model.draw(40_000, rng, fixed={1: wanted})
    assert np.array_equal(codes[:, 1], wanted)
    truth = law(model)[:, 3, :]
    found, limit = chi_square(codes[wanted == 3][:, [0, 2]], truth / truth.sum())
    assert found < limit


def test_impossible_conditions_and_wrong_masks_are_refused():
    model = particles()
    with pytest.raises(NacreError, match="probability zero"):
        model.draw(5, np.random.default_rng(0), {0: np.zeros(6)})
    with pytest.raises(NacreError, match="mask of column 1 has shape"):
        model.draw(5, np.random.default_rng(0), {1: np.ones(3)})
    assert model.draw(0, np.random.default_rng(0)).shape == (0, 3)


def test_arrays_round_trip():
    for seed in (2, 3):
        model = particles(seed=seed)
        again = Particles.from_arrays(model.to_arrays())
        assert np.array_equal(again.draw(50, np.random.default_rng(1)), model.draw(50, np.random.default_rng(1)))


def test_stratified_draws_vary_less_than_independent_ones():
    model = particles(seed=8)
    truth = law(model).sum((1, 2))
    rng = np.random.default_rng(9)
    spread = np.mean(
        [np.square(np.bincount(model.draw(500, rng)[:, 0], minlength=6) / 500 - truth) for _ in range(200)]
    )
    assert spread < 0.6 * np.mean(truth * (1 - truth) / 500)


def tables_of(codes, sizes, order):
    found = []
    for columns in itertools.combinations(range(len(sizes)), order):
        flat = np.ravel_multi_index(codes[:, columns].T, [sizes[j] for j in columns])
        found.append(np.bincount(flat, minlength=math.prod(sizes[j] for j in columns)) / len(codes))
    return found


def test_tables_of_drawn_rows_are_nearer_than_stratified_ones():
    """Three times nearer to the model's pairs and triples than independent rows, twice nearer than stratified ones."""
    rng = np.random.default_rng(3)
    sizes, k, n = [2, 3, 4, 2, 3], 200, 4000
    blocks = np.concatenate([rng.dirichlet(np.ones(s), k) for s in sizes], axis=1).astype(np.float32)
    model = Particles(blocks, [np.arange(s, dtype=np.int32) for s in sizes], [np.ones(s) for s in sizes])
    fitted = Fitted(blocks, np.ones(k))
    for order, least in ((2, 3.0), (3, 2.0)):
        truth = [fitted.table(sizes, c).ravel() for c in itertools.combinations(range(5), order)]

        def miss(codes, order=order, truth=truth):
            return sum(np.abs(a - b).sum() for a, b in zip(tables_of(codes, sizes, order), truth))

        near = np.mean([miss(model.draw(n, rng)) for _ in range(3)])
        far = np.mean([miss(model.draw(n, rng, independent=True)) for _ in range(3)])
        assert near * least < far


def test_refining_lowers_the_squared_error_of_all_tables():
    rng = np.random.default_rng(5)
    sizes, k, n = [3, 2, 4], 20, 500
    blocks = [rng.dirichlet(np.ones(s), k) for s in sizes]
    state, weights = rng.integers(k, size=n), np.full(k, 1 / k)
    codes = np.stack([rng.integers(s, size=n) for s in sizes]).astype(np.int32)
    before = float(np.square(refining._Residual.of(codes, blocks, weights, np.random.default_rng(0)).cells).sum())
    refining.refine(codes, state, blocks, weights, rng)
    assert np.square(refining._Residual.of(codes, blocks, weights, np.random.default_rng(0)).cells).sum() < 0.8 * before


def test_rare_combinations_keep_their_share():
    """Cells that expect a fraction of a row: rounded to the nearest number, none of them would ever be drawn."""
    rng = np.random.default_rng(12)
    p = np.r_[0.9, np.full(30, 0.1 / 30)]
    blocks = np.tile(np.concatenate([p, p]), (64, 1)).astype(np.float32)
    model = Particles(blocks, [np.arange(31, dtype=np.int32)] * 2, [np.ones(31)] * 2)
    drawn = np.concatenate([model.draw(2000, rng) for _ in range(20)])
    both = ((drawn[:, 0] > 0) & (drawn[:, 1] > 0)).mean()  # expects 0.022 rows in each of 900 cells of 2,000 rows
    assert 0.008 < both < 0.012


def test_moves_keep_the_books():
    """The residual that moves are judged by is that of the rows after them."""
    rng = np.random.default_rng(6)
    sizes, k, n = [3, 2, 4], 20, 500
    blocks = [rng.dirichlet(np.ones(s), k) for s in sizes]
    codes = np.stack([rng.integers(s, size=n) for s in sizes]).astype(np.int32)
    kept = refining._Residual.of(codes, blocks, np.full(k, 1 / k), np.random.default_rng(0))
    before = codes.copy()
    for j in (0, 1, 2, 0, 2):
        here = np.unique(rng.integers(n, size=100))
        new = ((codes[j, here] + 1) % sizes[j]).astype(np.int32)
        kept.move(codes, j, here, new)
    assert (codes != before).any()
    again = refining._Residual.of(codes, blocks, np.full(k, 1 / k), np.random.default_rng(0))
    assert np.allclose(kept.cells, again.cells, atol=1e-3)


@pytest.mark.parametrize("rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_million_rows_take_seconds(rows):
    rng = np.random.default_rng(10)
    sizes, cells, k = [20] * 15, 200, 1024
    blocks = np.concatenate([rng.dirichlet(np.ones(s), k) for s in sizes], axis=1).astype(np.float32)
    luts = [np.arange(cells, dtype=np.int32) * s // cells for s in sizes]
    insides = [np.full(cells, s / cells) for s in sizes]
    start = time.process_time()
    codes = Particles(blocks, luts, insides).draw(rows, rng)
    assert codes.shape == (rows, 15)
    assert time.process_time() - start < 4 + 20e-6 * rows  # a million: about 5 s on one quiet core
