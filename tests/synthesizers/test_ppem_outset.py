"""Where private PPEM begins and what is set right after it: a normal law, and the bought class shares."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from nacre.nets.branched import Branched, forward
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem import linear, outset
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.grid import Grid

KEY = jax.random.key(4)


@pytest.mark.parametrize("norm", ["layer", "group", "none"])
def test_a_generator_begins_at_the_standard_normal_law(norm):
    """Mean 0 and covariance I within five standard errors and what a norm takes off, whatever the condition."""
    numbers = 9
    net = Branched((LATENT, 3), numbers + 4, outset.width_for(numbers, 64), 1, norm, True)
    weights = outset.normal(net, net.start(KEY)[0], numbers)
    if norm == "none":
        weights["mid0.weight"] = 0 * weights["mid0.weight"]  # without a norm there is no gain to start at 0
    rng = np.random.default_rng(0)
    z, given = rng.standard_normal((20_000, LATENT)), rng.normal(size=(20_000, 3))
    made = np.asarray(forward(net, weights, (z, given)))[:, :numbers]
    np.testing.assert_allclose(made.mean(axis=0), 0, atol=5 / 20_000**0.5)
    np.testing.assert_allclose(np.cov(made.T), np.eye(numbers), atol=0.06)
    assert np.abs(np.corrcoef(made.T, given.T)[:numbers, numbers:]).max() < 5 / 20_000**0.5


def test_a_narrow_generator_keeps_its_weights():
    net = Branched((LATENT,), 9, 8, 1, "layer", True)
    weights = net.start(KEY)[0]
    found = outset.normal(net, weights, 9)
    assert all(found[k] is weights[k] for k in weights)
    assert outset.width_for(27, 64) == 112 and outset.width_for(2, 64) == 64
    wide = Branched((LATENT, 3), 200, 1024, 1, "layer", True)
    weights = wide.start(KEY)[0]  # more numbers than coordinates of noise: width would buy nothing
    assert outset.normal(wide, weights, 200)["in0.weight"] is weights["in0.weight"]
    assert outset.width_for(LATENT, 64) == 4 * LATENT and outset.width_for(200, 64) == 64


def test_classes_have_the_bought_shares_over_generated_rows():
    """A class of one row in 500 that lies five standard deviations out, where a normal x' never comes."""
    config = TrainingConfig(Heads(2, ()), Heads(1, ()), 3, ((0, 1),), width=16, generator_width=16, linear=True)
    nets = {"omega": outset.normal(config.omega, config.omega.start(KEY)[0], 2)}
    chooser = {k: np.zeros(s, np.float32) for k, s in config.chooser.shapes().items()}
    chooser["in0.weight"] = np.eye(2, 4, dtype=np.float32) - np.eye(2, 4, 2, dtype=np.float32)
    chooser["out.weight"] = np.outer([1, 0, -1, 0], [5.0, 0.0, -1.0]).astype(np.float32) / 1.2
    chooser["out.bias"] = np.array([-20.0, 0.0, 1.0], np.float32)
    nets = {n: {k: np.asarray(a) for k, a in net.items()} for n, net in (nets | {"chooser": chooser}).items()}
    shares = np.array([0.002, 0.6, 0.398])
    found = outset.with_shares(config, nets, shares, 3)
    x = np.asarray(forward(config.omega, nets["omega"], (np.random.default_rng(9).standard_normal((40_000, LATENT)),)))
    logits = forward(config.chooser, found, (x,))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose((p / p.sum(axis=1, keepdims=True)).mean(axis=0), shares, rtol=0.15)
    np.testing.assert_array_equal(found["out.weight"], chooser["out.weight"])


def test_labels_begin_at_the_bought_shares():
    """The noise of the network blurs them a little; a share of 0 starts at the least share."""
    heads, rng = Heads(1, (3, 2)), np.random.default_rng(1)
    net = Branched((LATENT,), heads.width, 64, 1, "layer", True)
    wanted = np.array([0.7, 0.25, 0.05, 0.1, 0.9])
    weights = outset.begun(net, net.start(KEY)[0], 1, np.log(wanted))
    made = np.asarray(forward(net, weights, (rng.standard_normal((20_000, LATENT)),)))
    vector, _ = heads.hard(made, rng)
    np.testing.assert_allclose(vector[:, 1:].mean(axis=0), wanted, atol=0.04)
    assert abs(np.std(made[:, 0]) - 1) < 0.05


def test_bought_tables_give_the_shares_of_labels_and_of_missing_numbers():
    schema = Schema(
        {"size": Numeric((0.0, 1.0), nullable=True), "mark": Categorical(("a", "b", "c")), "flag": Boolean()}
    )
    layout = Layout.of(schema, "flag", "test")
    sized = np.zeros(Grid.of(schema.columns["size"]).cells, np.int64)
    sized[0], sized[-1] = 75, 25  # the last cell is for missing values
    tables = {"size": sized, "mark": np.array([50, 54, -4]), "flag": np.array([1, 1])}
    found = linear.label_logits(layout, tables, ("size", "mark"))
    np.testing.assert_allclose(np.exp(found), [0.75, 0.25, 0.48, 0.52, linear.LEAST_SHARE], atol=1e-9)
    assert len(linear.label_logits(layout, tables, ())) == 0
