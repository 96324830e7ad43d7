"""Declared impossibilities on groups of cells: whole groups only, in every table that holds all columns of a rule."""

import numpy as np

from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.sketch.structural import rules_on_groups, without_impossible
from nacre.table import Between, Categorical, Dependency, Numeric, Schema
from nacre.table.grid import Grid

SCHEMA = Schema(
    {
        "age": Numeric((0, 9), integer=True, nullable=True),
        "state": Categorical(("single", "married", "widowed")),
        "code": Numeric((0, 2), integer=True),
        "y": Categorical(("a", "b")),
    },
    dependencies=(Dependency("state", "code", {"single": 0, "married": 1, "widowed": 2}),),
    impossible=(
        {"age": Between(None, 4), "state": ["married", "widowed"]},
        {"age": None, "y": "b"},
        {"code": 2, "y": "a"},  # on a dependent column: left to the drawing
    ),
)
COLUMNS = list(SCHEMA.modelled)


def rules(age):
    grids = {n: Grid.of(SCHEMA.columns[n]) for n in COLUMNS}
    luts = [np.array(age), np.arange(3), np.arange(2)]
    return rules_on_groups(SCHEMA, COLUMNS, grids, luts)


def emptied(columns, age):
    shape = [{0: max(age) + 1, 1: 3, 2: 2}[j] for j in columns]
    (found,) = without_impossible([Table(columns, np.full(shape, 7.0), 1.0)], rules(age))
    return found.counts


def test_only_groups_that_a_rule_covers_whole_are_emptied():
    assert COLUMNS == ["age", "state", "y"]
    by_two = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]  # the group of 4 and 5 is cut by the rule; the last is null
    expected = np.full((6, 3), 7.0)
    expected[:2, 1:] = 0
    np.testing.assert_array_equal(emptied((0, 1), by_two), expected)
    np.testing.assert_array_equal(emptied((1, 0), by_two), expected.T)


def test_a_table_that_holds_more_columns_is_emptied_in_all_its_layers():
    by_two = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    found = emptied((0, 1, 2), by_two)
    assert (found[:2, 1:] == 0).all() and (found[5, :, 1] == 0).all() and found.sum() == 7.0 * (36 - 8 - 3)


def test_tables_without_the_columns_of_a_rule_are_left_alone():
    table = Table((1,), np.ones(3), 1.0)
    (found,) = without_impossible([table], rules([0] * 11))
    assert found is table and (emptied((1, 2), [0] * 11) == 7).all()
