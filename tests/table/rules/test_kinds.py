"""What each kind of rule does with rows that break it, and how many it counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nacre.errors import SchemaError
from nacre.table import Between, Boolean, Categorical, Datetime, Dependency, Identifier, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.rules import AllOrNone, Combinations, IfThen, NullIff, OneHot, Ordered, Total, Unique
from nacre.table.rules.kept import Kept
from nacre.table.values.decoding import decode


def moved(columns, rule, rows):
    """(rows as the map gives them back, how many broke the rule)."""
    schema = Schema(columns, rules=(rule,))
    table = pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(columns)})
    encoded = encode(table, schema.inner)
    back = decode(encoded, schema.inner).to_pydict()
    counted = encoded.outside().get(f"rule {rule.check(schema.columns)}")
    return [*zip(*back.values())], counted.outside if counted else 0


def test_a_value_below_what_it_must_lie_above_is_moved_up_to_it():
    columns = {"a": Numeric((0, 8), integer=True), "b": Numeric((0, 9), integer=True)}
    assert moved(columns, Ordered(("a", "b")), [(3, 7), (7, 3), (4, 4)]) == ([(3, 7), (7, 7), (4, 4)], 1)
    assert moved(columns, Ordered(("a", "b"), strict=True), [(3, 7), (7, 3), (4, 4)]) == ([(3, 7), (7, 8), (4, 5)], 2)


def test_nothing_is_said_where_one_is_null():
    columns = {"a": Numeric((0, 8), nullable=True), "b": Numeric((0, 9), nullable=True)}
    rows = [(None, 2.5), (5.0, None), (None, None)]
    assert moved(columns, Ordered(("a", "b")), rows) == (rows, 0)


def test_dates_of_other_units_are_compared_as_instants():
    columns = {
        "day": Datetime(("2020-01-01", "2020-12-31"), unit="day"),
        "moment": Datetime(("2020-01-01", "2020-12-31T23:59:59")),
    }
    rows = [("2020-03-01", "2020-03-01 00:00:00"), ("2020-03-02", "2020-03-01 12:00:00")]
    back, broken = moved(columns, Ordered(("day", "moment")), rows)
    assert broken == 1 and [str(b) for _, b in back] == ["2020-03-01 00:00:00", "2020-03-02 00:00:00"]


def test_a_sum_is_computed_again():
    columns = {n: Numeric((0, 20), integer=True, nullable=True) for n in "ab"} | {
        "c": Numeric((-20, 20), nullable=True)
    }
    rule = Total("c", ("a",), ("b",))
    rows = [(5, 3, 2.0), (5, 3, 2.5), (None, 3, None), (None, 3, 1.0), (5, 3, None)]
    back, broken = moved(columns, rule, rows)
    assert back == [(5, 3, 2.0), (5, 3, 2.0), (None, 3, None), (None, 3, None), (5, 3, 2.0)] and broken == 3


def test_decimals_that_floats_cannot_hold_still_add_up():
    columns = {"a": Numeric((0, 1), decimals=1), "b": Numeric((0, 1), decimals=1), "c": Numeric((0, 2), decimals=1)}
    rows = [(0.1, 0.2, 0.3), (0.7, 0.1, 0.8), (0.1, 0.2, 0.4)]
    back, broken = moved(columns, Total("c", ("a", "b")), rows)
    assert back == [(0.1, 0.2, 0.3), (0.7, 0.1, 0.8), (0.1, 0.2, 0.3)] and broken == 1


def test_a_number_of_days_may_be_rounded_as_it_is_declared():
    columns = {
        "start": Datetime(("2020-01-01", "2020-12-31T00:00:00")),
        "days": Numeric((0, 10), decimals=1),
        "end": Datetime(("2020-01-01", "2021-02-01T00:00:00")),
    }
    rule = Total("end", ("start", "days"), unit="day")
    day = "2020-03-01 00:00:00"
    rows = [(day, 1.5, "2020-03-02 12:00:00"), (day, 1.5, "2020-03-02 13:00:00"), (day, 1.5, "2020-03-02 14:00:00")]
    back, broken = moved(columns, rule, rows)
    assert broken == 1 and {str(end) for _, _, end in back} == {"2020-03-02 12:00:00"}


def test_rows_that_are_null_in_part_become_what_most_of_them_are():
    columns = {n: Numeric((1, 9), integer=True, nullable=True) for n in "abc"}
    rows = [(None, 5, None), (4, 5, None), (None, None, None), (None, 5, 6)]
    back, broken = moved(columns, AllOrNone(("a", "b", "c")), rows)
    assert back == [(None, None, None), (4, 5, 1), (None, None, None), (1, 5, 6)] and broken == 3


def test_null_exactly_where_another_column_says_so():
    columns = {"sex": Categorical(("f", "m", "x")), "n": Numeric((2, 9), integer=True, nullable=True)}
    rows = [("f", 3), ("m", None), ("m", 4), ("f", None), ("x", 7)]
    back, broken = moved(columns, NullIff("n", when={"sex": ["m", "x"]}), rows)
    assert back == [("f", 3), ("m", None), ("m", None), ("f", 2), ("x", None)] and broken == 3
    back, broken = moved(columns, NullIff("n", unless={"sex": "f"}), rows)
    assert back == [("f", 3), ("m", None), ("m", None), ("f", 2), ("x", None)] and broken == 3


def test_null_where_a_number_lies_in_a_range():
    columns = {"age": Numeric((0, 99), integer=True), "wage": Numeric((1.0, 9.0), nullable=True)}
    back, broken = moved(columns, NullIff("wage", when={"age": Between(None, 15)}), [(10, 3.0), (20, None), (20, 3.0)])
    assert back == [(10, None), (20, 1.0), (20, 3.0)] and broken == 2


def test_combinations_are_moved_to_the_first_but_for_one_value_or_that_begins_alike():
    columns = {"a": Categorical(("x", "y")), "b": Numeric((0, 9), integer=True, nullable=True), "c": Boolean()}
    rule = Combinations(("a", "b", "c"), (("x", 1, True), ("x", None, False), ("y", 2, False)))
    rows = [("x", 1, True), ("x", None, False), ("x", None, True), ("y", 2, True), ("y", 7, True), ("other", 2, False)]
    back, broken = moved(columns, rule, rows)
    wanted = [rows[0], rows[1], ("x", 1, True), ("y", 2, False), ("y", 2, False), ("y", 2, False)]
    assert back == wanted and broken == 4


def test_combinations_of_so_many_columns_that_keys_do_not_fit():
    names = [f"c{i}" for i in range(70)]
    columns = {name: Categorical(("no", "yes")) for name in names}
    values = [tuple("yes" if i == j else "no" for i in range(70)) for j in range(70)]
    rows = [values[5], tuple("yes" if i in (5, 9) else "no" for i in range(70)), values[69]]
    back, broken = moved(columns, Combinations(names, values), rows)
    assert back == [values[5], values[5], values[69]] and broken == 1


def test_one_hot_columns_with_none_or_several():
    columns = {"a": Boolean(), "b": Numeric((0, 1), integer=True), "c": Categorical(("0", "1"))}
    with pytest.raises(SchemaError, match="'c' is categorical"):  # which of the two would be true?
        Schema({**columns, "c": Categorical(("no", "yes"))}, rules=(OneHot(("a", "b", "c")),))
    rows = [(True, 0, "0"), (False, 0, "0"), (False, 1, "1"), (True, 1, "1")]
    back, broken = moved(columns, OneHot(("a", "b", "c")), rows)
    assert back == [(True, 0, "0"), (True, 0, "0"), (False, 1, "0"), (True, 0, "0")] and broken == 3


@pytest.mark.parametrize(
    ("then", "values", "wanted"),
    [
        (Between(18, 60), [10, 30, 70, None], [18, 30, 60, None]),
        ([20, 30], [10, 26, 20, 99], [20, 30, 20, 30]),
        (None, [10, None, 3, 4], [None] * 4),
    ],
)
def test_what_a_condition_does_not_allow_is_moved_to_the_nearest_value(then, values, wanted):
    columns = {"wed": Boolean(), "age": Numeric((0, 99), integer=True, nullable=True)}
    back, _ = moved(columns, IfThen({"wed": True}, {"age": then}), [(True, v) for v in values])
    assert [age for _, age in back] == [w if v is not None or then is None else 18 for w, v in zip(wanted, values)]
    back, broken = moved(columns, IfThen({"wed": True}, {"age": then}), [(False, v) for v in values])
    assert [age for _, age in back] == values and broken == 0


def test_counts_of_what_breaks_every_rule_of_a_schema():
    schema = Schema(
        {
            "id": Identifier(),
            "a": Numeric((0, 9), integer=True),
            "b": Numeric((0, 9), integer=True),
            "w": Categorical(("x", "y")),
            "n": Numeric((0, 9), integer=True),
        },
        dependencies=(Dependency("w", "n", {"x": 1, "y": 2}),),
        impossible=({"a": 0, "w": "y"},),
        rules=(Ordered(("a", "b")), Unique("id")),
    )
    table = pa.table({"id": [1, 2, 2, None, None], "a": [0, 5, 5, 0, 1], "b": [1, 4, 6, 0, 1],
                      "w": ["x", "x", "y", "y", "y"], "n": [1, 2, 2, 2, 9]})  # fmt: skip
    kept, plain = Kept(schema), Schema(schema.columns, dependencies=schema.dependencies)
    for batch in table.to_batches(max_chunksize=2):
        kept.add(encode(batch, plain), batch)
    found = {name: m.outside for name, m in kept.broken().items()}
    assert found == {
        "rule a <= b": 1,
        "rule that never a = 0 and w = 'y'": 1,
        "dependency of 'n' on 'w'": 2,
        "rule unique id": 1,
    }
    assert np.unique([m.given for m in kept.broken().values()]).tolist() == [5]
