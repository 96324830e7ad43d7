"""Rows drawn from particles: their law, exact conditioning, and the arrays they are saved as."""

import time

import numpy as np
import pytest
from scipy.stats import chi2

from nacre.errors import NacreError
from nacre.synthesizers.mixture.sampling import Particles

ALPHA = 1e-4  # false alarm rate of each chi-square test below; stratified draws only lower it


def particles(target=2, k=7, seed=0, classwise=False):
    rng = np.random.default_rng(seed)
    luts = [np.array([0, 0, 1, 2, 2, 2]), np.array([1, 0, 1, 2]), np.array([0, 1])]
    sizes = [3, 3, 2]
    blocks = np.concatenate([rng.dirichlet(np.ones(s), k) for s in sizes], axis=1).astype(np.float32)
    blocks[0, :3] = [1, 0, 0]
    insides = []
    for j, lut in enumerate(luts):
        shape = (lut.size, 2) if classwise and j != target else (lut.size,)
        weight = rng.random(shape) + 0.1
        total = np.stack([np.bincount(lut, w) for w in weight.reshape(lut.size, -1).T], 1)[lut]
        insides.append(weight / total.reshape(shape))
    return Particles(blocks, [lut.astype(np.int32) for lut in luts], insides, target)


def law(model):
    """Probability of every combination of fine cells, by the definition."""
    blocks = [model.block(j) for j in range(3)]
    out = np.zeros([lut.size for lut in model.luts])
    for k in range(len(model.blocks)):
        for y in range(2):
            parts = []
            for j in range(2):
                share = model.insides[j].reshape(model.luts[j].size, -1)
                parts.append(blocks[j][k, model.luts[j]] * share[:, y if share.shape[1] > 1 else 0])
            out[:, :, y] += np.multiply.outer(parts[0], parts[1]) * blocks[2][k, y] / len(model.blocks)
    return out


def chi_square(codes, probabilities):
    shape = probabilities.shape
    seen = np.bincount(np.ravel_multi_index(codes.T, shape), minlength=probabilities.size)
    expected = probabilities.ravel() * len(codes)
    assert (seen[expected == 0] == 0).all(), "cells of probability zero are never drawn"
    kept = expected > 0
    statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
    return statistic, chi2.isf(ALPHA, kept.sum() - 1)


@pytest.mark.parametrize("target, classwise", [(2, False), (None, False), (2, True)])
def test_frequencies_equal_probabilities(target, classwise):
    model = particles(target, classwise=classwise)
    truth = law(model)
    assert np.isclose(truth.sum(), 1)
    found, limit = chi_square(model.draw(60_000, np.random.default_rng(1)), truth)
    assert found < limit
    # Many tiny draws: every single row has the exact law, not only large samples.
    rng = np.random.default_rng(2)
    singles = np.concatenate([model.draw(1, rng) for _ in range(4000)])
    found, limit = chi_square(singles, truth)
    assert found < limit


@pytest.mark.parametrize("target, classwise", [(2, False), (None, False), (2, True)])
def test_conditioning_equals_rejection_sampling(target, classwise):
    model = particles(target, seed=3, classwise=classwise)
    masks = {0: np.array([0, 0.25, 1, 0, 0.5, 0]), 2: np.array([0.3, 1.0])}
    weight = law(model) * masks[0][:, None, None] * masks[2]
    assert np.isclose(model.probability(masks), weight.sum())
    rng = np.random.default_rng(4)
    found, limit = chi_square(model.draw(60_000, rng, masks), weight / weight.sum())
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
    for target in (2, None):
        model = particles(target)
        again = Particles.from_arrays(model.to_arrays())
        assert again.target == target
        assert np.array_equal(again.draw(50, np.random.default_rng(1)), model.draw(50, np.random.default_rng(1)))


def test_stratified_draws_vary_less_than_independent_ones():
    model = particles(seed=8)
    truth = law(model).sum((1, 2))
    rng = np.random.default_rng(9)
    spread = np.mean(
        [np.square(np.bincount(model.draw(500, rng)[:, 0], minlength=6) / 500 - truth) for _ in range(200)]
    )
    assert spread < 0.6 * np.mean(truth * (1 - truth) / 500)


def test_a_million_rows_take_seconds():
    rng = np.random.default_rng(10)
    sizes, cells, k = [20] * 15, 200, 1024
    blocks = np.concatenate([rng.dirichlet(np.ones(s), k) for s in sizes], axis=1).astype(np.float32)
    luts = [np.arange(cells, dtype=np.int32) * s // cells for s in sizes]
    insides = [np.full(cells, s / cells) for s in sizes]
    start = time.process_time()
    codes = Particles(blocks, luts, insides, 14).draw(1_000_000, rng)
    assert codes.shape == (1_000_000, 15) and time.process_time() - start < 20  # about 5 s on one quiet core
