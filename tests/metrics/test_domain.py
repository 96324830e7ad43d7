"""The public description on which tables are compared."""

import numpy as np
import pandas as pd
import pytest

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.metrics.domain import MISSING, UNKNOWN, Domain, Variable
from nacre.table.columns import Boolean, Categorical, Datetime, Identifier, Numeric
from nacre.table.schema import Schema


def test_a_schema_is_read():
    schema = Schema(
        {
            "id": Identifier(),
            "age": Numeric(bounds=(17, 90), integer=True),
            "city": Categorical(categories=("a", "b"), other="else", nullable=True),
            "smokes": Boolean(),
            "seen": Datetime(bounds=("2020-01-01", "2020-01-02"), unit="s"),
        }
    )
    domain = Domain.of(schema)
    assert domain.names == ("age", "city", "smokes", "seen")  # an identifier has nothing to compare
    assert domain["age"].bounds == (17, 90) and domain["age"].integer
    assert domain["city"].categories == ("a", "b", "else") and domain["city"].nullable
    assert domain["smokes"].categories == ("False", "True")
    low, high = domain["seen"].bounds
    assert high - low == 86_400


def test_undeclared_and_reversed_domains_are_refused():
    with pytest.raises(DomainNotDeclared, match="'x'"):
        Domain.of(Schema({"x": Numeric()}))
    with pytest.raises(SchemaError, match="reversed"):
        Variable("x", bounds=(2, 1))


def test_numbers_are_clipped_rounded_and_null_becomes_nan():
    whole = Variable("x", bounds=(0, 10), integer=True)
    found = whole.numbers(pd.Series(["3.6", None, "-4", "99", "text"]))
    np.testing.assert_array_equal(found, [4, np.nan, 0, 10, np.nan])
    found = Variable("x", bounds=(0, 10)).numbers(pd.Series([1, None, 3], dtype="Int64"))
    np.testing.assert_array_equal(found, [1, np.nan, 3])


@pytest.mark.parametrize("values", [[1, 2, 9], ["1", "2", "9"], np.array([1, 2, 9], dtype="int8")])
def test_labels_compare_as_text(values):
    plain = Variable("x", categories=("1", "2"))
    np.testing.assert_array_equal(plain.codes(pd.Series(values)), [0, 1, UNKNOWN])
    other = Variable("x", categories=("1", "2", "else"), other="else")
    np.testing.assert_array_equal(other.codes(pd.Series(values)), [0, 1, 2])


def test_a_null_label_is_missing_whatever_its_type():
    for series in (
        pd.Series(["a", None]),
        pd.Series(["a", np.nan], dtype=object),
        pd.Series(["a", pd.NA], dtype="string"),
    ):
        assert Variable("x", categories=("a",)).codes(series).tolist() == [0, MISSING]


def test_local_times_use_the_zone_of_the_column():
    stamps = pd.Series(pd.to_datetime(["2020-01-01 12:00", None]))
    bounds = (0.0, 4e9)
    utc = Variable("t", bounds=bounds, time=True).numbers(stamps)
    tokyo = Variable("t", bounds=bounds, time=True, zone="Asia/Tokyo").numbers(stamps)
    assert utc[0] == pd.Timestamp("2020-01-01 12:00", tz="UTC").timestamp()
    assert utc[0] - tokyo[0] == 9 * 3600
    assert np.isnan(utc[1]) and np.isnan(tokyo[1])


def test_a_missing_column_and_an_empty_table_are_named():
    domain = Domain.of({"x": (0, 1), "y": ["a", "b"]})
    with pytest.raises(SchemaError, match="the test table lacks the column\\(s\\) y"):
        domain.check(pd.DataFrame({"x": [1]}), "test")
    with pytest.raises(SchemaError, match="no rows"):
        domain.check(pd.DataFrame({"x": [], "y": []}), "test")
