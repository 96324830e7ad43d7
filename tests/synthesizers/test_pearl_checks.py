"""What the doors of `pearl-paper` give and what training makes of it, apart from each other (specs/pearl.md 11)."""

from __future__ import annotations

import gc
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from nacre.distances import RBF, mmd_test
from nacre.engines.rows import MemoryRows
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import embedding, training
from nacre.synthesizers.pearl.config import Embedding, TrainingConfig
from nacre.synthesizers.pearl.fourier import frequencies
from nacre.synthesizers.pearl.network_model import NetworkModel
from nacre.synthesizers.pearl.paper import PearlPaper
from nacre.table import Boolean, Numeric, Schema

SCHEMA = Schema({"x": Numeric(bounds=(0.0, 1.0)), "y": Boolean()}, rows=500)
METHOD = PearlPaper(target="y", frequencies=1500, steps=3, batch=20, scale=1.0)


def bought(noise_seed, method=METHOD):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(500), "y": rng.random(500) < 0.5})
    plan = method.plan(SCHEMA, 500, Budget(1.0, 1e-5))
    curator = Curator(MemoryRows(table), plan, SCHEMA, NoiseSource(noise_seed))
    layout = Layout.of(SCHEMA, "y", "test")
    t = frequencies(method.frequencies, layout.width, 1.0, (1.0,), 0)
    waves = embedding.Waves(lambda scale: t, embedding.fourier.cosine_map(layout))
    return embedding.buy(curator, plan, layout, 1.0, waves, lambda *told: None), plan


def test_real_and_imaginary_parts_have_noise_of_their_own():
    """The difference of two runs is √2 times the noise; 3,000 numbers a part, five standard errors: about 1e-6."""
    (one, plan), (two, _) = bought(1), bought(2)
    noise = (one.value - two.value) / np.sqrt(2) / one.noise
    assert one.noise == pytest.approx(plan["embedding"].sigma / 500)
    re, im = noise[:, :1500].ravel(), noise[:, 1500:].ravel()
    for part in (re, im):
        assert abs(part.std() - 1) < 5 / np.sqrt(2 * len(part)) and abs(part.mean()) < 5 / np.sqrt(len(part))
    assert abs(np.corrcoef(re, im)[0, 1]) < 5 / np.sqrt(len(re))


def test_training_needs_nothing_but_what_was_bought():
    """The table and its curator are gone, and the model is the one that `fit` gives."""
    method = PearlPaper(target="y", frequencies=20, steps=3, batch=20)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(500), "y": rng.random(500) < 0.5})
    plan = method.plan(SCHEMA, 500, Budget(1.0, 1e-5))
    whole = method.fit(Curator(MemoryRows(table), plan, SCHEMA, NoiseSource(3)), plan, seed=4)
    curator = Curator(MemoryRows(table), plan, SCHEMA, NoiseSource(3))
    held = method.buy(curator, plan, seed=4)
    del table, curator
    gc.collect()
    layout = Layout.of(SCHEMA, "y", "test")
    apart = embedding.trained(held, layout, method.config(layout), seed=4)
    assert isinstance(apart, NetworkModel) and apart.rows == whole.rows == 500
    for name, array in whole.net.items():
        assert np.array_equal(array, apart.net[name]), name


def test_the_plain_squared_error_is_too_large_by_noise_and_batch_and_ours_is_not():
    """E|noisy - batch mean|² exceeds the true error by 2(Δσ)² + (1 - |φ|²)/B (specs/pearl.md E6); 6 standard errors."""
    rng = np.random.default_rng(5)
    t, batch, sigma = rng.normal(size=7), 20, 0.05
    truth = np.exp(-(t**2) / 2) * np.exp(0.3j * t)  # the table: N(0.3, 1)
    made = np.exp(-(t**2) / 2)  # the generator: N(0, 1)
    x = rng.normal(size=(20_000, batch))
    noisy = truth + sigma * (rng.normal(size=(20_000, 7)) + 1j * rng.normal(size=(20_000, 7)))
    waves = np.exp(1j * x[..., None] * t)
    plain = np.square(np.abs(noisy - waves.mean(1)))
    true = np.square(np.abs(truth - made))
    excess = plain.mean(0) - true
    error = plain.std(0) / np.sqrt(len(plain))
    assert (np.abs(excess - 2 * sigma**2 - (1 - np.abs(made) ** 2) / batch) < 6 * error).all()
    ones = jnp.ones((batch, 1), jnp.float32)

    def ours(value, target):
        released = Embedding(target[None], jnp.float32(sigma), jnp.ones(1), jnp.zeros((7, 1)), 1.0)
        return training.squared_error(value, ones, released)

    values = jnp.asarray(np.concatenate([waves.real, waves.imag], axis=2), jnp.float32)
    targets = jnp.asarray(np.concatenate([noisy.real, noisy.imag], axis=1), jnp.float32)
    found = np.asarray(jax.jit(jax.vmap(ours))(values, targets))
    both = found[:, :7] + found[:, 7:]
    assert (np.abs(both.mean(0) - true) < 6 * both.std(0) / np.sqrt(len(both))).all()


def test_delta_falls_with_epsilon_and_with_noise():
    grid = [0.1, 0.3, 1.0]  # beyond, what the sampler is charged hides what is left
    for sigma in (0.7, 2.0, 6.0):
        found = [accounting.delta_at([accounting.Gaussian(1 / sigma)], e) for e in grid]
        assert all(a > b for a, b in pairwise(found))
    for epsilon in grid:
        found = [accounting.delta_at([accounting.Gaussian(1 / s)], epsilon) for s in (0.7, 1.0, 2.0, 6.0)]
        assert all(a > b for a, b in pairwise(found))


@pytest.mark.slow
def test_a_mixture_in_the_plane_is_met_without_noise():
    """Three hills, k = 1,000: a permutation test of 300 against 300 points does not tell them apart."""
    rng = np.random.default_rng(6)
    middles = np.array([[0.25, 0.3], [0.7, 0.25], [0.5, 0.75]])
    real = np.clip(middles[rng.integers(0, 3, 20_000)] + 0.06 * rng.normal(size=(20_000, 2)), 0, 1)
    scale = 1 / np.sqrt(2 * real.var(axis=0).sum())
    t = frequencies(1000, 2, scale, (1.0, 3.0), 0)
    angle = real @ t.T
    value = np.concatenate([np.cos(angle), np.sin(angle)], axis=1).mean(0)[None] / np.sqrt(1000)
    config = TrainingConfig(2, (), 1, "exact", "waves", batch=300, steps=1500, every=0)
    held = Embedding(value, 0.0, np.ones(1), t, 20_000)
    schema = Schema({"a": Numeric(bounds=(0.0, 1.0)), "b": Numeric(bounds=(0.0, 1.0))}, rows=20_000)
    model = embedding.trained(held, Layout.of(schema, None, "test"), config, seed=1)
    drawn = model.draw(300, np.random.default_rng(7))
    fake = np.column_stack([drawn["a"].values, drawn["b"].values])
    assert mmd_test(fake, real[:300], RBF(0.2), seed=0).p_value > 0.05
    far = np.clip(fake + 0.05, 0, 1)
    assert mmd_test(far, real[:300], RBF(0.2), seed=0).p_value < 0.05  # and it would notice a small shift
