"""Encoding: lossless on the declared domain, row-local, never an error about a value."""

import datetime as dt
import decimal

import numpy as np
import polars
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import columns, inside, words

from nacre.errors import DataError, DomainNotDeclared, SchemaError
from nacre.table import (
    Between,
    Boolean,
    Categorical,
    Datetime,
    Dependency,
    Identifier,
    Numeric,
    Schema,
    Tensor,
    Unit,
)
from nacre.table.encoding import Encoded, Values, check_names, encode
from nacre.table.rules import violations
from nacre.table.values.decoding import arrow_schema, decode
from nacre.table.values.labels import as_text

DAY = 86_400_000_000


@settings(max_examples=80, deadline=None)
@given(st.lists(columns, min_size=1, max_size=4), st.integers(0, 2**32))
def test_round_trip_on_the_declared_domain(kinds, seed):
    schema = Schema({f"c{i}": c for i, c in enumerate(kinds)})
    rng = np.random.default_rng(seed)
    arrays = {n: inside(c, rng, 40) for n, c in schema.columns.items()}
    table = pa.table(arrays).cast(arrow_schema(schema))
    encoded = encode(table, schema)
    assert not any(encoded.outside().values())
    assert decode(encoded, schema).equals(table)


# Anything that may stand in a cell of a text column.
cells = st.none() | st.text(max_size=12) | words | st.sampled_from(
    ["1", " 7 ", "+5", "++5", "1e3", "-inf", "nan", "9007199254740993", "1.5", "true", "No", "2020-02-29", "",
     "2021-02-29", "2020-01-01T10:00:00Z", "2020-07-01 10:00:00.1234567", "2020-01-01T10:00+02:00", "9" * 30]
)  # fmt: skip
readable = st.one_of(columns, st.just(Numeric()), st.just(Numeric(integer=True)), st.just(Datetime(tz="Europe/Oslo")))


@settings(max_examples=120, deadline=None)
@given(readable, st.lists(cells, min_size=1, max_size=12), st.data())
def test_encoding_is_row_local(column, texts, data):
    """A row alone, in a batch, in a dictionary, sliced or chunked: always the same."""
    array = pa.array(texts, pa.string())
    whole = column.encode(array)
    cut = data.draw(st.integers(0, len(texts)))
    dictionary = array.dictionary_encode()
    others = [
        [column.encode(array[i : i + 1]) for i in range(len(texts))],
        [column.encode(pa.chunked_array([array[:cut], array[cut:]]))],
        [column.encode(dictionary)],
        [column.encode(pa.concat_arrays([pa.array(["x"]), array])[1:])],
        [column.encode(array.cast(pa.large_string()))],
        [column.encode(array.cast(pa.binary()))],
    ]
    for parts in others:
        for field in ("values", "null", "outside"):
            joined = np.concatenate([getattr(p, field) for p in parts])
            np.testing.assert_array_equal(joined, getattr(whole, field))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=64) | st.none(), min_size=1, max_size=10), readable)
def test_floats_are_row_local(values, column):
    array = pa.array(values, pa.float64())
    whole = column.encode(array)
    for i in range(len(values)):
        alone = column.encode(array[i : i + 1])
        assert (alone.values[0], alone.null[0], alone.outside[0]) == (
            whole.values[i], whole.null[i], whole.outside[i]
        )  # fmt: skip


@pytest.mark.parametrize(
    "array",
    [
        pa.array([3, None, 200, -4], pa.int16()),
        pa.array([3.0, None, 200.0, -4.0]),
        pa.array(["3", None, "200", "-4"]),
        pa.array(["3", "", " 2e2", "-4.0"], pa.large_string()),
        pa.array(["3", None, "200", "-4"]).dictionary_encode(),
        pa.array([decimal.Decimal(3), None, decimal.Decimal(200), decimal.Decimal(-4)]),
        pa.array([b"3", None, b"200", b"-4"]),
        pa.array([3.0, float("nan"), float("inf"), float("-inf")]),
    ],
    ids=lambda a: str(a.type)[:25],
)
@pytest.mark.parametrize("integer", [True, False])
def test_numbers_from_any_physical_type(array, integer):
    found = Numeric((0, 100), integer=integer).encode(array)
    assert found.values.dtype == (np.int64 if integer else np.float64)
    assert found.values[[0, 2, 3]].tolist() == [3, 100, 0]
    assert found.null.tolist() == [False, True, False, False]
    assert found.outside.tolist() == [False, False, True, True]


def test_unreadable_values_are_null_and_outside():
    found = Numeric((0, 100)).encode(pa.array(["x", "1,5", "", "0x10", "12 km"]))
    assert found.null.all() and found.outside.tolist() == [True, True, False, True, True]
    for kind in (pa.list_(pa.int8()), pa.time64("us"), pa.duration("s")):
        found = Numeric((0, 1)).encode(pa.array([None, None], kind))
        assert found.null.all() and not found.outside.any()


def test_fractions_in_an_integer_column_are_rounded_and_counted():
    found = Numeric((0, 5), integer=True).encode(pa.array([2.4, 2.0, 2.6]))
    assert found.values.tolist() == [2, 2, 3] and found.outside.tolist() == [True, False, True]


def test_large_integers_stay_exact():
    big = 2**61 + 1
    column = Numeric((0, 2**62), integer=True)
    for array in (pa.array([big]), pa.array([str(big)[:18]]), pa.array([big], pa.uint64())):
        value = column.encode(array).values[0]
        assert value == int(array[0].as_py())
    top = column.encode(pa.array([2**64 - 1], pa.uint64()))
    assert top.values[0] == 2**62 and top.outside[0]


def test_labels_other_and_null():
    plain = Categorical(("b", "a")).encode(pa.array(["a", "z", None, "", "b"]))
    assert plain.values.tolist() == [1, -1, -1, -1, 0]
    assert plain.null.tolist() == [False, False, True, True, False]
    assert plain.outside.tolist() == [False, True, False, False, False]
    other = Categorical(("b", "a"), other="rest").encode(pa.array(["a", "z", None, "rest"]))
    assert other.values.tolist() == [1, 2, -1, 2] and other.outside.tolist() == [False, True, False, False]


def test_labels_do_not_depend_on_the_physical_type():
    """One null turns a column of integers into floats in pandas: the labels must stay."""
    column = Categorical(("1", "2", "10"))
    for array in (pa.array([1, 10, 2]), pa.array([1.0, 10.0, 2.0]), pa.array(["1", "10", "2"])):
        assert column.encode(array).values.tolist() == [0, 2, 1]
    assert as_text(pa.array([1.5, float("nan"), 3e20])).to_pylist() == [
        "1.5",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([True, False, None]), [1, 0, -1]),
        (pa.array(["Yes", " f ", "maybe"]), [1, 0, -1]),
        (pa.array([1, 0, 2]), [1, 0, -1]),
        (pa.array([1.0, 0.0, float("nan")]), [1, 0, -1]),
        (pa.array(["TRUE", "0", ""]).dictionary_encode(), [1, 0, -1]),
    ],
)
def test_truth_values(array, expected):
    assert Boolean(nullable=True).encode(array).values.tolist() == expected


def test_instants_from_any_physical_type():
    noon = dt.datetime(2020, 1, 1, 12)
    utc = 1_577_880_000_000_000
    oslo = Datetime(("2000-01-01", "2030-01-01"), tz="Europe/Oslo")
    naive = Datetime(("2000-01-01", "2030-01-01"))
    for unit in ("s", "ms", "us", "ns"):
        stamps = pa.array([noon], pa.timestamp(unit))
        assert naive.encode(stamps).values[0] == utc
        assert oslo.encode(stamps).values[0] == utc - 3_600_000_000  # a local time of Oslo
        zoned = stamps.cast(pa.timestamp(unit, "UTC"))
        assert oslo.encode(zoned).values[0] == utc
    texts = ["2020-01-01T12:00:00", "2020-01-01 12:00", "2020-01-01T13:00:00+01:00", "2020-01-01T12:00:00.000Z"]
    assert set(naive.encode(pa.array(texts)).values) == {utc}
    assert naive.encode(pa.array([noon.date()])).values[0] == utc - DAY // 2
    assert naive.encode(pa.array([noon.date()], pa.date64())).values[0] == utc - DAY // 2


@pytest.mark.parametrize("text", ["2021-02-29", "2020-13-01", "20200101", "1/2/2020", "2020-01-01T25:00", "0000-01-01"])
def test_dates_that_are_none(text):
    found = Datetime(("2000-01-01", "2030-01-01")).encode(pa.array([text]))
    assert found.null[0] and found.outside[0]


def test_instants_agree_with_pythons_calendar():
    rng = np.random.default_rng(0)
    moments = [dt.datetime(1, 1, 1) + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 3 * 10**11, 2000)]
    found = Datetime().encode(pa.array([m.isoformat() for m in moments]))
    expected = [(m - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) for m in moments]
    assert found.values.tolist() == expected and not found.null.any()


def test_clock_changes_have_a_defined_reading():
    column = Datetime(("2020-01-01", "2021-01-01"), tz="Europe/Oslo")
    twice, never = "2020-10-25T02:30:00", "2020-03-29T02:30:00"
    found = column.encode(pa.array([twice, never]))
    assert not found.null.any()
    assert found.values[0] == column.encode(pa.array(["2020-10-25T00:30:00Z"])).values[0]


def test_coarse_units_floor_also_before_1970():
    found = Datetime(("1900-01-01", "2000-01-01"), unit="day").encode(pa.array(["1969-12-31T13:00:00"]))
    assert found.values[0] == -DAY and not found.outside[0]


def test_tensors():
    column = Tensor((2, 2), (0, 1), nullable=True)
    array = pa.array([[0, 0.5, 1, 1], None, [0, 1], [0, 0, 0, 9], [0, None, 0, 0]])
    found = column.encode(array)
    assert found.values.shape == (5, 2, 2) and found.values.dtype == np.float32
    assert found.null.tolist() == [False, True, True, False, True]
    assert found.outside.tolist() == [False, False, True, True, True]
    np.testing.assert_array_equal(found.values[3], [[0, 0], [0, 1]])
    fixed = pa.array([[9] * 4, [0.25] * 4], pa.list_(pa.float32(), 4))[1:]
    one = column.encode(fixed)
    assert one.values[0, 1, 1] == np.float32(0.25)
    assert column.decode(one).equals(fixed)


def test_types_come_from_the_schema_not_from_the_file():
    schema = Schema({"a": Numeric((0, 9), integer=True, nullable=True), "b": Numeric((0, 9)), "c": Categorical(("1",))})
    table = pa.table({"a": ["1", None], "b": [1, 2], "c": [1.0, 1.0]})
    out = decode(encode(table, schema), schema)
    assert out.schema.types == [pa.int64(), pa.float64(), pa.string()]
    assert out.schema.field("a").nullable and not out.schema.field("b").nullable
    assert out.to_pydict() == {"a": [1, None], "b": [1.0, 2.0], "c": ["1", "1"]}


def test_time_zones_on_the_way_out():
    schema = Schema({"t": Datetime(("2020-01-01", "2021-01-01"), tz="Europe/Oslo"), "d": Datetime(unit="day")})
    table = pa.table({"t": ["2020-07-01T10:00:00Z"], "d": ["2020-07-01"]})
    out = decode(encode(table, schema), schema)
    assert out["t"].type == pa.timestamp("us", "Europe/Oslo") and out["d"].type == pa.date32()
    assert out["t"][0].as_py().hour == 12 and out["d"][0].as_py() == dt.date(2020, 7, 1)


def test_identifiers_continue_from_chunk_to_chunk():
    schema = Schema({"n": Identifier(), "u": Identifier(text=True), "x": Boolean()})
    none = Encoded({"x": Values.of(np.zeros(2, np.int32))}, 2)
    assert decode(none, schema)["n"].to_pylist() == [1, 2]
    later = decode(none, schema, start=10**6)
    assert later["n"].to_pylist() == [10**6, 10**6 + 1]
    assert later["u"].to_pylist()[0] == "00000000-0000-4000-8000-000001000000"


def test_dependents_follow_their_determinant():
    schema = Schema(
        {
            "edu": Categorical(("lo", "hi"), nullable=True),
            "years": Numeric((1, 9), integer=True, nullable=True),
            "grade": Numeric((5, 7), integer=True),
            "name": Categorical(("five", "six", "seven")),
        },
        dependencies=(
            Dependency("edu", "years", {"lo": 2, "hi": 9}),
            Dependency("grade", "name", {5: "five", 6: "six", 7: "seven"}),
        ),
    )
    out = decode(encode(pa.table({"edu": ["hi", None, "lo"], "grade": [7, 5, 6]}), schema), schema)
    assert out["years"].to_pylist() == [9, None, 2] and out["name"].to_pylist() == ["seven", "five", "six"]
    assert out["years"].type == pa.int64()


def test_missing_values_where_none_may_be():
    schema = Schema({"a": Boolean()})
    with pytest.raises(DataError, match="column 'a': 1 row"):
        decode(encode(pa.table({"a": [True, None]}), schema), schema)


def test_impossible_rows_are_found():
    schema = Schema(
        {
            "age": Numeric((0, 99), integer=True),
            "kind": Categorical(("x", "y"), nullable=True),
            "day": Datetime(("2020-01-01", "2020-12-31T23:59:59")),
        },
        impossible=(
            {"age": Between(None, 15), "kind": ["y", None]},
            {"day": Between("2020-02-01", "2020-02-01"), "kind": "x"},
        ),
    )
    table = pa.table(
        {
            "age": [15, 16, 15, 3, 50, 50],
            "kind": ["y", "y", "x", None, "x", "x"],
            "day": ["2020-05-01"] * 4 + ["2020-02-01T23:00:00", "2020-02-02"],
        }
    )
    assert violations(encode(table, schema), schema.never).tolist() == [True, False, False, True, True, False]


def test_columns_that_are_missing_and_columns_that_are_left_alone():
    schema = Schema({"a": Boolean(), "id": Identifier(person=True)}, unit=Unit("id", 2))
    assert check_names(schema, ["a", "id", "more"]) == ("more",)
    with pytest.raises(SchemaError, match="column 'id' is in the schema but not in the table"):
        check_names(schema, ["a"])
    with pytest.raises(DomainNotDeclared, match="column 'c': categories are not declared"):
        encode(pa.table({"c": ["x"]}), Schema({"c": Categorical()}))


def test_polars_text_types_are_read():
    frame = polars.DataFrame({"a": ["x", None, "y"], "b": ["1", "2", "3"]}, schema_overrides={"a": polars.Categorical})
    schema = Schema({"a": Categorical(("y", "x"), nullable=True), "b": Numeric((0, 9), integer=True)})
    found = encode(frame.to_arrow(), schema)
    assert found["a"].values.tolist() == [1, -1, 0] and found["b"].values.tolist() == [1, 2, 3]


def test_zero_has_no_sign():
    """Lists of categories keep the first of two equal zeros: a row of -0.0 would change the bits of all rows of 0."""
    column = Numeric((0.0, 1.0), nullable=True)
    for array in (pa.array([-0.0, 0.0, None]), pa.array(["-0", "0.0", "-0.0"]), pa.array([-0.0]).dictionary_encode()):
        assert not np.signbit(column.encode(array).values).any()


@pytest.mark.parametrize("column", [Datetime(nullable=True), Tensor((2,), nullable=True)])
def test_nan_is_missing_also_where_no_number_can_be_read(column):
    """pandas stores None as NaN as soon as one number is in the column: no other row may make it unreadable."""
    found = column.encode(pa.array([float("nan"), None, 1.0]))
    assert found.null.all() and found.unreadable.tolist() == [False, False, True]
