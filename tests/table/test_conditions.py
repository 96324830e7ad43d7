"""Conditions mean one thing: on the cells of a grid, on values, in Python, in JSON and in what is drawn."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import columns

from nacre.errors import SchemaError
from nacre.table import Between, Boolean, Categorical, Condition, Datetime, Numeric, Schema, Tensor
from nacre.table.conditions import overlapping, spelled
from nacre.table.grid import Grid

AGE = Numeric((0, 99), integer=True, nullable=True)
COST = Numeric((0.0, 10.0), atoms=(9.5,))
WARD = Categorical(("a", "b", "c"), nullable=True)
LEVEL = Categorical(("low", "mid", "high"), ordered=True)
DAY = Datetime(("2020-01-01", "2020-12-31"), unit="day")
MOMENT = Datetime(("2020-01-01", "2020-12-31T23:59:59"))

# column, how it is asked for, values that meet it, values that do not
FORMS = [
    (AGE, 20, [20], [19, 21, None]),
    (AGE, [20, 30], [20, 30], [25, None]),
    (AGE, (20, 30, 40), [20, 30, 40], [25, 35, None]),
    (AGE, np.array([20, 30]), [20, 30], [25]),
    (AGE, {20, None}, [20, None], [25]),
    (AGE, None, [None], [0, 20]),
    (AGE, Between(20, 30), [20, 25, 30], [19, 31, None]),
    (AGE, Between(17.5, 19.5), [18, 19], [17, 20]),
    (AGE, Between(None, 1000), [0, 99], [None]),
    (COST, Between(2, 4), [2.0, 3.3, 3.99], [1.99, 4.01]),
    (COST, [9.5, 0.0], [9.5, 0.0], [9.4]),
    (WARD, ("a", "b"), ["a", "b"], ["c", None]),  # a tuple of labels is a set of them
    (WARD, frozenset({"a", None}), ["a", None], ["b"]),
    (LEVEL, Between("mid", None), ["mid", "high"], ["low"]),
    (LEVEL, ["low", "high"], ["low", "high"], ["mid"]),
    (Boolean(), (True, False), [True, False], []),
    (Boolean(nullable=True), [False, None], [False, None], [True]),
    (DAY, dt.date(2020, 2, 3), ["2020-02-03"], ["2020-02-04"]),
    (DAY, Between("2020-02-03", dt.date(2020, 2, 5)), ["2020-02-03", "2020-02-05"], ["2020-02-06"]),
    (MOMENT, Between("2020-02-03", "2020-02-03"), ["2020-02-03T23:59:59"], ["2020-02-04T00:00:00"]),
    (MOMENT, Between(None, pd.Timestamp("2020-02-03T12:00")), ["2020-02-03T12:00:00"], ["2020-02-03T12:00:01"]),
]
NAMES = [f"{i} {column.kind}" for i, (column, *_) in enumerate(FORMS)]  # the order of a set differs between processes


def stored(column, values):
    return column.encode(pa.array(values, pa.string() if isinstance(values[0], str) else None))


@pytest.mark.parametrize(("column", "asked", "inside", "outside"), FORMS, ids=NAMES)
def test_one_meaning(column, asked, inside, outside):
    """As asked for, as read again from JSON of releases and of schemas: the same values, the same cells."""
    here = Condition.of(asked, column)
    saved = spelled(json.loads(json.dumps(here.to_json())))
    rule = json.loads(json.dumps(here.to_rule_json()))
    rule = Between(rule["low"], rule["high"]) if isinstance(rule, dict) else rule
    again = [Condition.of(saved, column), Condition.of(rule, column)]
    assert again == [here, here]
    for condition in (here, *again):
        assert condition.matches(stored(column, inside)).all()
        assert not outside or not condition.matches(stored(column, outside)).any()
        assert all(map(condition.holds, inside)) and not any(map(condition.holds, outside))
        mask = condition.mask(Grid.of(column))
        assert (mask[Grid.of(column).codes(stored(column, inside))] > 0).all()
        np.testing.assert_array_equal(mask, here.mask(Grid.of(column)))
    assert here.to_json() == again[0].to_json() and Condition.of(here, column) is here


@settings(max_examples=100, deadline=None)
@given(columns, st.integers(0, 2**32))
def test_cells_and_values_agree(column, seed):
    """A cell that a range covers whole holds only values that match, one that it misses none."""
    grid, rng = Grid.of(column), np.random.default_rng(seed)
    if column.ordered and not isinstance(column, Categorical):
        low, high = sorted(grid.place(rng.integers(0, len(grid.low), 2), rng.random(2)).values.tolist())
        if isinstance(column, Datetime):
            low, high = (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=v) for v in (low, high))
        condition = Condition.of(Between(low, high), column)
    else:
        labels = [True, False] if isinstance(column, Boolean) else list(column.labels)
        condition = Condition.of(labels[: 1 + int(rng.integers(len(labels)))], column)
    try:
        mask = condition.mask(grid)
    except SchemaError:  # both ends are one value of a continuous column
        return
    codes = rng.integers(0, grid.cells, 300)
    met = condition.matches(grid.draw(codes, rng))
    assert met[mask[codes] == 1].all() and not met[mask[codes] == 0].any()


@pytest.mark.parametrize("pair", [(20, 30), (None, 30), (20, None), (np.int64(20), np.int64(30))])
def test_a_pair_on_an_ordered_column_is_refused_with_both_spellings(pair):
    a, b = (None if v is None else int(v) for v in pair)
    with pytest.raises(SchemaError) as end:
        Condition.of(pair, AGE, "where: column 'age'")
    assert str(end.value).startswith(f"where: column 'age': ({a}, {b}) may mean a range or two values; ")
    assert f"Between({a}, {b}) for all" in str(end.value) and f"[{a}, {b}] for the two" in str(end.value)
    with pytest.raises(SchemaError, match=r"frozenset\(\{20, 30\}\) for the two"):
        Condition.of((20, 30), AGE, key=True)
    with pytest.raises(SchemaError, match=r"Between\('low', 'high'\)"):
        Condition.of(("low", "high"), LEVEL)
    with pytest.raises(SchemaError, match="may mean a range or two values"):
        Schema({"age": AGE}, impossible=({"age": (20, 30)},))


@pytest.mark.parametrize(
    ("column", "asked", "part"),
    [
        (AGE, [], "the list of values is empty"),
        (AGE, 200, "200 lies outside the bounds"),
        (AGE, True, "is not a number"),
        (WARD, Between("a", "b"), "a range needs an ordered column"),
        (WARD, ["a", "q"], "'q' is not a category"),
        (Tensor((2,)), 1.0, "take no conditions"),
    ],
)
def test_what_a_column_cannot_meet_is_refused_when_it_is_read(column, asked, part):
    with pytest.raises(SchemaError, match=f"here: .*{part}"):
        Condition.of(asked, column, "here")


@pytest.mark.parametrize(
    ("column", "asked", "part"),
    [
        (AGE, Between(30, 20), r"nothing of the declared domain lies in Between\(30, 20\)"),
        (LEVEL, None, "the column is not nullable"),
        (COST, [9.5, 3], "the single value 3 of a continuous column has probability 0"),
        (COST, Between(3, 3), r"no value of the column lies in Between\(3, 3\)"),
    ],
)
def test_what_nothing_meets_has_no_cells(column, asked, part):
    with pytest.raises(SchemaError, match=f"here: .*{part}"):
        Condition.of(asked, column, "here").mask(Grid.of(column))


def test_the_same_value_twice_counts_once():
    assert Condition.of([20, 20.0, np.int64(20), 30], AGE) == Condition.of({30, 20}, AGE)
    moments = Condition.of(["2020-02-03", dt.date(2020, 2, 3)], DAY)
    assert len(moments.spans) == 1 and moments.mask(Grid.of(DAY)).sum() == 1
    found = overlapping([Condition.of(c, AGE) for c in (Between(0, 50), 60, frozenset({50.0, 70}))])
    assert found is not None and found.asked == (50.0, 70)
    assert overlapping([Condition.of(c, AGE) for c in (Between(0, 50), 51, None)]) is None


def test_large_whole_numbers_are_exact():
    """2^60 + 1 has no float of its own."""
    column = Numeric((0, 2**61), integer=True)
    values = stored(column, [2**60, 2**60 + 1])
    assert Condition.of(Between(2**60 + 1, None), column).matches(values).tolist() == [False, True]


def test_rules_of_existing_schema_files_load_as_they_are():
    """A list was a set of values, a reversed range met nothing; and no byte of the text changes."""
    text = Schema({"age": AGE, "y": Boolean()}).to_json().rstrip("}").rstrip()
    for rules in (
        '[{"age": [30, 20], "y": [true]}]',
        '[{"age": {"low": 30, "high": 20}}]',
        '[{"age": [20, 20, null]}]',
    ):
        read = Schema.from_json(f'{text},\n  "impossible": {rules}\n}}')
        assert f'"impossible": {rules}' in read.to_json()
    (rule,) = Schema.from_json(f'{text}, "impossible": [{{"age": [20, 30]}}]}}').never
    assert dict(rule.terms)["age"].matches(stored(AGE, [20, 25, 30])).tolist() == [True, False, True]
    with pytest.raises(SchemaError, match=r"impossible\[0\], column 'age': 200 lies outside the bounds"):
        Schema({"age": AGE}, impossible=({"age": Between(200, None)},))


def test_a_rule_beyond_bounds_that_were_bought_is_no_mistake():
    """They come out of the noise after the budget is spent; what they leave out cannot occur."""
    bought = Numeric((0, 64), integer=True, provenance={"bounds": "bought"})
    schema = Schema({"age": bought, "y": Boolean()}, impossible=({"age": Between(70, None), "y": True}, {"age": 80}))
    assert not any(dict(rule.terms)["age"].matches(stored(bought, [0, 64])).any() for rule in schema.never)


@pytest.mark.parametrize(
    ("column", "asked", "words"),
    [
        (AGE, np.int64(20), "20"),
        (AGE, (20, 30, None), "[20, 30, None]"),
        (DAY, Between(None, dt.date(2020, 2, 3)), "Between(None, '2020-02-03')"),
        (WARD, {"b", "a"}, "['a', 'b']"),
    ],
)
def test_messages_spell_conditions_as_they_can_be_typed(column, asked, words):
    assert str(Condition.of(asked, column)) == words
