"""PPEM: formulas against independent ones, hidden columns end to end, what is refused and what is never saved."""

from __future__ import annotations

import json
import warnings
import zipfile
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from tests.synthesizers.untrained import started, untrained

import nacre
from nacre.distances import mmd, stein
from nacre.distances.kernels import RBF
from nacre.engines import open_rows
from nacre.errors import DataError, NacreError, PlanError, SchemaError
from nacre.nets.branched import Branched, forward
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.synthesizers.parts import adversarial, lipschitz, revealed
from nacre.synthesizers.parts.coding import Coding, moments, whitening
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem import finish, losses, training
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.synthesizers.ppem.method import Ppem
from nacre.synthesizers.ppem.model import split
from nacre.table import Boolean, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.simulate.people import people, people_schema

SMALL = {"steps": 60, "batch": 32, "width": 16}
KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def release():
    return nacre.fit(
        people(800, 1), epsilon=None, schema=people_schema(), target="late_payment", method="ppem",
        hide=["age", "region"], alpha=0.1, options={**SMALL, "steps": 400},
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------- formulas


critic_slope = jax.jit(jax.grad(training.critic_loss), static_argnums=5)


def energy_net():
    net = Branched((3,), 1, 8, activation="softplus")
    return net, net.start(KEY)[0]


def test_scores_and_steepness_are_the_gradient_of_the_energy():
    net, weights = energy_net()
    x = jax.random.normal(KEY, (5, 3))
    one = jax.jit(jax.jacobian(lambda row: losses.energy(net, weights, row[None], anchor=0.01)[0]))
    wanted = np.stack([one(row) for row in x])
    energy_of = jax.jit(lambda rows: losses.energy(net, weights, rows, anchor=0.01))
    scores, steepness = (jax.jit(partial(f, energy_of)) for f in (losses.scores, lipschitz.slope_norm))
    np.testing.assert_allclose(scores(x), -wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(steepness(x), np.linalg.norm(wanted, axis=1), rtol=1e-5)
    assert (np.asarray(energy_of(100 * x)) >= 0).all()


@pytest.mark.parametrize("coordinates", [1, 3])
def test_an_energy_may_be_flat_in_a_single_number_and_nowhere_be_steep(coordinates):
    """E = k·x₀ has the slope k everywhere: (k − 1)², but 0 for k ≤ 1 where there is one coordinate."""
    x = jax.random.normal(KEY, (4, coordinates))
    for k, wanted in ((0.0, 0.0 if coordinates == 1 else 1.0), (0.25, 0.0 if coordinates == 1 else 0.5625), (3.0, 4.0)):
        energy_of = lambda rows: k * rows[:, 0]  # noqa: B023, E731
        np.testing.assert_allclose(lipschitz.penalty_at(energy_of, x), wanted, atol=1e-5)
        np.testing.assert_allclose(
            lipschitz.penalty_between(energy_of, x, 2 * x, jnp.full((4, 1), 0.3)), wanted, atol=1e-5
        )


def test_only_an_energy_that_has_sunk_is_lifted():
    at = lambda a, b: float(losses.floor_penalty(jnp.array([a, a]), jnp.array([b, b + 1])))  # noqa: E731
    assert at(0.0, 0.0) == pytest.approx((2 - 0.25) ** 2) and at(1.0, 1.0) == pytest.approx((2 - 1.25) ** 2)
    assert at(2.0, 2.0) == at(5.0, 50.0) == 0.0
    assert float(jax.grad(lambda e: losses.floor_penalty(e[:1], e[1:]))(jnp.array([0.1, 0.3]))[0]) < 0  # upwards


def test_a_marginal_energy_that_has_sunk_is_lifted_in_training():
    """The bias of an energy at 0: nothing but its floor moves it, upwards. That of the conditional one stays."""
    data, config = (
        made_data(),
        TrainingConfig(Heads(2, ()), Heads(2, ()), 1, ((0, 1),), penalty="none", batch=16, width=8),
    )
    state = started(config, KEY)
    flat = jax.tree.map(jnp.zeros_like, state["critics"])
    for net in ("xi", "gamma"):
        flat[net]["out.bias"] = jnp.full(1, -3.0)
    slope = critic_slope(flat, state, data, lane(1, 0.0), KEY, config)
    assert float(slope["xi"]["out.bias"][0]) < -0.05 and float(slope["gamma"]["out.bias"][0]) == pytest.approx(0.0)


def test_the_penalty_is_off_beside_a_decoy_and_on_without_or_with_epsilon():
    coding = coded()[0]
    beside, alone = (Ppem(hide=("age", "income", "region"), **how) for how in ({}, {"decoy": 0.0}))
    assert beside.strength(False) == 0.0 and beside.strength(True) == alone.strength(False) == 10.0
    assert beside.config(coding).penalty == "none" and beside.config(coding, private=True).penalty == "normalised"
    assert alone.config(coding).penalty == "normalised" and alone.settings(False)["weight"] == 10.0
    asked = replace(beside, weight=3.0)
    assert asked.config(coding).penalty == "normalised" and float(asked.lane(0).weight) == 3.0
    off = replace(alone, penalty="none")
    assert off.settings(False)["weight"] == 0.0 and off.config(coding).penalty == "none"
    assert alone.without_hiding().strength(False) == 0.0 and alone.show(None) == "range"  # type: ignore[arg-type]


def test_gradient_of_the_penalty_is_the_weighted_sum_of_pair_gradients():
    """∇P = −Σ c_i ∇u_i with the closed form of c (specs/ppem.md 3.4), against differentiation of the whole."""
    net, weights = energy_net()
    x = jax.random.normal(KEY, (16, 3))

    @jax.jit
    def u(w):
        energy_of = lambda rows: losses.energy(net, w, rows, anchor=losses.ANCHOR)  # noqa: E731
        return losses.pair_values(x, losses.scores(energy_of, x), (0, 1, 2), 1.3)

    level = float(stein.normalised(u(weights))) + 1.0
    whole = jax.jit(jax.grad(lambda w: losses.penalty(u(w), "normalised", level)))(weights)
    c = stein.normalised_coefficients(u(weights))
    formed = jax.tree.map(lambda j: -jnp.tensordot(c, j, 1), jax.jit(jax.jacobian(u))(weights))
    scale = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(whole))
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(formed)):
        np.testing.assert_allclose(a, b, atol=2e-4 * scale)
    assert float(losses.penalty(u(weights), "normalised", level - 2.0)) == 0.0


def test_one_sided_penalty_is_the_gap_to_the_studentised_mean():
    u = np.random.default_rng(0).normal(0.1, 1.0, 40)
    z = np.sqrt(40) * u.mean() / u.std(ddof=1)
    assert float(losses.penalty(jnp.asarray(u), "one-sided", 2.0)) == pytest.approx(max(0.0, 2.0 - z), rel=1e-4)


def test_a_set_uses_its_own_coordinates():
    x, s = (jax.random.normal(k, (10, 4)) for k in jax.random.split(KEY))
    wanted = stein.stein(x[0::2, 1:3], s[0::2, 1:3], x[1::2, 1:3], s[1::2, 1:3], 0.7)
    np.testing.assert_allclose(losses.pair_values(x, s, (1, 2), 0.7), wanted, rtol=1e-6)


def test_levels_are_quantiles_shared_by_the_sets():
    assert losses.level_of("normalised", 0.05, 1) == pytest.approx(3.8415, abs=1e-4)
    assert chi2.sf(losses.level_of("normalised", 0.05, 4), 1) == pytest.approx(0.0125)
    assert norm.sf(losses.level_of("one-sided", 0.05, 2)) == pytest.approx(0.025)


# ---------------------------------------------------------------------------------------------------- coding


def coded(hidden=("age", "income", "region")):
    schema = people_schema()
    layout = Layout.of(schema, "late_payment", "test")
    records = encode(people(300, 2).to_batches()[0], schema).columns
    rest = tuple(n for n in schema.modelled if n not in hidden and n != "late_payment")
    coding = Coding(layout, (hidden, rest), *moments(layout, [records]))
    (first, last), kinds = coding.encode(records)
    slope, root = whitening(first[:, : coding.heads(0).numbers], last[:, : coding.heads(1).numbers])
    return Coding(layout, coding.parts, coding.mean, coding.scale, slope, root), records, kinds


def test_coding_takes_linear_relations_out_and_gives_the_rows_back():
    coding, records, _ = coded()
    (first, last), found = coding.encode(records)
    numbers = last[:, : coding.heads(1).numbers]
    left = np.concatenate([first[:, : coding.heads(0).numbers], numbers], axis=1)
    cross = (left - left.mean(0)).T @ (left - left.mean(0)) / len(left)
    a = coding.heads(0).numbers
    np.testing.assert_allclose(cross[a:, a:], np.eye(len(numbers.T)), atol=0.02)
    np.testing.assert_allclose(cross[:a, a:], 0, atol=0.02)
    codes = []
    for part, x in enumerate((first, last)):
        heads, start, own = coding.heads(part), coding.heads(part).numbers, []
        for size in heads.sizes:
            own.append(x[:, start : start + size].argmax(1))
            start += size
        codes.append(own)
    back = coding.decode((first, last), codes, found)
    for name, values in records.items():
        np.testing.assert_array_equal(back[name].null, values.null)
        here = ~values.null
        np.testing.assert_allclose(
            back[name].values[here].astype(float), values.values[here].astype(float), rtol=1e-5, atol=1e-2
        )


def test_coding_looks_at_one_row_at_a_time():
    coding, records, _ = coded()
    whole, _ = coding.encode(records)
    alone, _ = coding.encode({n: v.take(np.array([7])) for n, v in records.items()})
    for a, b in zip(whole, alone):
        np.testing.assert_array_equal(a[7], b[0])


def test_relaxed_labels_are_draws_from_the_softmax():
    heads = Heads(1, (3, 2))
    raw = jnp.tile(jnp.array([[0.3, 0.0, 1.0, -1.0, 0.5, 0.0]]), (20_000, 1))
    soft = np.asarray(heads.relaxed(raw, KEY))
    np.testing.assert_allclose(soft[:, 1:4].sum(1), 1, atol=1e-5)
    share = np.bincount(soft[:, 1:4].argmax(1), minlength=3) / len(soft)
    np.testing.assert_allclose(share, np.exp([0, 1, -1]) / np.exp([0, 1, -1]).sum(), atol=0.015)  # 4 sd
    vector, codes = heads.hard(np.asarray(raw), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(codes[1]) / len(raw), [0.622, 0.378], atol=0.015)
    assert set(np.unique(vector[:, 1:])) == {0.0, 1.0}


# ---------------------------------------------------------------------------------------------------- training


def made_data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    visible = np.stack([hidden[:, 0] + 0.1 * rng.normal(size=n), rng.normal(size=n)], axis=1)
    return adversarial.prepared(hidden, visible, (hidden[:, 0] > 1).astype(int), 2, [1.0, 1.0])


def lane(seed, weight=10.0):
    return training.Lane(jax.random.key(seed), jnp.float32(weight), jnp.float32(0.0))


def test_the_shift_of_class_logits_is_what_balanced_batches_do_to_the_shares():
    """Four classes, one without rows: log(share among drawn rows / share among all) from 512,000 draws, five sd."""
    kinds = np.repeat([0, 1, 3], [700, 250, 50])
    data = adversarial.prepared(np.zeros((1000, 1)), np.zeros((1000, 1)), kinds, 4, [1.0])
    config = TrainingConfig(Heads(1, ()), Heads(1, ()), 4, ((0,),), batch=512, width=8)
    places = jax.vmap(lambda key: adversarial.balanced(data, key, config.batch, config.classes))(
        jax.random.split(KEY, 1000)
    )
    share = np.bincount(np.asarray(data.kinds)[np.asarray(places).ravel()], minlength=4) / 512_000
    drawn = np.exp(np.asarray(training.drawn_shift(data.counts))) * np.bincount(kinds, minlength=4) / 1000
    np.testing.assert_allclose(drawn, share, atol=5 * (0.25 / 512_000) ** 0.5)


def test_the_likelihood_of_balanced_batches_is_largest_at_the_shares_of_all_rows():
    """A class of one row in twenty: at its own share the slope of the last bias is 0 over 400 batches, within five sd
    of their mean (0.25 per row at most); at the share it has in a batch it is not."""
    kinds = (np.arange(1000) % 20 == 0).astype(int)
    data = adversarial.prepared(np.zeros((1000, 1)), np.zeros((1000, 1)), kinds, 2, [1.0])
    config = TrainingConfig(Heads(1, ()), Heads(1, ()), 2, ((0,),), batch=128, width=8)
    still = jax.tree.map(jnp.zeros_like, config.chooser.start(KEY)[0])

    @jax.jit
    def slope(bias):
        places = jax.vmap(lambda key: adversarial.balanced(data, key, config.batch, config.classes))(
            jax.random.split(KEY, 400)
        )
        lose = lambda b, j: training.class_loss(config, {**still, "out.bias": b}, data, j)  # noqa: E731
        return jax.vmap(jax.grad(lose), (None, 0))(bias, places).mean(axis=0)

    off = 5 * (0.25 / (400 * 128)) ** 0.5
    assert np.abs(slope(jnp.log(jnp.array([0.95, 0.05])))).max() < off
    assert np.abs(slope(jnp.log(jnp.array([0.725, 0.275])))).max() > 5 * off


def test_five_seeds_trained_together_equal_seeds_trained_alone_and_stay_finite():
    config = TrainingConfig(Heads(2, ()), Heads(2, ()), 2, ((0, 1),), steps=20, batch=16, width=8)
    data = made_data()
    together = training.train(data, config, [lane(1), lane(2, 0.0), lane(3), lane(4), lane(5)])
    assert all(np.isfinite(a).all() for nets in together for net in nets.values() for a in net.values())
    for found, own in zip(together, [lane(1), lane(2, 0.0)]):
        alone = training.train(data, config, [own])[0]
        for name in ("omega", "v", "xi", "chooser"):
            for key, a in alone[name].items():
                np.testing.assert_allclose(found[name][key], a, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("total", [1, 8, 24, 120, 400, 1_163, 9_600])
def test_the_released_average_holds_next_to_nothing_of_the_start(total):
    """The share of the weights before the first step, by hand: below e⁻⁸ however short the training."""
    left = 1.0
    for _ in range(total):
        left *= float(adversarial.kept(total))
    assert left <= np.exp(-8.0) * 1.001 and (total < 9 or left > 1e-6)
    assert float(adversarial.kept(10**6)) == pytest.approx(0.999)


def test_the_ridge_on_class_weights_comes_on_top_of_the_likelihood():
    """Rows at 0 say nothing of the first weights, whatever they are: their loss differs by the ridge alone."""
    data = adversarial.prepared(np.zeros((40, 1)), np.zeros((40, 1)), np.arange(40) % 2, 2, [1.0])
    config = TrainingConfig(Heads(1, ()), Heads(1, ()), 2, ((0,),), batch=16, width=8)
    still = jax.tree.map(jnp.zeros_like, config.chooser.start(KEY)[0])
    some = {**still, "in0.weight": still["in0.weight"] + 3.0, "in0.bias": still["in0.bias"] + 5.0}
    none, more = (float(training.class_loss(config, w, data, jnp.arange(16))) for w in (still, some))
    assert more - none == pytest.approx(1e-3 * 9.0 * still["in0.weight"].size, rel=1e-4)


def test_nearness_is_what_the_squared_effect_has_over_the_squared_distance():
    fake, real = (jax.random.normal(k, (12, 2)) for k in jax.random.split(KEY))
    far = float(mmd.plain(*(RBF(1.3)(a, b) for a, b in ((fake, fake), (fake, real), (real, real)))))
    for effect in (0.4, 0.9):
        wanted = max(0.0, effect**2 - far)
        assert float(losses.nearness(fake, real, 1.3, effect)) == pytest.approx(wanted, abs=1e-6)


# Two hidden numbers that have next to nothing to do with each other, many of them missing: which way their ranks are
# tilted hangs on where missing ones stand.
GAPS = Schema({"a": Numeric((0.0, 30.0), nullable=True), "b": Numeric((0.0, 30.0), nullable=True),
               "x": Numeric((-9.0, 9.0)), "y": Boolean()}, rows=600)  # fmt: skip


def gappy(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.exponential(size=(600, 2))
    numbers[rng.random((600, 2)) < 0.3] = np.nan
    return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "x": rng.normal(size=600), "y": rng.random(600) < 0.3})


def read(method, table, schema):
    plan = revealed.reveal_plan("test", schema, None, Budget(None), ())
    layout = Layout.of(schema, "y", "test")
    parts = split(schema, "y", method.hidden)
    return revealed.read(Curator(open_rows(table), plan, schema), plan, layout, parts, show=method.show)


@pytest.mark.parametrize("seed", range(12))
def test_moments_and_the_rows_learnt_from_have_one_tilt(seed):
    """Otherwise a file could hold the mean of rows tilted downwards beside generated ones tilted upwards, and the real
    mean in the middle. Numbers are standardised by the moments of the tilted rows, so those learnt from have mean 0."""
    method = Ppem(target="y", hide=["a", "b"])
    rows = read(method, gappy(seed), GAPS)
    pool = method.pool(rows, 0)
    assert len(pool) == 600
    numbers = rows.vectors[0][:, :2]
    there = rows.vectors[0][:, [2, 4]] == 1  # blocks of (present, missing)
    for j in (0, 1):
        own = numbers[pool, j][there[pool, j]]
        assert abs(own.mean()) < 0.06, "the coding has the moments of other rows"
        assert abs(numbers[there[:, j], j].mean()) > 0.15, "nothing was tilted, so nothing was shown"


def test_what_is_linear_is_taken_from_the_rows_learnt_from():
    """With a decoy from the tilted rows; with a penalty alone from none; the control has that of all rows."""
    table = gappy(1)
    # A line that is bent: other rows, another slope.
    table["x"] = np.where(np.nan_to_num(table["a"]) > 1, table["a"], -1.0) + 0.1 * table["x"]
    method = Ppem(target="y", hide=["a", "b"])
    rows = read(method, table, GAPS)
    pool = method.pool(rows, 0)
    found = method.moments(rows, pool)
    hidden, visible = rows.vectors[0][:, :2], rows.vectors[1][:, :1]
    for places, alike in ((pool, True), (np.arange(600), False)):
        wanted = finish.moments(hidden[places], visible[places], rows.kinds[places], 2, np.ones(len(places), int))
        assert np.allclose(found.lean, wanted.lean, atol=1e-5) == alike
    assert Ppem(target="y", hide=["a", "b"], decoy=0.0).moments(rows, pool) is None
    assert Ppem(target="y", hide=["a", "b"], decoy=0.0, weight=0.0, effect=0.1).moments(rows, pool) is None
    assert method.without_hiding().moments(rows, np.arange(600)) is not None


def test_the_effect_penalises_a_generator_that_is_too_near():
    """push·max(0, 1 − MMD²/effect²) comes on top of the generator's loss; a decoy or control has none of it."""
    data, near = made_data(), lane(1)._replace(push=jnp.float32(10.0))
    plain = TrainingConfig(Heads(2, ()), Heads(2, ()), 2, ((0, 1),), batch=16, width=8)
    state = started(plain, KEY)
    totals = [
        float(training.generator_loss(state["generators"], state, data, near, KEY, replace(plain, effect=e))[0])
        for e in (0.0, 1.0)
    ]
    assert 0 < totals[1] - totals[0] < 10.0


def test_losses_of_the_energies_and_generators_by_hand():
    """E(x) + max(0, m − E(G(z))): beyond the margin more is worth nothing. Generators lower the energies of what they
    make, of both pairs, and energies are never negative."""
    real, fake = jnp.array([1.0, 2.0, 0.5]), jnp.array([3.0, 10.0, 12.0])
    np.testing.assert_allclose(losses.margin_loss(real, fake, 10.0), [8.0, 2.0, 0.5])
    data, config = made_data(), TrainingConfig(Heads(2, ()), Heads(2, ()), 1, ((0, 1),), batch=16, width=8)
    state = started(config, KEY)
    lose = jax.jit(
        jax.value_and_grad(lambda generators: training.generator_loss(generators, state, data, lane(1), KEY, config)[0])
    )
    total, slope = lose(state["generators"])
    nearer = jax.tree.map(lambda w, g: w - 1e-3 * g, state["generators"], slope)
    keys = jax.random.split(KEY, 5)
    given = data.hidden[adversarial.balanced(data, keys[0], config.batch, config.classes)]
    z = jax.random.normal(keys[1], (2, config.batch, LATENT))

    @jax.jit
    def both(generators):
        hidden, other = (
            forward(config.omega, generators["omega"], (z[0],)),
            forward(config.v, generators["v"], (z[1], given)),
        )
        first = losses.energy(config.xi, state["critics"]["xi"], hidden, anchor=losses.ANCHOR)
        return jnp.array([first.mean(), losses.energy(config.gamma, state["critics"]["gamma"], other, given).mean()])

    energies = lambda generators: np.asarray(both(generators))  # noqa: E731
    assert float(total) == pytest.approx(energies(state["generators"]).sum(), rel=1e-5)
    assert (energies(nearer) < energies(state["generators"])).all()


def test_all_is_learnt_from_the_rows_of_the_pool():
    """Other numbers outside the pool change no gradient of energies and generators where there is no penalty; those of
    the pool do. The penalty looks at all rows."""
    rng, pool = np.random.default_rng(0), np.tile(np.arange(40), 10)
    hidden, visible = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    kinds = (hidden[:, 0] > 0).astype(int)
    shift = {
        "own": np.zeros(400),
        "outside": np.r_[np.zeros(40), np.ones(360)],
        "inside": np.r_[np.ones(40), np.zeros(360)],
    }
    data = {
        name: adversarial.prepared(hidden + s[:, None], visible + s[:, None], kinds, 2, [1.0, 1.0], pool)
        for name, s in shift.items()
    }

    def slopes(penalty):
        config = TrainingConfig(
            Heads(2, ()), Heads(2, ()), 2, ((0, 1),), penalty=penalty, batch=16, width=8, tilted=True, level=1e6
        )
        state = started(config, KEY)

        def both(d):
            generators = jax.grad(lambda m: training.generator_loss(m, state, d, lane(1), KEY, config)[0])(
                state["generators"]
            )
            return jax.grad(training.critic_loss)(state["critics"], state, d, lane(1), KEY, config), generators

        return {name: jax.tree.leaves(jax.jit(both)(d)) for name, d in data.items()}

    same = lambda a, b: all(np.array_equal(x, y) for x, y in zip(a, b))  # noqa: E731
    found = slopes("none")
    assert same(found["own"], found["outside"]) and not same(found["own"], found["inside"])
    found = slopes("normalised")
    assert not same(found["own"], found["outside"])


def test_a_short_game_moves_both_generators_towards_the_rows():
    """Hidden numbers above 1 in the pool, visible ones around 3: in a thousand steps of the energies generated ones,
    which start around 0, come within a half of the former and near the latter."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1000, 1))
    visible, above = 3 + rng.normal(size=(1000, 1)), np.flatnonzero(hidden[:, 0] > 1)
    data = adversarial.prepared(hidden, visible, np.zeros(1000, int), 1, [1.0, 1.0], rng.choice(above, 1000))
    config = TrainingConfig(Heads(1, ()), Heads(1, ()), 1, ((0,),), penalty="none", steps=1000, batch=32, width=16,
                            margin=5.0, energy_rate=1e-2, generator_rate=5e-3)  # fmt: skip
    nets = training.train(data, config, [lane(1, 0.0)])[0]
    z = rng.normal(size=(2, 2000, LATENT)).astype(np.float32)
    made = forward(config.omega, nets["omega"], (z[0],))
    other = forward(config.v, nets["v"], (z[1], made))
    assert abs(made.mean() - hidden[above].mean()) < 0.5 and 0.8 < other.mean() < 6


def test_norms_over_batches_are_those_of_generated_rows():
    """In training a generator is given real hidden numbers, around 2 here. The averages that are released are those of
    generated rows, after few steps still around 0, with the averaged weights: the hidden mean is not in them."""
    rng = np.random.default_rng(0)
    hidden = 2 + rng.normal(size=(400, 1))
    kinds = (rng.random(400) < 0.5).astype(int)
    data = adversarial.prepared(hidden, rng.normal(size=(400, 1)), kinds, 2, [1.0, 1.0])
    config = TrainingConfig(
        Heads(1, ()), Heads(1, ()), 2, ((0,),), penalty="none", steps=200, batch=32, width=16, norm="batch"
    )
    nets = training.train(data, config, [lane(1, 0.0)])[0]
    z = rng.normal(size=(2, 20_000, LATENT)).astype(np.float32)

    def averages(x):
        kinds = np.eye(2)[rng.integers(0, 2, len(x))]  # the class says nothing here
        v = nets["v"]
        noise = z[1][: len(x)] @ v["in0.weight"] + v["in0.bias"]
        scaled = (noise - noise.mean(0)) / np.sqrt(noise.var(0) + 1e-5) * v["in0.gain"] + v["in0.shift"]
        given = np.concatenate([x, kinds], axis=1) @ v["in1.weight"] + v["in1.bias"]
        both = np.concatenate([np.where(a > 0, a, 0.2 * a) for a in (scaled, given)], axis=1)
        return (both @ v["mid0.weight"] + v["mid0.bias"]).mean(0)

    own = forward(config.omega, nets["omega"], (z[0],))
    far = np.abs(averages(own) - averages(np.tile(hidden, (50, 1)))).max()
    assert far > 0.2 and np.abs(nets["v"]["mid0.mean"] - averages(own)).max() < 0.2 * far


def test_every_hidden_set_has_its_own_weight():
    """λ of a set multiplies its penalty alone: the sum with (2, 0.5) is 2 P_1 + 0.5 P_2."""
    config = TrainingConfig(Heads(2, ()), Heads(2, ()), 2, ((0,), (1,)), batch=16, width=8, level=60.0)
    energy = lambda x: losses.energy(config.xi, config.xi.start(KEY)[0], x)  # noqa: E731
    data = made_data()._replace(bandwidths=jnp.ones(3))
    total = lambda *w: float(training.hiding(config, energy, data.hidden[:16], data, jnp.asarray(w)))  # noqa: E731
    one, two = total(1.0, 0.0), total(0.0, 1.0)
    assert one > 0 and two > 0 and one != two
    assert total(2.0, 0.5) == pytest.approx(2 * one + 0.5 * two, rel=1e-5)
    assert total(3.0) == pytest.approx(3 * (one + two), rel=1e-5)
    method = Ppem(hide=(("age",), ("region",)), weight=[2.0, 0.0], steep=10.0)
    assert (
        method.weight == (2.0, 0.0) and method.without_hiding().weight == 0.0 and method.settings(False)["rho"] == 1.0
    )


def test_the_penalty_moves_the_energy_and_nothing_else_of_it():
    """λ enters E_xi's loss only: after one step of the energies all other judges are the same."""
    config = TrainingConfig(Heads(2, ()), Heads(2, ()), 2, ((0, 1),), batch=16, width=8, level=60.0)
    state = started(config, KEY)
    slopes = [critic_slope(state["critics"], state, made_data(), lane(1, w), KEY, config) for w in (0.0, 10.0)]
    assert any(not np.array_equal(slopes[0]["xi"][k], slopes[1]["xi"][k]) for k in slopes[0]["xi"])
    for name in ("gamma", "chooser"):
        for key in slopes[0][name]:
            np.testing.assert_array_equal(slopes[0][name][key], slopes[1][name][key])


@pytest.mark.slow
def test_the_hinge_of_the_paper_is_soon_off():
    """After ten steps of the generators the Stein test rejects the energy in nearly all batches, so that the penalty is
    0: docs/methods/ppem.md says that it hides nothing, and why. 300 batches; about 1 % of them have a penalty."""
    data, config = made_data(), TrainingConfig(Heads(2, ()), Heads(2, ()), 1, ((0, 1),), batch=128, width=64)
    state, found = training.start(config, KEY), []

    @jax.jit
    def share(state, key):
        marginal = lambda x: losses.energy(config.xi, state["critics"]["xi"], x, anchor=losses.ANCHOR)  # noqa: E731
        some = jax.random.randint(key, (100, config.batch), 0, len(data.kinds))
        each = jax.vmap(lambda i: training.hiding(config, marginal, data.hidden[i], data, jnp.ones(())))(some)
        return (each > 0).mean()

    step = jax.jit(lambda state, number: training.step(state, data, lane(1), number, 40.0, config))
    for number in range(31):
        found += [float(share(state, jax.random.fold_in(KEY, number)))] if number in (10, 20, 30) else []
        state = step(state, number)
    assert np.mean(found) < 0.06


# ---------------------------------------------------------------------------------------------------- end to end


def test_a_release_hides_says_so_and_promises_nothing(release, tmp_path):
    certificate = release.certificate
    assert certificate.guarantee == "none" and certificate.epsilon is None
    assert certificate.extras["hidden"] == {"sets": [["age", "region"]], "alpha": 0.1}
    assert "not differential privacy" in str(certificate) and "nothing here says that it succeeded" in str(certificate)
    release.save(tmp_path / "r.nacre")
    again = nacre.load(tmp_path / "r.nacre")
    assert again.sample(50, seed=4).equals(release.sample(50, seed=4))
    some = again.sample(20, where={"late_payment": True, "age": nacre.Between(30, 60)})
    assert some["late_payment"].all() and some["age"].between(30, 60).all()


def test_filled_rows_keep_their_hidden_columns(release):
    """What p(x*|x') is worth can be looked at apart from p(x')."""
    schema = people_schema()
    records = encode(people(200, 5).to_batches()[0], schema).columns
    made = release.model.filled(records, np.random.default_rng(0))
    np.testing.assert_array_equal(made["age"].values, records["age"].values)
    np.testing.assert_array_equal(made["region"].values, records["region"].values)
    assert not np.array_equal(made["hours"].values, records["hours"].values)


def test_the_energy_is_never_saved(release, tmp_path):
    """It has seen the hidden columns, and no penalty on the generator covers it."""
    from safetensors.numpy import load

    release.save(tmp_path / "r.nacre")
    with zipfile.ZipFile(tmp_path / "r.nacre") as archive:
        names = load(archive.read("arrays.safetensors"))
        facts = json.loads(archive.read("model.json"))["facts"]
    assert {n.split("/")[0] for n in names if "/" in n} == {"omega", "v", "chooser", "finish"}
    assert set(facts) == {"rows", "target", "hidden", "width", "depth", "norm", "linear"}
    assert release.model.scores(encode(people(20, 1).to_batches()[0], people_schema()).columns) is not None
    assert nacre.load(tmp_path / "r.nacre").model.scores({}) is None


def test_no_saved_array_gives_the_real_moments_of_a_hidden_column(release, tmp_path):
    """Mean and spread of the saved coding are those of the tilted rows. Neither are the real ones hidden in the
    regression: of a visible number with spread 1, what it leaves and what it explains do not add up to 1 over real
    rows."""
    from safetensors.numpy import load

    release.save(tmp_path / "r.nacre")
    with zipfile.ZipFile(tmp_path / "r.nacre") as archive:
        arrays = load(archive.read("arrays.safetensors"))
    coding, schema = release.model.coding, people_schema()
    share = coding.layout.encode(encode(people(800, 1).to_batches()[0], schema).columns)[0]
    j = coding.layout.numbers.index("age")
    mean, sd = share[:, j].mean(), share[:, j].std()
    assert abs(arrays["mean"][j] - mean) > 0.3 * sd and abs(arrays["scale"][j] / sd - 1) > 0.01
    for name, a in arrays.items():
        for moment in (mean, sd):
            assert np.abs(a / moment - 1).min() > 1e-6, name
    slope, left = arrays["slope"][0], (arrays["root"] @ arrays["root"].T).diagonal()
    strong = np.abs(slope) > 0.2
    implied = (1 - left[strong]) / slope[strong] ** 2
    assert strong.any() and np.abs(implied / (sd / arrays["scale"][j]) ** 2 - 1).min() > 0.01


def test_moments_by_weight_are_those_of_repeated_rows():
    schema = people_schema()
    layout = Layout.of(schema, None, "test")
    records = encode(people(60, 2).to_batches()[0], schema).columns
    times = np.random.default_rng(0).integers(0, 4, 60)
    again = {n: v.take(np.repeat(np.arange(60), times)) for n, v in records.items()}
    for a, b in zip(moments(layout, [records], times.astype(float)), moments(layout, [again])):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    x = np.random.default_rng(1).normal(size=(60, 5))
    for a, b in zip(whitening(x[:, :2], x[:, 2:], times), whitening(*np.split(np.repeat(x, times, 0), [2], axis=1))):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_penalty_alone_scales_hidden_numbers_by_their_public_range():
    schema = people_schema()
    layout = Layout.of(schema, "late_payment", "test")
    batches = [encode(people(200, 2).to_batches()[0], schema).columns]
    parts = split(schema, "late_payment", ("age", "region"))
    found, _ = revealed.encoded(layout, parts, batches, shown="range")
    j = layout.numbers.index("age")
    assert (found.coding.mean[j], found.coding.scale[j]) == (0.5, 0.25) and not found.coding.slope.any()
    visible = found.vectors[1][:, : found.coding.heads(1).numbers]
    np.testing.assert_allclose(visible.T @ visible / len(visible), np.eye(visible.shape[1]), atol=1e-3)
    shows = [Ppem(hide=("age",), **options).show(found) for options in ({"decoy": 0.0}, {"decoy": 0.0, "weight": 0.0})]
    assert shows == ["range", None] and Ppem(hide=("age",)).show(found).mean() == pytest.approx(1.0)


def test_bounds_of_hidden_columns_that_were_read_are_warned_of():
    from nacre.synthesizers.ppem.options import warn_of_read_bounds

    with pytest.warns(UserWarning, match="hidden column 'age': bounds read from the rows.*exact least"):
        warn_of_read_bounds(nacre.Schema.draft(people(50, 1)), ("age",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_read_bounds(people_schema(), ("age",))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"hide": ["nobody"]}, SchemaError, "'nobody' is not a modelled column"),
        ({"hide": []}, NacreError, "name them with hide"),
        ({"hide": [["age"], 3]}, NacreError, "expected column names"),
        ({"hide": 5}, NacreError, "hide=5: expected column names"),
        ({"hide": None}, NacreError, "hide=None: expected column names"),
        ({"hide": ["age"], "width": 1}, NacreError, "width=1: .*at least 4"),
        ({"hide": ["age"], "width": 20_000}, NacreError, "width=20000: .*at most 16,384"),
        ({"hide": ["age"], "depth": 65}, NacreError, "depth=65: expected at most 64"),
        ({"hide": ["age"], "alpha": 1.0}, NacreError, "alpha=1.0"),
        ({"hide": ["age"], "decoy": 2}, NacreError, "decoy=2"),
        ({"hide": ["age"], "penalty": "x"}, NacreError, "normalised"),
        ({"hide": [["age"], ["region"]], "weight": [1.0]}, NacreError, "one for each of the 2 hidden sets"),
        ({"hide": ["age"], "weight": [-1.0]}, NacreError, "weight=-1.0"),
        (
            {"hide": ["age"], "penalty": "one-sided"},
            PlanError,
            "beside a decoy the penalty on the energy is off; give it",
        ),
        ({"hide": ["age"], "rho": 0.5}, PlanError, "rho=0.5: beside a decoy"),
        ({"hide": ["age"], "steep": -1.0}, NacreError, "steep=-1.0"),
        ({"hide": list(people_schema().modelled)}, SchemaError, "no column is left"),
        ({"hide": ["age"], "pairs": 64}, PlanError, "pairs=64 belongs to training with an epsilon"),
        ({"hide": ["age"], "clip": 0.5}, PlanError, "clip=0.5 belongs"),
    ],
)
def test_what_cannot_be_is_refused_before_rows_are_read(options, error, match):
    with pytest.raises(error, match=match):
        nacre.fit(people(30), epsilon=None, schema=people_schema(), method="ppem", options=options)


def test_without_a_schema_the_message_does_not_guess_what_a_column_is():
    """Nobody has said whether 'age' is a number, so it must not be asked for categories."""
    with pytest.raises(NacreError, match=r"column 'person_id': kind not declared.*'ppem' needs") as told:
        nacre.fit(people(30), epsilon=1.0, method="ppem", hide=["age"], neighbours="zero_out")
    assert "categories" not in str(told.value)


@pytest.mark.parametrize("asked", [{"hide": ["income"]}, {"alpha": 0.01}])
def test_what_is_asked_for_twice_is_refused(asked):
    """Either of the two would be dropped without a word, and a column that was to be hidden shown."""
    both = {"hide": ["age"], "alpha": 0.1}
    with pytest.raises(NacreError, match=f"{next(iter(asked))} .*among the options; leave one of the two out"):
        nacre.fit(people(30), epsilon=None, schema=people_schema(), method="ppem", options=asked, **both)


def test_hiding_needs_a_method_that_hides():
    with pytest.raises(NacreError, match="use method 'ppem'"):
        nacre.fit(people(30), epsilon=None, schema=people_schema(), hide=["age"])


@pytest.mark.parametrize("method", ["wgan", "ebgan", "steingan", "medgan"])
def test_a_method_that_promises_nothing_takes_no_budget(method):
    with pytest.raises(PlanError, match="promises nothing"):
        nacre.fit(people(30), epsilon=1.0, schema=people_schema(), method=method)


def test_forward_runs_the_same_in_numpy_and_jax():
    for norm_kind in ("batch", "layer", "group", "none"):
        net = Branched((4, 2), 3, 16, 2, norm_kind, True)
        weights, running = net.start(KEY)
        both = {k: np.asarray(a) for k, a in {**weights, **running}.items()}
        x = [np.random.default_rng(i).normal(size=(5, n)).astype(np.float32) for i, n in enumerate((4, 2))]
        wanted = np.asarray(forward(net, weights | running, [jnp.asarray(a) for a in x]))
        np.testing.assert_allclose(forward(net, both, x), wanted, rtol=1e-4, atol=1e-5)
        assert {k: a.shape for k, a in both.items()} == net.shapes()


def test_a_hidden_column_without_two_values_is_refused_by_name(monkeypatch):
    schema = nacre.Schema({"x": nacre.Numeric((0.0, 1.0)), "y": nacre.Numeric((0.0, 1.0))})
    table = pd.DataFrame({"x": np.full(40, 0.5), "y": np.linspace(0, 1, 40)})
    monkeypatch.setattr(training, "train", lambda *_: pytest.fail("trained"))
    with pytest.raises(DataError, match="hide: all rows are alike in x"):
        nacre.fit(table, epsilon=None, schema=schema, method="ppem", hide=["x"], options={**SMALL, "decoy": 0})


def test_a_target_that_alone_is_not_hidden_is_made_like_a_visible_column(monkeypatch):
    """Nothing is left for a class, and a game of generators that were not trained draws whole rows."""
    schema = nacre.Schema({"x": nacre.Numeric((0.0, 1.0)), "y": nacre.Boolean()})
    table = pd.DataFrame({"x": np.linspace(0, 1, 80), "y": np.arange(80) > 40})
    monkeypatch.setattr(training, "train", untrained)
    made = nacre.fit(table, epsilon=None, schema=schema, method="ppem", hide=["x"], target="y", options=SMALL)
    assert list(made.sample(5).columns) == ["x", "y"] and made.model.config.classes == 1


def test_columns_given_without_an_order_get_one():
    """A set has another order in every process, and the first hidden column is the one that a decoy moves upwards."""
    assert Ppem(hide={"b", "a", "c"}).hide == (("a", "b", "c"),)  # type: ignore[arg-type]


def test_the_certificate_names_hidden_columns_only_where_something_hides_them():
    assert Ppem(hide=("a",)).public_facts(private=False)["hidden"]["sets"] == [["a"]]
    assert Ppem(hide=("a",), weight=0.0, decoy=0.0).public_facts(private=False) == {}
    assert Ppem(hide=("a",), weight=0.0).public_facts(private=False) and not Ppem(hide=("a",), weight=0.0).public_facts(
        private=True
    )
    assert Ppem(hide=("a",), penalty="none", decoy=0.0).public_facts(private=True) == {}
