"""Axes of a table: boxes that hold what they encode, decoding that gives it back, volumes that sum to one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nacre.synthesizers.hflow.axes import ENCODINGS, Axes
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.sources.frames import to_arrow

SCHEMA = Schema(
    {
        "x": Numeric(bounds=(-1.0, 3.0), nullable=True),
        "gain": Numeric(bounds=(0, 90_000), integer=True),
        "age": Numeric(bounds=(17, 90), integer=True),
        "c": Categorical(categories=("a", "b", "c", "d", "e"), nullable=True),
        "size": Categorical(categories=("s", "m", "l"), ordered=True),
        "day": Datetime(bounds=("2001-01-01", "2003-12-31"), unit="day"),
        "y": Boolean(),
    }
)
ROWS = 300


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": np.where(
                rng.random(ROWS) < 0.2, np.nan, np.where(rng.random(ROWS) < 0.2, 0.0, rng.uniform(-1, 3, ROWS))
            ),
            "gain": np.where(rng.random(ROWS) < 0.8, 0, rng.integers(0, 90_000, ROWS)),
            "age": rng.integers(17, 91, ROWS),
            "c": rng.choice(["a", "b", "c", "d", "e", None], ROWS),
            "size": rng.choice(["s", "m", "l"], ROWS),
            "day": np.datetime64("2001-01-01") + rng.integers(0, 1000, ROWS),
            "y": rng.random(ROWS) < 0.3,
        }
    )


def bought():
    rng = np.random.default_rng(1)
    return {n: rng.dirichlet(np.ones(Grid.of(c).cells)) + 1e-9 for n, c in SCHEMA.columns.items()}


def points(axes, box, rng):
    """A point of every box; on one-hot axes the label's the largest."""
    y = box["low"] + box["width"] * rng.uniform(1e-3, 1 - 1e-3, box["low"].shape)
    for first, size in axes.one_hots:
        name = axes.axes[first].column
        code = axes.grids[name].codes(encode(to_arrow(table()), SCHEMA)[name])
        block = y[:, first : first + size]
        most = block.argmax(axis=1)
        rows = np.arange(len(y))
        block[rows, most], block[rows, code] = block[rows, code], block[rows, most].copy()
    return y


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shares", [None, bought()], ids=["even", "bought"])
def test_every_point_of_a_box_decodes_to_its_record(encoding, shares):
    axes = Axes.of(SCHEMA, "y", encoding, shares, "test")
    records = encode(to_arrow(table()), SCHEMA).columns
    box = axes.encode(records)
    assert axes.order[0] == "y" and box["low"].shape == box["width"].shape == (ROWS, len(axes.axes))
    found = axes.decode(points(axes, {k: v.astype(np.float64) for k, v in box.items()}, np.random.default_rng(2)))
    for name, wanted in records.items():
        np.testing.assert_array_equal(found[name].null, wanted.null, err_msg=name)
        there = ~wanted.null
        if name == "x":
            np.testing.assert_allclose(found[name].values[there], wanted.values[there], atol=1e-4)
        elif name == "gain":  # float32 boxes: one part in 2^24 of the axis
            off = np.abs(found[name].values[there] - wanted.values[there])
            assert (off <= 1 + 1e-4 * wanted.values[there]).all() and (
                found[name].values[there][wanted.values[there] == 0] == 0
            ).all()
        else:
            np.testing.assert_array_equal(found[name].values[there], wanted.values[there], err_msg=name)


def test_boxes_of_all_values_of_a_column_fill_its_axes():
    """Disjoint and exhaustive: the volumes of all labels, and of all whole numbers, sum to one."""
    small = Schema(
        {"k": Numeric(bounds=(0, 700), integer=True), "c": Categorical(categories=("a", "b", "c"), nullable=True)}
    )
    frame = pd.DataFrame({"k": np.arange(701), "c": (["a", "b", "c", None] * 176)[:701]})
    records = encode(to_arrow(frame), small).columns
    for shares in (
        None,
        {n: np.random.default_rng(3).dirichlet(np.ones(Grid.of(c).cells)) for n, c in small.columns.items()},
    ):
        axes = Axes.of(small, None, "codes", shares, "test")
        width = axes.encode(records)["width"].astype(np.float64)
        k = [i for i, a in enumerate(axes.axes) if a.column == "k"]
        total = width[:, k].prod(axis=1).sum()
        if shares is None:  # the zero cell exists twice: by choice, and among the values, where nothing lands
            assert total == pytest.approx(1 - 0.5 / axes.grids["k"].cells, abs=1e-5)
        else:
            assert total == pytest.approx(1, abs=1e-5)
        assert width[:4, -1].sum() == pytest.approx(1, abs=1e-6)


def test_what_a_record_does_not_say_is_a_whole_axis():
    frame = table().astype({"c": object})
    frame.loc[0, "c"] = "a label that is not declared"
    strict = Schema({**SCHEMA.columns, "c": Categorical(categories=("a", "b"))})
    axes = Axes.of(strict, None, "codes", None, "test")
    box = axes.encode(encode(to_arrow(frame), strict).columns)
    place = next(i for i, a in enumerate(axes.axes) if a.column == "c")
    assert (box["low"][0, place], box["width"][0, place]) == (0, 1)


def test_specials_of_numbers_have_an_axis_of_their_own_unless_shares_are_bought():
    kinds = [(a.column, a.kind, a.size) for a in Axes.of(SCHEMA, None, "codes", None, "test").axes]
    assert ("gain", "choice", 2) in kinds and ("x", "choice", 3) in kinds  # zero; zero and null
    assert not any(column == "age" and kind == "choice" for column, kind, _ in kinds)
    assert {a.kind for a in Axes.of(SCHEMA, None, "codes", bought(), "test").axes} == {"cells"}
    assert sum(a.kind == "bit" for a in Axes.of(SCHEMA, None, "binary", None, "test").axes) == 3  # 5 labels and null
    assert Axes.of(SCHEMA, None, "one-hot", None, "test").one_hots[0][1] == 6
