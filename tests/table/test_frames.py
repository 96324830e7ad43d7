"""Frames in and out: pandas, polars, pyarrow."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.simulate.people import people, people_schema
from nacre.table.sources.frames import from_arrow, to_arrow
from nacre.table.values.decoding import decode
from nacre.table.values.labels import names


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_there_and_back(kind):
    table, schema = people(500, seed=2), people_schema()
    frame = from_arrow(table, kind)
    assert type(frame).__module__.startswith(kind)
    assert decode(encode(to_arrow(frame), schema), schema).equals(table)


def test_pandas_types_do_not_depend_on_the_nulls_that_occur():
    schema = Schema({"a": Numeric((0, 9), integer=True, nullable=True), "b": Boolean(nullable=True), "c": Boolean()})
    some = pa.table({"a": [1, None], "b": [True, None], "c": [True, False]})
    none = pa.table({"a": [1, 2], "b": [True, False], "c": [True, False]})
    first, second = (from_arrow(decode(encode(t, schema), schema), "pandas") for t in (some, none))
    assert first.dtypes.tolist() == second.dtypes.tolist() == [pd.Int64Dtype(), pd.BooleanDtype(), np.dtype(bool)]


@pytest.mark.parametrize(
    "stray", [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), b"x", "x", 1 + 2j]
)
@pytest.mark.parametrize("value", [Decimal("1.50"), True, dt.datetime(2020, 1, 2), 2**70])
def test_objects_of_several_types_are_refused(value, stray):
    """Arrow would infer one type for the column from all of its rows, or end the process."""
    for values in ([value, None, value, stray], [stray, None, value, value]):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": [1, 2, 3, 4]})
        with pytest.raises(DataError, match=r"column 'a' holds Python objects \(.*one row could change .* such as "):
            to_arrow(frame)


def test_sparse_columns_are_read_as_dense_ones():
    """One missing value would make floats of them, and of 2**53 + 1 another label."""
    for values in ([2**53 + 1, 7], ["a", "b"], ["a", "\ud800"], [True, False]):
        for column in (values, [*values, None]):
            dense = pd.DataFrame({"a": pd.Series(column, dtype=None if isinstance(values[0], int) else object)})
            sparse = pd.DataFrame({"a": pd.arrays.SparseArray(dense["a"].to_numpy())})
            assert repr(to_arrow(sparse)["a"].to_pylist()) == repr(to_arrow(dense)["a"].to_pylist())
    whole, floats = (pd.DataFrame({"a": pd.arrays.SparseArray(v)}) for v in ([2**53 + 1], [2**53 + 1, None]))
    assert to_arrow(whole).schema == to_arrow(floats).schema


def test_texts_that_are_spelt_out_stay_apart():
    """What is no text must not look like a text that somebody else has, whatever stands in the other rows."""
    words = ["\ud800", "\0eda080", "a\0b", "a"]
    together = to_arrow(pd.DataFrame({"a": pd.Series(words, dtype=object)}))["a"].to_pylist()
    assert len(set(together)) == len(words) and together[3] == "a"
    alone = [to_arrow(pd.DataFrame({"a": pd.Series([w], dtype=object)}))["a"].to_pylist()[0] for w in words]
    assert alone == together


def test_what_a_library_cannot_compute_is_refused():
    for bad in (pd.DataFrame({"a": pd.Series([Decimal("sNaN")], dtype=object)}),
                pl.LazyFrame({"a": ["x"]}).with_columns(pl.col("a").cast(pl.Int8))):  # fmt: skip
        with pytest.raises(DataError, match=r"decimals that are no numbers|the polars query fails"):
            to_arrow(bad)


def test_runs_of_pandas_are_no_crash():
    table = pa.table({"a": pc.run_end_encode(pa.array([1, 1, 2]))})
    assert to_arrow(table.to_pandas(types_mapper=pd.ArrowDtype))["a"].to_pylist() == [1, 1, 2]


@pytest.mark.parametrize("values", [["a", None, "1"], [b"a", None, b"1"]])
@pytest.mark.parametrize("wrapped", [pa.Array.dictionary_encode, lambda a: a.cast(f"{a.type}_view")])
def test_runs_of_dictionaries_and_views_are_read_one_by_one(values, wrapped):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 6], pa.int16()), wrapped(pa.array(values)))
    labels = pa.table({"a": ["a", "a", None, "1", "1"]})
    schema = Schema({"a": Categorical(("1", "a"), nullable=True)})
    for start in (0, 1):
        (batch,) = open_rows(pa.table({"a": runs.slice(start, 4)})).batches()
        assert decode(encode(batch, schema), schema).equals(labels.slice(start, 4))
        assert names(runs.slice(start, 4)).to_pylist() == labels["a"].to_pylist()[start : start + 4]


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(DataError, match=r"the column name .* holds half of a character"):
        to_arrow(pd.DataFrame([[1]], columns=pd.Index(["x\ud800"], dtype=object)))


def test_objects_of_one_sort_are_read_one_by_one():
    sorts = {"text": ["a", None], "money": [Decimal("1.50"), None], "truth": [True, None], "whole": [3, None],
             "mixed": [3, 2.5], "day": [dt.date(2020, 1, 2), float("nan")], "bytes": [b"a", pd.NA]}  # fmt: skip
    found = to_arrow(pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in sorts.items()}))
    types = [pa.large_string(), pa.float64(), pa.bool_(), pa.float64(), pa.float64(), pa.date32(), pa.large_binary()]
    assert found.schema.types == types
    assert found["money"].to_pylist()[0] == 1.5 and found["day"].to_pylist() == [dt.date(2020, 1, 2), None]


def test_whole_numbers_are_stored_alike_with_and_without_a_missing_value():
    """pandas makes floats of them as soon as one is missing; beyond 2**53 they would then be read as others."""
    whole = pd.DataFrame({"a": [2**53 + 1, 7]})
    floats = pd.DataFrame({"a": [2**53 + 1, 7, None]})
    assert to_arrow(whole).schema == to_arrow(floats).schema
    assert to_arrow(whole)["a"].to_pylist() == to_arrow(floats)["a"].to_pylist()[:2]


def test_objects_of_polars_are_refused():
    with pytest.raises(DataError, match="column 'a' holds Python objects"):
        to_arrow(pl.DataFrame({"a": [object()]}))


def test_other_shapes():
    batch = pa.record_batch({"a": [1]})
    assert to_arrow(batch).num_rows == 1
    assert to_arrow(pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])).num_rows == 2
    assert to_arrow(pl.LazyFrame({"a": [1, 2]})).num_rows == 2
    assert to_arrow(pd.DataFrame({"a": [1]}, index=["kept out"])).column_names == ["a"]
    assert to_arrow(pd.DataFrame({3: [1]})).column_names == ["3"]


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["b", "b"]), "two columns named 'b'"),
        ([1, 2, 3], "list is not a table"),
        (np.zeros(3), "ndarray is not a table"),
        (None, "NoneType is not a table"),
    ],
)
def test_what_is_not_a_table(frame, part):
    with pytest.raises(DataError, match=part):
        to_arrow(frame)


def test_unknown_frame():
    with pytest.raises(DataError, match="'spark' is not a kind of table; choose one of pandas, polars"):
        from_arrow(people(1), "spark")
