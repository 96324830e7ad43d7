"""Rebalancing of releases: exact where the model allows, from a pool otherwise; targets when fitting."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.synthesizers.mixed import table

import nacre
from nacre import Between
from nacre.errors import DataError, NacreError
from nacre.privacy.transcript import Transcript
from nacre.release import rebalance as rebalancing
from nacre.targets import Thinning

SCHEMA = nacre.Schema({
    "x": nacre.Numeric((0.0, 1.0)),
    "k": nacre.Numeric((0, 20), integer=True, nullable=True),
    "c": nacre.Categorical(("a", "b", "c")),
    "y": nacre.Boolean(),
}, rows=3000)  # fmt: skip
ASKED = {"c": {"a": 0.6, "b": 0.1, "c": 0.3}, "k": {Between(0, 9): 0.2, Between(10, 20): 0.7, None: 0.1}}


@pytest.fixture(scope="module")
def sketch():
    return nacre.fit(table(3000), epsilon=2.0, schema=SCHEMA, options={"steps": 60, "particles": 128})


def shares(rows):
    return [(rows["c"] == v).mean() for v in "abc"] + [(rows["k"].fillna(99) <= 9).mean(), rows["k"].isna().mean()]


def test_several_columns_exactly(sketch):
    """Stratified draws of 20,000 rows: the deviation of a share is below that of independent ones, 3.5e-3; 5 of them
    is a false alarm rate below 1e-5."""
    found = sketch.sample(20_000, rebalance=ASKED, seed=1)
    np.testing.assert_allclose(shares(found), [0.6, 0.1, 0.3, 0.2, 0.1], atol=0.0175)
    assert not found.duplicated().mean() > sketch.sample(20_000, seed=1).duplicated().mean() + 0.05
    inside = sketch.sample(5_000, rebalance=ASKED, where={"y": True}, seed=1)
    assert inside["y"].all()
    np.testing.assert_allclose(shares(inside), [0.6, 0.1, 0.3, 0.2, 0.1], atol=0.035)


def test_the_tilted_law_is_the_weighted_one(sketch):
    """What was not asked for follows: the mean of x under the tilt equals the self-normalised mean of weighted rows."""
    plain = sketch.sample(200_000, seed=2)
    spots = [plain["c"].map({"a": 0, "b": 1, "c": 2}).to_numpy(),
             np.where(plain["k"].isna(), 2, np.where(plain["k"].fillna(99) <= 9, 0, 1))]  # fmt: skip
    w = nacre.targets.raking.rake(spots, [[0.6, 0.1, 0.3], [0.2, 0.7, 0.1]], ["c", "k"])
    tilted = sketch.sample(50_000, rebalance=ASKED, seed=3)
    assert tilted["x"].mean() == pytest.approx(np.average(plain["x"], weights=w), abs=0.01)
    assert tilted["y"].mean() == pytest.approx(np.average(plain["y"], weights=w), abs=0.02)


def test_several_columns_from_a_pool(sketch):
    """A range that cuts a cell, and a declared impossibility, leave the exact way: the pool meets the shares too."""
    asked = {"c": {"a": 0.6, "b": 0.1, "c": 0.3}, "x": {Between(0, 0.41234): 0.5, Between(0.41235, 1.0): 0.5}}
    told: list = []
    found = sketch.sample(2_000, rebalance=asked, seed=1, tell_weights=told.append)
    (facts,) = told
    pool = facts["effective_rows"] / facts["effective_share"]
    assert (
        pool in (20_000, 80_000, 320_000) and pool >= 2_000 * facts["largest_weight"] > 2_000
    )  # grown until none comes twice
    sketch.sample(10, rebalance={"c": {"a": 1.0}}, seed=1, tell_weights=told.append)  # exact: nothing is weighted
    assert len(told) == 1
    np.testing.assert_allclose(shares(found)[:3], [0.6, 0.1, 0.3], atol=0.01)
    assert (found["x"] <= 0.41234).mean() == pytest.approx(0.5, abs=0.01)
    ruled = dataclasses.replace(SCHEMA, impossible=({"c": "b", "y": True},))
    found = dataclasses.replace(sketch, schema=ruled).sample(2_000, rebalance=ASKED, seed=1)
    np.testing.assert_allclose(shares(found), [0.6, 0.1, 0.3, 0.2, 0.1], atol=0.01)
    assert not ((found["c"] == "b") & found["y"]).any()


def test_a_pool_that_ends_too_soon_says_how_often_rows_come(sketch, monkeypatch):
    """True is one row in three and weighs five times as much: 2.1 of the mean; 300 rows of a pool of 400."""
    monkeypatch.setattr(rebalancing, "POOL", 400)
    monkeypatch.setattr(rebalancing, "LARGEST", 400)
    even = Thinning(lambda rows: np.where(rows["y"], 0.2, 1.0))
    with pytest.warns(UserWarning, match="up to 2 times, for the pool they are drawn from ends at 400 rows"):
        sketch.sample(300, rebalance=even, seed=2)


def test_a_pool_grows_before_it_is_refused(sketch, monkeypatch):
    """One row in twenty weighs 1,000 times as much: 400 rows are worth 20 equal ones, 6,400 more than 300."""
    monkeypatch.setattr(rebalancing, "POOL", 400)
    monkeypatch.setattr(rebalancing, "LARGEST", 6_400)
    low = sketch.sample(4_000, seed=3)["x"].quantile(0.05)
    found = sketch.sample(10, rebalance=Thinning(lambda rows: np.where(rows["x"] < low, 1e-3, 1.0)), seed=2)
    assert (found["x"] < low).mean() > 0.8


def test_any_target_and_refusals(sketch):
    even = Thinning(lambda rows: np.where(rows["y"], 0.2, 1.0))
    plain, found = (sketch.sample(4_000, rebalance=r, seed=2)["y"].mean() for r in ({}, even))
    assert found == pytest.approx(5 * plain / (5 * plain + 1 - plain), abs=0.05)
    with pytest.raises(DataError, match="worth"):
        sketch.sample(100, rebalance=Thinning(lambda rows: np.where(np.arange(len(rows)) == 0, 1e-9, 1.0)))
    with pytest.raises(NacreError, match="both name 'c'"):
        sketch.sample(10, rebalance=ASKED, where={"c": "a"})
    for wrong in (7, nacre.targets.Shares({})):
        with pytest.raises(NacreError, match="expected"):
            sketch.sample(10, rebalance=wrong)
    with pytest.raises(NacreError, match="overlaps"):
        sketch.sample(10, rebalance={"k": {Between(0, 9): 0.5, Between(9, 20): 0.5}})


def test_fitted_for_shares_without_exact_counts(tmp_path):
    """The class column becomes the target of the plan, and the release draws the shares: also after saving."""
    seen = Transcript()
    asked = {"y": {True: 0.5, False: 0.5}}
    made = nacre.fit(table(3000), epsilon=1.0, schema=SCHEMA, target_shares=asked, transcript=seen,
                     options={"steps": 40, "particles": 64})  # fmt: skip
    assert made.certificate.guarantee == "proven"
    assert "with target" in {q["entry"] for q in seen.questions}
    made.save(tmp_path / "r.nacre")
    again = nacre.load(tmp_path / "r.nacre")
    assert again.sample(4_000, seed=1)["y"].mean() == pytest.approx(0.5, abs=0.04)
    assert again.sample(4_000, rebalance={}, seed=1)["y"].mean() == pytest.approx(0.3, abs=0.06)
    with pytest.raises(NacreError, match=r"was fitted for, and where both name 'y'; .*rebalance=\{\}"):
        again.sample(10, where={"y": True})
    assert again.sample(10, where={"y": True}, rebalance={})["y"].all()
    assert "other shares of y than the table's were asked for" in " ".join(str(again.certificate).split())


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"target_shares": {"y": {True: 0.5}}}, "sum to 0.5"),
        ({"weights": "x"}, "does not weigh rows"),
        ({"weights": "x", "target_shares": {"y": {True: 1.0}}}, "both state a target"),
        ({"target_shares": {"c": {"q": 1.0}}}, "not a category"),
        ({"target_shares": {}}, "expected"),
    ],
)
def test_refused_before_spending(more, match):
    seen = Transcript()
    with pytest.raises(NacreError, match=match):
        nacre.fit(table(200), epsilon=1.0, schema=SCHEMA, transcript=seen, **more)
    assert not seen.questions
