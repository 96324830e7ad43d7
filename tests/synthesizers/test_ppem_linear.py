"""What PPEM with epsilon buys before it trains: with next to no noise, the moments of the rows and what follows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from nacre.engines import open_rows
from nacre.nets.branched import Branched, forward
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem import linear
from nacre.synthesizers.ppem.method import Ppem
from nacre.synthesizers.ppem.model import split
from nacre.table import Categorical, Numeric, Schema

ROWS = 20_000
SCHEMA = Schema({**{n: Numeric((-20.0, 30.0)) for n in "abc"}, "kind": Categorical(("x", "y", "z"))}, rows=ROWS)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = rng.choice(3, ROWS, p=[0.6, 0.3, 0.1])
    a = rng.normal(2.0, 1.0, ROWS) + 1.5 * (kind == 2)
    b = 0.5 * a + rng.normal(size=ROWS)
    c = a - 2.0 * b + rng.normal(size=ROWS) + (kind == 1)
    return pd.DataFrame({"a": a, "b": b, "c": c, "kind": np.array(["x", "y", "z"])[kind]})


@pytest.fixture(scope="module")
def bought(table):
    method = Ppem(target="kind", hide=("a",), steps=5)
    plan = method.plan(SCHEMA, ROWS, Budget(25.0, 1e-6, "zero_out", large=True))
    layout = Layout.of(SCHEMA, "kind", "test")
    return linear.buy(
        Curator(open_rows(table), plan, SCHEMA, NoiseSource(5)), plan, layout, split(SCHEMA, "kind", method.hidden)
    )


def test_scales_shares_and_class_means_are_those_of_the_rows(table, bought):
    """A median and a quarter of the middle 95.4 % place a number; cells of the grid are a hundredth of the range."""
    coding, shares, _ = bought
    np.testing.assert_allclose(shares, table["kind"].value_counts(normalize=True)[["x", "y", "z"]], atol=0.002)
    numbers = table[list("abc")]
    place = (coding.mean * 50 - 20, coding.scale * 50)
    np.testing.assert_allclose(place[0], numbers.median(), atol=0.2)
    np.testing.assert_allclose(place[1], (numbers.quantile(0.977) - numbers.quantile(0.023)) / 4, atol=0.2)
    wanted = ((numbers - place[0]) / place[1]).groupby(table["kind"]).mean()
    np.testing.assert_allclose(coding.centre, wanted, atol=0.05)


def test_the_regression_and_what_it_leaves_are_those_within_classes(table, bought):
    coding, _, _ = bought
    numbers = (table[list("abc")] - (coding.mean * 50 - 20)) / (coding.scale * 50)
    within = (numbers - numbers.groupby(table["kind"]).transform("mean")).to_numpy()
    slope = np.linalg.lstsq(within[:, :1], within[:, 1:], rcond=None)[0]
    np.testing.assert_allclose(coding.slope, slope, atol=0.03)
    left = np.cov((within[:, 1:] - within[:, :1] @ slope).T)
    np.testing.assert_allclose(coding.root @ coding.root.T, left, rtol=0.08)  # long rows are cut


@pytest.mark.parametrize("d", [1, 2, 3, 8, 29])
def test_cutting_long_rows_costs_little_of_the_variance(d):
    """Normal rows: what is left of the variance of a number after the products of every row are cut to the bound."""
    x = np.random.default_rng(2).normal(size=(50_000, d))
    i, j = np.triu_indices(d)
    length = np.linalg.norm(x[:, i] * x[:, j], axis=1)
    left = np.mean(np.minimum(1.0, linear.square_bound(d) / length) * x[:, 0] ** 2)
    assert 0.88 < left < 1.03


def test_classes_given_the_hidden_columns_follow_bayes_rule(bought):
    """Normal classes at the bought means: the covariance of all of them together, columns taken as unrelated within."""
    coding, shares, _ = bought
    centre = coding.centre[:, coding.numbers_of(0)]
    spread = np.eye(1) + centre.T @ (shares[:, None] * centre)
    net = Branched((1,), 3, 2, 0)
    x = np.linspace(-3, 3, 13, dtype=np.float32)[:, None]
    logits = forward(net, linear.chooser_weights(coding, shares, 1), (x,))
    dense = np.stack([s * multivariate_normal(m, spread).pdf(x) for s, m in zip(shares, centre)], axis=1)
    found = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, dense / dense.sum(axis=1, keepdims=True), rtol=1e-4)


def test_means_of_small_classes_are_shrunk_by_what_noise_explains():
    """Noise of standard deviation 1 on 400 coordinates: a mean of 0 goes to nearly 0, a long one keeps its length."""
    rng = np.random.default_rng(1)
    noise, far = rng.normal(size=400), np.full(400, 5.0)
    assert np.linalg.norm(linear.shrunk(noise, 1.0)) < 0.35 * np.linalg.norm(noise)
    np.testing.assert_allclose(linear.shrunk(far, 1.0), far * (1 - 1 / 25))
    assert not linear.shrunk(np.full(4, 0.1), 1.0).any()
