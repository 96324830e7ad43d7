"""Conditions as people type them."""

from __future__ import annotations

import pytest

from nacre.cli.conditions import parse_rebalance, parse_where
from nacre.errors import NacreError
from nacre.table import Between, Boolean, Categorical, Condition, Datetime, Numeric, Schema

SCHEMA = Schema(
    {
        "age": Numeric((0, 120), integer=True, nullable=True),
        "cost": Numeric((-5.0, 5.0)),
        "income": Categorical(("<=50K", ">50K", "a|b", "1..2")),
        "level": Categorical(("low", "mid", "high"), ordered=True),
        "ok": Boolean(),
        "day": Datetime(("2020-01-01", "2021-01-01"), unit="day"),
        "a=b": Categorical(("x", "y")),
    }
)


def read(asked, schema):
    return {name: Condition.of(c, schema.columns[name]) for name, c in asked.items()}


def keys_read(shares, column):
    return {Condition.of(c, column): share for c, share in shares.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age=30..40", {"age": Between(30, 40)}),
        ("age=65..", {"age": Between(65, None)}),
        ("age=..20", {"age": Between(None, 20)}),
        ("age=30", {"age": 30}),
        ("age=30|40|null", {"age": [30, 40, None]}),
        ("age=null", {"age": None}),
        ("cost=-1.5..2", {"cost": Between(-1.5, 2.0)}),
        ("income=>50K", {"income": ">50K"}),
        ("income=<=50K|>50K", {"income": ["<=50K", ">50K"]}),
        ("income=a|b", {"income": "a|b"}),  # a label, not a list
        ("income=1..2", {"income": "1..2"}),  # a label, not a range
        ("level=mid..high", {"level": Between("mid", "high")}),
        ("ok=true", {"ok": True}),
        ("ok=No", {"ok": False}),
        ("day=2020-02-01..2020-03-01", {"day": Between("2020-02-01", "2020-03-01")}),
        ("a=b=x", {"a=b": "x"}),
    ],
)
def test_where(text, expected):
    assert parse_where([text], SCHEMA) == read(expected, SCHEMA)


def test_rebalance():
    for text, name, shares in (
        ("income=>50K:0.5,<=50K:0.5", "income", {">50K": 0.5, "<=50K": 0.5}),
        ("ok=true:3,false:1", "ok", {True: 3.0, False: 1.0}),
        ("age=..40:1,41..:2", "age", {Between(None, 40): 1.0, Between(41, None): 2.0}),
        ("level=low|mid:1,high:1", "level", {frozenset({"low", "mid"}): 1.0, "high": 1.0}),
    ):
        assert parse_rebalance([text], SCHEMA) == {name: keys_read(shares, SCHEMA.columns[name])}
    assert parse_rebalance([], SCHEMA) == {} == parse_rebalance(["none"], SCHEMA)
    with pytest.raises(NacreError, match="expected COLUMN=VALUES"):
        parse_rebalance(["none"], SCHEMA, "--target-shares")


def test_labels_may_hold_commas():
    schema = Schema({"city": Categorical(("oslo, norway", "rome", "lima, peru"))})
    for text, asked in (
        ("city=oslo, norway:0.5,rome:0.5", {"oslo, norway": 0.5, "rome": 0.5}),
        ("city=rome|oslo, norway:0.2,lima, peru:0.8", {frozenset({"rome", "oslo, norway"}): 0.2, "lima, peru": 0.8}),
    ):
        assert parse_rebalance([text], schema) == {"city": keys_read(asked, schema.columns["city"])}
    with pytest.raises(NacreError, match="'rome' has no share"):
        parse_rebalance(["city=rome,lima, peru:1"], schema)
