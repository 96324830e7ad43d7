"""Weights of tables: raking against an independent solution, statements of targets, refusals, drawing by weights."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.optimize import minimize

from nacre import Between, Boolean, Categorical, Datetime, NacreError, Numeric, Schema
from nacre.errors import ConvergenceError, DataError, SchemaError
from nacre.targets import Labelled, Shares, Thinning, WeightColumn, Weights, raking
from nacre.targets.weights import duplicated, resample

SCHEMA = Schema({"c": Categorical(("a", "b", "z")), "x": Numeric((0.0, 1.0)), "y": Boolean(nullable=True)})


def table(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    c = np.where(rng.random(n) < 0.2 + 0.5 * x, "a", "b")
    y = [None if r < 0.1 else bool(r < 0.3) for r in rng.random(n)]
    return pa.table({"c": c, "x": x, "y": y})


def test_one_column_is_the_ratio_of_shares():
    found = Shares({"c": {"a": 0.5, "b": 0.5}}).weights(table(), SCHEMA).values
    a = np.asarray(table()["c"]) == "a"
    np.testing.assert_allclose(found, np.where(a, 0.5 / a.mean(), 0.5 / (~a).mean()), rtol=1e-12)


def test_raking_is_the_nearest_weighting_that_meets_the_shares():
    """Independent: minimise the dual of relative entropy, log mean exp(λ·indicators) − λ·shares, by BFGS."""
    t = table(400)
    asked = {"c": {"a": 0.7, "b": 0.3}, "x": {Between(0.0, 0.4): 0.5, Between(0.4000001, 1.0): 0.5}}
    found = Shares(asked).weights(t, SCHEMA).values
    a, low = np.asarray(t["c"]) == "a", np.asarray(t["x"]) <= 0.4
    s = np.stack([a, low], axis=1).astype(float)
    dual = lambda v: np.log(np.mean(np.exp(s @ v))) - v @ [0.7, 0.5]  # noqa: E731
    v = minimize(dual, np.zeros(2), tol=1e-12).x
    wanted = np.exp(s @ v)
    np.testing.assert_allclose(found, wanted / wanted.mean(), rtol=1e-4)
    assert np.average(a, weights=found) == pytest.approx(0.7, abs=2e-6)
    assert np.average(low, weights=found) == pytest.approx(0.5, abs=2e-6)


def test_null_is_a_value_and_what_is_not_named_does_not_occur():
    t = table()
    w = Shares({"y": {True: 0.5, None: 0.5}}).weights(t, SCHEMA).values
    y = t["y"].to_pylist()
    assert sum(w[i] for i in range(len(y)) if y[i] is None) / w.sum() == pytest.approx(0.5)
    assert not w[[v is False for v in y]].any()


@pytest.mark.parametrize(
    ("shares", "error", "match"),
    [
        ({"c": {"a": 0.5, "b": 0.4}}, NacreError, "sum to 0.9"),
        ({"c": {"a": 1.5, "b": -0.5}}, NacreError, "expected numbers >= 0"),
        ({"nobody": {"a": 1.0}}, SchemaError, "no column 'nobody'"),
        ({"c": {"q": 1.0}}, SchemaError, "'q' is not a category"),
        ({"c": {"a": 0.5, "z": 0.5}}, DataError, "no row has value 'z'"),
        ({"c": {"a": "x", "b": 0.5}}, NacreError, "expected numbers >= 0"),
        ({"c": {"a": 0.5, frozenset({"a", "b"}): 0.5}}, NacreError, "overlaps"),
        ({"x": {Between(0, 0.6): 0.5, Between(0.5, 1): 0.5}}, NacreError, "overlaps"),
        ({"c": 0.5}, NacreError, "expected"),
        ({}, NacreError, "expected"),
    ],
)
def test_refused_shares(shares, error, match):
    with pytest.raises(error, match=match):
        Shares(shares).weights(table(), SCHEMA)


def test_shares_that_contradict_each_other():
    spots = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])]
    with pytest.raises(ConvergenceError, match="cannot all be met"):
        raking.rake(spots, [[0.9, 0.1], [0.1, 0.9]], ["a", "b"])


@pytest.mark.parametrize(
    ("column", "own", "clash"),
    [
        (Numeric((0.0, 9.0)), (Between(None, 4), Between(3, None)), True),
        (Numeric((0.0, 9.0)), (Between(None, 3), Between(None, 4)), True),
        (Numeric((0.0, 9.0)), (Between(0, 9), frozenset({3.0, None})), True),
        (Numeric((0.0, 9.0), nullable=True), (Between(0, 4), Between(4.5, 9), None), False),
        (
            Datetime(("2020-01-01", "2020-12-31")),
            (Between(None, "2020-02-01"), Between("2020-02-01T12:00", None)),
            True,
        ),
        (Datetime(("2020-01-01", "2020-12-31")), (Between(None, "2020-02-01"), Between("2020-02-02", None)), False),
        (Categorical(("a", "b", "z"), ordered=True), (Between("a", "b"), Between("b", "z")), True),
        (Boolean(), (True, False), False),
    ],
)
def test_shares_that_overlap_are_refused_before_a_row_is_read(column, own, clash):
    asked, schema = {"v": dict.fromkeys(own, 1 / len(own))}, Schema({"v": column})
    if not clash:
        assert [c.asked for c in raking.checked(asked, schema, "here")["v"]] == list(own)
        return
    with pytest.raises(NacreError, match="overlaps"):
        raking.checked(asked, schema, "here")


def test_shares_as_json():
    asked = {"c": {"a": 0.25, frozenset({"b", "z"}): 0.75}, "y": {None: 1.0}, "x": {Between(None, 0.5): 1.0}}
    columns = {"c": Categorical(("a", "b", "z")), "y": Boolean(nullable=True), "x": Numeric((0.0, 1.0))}
    columns |= {"d": Datetime(("2020-01-01", "2020-12-31")), "n": Numeric((0, 9), integer=True)}
    schema = Schema(columns)
    read = raking.checked(asked, schema, "here")
    assert raking.from_json(raking.to_json(read)) == asked
    spring = Between(dt.date(2020, 3, 1), pd.Timestamp("2020-05-31T12:00"))
    read = raking.checked({"d": {spring: np.float32(1)}, "n": {np.int64(3): 1}, "y": {np.True_: 1}}, schema, "here")
    found = raking.from_json(json.loads(json.dumps(raking.to_json(read))))
    assert found == {"d": {Between("2020-03-01", "2020-05-31T12:00:00"): 1}, "n": {3: 1}, "y": {True: 1}}
    assert raking.checked(found, schema, "here") == read


def test_column_thinning_and_refusals():
    t = table(300)
    w = np.linspace(0, 2, 300)
    found = WeightColumn("w").weights(t.append_column("w", pa.array(w)), SCHEMA)
    np.testing.assert_array_equal(found.values, w)
    assert not found.normalised and found.scaled.mean() == pytest.approx(1)
    with pytest.raises(DataError, match="no numbers of at least 0"):
        WeightColumn("w").weights(t.append_column("w", pa.array(-w)), SCHEMA)
    for kind in (pa.date32(), pa.timestamp("s"), pa.duration("s"), pa.list_(pa.float64()), pa.string()):
        odd = pa.array(
            [[1.0]] * 300 if pa.types.is_list(kind) else ["x"] * 300 if kind == "string" else [1] * 300, kind
        )
        with pytest.raises(DataError, match="no numbers of at least 0"):
            WeightColumn("w").weights(t.append_column("w", odd), SCHEMA)
    with pytest.raises(DataError, match="no column 'w'"):
        WeightColumn("w").weights(t, SCHEMA)
    kept = Thinning(lambda rows: 0.5 + rows["x"] / 2).weights(t, SCHEMA)
    np.testing.assert_allclose(kept.values, 1 / (0.5 + np.asarray(t["x"]) / 2))
    scaled = Thinning(lambda rows: 0.5 + rows["x"] / 2, share=0.75).weights(t, SCHEMA)
    assert scaled.normalised
    np.testing.assert_allclose(scaled.values, 0.75 * kept.values)
    with pytest.raises(DataError, match="above 0 and at most 1"):
        Thinning(lambda rows: rows["x"] * 0).weights(t, SCHEMA)


def test_worth_of_weights():
    w = Weights(np.r_[np.ones(99), 99.0])
    assert w.effective == pytest.approx(198**2 / (99 + 99**2)) and w.largest == pytest.approx(99 / 1.98)
    with pytest.raises(DataError, match="fewer than 50"):
        w.checked("here")
    with pytest.warns(UserWarning, match="few rows stand for many"):
        Weights(np.r_[np.zeros(920), np.ones(80)]).checked("here")
    with pytest.raises(NacreError, match="at least 1"):
        w.truncated(0.5)
    cut, bias = w.truncated(2.0)
    assert cut.values.max() == 2.0 and bias == pytest.approx((99 / 1.98 - 2) / 100)
    for bad in ([], [-1.0, 2.0], [np.nan, 1.0], [0.0, 0.0]):
        with pytest.raises(DataError):
            Weights(np.array(bad))


def test_drawing_by_weights_is_within_one_of_proportion():
    rng = np.random.default_rng(0)
    w = rng.random(50) ** 3
    w[[3, 49]] = 0
    counts = np.bincount(resample(w, 1000, rng), minlength=50)
    assert counts.sum() == 1000 and np.abs(counts - 1000 * w / w.sum()).max() < 1 + 1e-9
    assert counts[3] == 0 and counts[49] == 0
    assert np.bincount(resample(np.ones(50) + w / 9, 40, rng), minlength=50).max() == 1


def test_duplication_has_the_right_mean_and_the_papers_ceiling_does_not():
    """Mean of 400 draws: standard error of a count at most sqrt(.25/400) = .025, five of them: false alarm < 1e-5."""
    w = np.array([0.13, 0.5, 1.0, 2.21])
    rng = np.random.default_rng(1)
    times = np.mean([np.bincount(duplicated(w, rng), minlength=4) for _ in range(400)], axis=0)
    np.testing.assert_allclose(times, 10 * w, atol=0.125)
    np.testing.assert_array_equal(np.bincount(duplicated(w, rng, ceiling=True)), [1, 1, 1, 3])


@pytest.mark.slow
def test_learned_weights_are_means_of_noisy_ones():
    """Labels exp(x + z), z standard normal, have mean e^½·exp(x) and median exp(x): sums of weights are right when the
    former is learned. 400 labels: the factor is known to about 1.3/20 = 7 %."""
    from nacre.targets.learned import learner

    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (3_000, 2))
    labels = np.exp(x[:400, 0] + rng.normal(size=400))
    found = learner(x[:400], labels, x)(x)
    factor = found.sum() / np.exp(x[:, 0]).sum()
    assert factor == pytest.approx(np.exp(0.5), rel=0.2)
    assert np.corrcoef(np.log(found), x[:, 0])[0, 1] > 0.9


def test_weights_learned_from_few_rows():
    rng = np.random.default_rng(3)
    t, few = table(1_500, 1), table(150, 2)
    truth = lambda rows: np.exp(2 * np.asarray(rows["x"]) - (np.asarray(rows["c"]) == "a"))  # noqa: E731
    found = Labelled(few, truth(few) * np.exp(0.05 * rng.normal(size=150))).weights(t, SCHEMA).values
    assert np.corrcoef(np.log(found), np.log(truth(t)))[0, 1] > 0.97
    assert found.min() >= truth(few).min() * 0.8
    with pytest.raises(DataError, match="at least 20 rows"):
        Labelled(pd.DataFrame({"c": ["a"], "x": [0.5], "y": [True]}), [1.0]).check(SCHEMA)
