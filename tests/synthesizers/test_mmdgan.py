"""The medical-record model: its losses by mode, its checkpoint rule, a short fit, and the acceptance run (slow)."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest

import nacre
from nacre.distances import energy_distance
from nacre.distances.kernels import RBFSum
from nacre.errors import NacreError
from nacre.nets.branched import Branched, forward
from nacre.synthesizers.mmdgan.method import Best, Mmdgan, levelled
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.weighted import losses, training
from nacre.synthesizers.weighted.config import Batch
from nacre.synthesizers.weighted.training import prepared

SCHEMA = nacre.Schema({"x": nacre.Numeric((-8.0, 8.0)), "b": nacre.Boolean()})
KEY = jax.random.key(0)


def table(rows, seed=0):
    """Two Gaussians and a Bernoulli(.2) column."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(rows) < 0.5, -2.0, 2.0) + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"x": x, "b": rng.random(rows) < 0.2})


def test_critic_loss_of_each_mode_by_hand():
    x, y = np.random.default_rng(1).normal(size=(2, 10, 3)).astype(np.float32)
    data, real = prepared(x, np.ones(10)), Batch(x, np.ones(10, np.float32), np.zeros((10, 0), np.float32))
    for mode in ("ehr", "li2017", "ae01"):
        config = Mmdgan(mode=mode, width=6, batch=10).config(Heads(3, ()))
        state = jax.jit(lambda key, g=config: training.start(g, key)["critic"])(KEY)
        encode = jax.jit(lambda r, g=config, s=state: g.critic(s["critic"], (r,)))
        ex, ey = (np.asarray(encode(r)) for r in (x, y))
        again = [np.asarray(jax.jit(lambda e, g=config, s=state: g.back(s["back"], (e,)))(e)) for e in (ex, ey)]
        rebuilt = ((x - again[0]) ** 2).sum(1).mean() + ((y - again[1]) ** 2).sum(1).mean()
        k = lambda a, b: sum(np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * s * s)) for s in (1, 2, 4, 8, 16))  # noqa: E731
        u = k(ex, ex).mean() + k(ey, ey).mean() - 2 * k(ex, ey).mean()
        slope = jax.jit(lambda a, b, f=encode: losses.lipschitz_penalty(f, a, b, jax.random.split(KEY)[1]))(x, y)
        above = np.maximum(ey.mean(0) - ex.mean(0), 0).mean()
        wanted = {
            "ehr": rebuilt - 0.1 * u + float(slope),
            "ae01": 0.1 * rebuilt - u + float(slope),
            "li2017": 8 * rebuilt - np.sqrt(max(u, 0) + 1e-8) + 16 * above,
        }[mode]
        found = jax.jit(training.critic_loss, static_argnums=1)(state, config, data, real, y, KEY)
        assert float(found) == pytest.approx(wanted, rel=2e-4)


def test_identical_batches_have_no_distance():
    x = np.random.default_rng(2).normal(size=(20, 4)).astype(np.float32)
    assert abs(float(losses.squared_mmd(RBFSum((1.0, 4.0)), x, x, np.ones(20), losses.Estimator("sniw", "v")))) < 1e-6


def test_the_checkpoint_is_chosen_on_rows_that_were_held_out():
    generator = Branched((2,), 1, 4, 0, activation="elu")
    held = np.random.default_rng(3).normal(size=(200, 1)).astype(np.float32)
    best = Best(generator, Heads(1, ()), False, held, np.ones(200), 0)
    net = {k: np.asarray(v) for k, v in generator.start(KEY)[0].items()}
    nets = [{**net, "out.bias": np.array([shift], np.float32)} for shift in (5.0, 1.0, 3.0)]
    for i, one in enumerate(nets):
        assert not best.look({"mean": one}, 1_000 * (i + 1), 10**6)
    assert best.net["out.bias"] == 1.0
    assert not best.look({"mean": nets[0]}, 3_500, 10**6) and best.since == 1  # between two looks nothing happens
    assert any(best.look({"mean": nets[0]}, 1_000 * (i + 4), 10**6) for i in range(10))


@pytest.fixture(scope="module")
def short():
    return nacre.fit(table(400), epsilon=None, schema=SCHEMA, method="mmdgan",
                     options={"steps": 2, "batch": 16, "width": 8})  # fmt: skip


def test_fit_says_what_it_is(short, tmp_path):
    assert short.certificate.guarantee == "none"
    assert "no differential privacy; empirical attack scores only" in str(short.certificate)
    short.save(tmp_path / "m.nacre")
    assert nacre.load(tmp_path / "m.nacre").sample(30, seed=1).equals(short.sample(30, seed=1))


def test_labels_as_published_are_not_left_to_chance(short):
    import dataclasses

    raw = np.array([[0.0, 0.4, 0.6], [0.0, 0.9, -2.0]], np.float32)
    vector, (codes,) = Heads(1, (2,)).whole(raw)
    assert codes.tolist() == [1, 0] and vector[:, 1:].tolist() == [[0, 1], [1, 0]]
    exact = dataclasses.replace(Mmdgan(), paper_exact=True).config(Heads(1, (2,)))
    assert exact.heads is None


@pytest.mark.parametrize(("options", "match"), [({"mode": "other"}, "expected one of"), ({"width": 0}, "whole number")])
def test_refused_options(options, match):
    with pytest.raises(NacreError, match=match):
        Mmdgan(**options)


def test_labels_get_their_shares_by_the_last_biases():
    """Two blocks whose logits follow the noise; the mean of the drawn labels, not of their logits, is set right."""
    generator, heads = Branched((3,), 6, 8, 1, activation="elu"), Heads(1, (2, 3))
    net = {k: 3 * np.asarray(v) for k, v in generator.start(KEY)[0].items()}
    wanted, noise = np.array([0.8, 0.2, 0.05, 0.6, 0.35]), np.random.default_rng(4).normal(size=(40_000, 3))
    before, after = (
        heads.hard(forward(generator, n, (noise,)), np.random.default_rng(5))[0][:, 1:].mean(axis=0)
        for n in (net, levelled(generator, heads, net, wanted, 0))
    )
    np.testing.assert_allclose(after, wanted, atol=0.02)
    assert np.abs(before - wanted).max() > 0.1


def weighted_table(rows):
    """Weights that make four fifths of x positive, and three fifths of b true."""
    found = table(rows)
    x, b = (found["x"] > 0).to_numpy(), found["b"].to_numpy()
    return found.assign(w=np.where(x, 0.8 / x.mean(), 0.2 / (1 - x.mean())) * np.where(b, 3.0, 0.5))


def test_weights_reach_the_loss_the_checkpoint_and_the_last_biases(monkeypatch):
    """A training that keeps its first network and notes the rows it was given."""
    seen = []

    def train(data, config, steps, key, progress, keep):
        seen.append(data)
        keep({"mean": config.generator.start(key)}, steps)

    monkeypatch.setattr(training, "train", train)
    made = nacre.fit(weighted_table(2_000), epsilon=None, schema=SCHEMA, method="mmdgan", weights="w",
                     options={"width": 8})  # fmt: skip
    (data,) = seen
    assert np.average(data.rows[:, 0] > 0, weights=data.weights) == pytest.approx(0.8, abs=0.04)
    assert data.weights.mean() == pytest.approx(1.0, abs=1e-5)
    assert made.sample(4_000, seed=1)["b"].mean() == pytest.approx(0.6, abs=0.06)
    held = np.array([[0.0], [1.0]] * 200, np.float32)
    best = Best(Branched((2,), 1, 4, 0), Heads(1, ()), False, held, np.array([1.0, 4.0] * 200), 0)
    assert best.rows.mean() == pytest.approx(0.8, abs=0.02)


@pytest.mark.slow
def test_rows_of_a_weighted_table_have_the_shares_of_the_target():
    """Half of x is positive in the table, four fifths in the target; x is a number, so no last bias sets it right."""
    made = nacre.fit(weighted_table(1_000), epsilon=None, schema=SCHEMA, method="mmdgan", weights="w",
                     options={"steps": 600, "batch": 64, "width": 16})  # fmt: skip
    assert (made.sample(4_000, seed=1)["x"] > 0).mean() == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_acceptance_on_two_gaussians_and_a_coin(seed):
    """Energy to held-out rows at most twice that of fresh real rows (means of ten pairs of 2,000 rows), the share of
    the coin within .02 of the table's: on each of five seeds."""
    rows = table(5_000)
    scale = lambda t: np.stack([t["x"] / rows["x"].std(), t["b"]], axis=1).astype(float)  # noqa: E731
    fresh, other = ([scale(table(2_000, first + i)) for i in range(10)] for first in (5, 50))
    made = nacre.fit(rows, epsilon=None, schema=SCHEMA, method="mmdgan", seed=seed,
                     options={"steps": 8_000, "width": 32})  # fmt: skip
    drawn = made.sample(20_000, seed=1)
    assert np.isfinite(drawn["x"]).all()
    found = np.mean([energy_distance(a, b) for a, b in zip(np.split(scale(drawn), 10), fresh)])
    assert found <= 2 * np.mean([energy_distance(a, b) for a, b in zip(other, fresh)])
    assert drawn["b"].mean() == pytest.approx(rows["b"].mean(), abs=0.02)


@pytest.mark.slow
def test_the_critic_learns_to_rebuild_rows():
    scale = lambda t: np.stack([t["x"] / t["x"].std(), t["b"]], axis=1).astype(float)  # noqa: E731
    x = np.asarray(scale(table(1_000)), np.float32)
    config = Mmdgan(width=32, batch=64).config(Heads(2, ()))
    errors = []

    def look(state, done):
        again = config.back(state["critic"]["back"], (config.critic(state["critic"]["critic"], (x,)),))
        errors.append(float(np.mean((np.asarray(again) - x) ** 2)))
        return False

    training.train(prepared(x, np.ones(len(x))), config, 1_000, KEY, keep=look)
    assert errors[-1] < 0.05 and errors[-1] <= errors[0]
