"""Rows drawn for the same conditions are the same before a release is saved and once it is loaded, in all spellings."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

import nacre
from nacre import Between
from nacre.errors import NacreError, SchemaError
from nacre.release.file import pack, unpack

N = 6_000
SCHEMA = nacre.Schema(
    {
        "age": nacre.Numeric((0, 99), integer=True, nullable=True),
        "cost": nacre.Numeric((0.0, 10.0), atoms=(0.0,)),
        "ward": nacre.Categorical(("a", "b", "c")),
        "level": nacre.Categorical(("low", "mid", "high"), ordered=True),
        "ok": nacre.Boolean(),
        "day": nacre.Datetime(("2020-01-01", "2020-12-31"), unit="day"),
        "floor": nacre.Numeric((1, 3), integer=True),
        "name": nacre.Categorical(("tiny", "middling", "big"), ordered=True),
    },
    rows=N,
    dependencies=(
        nacre.Dependency("ward", "floor", {"a": 1, "b": 2, "c": 3}),
        nacre.Dependency("level", "name", {"low": "tiny", "mid": "middling", "high": "big"}),
    ),
    impossible=({"age": Between(None, 9), "ward": ["b", "c"]}, {"name": "big", "ok": [False]}),
)
# what is asked of each column, and which of its values may come
ASKED = [
    ({"age": [20, 30]}, {20, 30}),
    ({"age": {40, None, 20}}, {20, 40, None}),
    ({"age": Between(20, 30)}, set(range(20, 31))),
    ({"age": Between(None, 4)}, set(range(5))),
    ({"age": 50}, {50}),
    ({"age": None}, {None}),
    ({"cost": 0.0}, {0.0}),
    ({"ward": ("a", "b")}, {"a", "b"}),
    ({"level": ["low", "high"]}, {"low", "high"}),
    ({"level": Between("mid", "high")}, {"mid", "high"}),
    ({"ok": True}, {True}),
    ({"day": Between("2020-02-01", dt.date(2020, 2, 3))}, {dt.date(2020, 2, d) for d in (1, 2, 3)}),
    ({"day": [dt.date(2020, 2, 1), "2020-05-01"]}, {dt.date(2020, 2, 1), dt.date(2020, 5, 1)}),
    ({"floor": Between(2, None)}, {2, 3}),
    ({"name": Between("middling", "big")}, {"middling", "big"}),  # by the order of the labels, not of the alphabet
]


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, N)
    ward = np.where(age < 10, "a", rng.choice(list("abc"), N))
    level = rng.choice(["low", "mid", "high"], N)
    table = pd.DataFrame(
        {
            "age": pd.Series(age, dtype="Int64").where(rng.random(N) > 0.1),
            "cost": np.where(rng.random(N) < 0.3, 0.0, 10 * rng.random(N)),
            "ward": ward,
            "level": level,
            "ok": (level == "high") | (rng.random(N) < 0.5),
            "day": pd.date_range("2020-01-01", periods=N, freq="87min").date,
        }
    )
    table["floor"] = table["ward"].map({"a": 1, "b": 2, "c": 3})
    table["name"] = table["level"].map({"low": "tiny", "mid": "middling", "high": "big"})
    return nacre.fit(table, schema=SCHEMA, epsilon=20.0, noise_seed=0, options={"steps": 40, "particles": 64})


def again(release, tmp_path):
    release.save(tmp_path / "r.nacre", force=True)
    return nacre.load(tmp_path / "r.nacre")


def values(rows, name):
    return set(rows.column(name).to_pylist())


def hashable(asked):
    return frozenset(asked) if isinstance(asked, list | set) else asked


@pytest.mark.parametrize(("asked", "allowed"), ASKED, ids=[str(asked) for asked, _ in ASKED])
def test_conditions_mean_the_same_everywhere(release, tmp_path, asked, allowed):
    ((name, condition),) = asked.items()
    shares = {name: {hashable(condition): 1.0}}
    fitted = dataclasses.replace(release, shares=shares)
    draws = [release.sample(80, where=asked, seed=1, as_="pyarrow")]
    draws += [release.sample(80, rebalance=shares, seed=1, as_="pyarrow")]
    draws += [fitted.sample(80, seed=1, as_="pyarrow")]
    loaded, saved = again(release, tmp_path), again(fitted, tmp_path)
    assert saved.shares == fitted.shares
    later = [loaded.sample(80, where=asked, seed=1, as_="pyarrow")]
    later += [loaded.sample(80, rebalance=shares, seed=1, as_="pyarrow"), saved.sample(80, seed=1, as_="pyarrow")]
    for before, after in zip(draws, later):
        assert before.equals(after)
        assert values(before, name) <= allowed
        assert len(allowed) > 3 or values(before, name) == allowed


def test_shares_of_ranges_and_of_values(release, tmp_path):
    """A pair as a key was a range until the release was saved, and two values once it was loaded: it is refused."""
    for how in ({"rebalance": {"age": {(20, 30): 0.5, (40, 60): 0.5}}}, {"where": {"age": (20, 30)}}):
        with pytest.raises(SchemaError, match=r"column 'age': \(20, 30\) may mean a range or two values"):
            release.sample(10, **how)
    ranges = {"age": {Between(20, 30): 0.5, Between(40, 60): 0.5}}
    sets = {"age": {frozenset({20, 30}): 0.5, frozenset({40, 60}): 0.5}}
    for shares, most in ((ranges, 32), (sets, 4)):
        fitted = dataclasses.replace(release, shares=shares)
        found = [values(one.sample(600, seed=2, as_="pyarrow"), "age") for one in (fitted, again(fitted, tmp_path))]
        assert found[0] == found[1] and most - 3 <= len(found[0]) <= most


def test_files_of_the_version_before_mean_what_they_meant(release, tmp_path):
    """A pair that was asked for then was written as a set, and drawn as one from the file."""
    release.save(tmp_path / "r.nacre")
    documents, arrays = unpack(tmp_path / "r.nacre")
    documents["model.json"]["shares"] = [["age", [[{"any": [20, 30]}, 0.5], [{"from": 40, "to": 44}, 0.5]]]]
    pack(tmp_path / "old.nacre", {name: json.dumps(d) for name, d in documents.items()}, arrays, True)
    found = nacre.load(tmp_path / "old.nacre").sample(300, seed=1, as_="pyarrow")
    ages = values(found, "age")
    assert {20, 30, 40} <= ages <= {20, 30, *range(40, 45)}  # a pair is its two values, a range all between
    documents["model.json"]["shares"] = [["age", [[{"is": [20, 30]}, 1.0]]]]
    pack(tmp_path / "bad.nacre", {name: json.dumps(d) for name, d in documents.items()}, arrays, True)
    with pytest.raises(NacreError, match="does not hold what it should"):
        nacre.load(tmp_path / "bad.nacre")


def test_conditions_on_two_columns_that_follow_from_one(release):
    """Both hold, and null follows from null."""
    schema = nacre.Schema(
        {
            **{n: c for n, c in SCHEMA.columns.items() if n != "floor"},
            "floor": nacre.Numeric((1, 3), integer=True),
            "wing": nacre.Categorical(("east", "west"), nullable=True),
        },
        rows=N,
        dependencies=(
            *SCHEMA.dependencies,
            nacre.Dependency("ward", "wing", {"a": "east", "b": "west", "c": None}),
        ),
    )
    both = dataclasses.replace(release, schema=schema)
    found = both.sample(50, where={"floor": [1, 2], "wing": ["west", None]}, seed=1, as_="pyarrow")
    assert values(found, "ward") == {"b"}
    with pytest.raises(SchemaError, match="no value of 'ward' gives 'wing' = 'east'"):
        both.sample(5, where={"floor": 2, "wing": "east"})


def test_a_value_named_twice_is_no_likelier(release):
    """In a cell of its own a value has the share of the cell; 400 rows of two values: 5 deviations are 0.125."""
    wide = nacre.Schema({"x": nacre.Numeric((0, 9), integer=True, edges=(0, 9))}, rows=N)
    flat = nacre.fit(
        pd.DataFrame({"x": np.arange(N) % 10}), schema=wide, epsilon=20.0, noise_seed=0, method="independent"
    )
    found = flat.sample(400, where={"x": [3, 3, 3, 7]}, seed=1)["x"]
    assert set(found) == {3, 7} and abs((found == 3).mean() - 0.5) < 0.125
