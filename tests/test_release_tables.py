"""Expected counts of a release: exact, and with intervals that hold what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.synthesizers.mixed import table
from tests.synthesizers.test_density import SCHEMA, made
from tests.table.rules import tables as ruled

import nacre
from nacre.errors import NacreError, SchemaError
from nacre.synthesizers.mixture.bought import Bought
from nacre.synthesizers.mixture.loss import Table
from nacre.table import Categorical, Datetime, Numeric, Schema


@pytest.fixture(scope="module")
def release():
    return nacre.fit(table(), schema=SCHEMA, epsilon=1.0, delta=1e-5, noise_seed=1)


def test_shares_are_those_of_the_mixture_and_of_many_rows(release):
    found = release.expected("c by y")
    assert found.share.sum() == pytest.approx(1)
    np.testing.assert_allclose(found["count"], 4000 * found.share)
    drawn = release.sample(300_000, seed=2)
    for c, y, share in found[["c", "y", "share"]].itertuples(index=False):
        assert ((drawn.c == c) & (drawn.y.astype(str) == y)).mean() == pytest.approx(share, abs=1e-3)


def test_edges_cut_numbers_where_they_say_and_null_has_a_cell(release):
    found = release.expected(["x", "k"], edges={"x": [0.25, 0.5], "k": [5]})
    assert list(found.x.unique()) == ["..<0.25", "0.25..<0.5", "0.5.."] and found.share.sum() == pytest.approx(1)
    drawn = release.sample(300_000, seed=2)
    low, null = (drawn.x < 0.25) & (drawn.k < 5).fillna(False), (drawn.x >= 0.5) & drawn.k.isna()
    assert found.share[0] == pytest.approx(low.mean(), abs=2e-3)
    assert found.share.iloc[-1] == pytest.approx(null.mean(), abs=2e-3)
    assert release.expected("k", edges={"k": [5]}).share.sum() == pytest.approx(1)


def test_three_columns_add_up_to_two(release):
    three = release.expected("x by c by y", edges={"x": [0.3]}).groupby(["c", "y"]).share.sum()
    two = release.expected("c by y").set_index(["c", "y"]).share
    np.testing.assert_allclose(three.loc[two.index], two, atol=1e-9)


def test_intervals_are_of_counted_groups_alone(release):
    groups = release.expected("x by y")
    assert groups.low.notna().all() and (groups.low <= groups.high).all() and (groups.low >= 0).all()
    assert release.expected("x", edges={"x": [0.123456]}).low.isna().any()
    assert release.expected("x by c by y").low.isna().all()
    few = groups[groups["count"] < 1]
    assert len(few) and few.below_noise.all()


def test_what_cannot_be_told_is_refused(release):
    for wrong in ([], "x by x", ["x", "k", "c", "y"]):
        with pytest.raises(NacreError, match="one to three"):
            release.expected(wrong)
    with pytest.raises(SchemaError, match="no modelled column 'z'"):
        release.expected("x by z")
    with pytest.raises(NacreError, match="labels"):
        release.expected("c", edges={"c": ["a"]})
    with pytest.raises(NacreError, match="lowest"):
        release.expected("x", edges={"x": [0.5, 0.2]})
    with pytest.raises(NacreError, match="not asked for"):
        release.expected("x", edges={"k": [5]})


def test_columns_that_rules_replace_are_refused_and_the_others_told():
    schema = ruled.schema(rows=3000)
    made = nacre.fit(ruled.stays(3000), schema=schema, epsilon=4.0, method="independent", noise_seed=1)
    told, refused = [], []
    for name in schema.modelled:
        try:
            assert made.expected(name).share.sum() == pytest.approx(1)
            told.append(name)
        except SchemaError:
            refused.append(name)
    assert told and refused, (told, refused)


def test_moments_are_cells_too():
    days = pd.date_range("2020-01-01", "2020-12-31").to_numpy()
    frame = pd.DataFrame({"day": np.random.default_rng(0).choice(days, 2000), "count": list("ab") * 1000})
    schema = Schema(
        {"day": Datetime(("2020-01-01", "2020-12-31"), unit="day"), "count": Categorical(("a", "b"))}, rows=2000
    )
    made = nacre.fit(frame, schema=schema, epsilon=8.0, delta=1e-5, noise_seed=1)
    found = made.expected("day by count", edges={"day": ["2020-07-01"]})
    assert found["share"].to_numpy() == pytest.approx(0.25, abs=0.03) and "count_" in found


def test_pooled_counts_have_the_variance_that_they_say():
    """Truth, and tables with noise of known size: the pooled sums miss it by their standard error."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 50, (3, 4, 2)).astype(float)
    misses = []
    for _ in range(400):
        tables = [Table(c, truth.sum(axis=tuple({0, 1, 2} - set(c))).transpose(np.argsort(np.argsort(c))), s)
                  for c, s in (((0, 1), 3.0), ((2, 0), 5.0), ((0, 1, 2), 7.0), ((1,), 0.001))]  # fmt: skip
        noisy = [Table(t.columns, t.counts + t.sigma * rng.normal(size=t.counts.shape), t.sigma) for t in tables]
        bought = Bought.of([*noisy, Table((0, 1), np.zeros((2, 4)), 0.001)], (3, 4, 2))
        pair = bought.count((1, 0), (np.eye(4), np.array([[1.0, 0, 1]])))
        one = bought.count((0,), (np.eye(3),))
        aside = bought.count((1,), (np.eye(4),))
        assert pair and one and aside and bought.count((0, 1, 2), (np.eye(3),) * 3) is None
        assert aside[1].min() > 1  # the table that chose the groups does not count
        expected = truth.sum(2)[[0, 2]].sum(0)
        misses.append(
            [((pair[0][:, 0] - expected) / pair[1][:, 0]).mean() * 2, *((one[0] - truth.sum((1, 2))) / one[1])]
        )
    assert np.std(misses, axis=0) == pytest.approx(1, abs=0.15)
    assert np.abs(np.mean(misses, axis=0)).max() < 0.2


def test_intervals_of_labels_hold_the_truth_as_often_as_they_say():
    """No smoothing and no choice of groups: 95 % of 40 fits times 14 counts."""
    rng = np.random.default_rng(3)
    a = rng.choice(list("pqrs"), 3000, p=[0.4, 0.3, 0.2, 0.1])
    b = np.where(rng.random(3000) < 0.5, a, "p")
    frame = pd.DataFrame({"a": a, "b": b})
    schema = Schema({n: Categorical(tuple("pqrs")) for n in "ab"}, rows=3000)
    hit = seen = 0
    for seed in range(40):
        found = nacre.fit(frame, schema=schema, epsilon=1.0, delta=1e-5, noise_seed=seed, options={"steps": 2})
        for names in (["a"], ["a", "b"]):
            told = found.expected(names).dropna(subset=["low"])
            real = frame.groupby(names).size()
            truth = np.array([real.get(k if len(names) > 1 else k[0], 0) for k in told[names].itertuples(index=False)])
            hit += int(((told.low <= truth) & (truth <= told.high)).sum())
            seen += len(told)
    assert seen > 700
    assert binom.cdf(hit, seen, 0.95) > 1e-4 and binom.sf(hit - 1, seen, 0.95) > 1e-4


def test_files_keep_the_counts(release, tmp_path):
    release.save(tmp_path / "r.nacre")
    pd.testing.assert_frame_equal(nacre.load(tmp_path / "r.nacre").expected("x by c"), release.expected("x by c"))


def test_a_model_without_counts_still_expects():
    schema = Schema({"n": Numeric((0, 99), integer=True), "c": Categorical(("a", "b"))})
    model = made(schema)
    seen = model.expected({"c": np.eye(2)})
    assert seen.shares.sum() == pytest.approx(1) and np.isnan(seen.counts).all()
