"""One stray Python object must not change how the other rows of a column are read."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.table import Boolean, Categorical, Numeric
from nacre.table.grid import Grid
from nacre.table.sources import storage


def codes(values, column):
    grid = Grid.of(column)
    batches = open_rows(pd.DataFrame({"x": pd.Series(values, dtype=object)})).batches(["x"])
    return np.concatenate([grid.codes(column.encode(b.column("x"))) for b in batches])


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([True, False] * 50, Categorical(categories=("true", "false"))),
        ([True, False] * 50, Boolean()),
        ([1.0, 2.0] * 50, Categorical(categories=("1", "2"))),
        ([1, 2] * 50, Numeric(bounds=(0, 5), integer=True)),
        ([b"a", b"b"] * 50, Categorical(categories=("a", "b"))),
    ],
)
@pytest.mark.parametrize("stray", ["x", 1.5, None, True, dt.date(2020, 1, 1), 2**70])
def test_a_stray_object_is_refused_or_changes_no_other_row(values, column, stray):
    before = codes(values, column)
    try:
        after = codes([*values, stray], column)
    except DataError as error:
        assert "one row could change how all others are read" in str(error)
    else:
        assert np.array_equal(after[: len(before)], before)


def test_moments_as_objects_are_refused_by_themselves():
    """Whether one of them has a time zone would say how all are read."""
    with pytest.raises(DataError, match="to_datetime"):
        codes([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)], Categorical(categories=("2020-01-01 00:00:00",)))


@pytest.mark.parametrize("kind", [object, "category"])
def test_a_column_without_values_is_stored_as_one_with_a_text(kind):
    """How a column is stored decides which doors are planned, and stands in the certificate."""
    none, one = (pd.DataFrame({"x": pd.Series(values, dtype=object).astype(kind)}) for values in ([None], [None, "a"]))
    assert storage.told(open_rows(none).arrow_schema) == storage.told(open_rows(one).arrow_schema) == "text: x"
