"""Columns as they are drawn: true shares, round marks, and profiles that read synthetic rows alone."""

from __future__ import annotations

import inspect

import numpy as np
import pyarrow as pa
import pytest

from nacre.evaluation import axes
from nacre.evaluation.columns import compare_columns, profile_columns
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema

EVIL = '<script>alert("x")</script>&\'"'


def schema_and_tables():
    schema = Schema(
        {
            "n": Numeric((0, 9), integer=True, nullable=True),
            "x": Numeric((0.0, 1.0)),
            EVIL: Categorical((EVIL, "b")),
            "ok": Boolean(),
            "day": Datetime(("2020-01-01", "2020-12-31"), unit="day"),
            "many": Categorical(tuple(f"label {i}" for i in range(30))),
        }
    )
    rng = np.random.default_rng(0)

    def table(rows, share):
        return pa.table(
            {
                "n": pa.array(rng.integers(0, 10, rows), mask=rng.random(rows) < share),
                "x": rng.random(rows),
                EVIL: [EVIL if i % 4 else "b" for i in range(rows)],
                "ok": rng.random(rows) < share,
                "day": pa.array(rng.integers(18262, 18627, rows).astype(np.int32), pa.int32()).cast(pa.date32()),
                "many": [f"label {i}" for i in rng.integers(0, 30, rows)],
            }
        )

    return schema, table(4_000, 0.25), table(6_000, 0.75)


@pytest.fixture(scope="module")
def columns():
    schema, real, synthetic = schema_and_tables()
    return compare_columns(real, synthetic, schema)


def test_distances_are_those_of_the_tables(columns):
    found = {c.name: c for c in columns}
    assert list(found) == ["n", "x", EVIL, "ok", "day", "many"]
    assert found["ok"].distance == pytest.approx(0.5, abs=0.05)  # shares 0.25 and 0.75
    assert found["n"].nulls == pytest.approx((0.25, 0.75), abs=0.05)
    assert found["n"].distance == pytest.approx(0.5, abs=0.05)
    assert found[EVIL].distance < 0.001
    for c in columns:
        assert c.real.sum() == pytest.approx(1) and c.synthetic.sum() == pytest.approx(1)


def test_integers_get_bins_of_whole_numbers(columns):
    n = next(c for c in columns if c.name == "n")
    assert len(n.real) == 10 and n.ends == ("0", "9")


def test_many_categories_are_summed_up(columns):
    many = next(c for c in columns if c.name == "many")
    assert len(many.labels) == 12 and many.labels[-1] == "19 others"


def test_equal_tables_have_distance_zero():
    schema, real, _ = schema_and_tables()
    assert all(c.distance == 0 for c in compare_columns(real, real, schema))


def test_every_bar_is_named_and_every_mark_lies_on_the_axis(columns):
    for c in columns:
        if c.ends is not None:
            assert len(c.bins) == len(c.real)
            assert 1 <= len(c.ticks) <= 6 and all(0 <= place <= 1 for place, _ in c.ticks)
            assert [p for p, _ in c.ticks] == sorted(p for p, _ in c.ticks)


def test_marks_stand_where_their_text_says():
    edges = np.linspace(-3.0, 117.0, 37)
    for place, words in axes.ticks(edges, Numeric((-3.0, 117.0))):
        assert -3 + place * 120 == pytest.approx(float(words))
    day = Datetime(("2019-03-01", "2024-12-31"), unit="day")
    low, high = (np.datetime64(d).astype("datetime64[us]").astype(np.int64) for d in ("2019-03-01", "2024-12-31"))
    found = axes.ticks(np.linspace(float(low), float(high), 37), day)
    assert [words for _, words in found] == ["2020", "2022", "2024"]
    for place, words in found:
        there = np.datetime64(int(low + place * (high - low)), "us")
        assert abs(there - np.datetime64(f"{words}-01-01")) < np.timedelta64(1, "s")


@pytest.mark.parametrize("span", [1e-9, 0.3, 1.0, 7.0, 99.0, 12_345.0, 3e12])
def test_marks_are_few_but_never_none(span):
    for low in (-span / 3, 0.0, span, 1e3 * span):
        assert 2 <= len(axes.ticks(np.array([low, low + span]), Numeric((low, low + span)))) <= 6


def test_a_short_span_of_days_still_has_marks():
    low = np.datetime64("2024-02-03").astype("datetime64[us]").astype(np.int64)
    found = axes.ticks(np.array([low, low + 20 * 86_400_000_000], dtype=float), Datetime(("2024-02-03", "2024-02-23")))
    assert [w for _, w in found] == ["2024-02-03", "2024-02-23"]


def test_a_profile_takes_synthetic_rows_and_the_schema_and_nothing_else():
    assert list(inspect.signature(profile_columns).parameters) == ["synthetic", "schema"]


def test_a_profile_holds_the_shares_of_its_table(columns):
    schema, _, synthetic = schema_and_tables()
    found = {p.name: p for p in profile_columns(synthetic, schema)}
    assert list(found) == [c.name for c in columns]
    assert dict(zip(found["ok"].labels, found["ok"].shares))["true"] == pytest.approx(0.75, abs=0.03)
    assert found["n"].nulls == pytest.approx(0.75, abs=0.03) and found["x"].nulls is None
    for p in found.values():
        assert p.shares.sum() == pytest.approx(1)


def test_a_far_value_does_not_flatten_a_profile():
    values = np.concatenate([np.random.default_rng(0).normal(50, 10, 1_980), np.full(20, 1e6)])
    column = profile_columns(pa.table({"x": values}), Schema({"x": Numeric((0.0, 2e6))}))[0]
    assert (column.shares > 0.01).sum() > 8
    assert column.shares[-1] >= 0.01  # what lies beyond is still counted


def test_declared_edges_clamp_nothing_that_is_drawn():
    """Edges bring the bounds with them: without both, values beyond them are drawn where they lie."""
    (drawn,) = compare_columns(pa.table({"x": [1.0] * 50 + [900.0] * 50}), pa.table({"x": [1.0, 900.0]}),
                               Schema({"x": Numeric(edges=(0, 5, 10))}))  # fmt: skip
    assert drawn.ends == ("1", "900")
