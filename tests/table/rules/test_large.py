"""Rules of many values, and rows that break them: no row makes a batch large, slow or talkative."""

from __future__ import annotations

import time
import tracemalloc
import warnings

import numpy as np
import pyarrow as pa
import pytest

from nacre.errors import SchemaError
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.rules import Combinations, IfThen, OneHot, Ordered, Total
from nacre.table.rules.lookup import Lookup

LABELS = tuple(f"v{i}" for i in range(20_000))


def test_rows_that_break_a_rule_take_no_memory_for_each_value_that_it_allows():
    """Else a table of many such rows would stop a run that a table of few does not."""
    begun = time.process_time()
    schema = Schema({"x": Boolean(), "y": Categorical(LABELS)}, rules=(IfThen({"x": True}, {"y": LABELS[10::2]}),))
    table = pa.table({"x": pa.array([True] * 5_000), "y": pa.array([LABELS[1], *LABELS[1:5_000]])})
    encode(table.slice(0, 1), schema.inner)
    tracemalloc.start()
    codes = encode(table, schema.inner)["y"].values
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 << 20 and time.process_time() - begun < 5
    assert codes[:5].tolist() == [10, 10, 10, 10, 10] and codes[-1] == 4_998 and (codes % 2 == 0).all()


def test_rows_without_a_combination_take_no_time_for_each_of_the_list():
    names = [tuple(f"{c}{i}" for i in range(1_000)) for c in "xy"]
    listed = [(names[0][i % 1_000], names[1][(7 * i + i // 1_000) % 1_000]) for i in range(60_000)]
    begun = time.process_time()
    columns = dict(zip("xy", map(Categorical, names)))
    schema = Schema(columns, rules=(Combinations(("x", "y"), listed),))
    rng = np.random.default_rng(0)
    rows = pa.table({c: pa.array(rng.choice(own, 60_000)) for c, own in zip("xy", names)})
    codes = encode(rows, schema.inner)["combinations of x, y"].values
    assert time.process_time() - begun < 5
    for row, code in zip(rows.slice(0, 50).to_pylist(), codes):
        same = np.array([(row["x"] == a) + 0 + (row["y"] == b) for a, b in listed])
        assert same[code] == same.max() and code == same.argmax()


def test_one_hot_groups_of_many_columns():
    names = [f"c{i}" for i in range(300)]
    schema = Schema(dict.fromkeys(names, Boolean()), rules=(OneHot(names),))
    rng = np.random.default_rng(0)
    true = rng.random((4_000, 300)) < 0.01
    begun = time.process_time()
    codes = encode(pa.table(dict(zip(names, true.T))), schema.inner)
    assert time.process_time() - begun < 3
    assert (codes[schema.inner.modelled[0]].values == true.argmax(1)).all()


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_found_in_a_list_as_by_looking_at_all_of_it(seed):
    rng = np.random.default_rng(seed)
    listed = np.unique(rng.integers(0, 4, (rng.integers(1, 30), rng.integers(1, 6))), axis=0)
    listed = listed[rng.permutation(len(listed))]
    rows = rng.integers(-1, 4, (200, listed.shape[1]))
    rows[rows > listed.max(0)] = -1
    lookup = Lookup.of(listed)
    for row, found, near in zip(rows, lookup.find(rows), lookup.nearest(rows)):
        same = listed == row
        assert found == (same.all(1).argmax() if same.all(1).any() else -1)
        one_off = same.sum(1) >= len(row) - 1
        assert near == (one_off.argmax() if one_off.any() else np.cumprod(same, axis=1).sum(1).argmax())


@pytest.mark.parametrize("upper", [Numeric((0, 100), integer=True), Numeric((0, 100), decimals=2)])
def test_nothing_is_said_of_a_row_far_below(upper):
    """A warning of arithmetic would tell that there is one."""
    schema = Schema({"a": Numeric((-1e308, 50.0)), "b": upper}, rules=(Ordered(("a", "b")),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = encode(pa.table({"a": [-1e308, -1e19, 3.0, 60.0], "b": [3.0, 3.0, 3.0, 3.0]}), schema.inner)
    assert found["b - a"].values.tolist() == [3, 3, 0, 0]


def test_ends_beyond_whole_numbers_of_64_bits_are_refused():
    far = Numeric((0, 1e300))
    with pytest.raises(SchemaError, match="beyond the largest 'b'"):
        Schema({"a": far, "b": Numeric((0, 100), integer=True)}, rules=(Ordered(("a", "b")),))
    days = {n: Datetime(("2020-01-01", "2021-01-01")) for n in "st"}
    with pytest.raises(SchemaError, match="more time than dates can hold"):
        Schema({**days, "a": Numeric((0, 1e200)), "c": Numeric((-1e300, 1e300))},
               rules=(Total("c", ("a", "t"), ("s",), unit="day"),))  # fmt: skip
