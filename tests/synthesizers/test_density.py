"""The log-probability of rows under a mixture: it is a law, it is that of the drawn rows, and no row is impossible."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from tests.synthesizers.mixed import table

import nacre
from nacre.synthesizers.mixture.model import TableModel
from nacre.synthesizers.mixture.sampling import Particles
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.encoding import Values, encode
from nacre.table.grid import Grid
from nacre.table.sources.frames import to_arrow

SCHEMA = Schema(
    {
        "x": Numeric((0.0, 1.0)),
        "k": Numeric((0, 20), integer=True, nullable=True),
        "c": Categorical(("a", "b", "c", "d")),
        "y": Boolean(),
    },
    rows=4000,
)


@pytest.fixture(scope="module")
def release():
    return nacre.fit(table(), schema=SCHEMA, epsilon=1.0, delta=1e-5, noise_seed=1)


def made(schema, particles=3, rows=50, seed=0):
    """A model of any numbers, with zeros, wide groups, sloped cells and unequal weights."""
    rng = np.random.default_rng(seed)
    grids = [Grid.of(schema.columns[name]) for name in schema.modelled]
    luts = [(np.arange(g.cells) * 3 // g.cells if g.cells > 3 else np.arange(g.cells)).astype(np.int32) for g in grids]
    blocks = np.concatenate([rng.dirichlet(np.ones(lut.max() + 1), particles) for lut in luts], axis=1)
    blocks[0, 0] = 0.0
    insides = [rng.random(g.cells) for g in grids]
    slopes = [np.where(g.width > 0, rng.choice([-2.0, -0.7, 0.0, 1.5, 2.0], g.cells), 0.0) for g in grids]
    shares = np.array([0.5, 0.3, 0.2])[:particles]
    return TableModel(schema, Particles(blocks.astype(np.float32), luts, insides, shares), slopes, rows)


def brute(model, schema, row):
    """One row by the definition, in floats and loops."""
    p, w = model.particles, 1 / (model.rows + 1)
    total = 0.0
    for k, share in enumerate(p.shares()):
        product = share
        for j, name in enumerate(schema.modelled):
            grid, v = model.grids[j], row[name]
            c = int(grid.codes(v)[0])
            inside = p.insides[j][c] / p.insides[j][p.luts[j] == p.luts[j][c]].sum()
            product *= (1 - w) * p.block(j)[k, p.luts[j][c]] * inside + w / grid.cells
            if c != grid.null and grid.width[c] > 0:
                low, high = grid.low[c], grid.high[c]
                if schema.columns[name].whole:
                    steps = high - low
                    u, size = (v.values[0] - low + 0.5) / steps, steps
                else:
                    u, size = (v.values[0] - low) / (high - low), high - low
                product *= ((1 - w) * (1 + model.slopes[j][c] * (u - 0.5)) + w) / size
        total += product
    return math.log(total)


def test_log_probabilities_are_those_of_the_definition():
    schema = Schema({"n": Numeric((0, 5000), integer=True, nullable=True), "x": Numeric((-3.0, 9.0)),
                     "c": Categorical(("a", "b", "c", "d"), nullable=True), "y": Boolean()})  # fmt: skip
    model = made(schema)
    drawn = model.draw(60, np.random.default_rng(1))
    found = model.log_prob(drawn)
    for i in range(60):
        row = {name: v.take(np.array([i])) for name, v in drawn.items()}
        assert found[i] == pytest.approx(brute(model, schema, row), abs=1e-9)


def test_labels_and_whole_numbers_sum_to_one():
    schema = Schema({"c": Categorical(("a", "b", "c", "d"), nullable=True), "y": Boolean(),
                     "n": Numeric((0, 700), integer=True, nullable=True)})  # fmt: skip
    model = made(schema, rows=5)
    rows = [(c, y, n) for c, y, n in itertools.product([*"abcd", None], [True, False], [*range(701), None])]
    frame = pd.DataFrame(rows, columns=["c", "y", "n"]).astype({"n": "Int64"})
    mass = np.exp(model.log_prob(encode(to_arrow(frame), schema).columns))
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert mass.min() > 0


def test_decimals_count_by_their_mass():
    schema = Schema({"x": Numeric((0.0, 3.0), decimals=2)})
    model = made(schema)
    values = Values.of(np.arange(301) / 100)
    assert np.exp(model.log_prob({"x": values})).sum() == pytest.approx(1, abs=1e-9)


def test_numbers_integrate_to_one(release):
    x, others = (np.arange(400) + 0.5) / 400, [*itertools.product([*range(21), None], "abcd", [True, False])]
    k, c, y = (np.repeat(np.array(v, object), 400) for v in zip(*others, strict=True))
    frame = pd.DataFrame({"x": np.tile(x, len(others)), "k": pd.array(k, "Int64"), "c": c, "y": y.astype(bool)})
    whole = np.exp(release.log_prob(frame)).sum() / 400
    atoms = pd.DataFrame({"x": 0.0, "k": pd.array([1], "Int64"), "c": "a", "y": True})
    assert np.isfinite(release.log_prob(atoms)).all()
    assert whole == pytest.approx(1, abs=0.01)


def test_drawn_rows_have_the_mean_that_the_law_gives_them(release):
    """The mean of -log p over drawn rows of labels is the entropy of the law of labels."""
    frame = pd.DataFrame([(c, y) for c in "abcd" for y in (True, False)], columns=["c", "y"])
    schema = Schema({"c": SCHEMA.columns["c"], "y": Boolean()}, rows=4000)
    small = nacre.fit(table()[["c", "y"]], schema=schema, epsilon=1.0, delta=1e-5, noise_seed=1)
    p = np.exp(small.log_prob(frame))
    assert p.sum() == pytest.approx(1, abs=1e-9)
    drawn = small.sample(200_000, seed=1)
    shares = [((drawn.c == c) & (drawn.y == y)).mean() for c, y in frame.itertuples(index=False)]
    np.testing.assert_allclose(shares, p, atol=1e-3)


def test_no_valid_row_is_impossible_and_likely_rows_are_likelier(release):
    frame = table(3000, seed=9)
    shuffled = frame.assign(x=np.random.default_rng(0).permutation(frame.x))
    assert release.log_prob(frame).mean() > release.log_prob(shuffled).mean() + 0.3
    odd = frame.assign(c="d", x=np.tile([0.0, 1.0], 1500))
    assert np.isfinite(release.log_prob(odd)).all()


def test_a_saved_release_says_the_same(release, tmp_path):
    release.save(tmp_path / "r.nacre")
    frame = table(200, seed=3)
    np.testing.assert_array_equal(nacre.load(tmp_path / "r.nacre").log_prob(frame), release.log_prob(frame))
