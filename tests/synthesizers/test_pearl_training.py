"""Losses, expectations and the critic, against enumeration, densities and simulation."""

from __future__ import annotations

import itertools
import re
from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from nacre.errors import ConvergenceError
from nacre.synthesizers.merf import Merf
from nacre.synthesizers.pearl import critic, fitting, fourier, training
from nacre.synthesizers.pearl.characters import choose
from nacre.synthesizers.pearl.method import Pearl
from nacre.synthesizers.pearl.paper import PearlPaper
from nacre.synthesizers.pearl.shrinking import project, shrink

ANGLES = [np.arange(3) * 2 * np.pi / 3, np.linspace(0, np.pi, 4), np.arange(2) * np.pi, np.arange(2) * np.pi]
EDGES = np.cumsum([0, 3, 4, 2, 2])


def small(shares=(0.5, 0.5, 0.0), k=14):
    chosen = choose(ANGLES, [False, True, False, False], [0, 1, 2], k, np.random.default_rng(1), shares)
    k = len(chosen.members)
    rng = np.random.default_rng(2)
    phi = (rng.normal(size=(2, k)) + 1j * rng.normal(size=(2, k))) / 10
    shares_ = [np.full(len(a), 1 / len(a)) for a in ANGLES]
    sigma = [np.full(len(a), 0.01) for a in ANGLES]
    return chosen, fitting.Measured(phi, np.linspace(0.01, 0.02, k), shares_, sigma, 3)


def blocks(rng, rows):
    return np.concatenate([rng.dirichlet(np.ones(len(a)), rows) for a in ANGLES], axis=1).astype(np.float32)


def enumerated(p, chosen):
    """[classes, k] by summing over every cell of the joint table of every particle."""
    out = np.zeros((2, len(chosen.members)), complex)
    for cell in itertools.product(*(range(len(a)) for a in ANGLES)):
        weight = np.prod([p[:, EDGES[j] + g] for j, g in enumerate(cell)], axis=0).mean()
        for i, held in enumerate(chosen.members):
            angle = sum(
                ANGLES[chosen.column[a]][cell[chosen.column[a]]] * chosen.harmonic[a] for a in held if a < chosen.one
            )
            out[cell[3], i] += weight * np.exp(1j * angle)
    return out


@pytest.mark.parametrize("shares", ((0.5, 0.5, 0.0), (0.4, 0.3, 0.3)))
def test_expectations_are_those_of_the_rows_that_will_be_drawn(shares):
    chosen, measured = small(shares)
    assert (chosen.order.max() == 3) == bool(shares[2])
    task = fitting.problem(measured, chosen)
    p = blocks(np.random.default_rng(3), 5)
    found = jax.jit(lambda p, last: fitting.expectations(p, last, task))
    re, im, _ = found(jnp.asarray(p), jnp.asarray(p[:, EDGES[3] :]))
    np.testing.assert_allclose(np.asarray(re) + 1j * np.asarray(im), enumerated(p, chosen), atol=2e-6)


@pytest.mark.parametrize("shares", ((0.5, 0.5, 0.0), (0.4, 0.3, 0.3)))
def test_the_error_of_a_batch_is_unbiased(shares):
    """Mean over 4,000 batches of 8 against the whole population of 400: 6 standard errors; the plain one is not."""
    chosen, measured = small(shares)
    task = fitting.problem(measured, chosen)
    rng = np.random.default_rng(4)
    everyone = blocks(rng, 400)
    last = slice(int(EDGES[3]), int(EDGES[4]))
    true = np.asarray(jax.jit(lambda p: fitting.squared_error(p, task, last, False))(jnp.asarray(everyone))).sum()
    picks = jnp.asarray(everyone[rng.integers(0, 400, (4000, 8))])
    for debiased, good in ((True, True), (False, False)):
        every = jax.jit(jax.vmap(lambda p, d=debiased: fitting.squared_error(p, task, last, d)))
        found = np.asarray(every(picks)).sum(1)
        away = abs(found.mean() - true) / (found.std() / np.sqrt(len(found)))
        assert bool(away < 6) is good, away


def test_noise_is_subtracted():
    """At the true values the expected error is zero, not 2σ² per class and frequency."""
    chosen, measured = small()
    p = blocks(np.random.default_rng(5), 30)
    truth = enumerated(p, chosen)
    rng = np.random.default_rng(6)
    task = fitting.problem(measured, chosen)
    re, im = rng.normal(size=(2, 400, *truth.shape)) * measured.sigma

    def error(re, im):
        return fitting.squared_error(jnp.asarray(p), task._replace(re=re, im=im), slice(9, 11), False).sum()

    found = np.asarray(jax.jit(jax.vmap(error))(jnp.asarray(truth.real + re), jnp.asarray(truth.imag + im)))
    assert abs(np.mean(found)) < 6 * np.std(found) / 20
    assert np.mean(found) + 2 * len(truth) * np.square(measured.sigma).sum() > 20 * abs(np.mean(found))


CONFIG = training.TrainingConfig(2, (3, 2), 2, "exact", "waves", 8, 1, 0)
PLAYED = replace(CONFIG, steps=30, every=1)


def test_exact_outputs_are_the_mean_over_categories():
    rng = np.random.default_rng(7)
    raw = jnp.asarray(rng.normal(size=(6, 7)), jnp.float32)
    t = jnp.asarray(rng.normal(size=(9, 7)), jnp.float32)
    found = np.asarray(jax.jit(training.features, static_argnums=3)(raw, jax.random.key(0), t, CONFIG))
    numbers, first, second = np.split(np.asarray(raw, np.float64), [2, 5], axis=1)
    numbers = 1 / (1 + np.exp(-numbers))
    p, q = (np.exp(a) / np.exp(a).sum(1, keepdims=True) for a in (first, second))
    expected = np.zeros((6, 9), complex)
    for i, j in itertools.product(range(3), range(2)):
        x = np.concatenate([numbers, np.tile(np.eye(3)[i], (6, 1)), np.tile(np.eye(2)[j], (6, 1))], axis=1)
        expected += (p[:, i] * q[:, j])[:, None] * np.exp(1j * x @ np.asarray(t, np.float64).T)
    np.testing.assert_allclose(found, np.concatenate([expected.real, expected.imag], axis=1) / 3, atol=1e-5)


@pytest.mark.parametrize("outputs", ("soft", "straight-through"))
def test_other_outputs_are_records_or_mixtures_of_them(outputs):
    rng = np.random.default_rng(8)
    raw, t = jnp.asarray(rng.normal(size=(50, 7)), jnp.float32), jnp.asarray(rng.normal(size=(4, 7)), jnp.float32)
    config = replace(CONFIG, outputs=outputs)
    hot = [np.asarray(h) for h in training._blocks(raw, jax.random.key(1), config)]
    np.testing.assert_allclose([h.sum(1) for h in hot], 1.0, atol=1e-5)
    whole = all(np.allclose(h.max(1), 1.0, atol=1e-6) for h in hot)
    assert whole is (outputs == "straight-through")
    power = np.square(np.asarray(training.features(raw, jax.random.key(1), t, config))).sum(1)
    np.testing.assert_allclose(power, 1.0, atol=1e-5)


def test_class_errors_are_unbiased_too():
    rng = np.random.default_rng(9)
    everyone = rng.normal(size=(2, 300, 5)) + np.arange(2)[:, None, None]
    shares = np.array([0.3, 0.7])
    value = rng.normal(size=(2, 5))
    released = training.Embedding(*(jnp.asarray(a, jnp.float32) for a in (value, 0.0, shares, np.zeros((1, 1)), 1.0)))
    true = np.square(value - shares[:, None] * everyone.mean(1)).sum()
    kinds = jnp.asarray(np.eye(2)[np.arange(12) % 2], jnp.float32)
    picks = rng.integers(0, 300, (6000, 12))
    batches = jnp.asarray(everyone[np.arange(12) % 2, picks], jnp.float32)
    found = np.asarray(jax.jit(jax.vmap(lambda v: training.squared_error(v, kinds, released)))(batches)).sum(1)
    assert abs(found.mean() - true) < 6 * found.std() / np.sqrt(len(found))


@pytest.mark.parametrize("d", (1, 3, 5))
def test_log_weights_are_ratios_of_densities(d):
    rng = np.random.default_rng(d)
    t, start, scale = rng.normal(size=(20, d)), rng.normal(size=d) / 3, rng.normal(size=d) / 3
    ratio = stats.norm.logpdf(t, 0, np.exp(scale)).sum(1) - stats.norm.logpdf(t, 0, np.exp(start)).sum(1)
    np.testing.assert_allclose(critic.log_weights(*map(jnp.asarray, (t, start, scale))), ratio, atol=2e-5)


@pytest.mark.parametrize("spread", ((2.0,), (0.5, 1.0, 4.0)))
def test_log_weights_of_mixed_scales_are_ratios_of_mixtures(spread):
    rng = np.random.default_rng(4)
    t, start, scale = rng.normal(size=(20, 3)), rng.normal(size=3) / 3, rng.normal(size=3) / 3

    def mixture(log_scale):
        return np.mean([stats.norm.pdf(t, 0, f * np.exp(log_scale)).prod(1) for f in spread], axis=0)

    ratio = np.log(mixture(scale) / mixture(start))
    np.testing.assert_allclose(critic.log_weights(*map(jnp.asarray, (t, start, scale)), spread), ratio, atol=1e-4)


def test_the_critic_of_mixed_scales_starts_at_the_scale_they_were_drawn_with():
    """2,000 frequencies, those of the largest factor count most: 7 standard errors of the root mean square."""
    spread = (0.5, 1.0, 2.0)
    t = fourier.frequencies(2000, 4, 0.3, spread, 0)
    config = training.TrainingConfig(4, (), 1, "soft", "waves", 8, 1, 1, spread=spread)
    released = training.Embedding(jnp.zeros((1, 4000)), 0.0, jnp.ones(1), jnp.asarray(t), 10)
    _, log_start = training.begin(released, config, jax.random.key(0))
    np.testing.assert_allclose(log_start, np.log(0.3), atol=7 * 0.025)
    np.testing.assert_allclose(critic.weights(released.frequencies, log_start, log_start, spread), 1.0, atol=1e-4)


def test_critic_weights_start_equal_and_stay_finite_in_many_dimensions():
    t = jnp.asarray(np.random.default_rng(0).normal(size=(500, 784)))
    start = jnp.zeros(784)
    np.testing.assert_allclose(critic.weights(t, start, start), 1.0, atol=1e-5)
    assert float(critic.effective_size(critic.weights(t, start, start))) == pytest.approx(500, rel=1e-5)
    far = start + critic.CLAMP
    weight = critic.weights(t, start, far)
    assert np.isfinite(np.asarray(weight)).all() and float(weight.sum()) == pytest.approx(500, rel=1e-3)
    assert float(critic.effective_size(weight)) < 50
    np.testing.assert_array_equal(critic.kept_in_play(start, start, far, t), start)  # refused: too few frequencies left
    near = critic.kept_in_play(start, start, start + 1e-3, t)
    np.testing.assert_allclose(near, 1e-3, rtol=1e-5)


def test_the_log_says_how_many_frequencies_are_left(caplog):
    """With the strength of one frequency far beyond the others' the critic turns to it: fewer are effective."""
    rng = np.random.default_rng(3)
    t = rng.normal(size=(40, 7))
    value = np.zeros((2, 80))
    value[:, np.argmax(np.abs(t[:, 0]))] = 5.0
    released = training.Embedding(value, 1e-3, np.array([0.5, 0.5]), t, 100.0)
    with caplog.at_level("INFO", logger=training.__name__):
        training.train(released, PLAYED, jax.random.key(0))
    (record,) = caplog.records
    step, steps, left, k = record.args
    assert (step, steps, k) == (30, 30, 40) and 4 <= left < 35


def test_numbers_that_are_lost_are_told_with_options_that_exist():
    """What an error advises can be done: each name in it is a setting of the method."""
    chosen, measured = small()
    lost = replace(measured, phi=measured.phi * np.nan)
    with pytest.raises(ConvergenceError) as told:
        fitting.fit(lost, chosen, fitting.Effort(particles=8, steps=2), jax.random.key(0))
    assert _named(told) and _named(told) <= {f.name for f in fields(Pearl)}
    released = training.Embedding(np.full((2, 80), np.nan), 0.01, np.full(2, 0.5), np.ones((40, 7)), 10)
    with pytest.raises(ConvergenceError) as told:
        training.train(released, PLAYED, jax.random.key(0))
    assert _named(told) and all(_named(told) <= {f.name for f in fields(m)} for m in (PearlPaper, Merf))


def _named(told):
    return set(re.findall("`(.*?)`", str(told.value)))


def test_shrinking_lowers_the_error_where_columns_are_independent_and_keeps_strong_ones():
    chosen, _ = small(k=40)
    p = np.tile(np.concatenate([[0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4], [0.6, 0.4], [0.3, 0.7]]), (2, 1))
    truth, mass = enumerated(p, chosen), np.array([0.3, 0.7])
    sigma = np.full(len(chosen.members), 0.03)
    rng = np.random.default_rng(3)
    plain = shrunk = 0.0
    for _ in range(50):
        noisy = truth + 0.03 * (rng.normal(size=truth.shape) + 1j * rng.normal(size=truth.shape))
        plain += np.square(np.abs(project(noisy, mass) - truth)).sum()
        shrunk += np.square(np.abs(shrink(noisy, mass, sigma, chosen) - truth)).sum()
    assert shrunk < 0.9 * plain
    np.testing.assert_allclose(shrink(truth, mass, sigma * 1e-9, chosen), truth, atol=1e-6)


def hidden():
    """Values, all but free of noise, of a mixture of three products."""
    chosen, measured = small(k=40)
    p = blocks(np.random.default_rng(11), 3)
    parts = np.split(p.mean(0), EDGES[1:-1])
    return chosen, replace(measured, phi=enumerated(p, chosen), sigma=measured.sigma * 1e-2, shares=parts)


def test_particles_reach_the_sketch_of_a_mixture():
    """They meet it to a thousandth."""
    chosen, exact = hidden()
    effort = fitting.Effort(particles=64, steps=400)
    found = fitting.fit(exact, chosen, effort, jax.random.key(0))
    assert np.abs(enumerated(found, chosen) - exact.phi).max() < 2e-3
    again = fitting.fit(exact, chosen, effort, jax.random.key(0))
    assert np.array_equal(found, again)


@pytest.mark.parametrize(("change", "off"), [({"critic": True}, 2e-3), ({"network": True, "particles": 1024}, 0.02)])
def test_the_critic_and_a_network_reach_it_too(change, off):
    """By other ways than free particles. A network's particles are a draw: 0.02 is what 1,024 of them leave."""
    chosen, exact = hidden()
    plain, other = fitting.Effort(particles=64, steps=400), fitting.Effort(**{"particles": 64, "steps": 400} | change)
    found = fitting.fit(exact, chosen, other, jax.random.key(0))
    assert np.abs(enumerated(found, chosen) - exact.phi).max() < off
    before = np.abs(enumerated(blocks(np.random.default_rng(1), 64), chosen) - exact.phi).max()
    assert before > 5 * off
    assert not np.array_equal(found[:64], fitting.fit(exact, chosen, plain, jax.random.key(0)))
