"""The law of reading: what a value is read as depends on that value and on public facts, never on another row."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from benchmarks.reading import movement
from benchmarks.reading.pools import SOURCES, TYPES
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.engines import dataset
from nacre.errors import DataError
from nacre.privacy.passes import units
from nacre.table.sources import frames, pandas_columns, sqlite, storage
from nacre.table.values import casting, labels

FILES = ("csv", "parquet", "folders", "excel", "dataset", "shards", "sqlite", "duckdb")  # slow to make


@pytest.mark.parametrize("share", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", SOURCES)
def test_no_row_changes_how_another_is_read(source, share):
    pairs = share * (5 if any(word in source for word in FILES) else 20)
    found = movement.search(source, pairs, seed=1)
    assert found["moved_over_declared"] == 1 and found["pairs_read"] == pairs


def _inferred(frame: pd.DataFrame) -> pa.Table:
    """Arrow's own way: one type for a column of objects, from all of its rows."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, UnicodeError, TypeError, ValueError, OverflowError) as error:
        raise DataError(str(error)) from None  # a table that is refused is no break: others must show it


def _stored(series, name):
    """Whole numbers as pandas stores them, which one missing value changes."""
    return pa.Array.from_pandas(series)


def _lossy(word: bytes) -> str:
    return word.decode("utf-8", errors="replace")


def _by_type(identifiers: pa.Array) -> pa.Array:
    """The text that a physical type prints: 1, 1.0 and 1.00 are three persons."""
    return identifiers.cast(pa.string())


def _nothing(rows) -> None:
    """Arrow's own way: one type for a column of folders, from all of their names."""


def _read_as_values(array, dtype):
    """A missing number is a value that cannot be read, a missing value of no type is missing."""
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return np.zeros(len(array), dtype), np.ones(len(array), bool), ~missing


def _of_one_sort(values) -> pa.Array:
    """Numbers in one type where all of them are numbers: 1 beside 2.5 is 1.0."""
    numbers = all(v is None or isinstance(v, int | float) for v in values)
    texts = [None if v is None else v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]
    return pa.array(values, pa.float64()).cast(pa.string()) if numbers else pa.array(texts, pa.string())


TWINS = {
    "values of SQLite by their neighbours": (sqlite, "_texts", _of_one_sort, "sqlite"),
    "types of folders by all names": (dataset.DatasetRows, "_check_formats", _nothing, "folders"),
    "numbers that are none as values": (casting, "unreadable", _read_as_values, "pandas"),
    "types by all rows": (frames, "from_pandas", _inferred, "pandas-objects"),
    "integers as they are stored": (pandas_columns, "_column", _stored, "pandas"),
    "lossy names of bytes": (labels, "text_of_bytes", _lossy, "arrow"),
    "names by physical type": (units, "_names", _by_type, "parquet-parts"),
    "names by their spelling": (units, "_names", labels.as_text, "csv-parts"),
}


@pytest.mark.parametrize("twin", TWINS)
def test_the_search_catches(twin, monkeypatch):
    module, name, broken, source = TWINS[twin]
    monkeypatch.setattr(movement, "EACH", 1)  # tables of many kinds
    monkeypatch.setattr(module, name, broken)
    try:
        found = movement.search(source, 2_000, seed=2)
    except pa.ArrowException:
        return  # the twin dies of a value: caught as well
    assert found["moved_over_declared"] > 1


def _encodable(kind: pa.DataType) -> bool:
    """Whether Arrow makes a dictionary of such values."""
    small = pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind)
    extension = isinstance(kind, pa.BaseExtensionType)
    return not (small or extension or pa.types.is_nested(kind) or storage.exotic(kind))


ARRAYS = [(kind, pool) for kind, pool in TYPES if pool and _encodable(kind)]


@settings(max_examples=150)
@given(st.data())
def test_labels_and_names_alone_in_company_and_in_any_order(data):
    kind, pool = data.draw(st.sampled_from(ARRAYS), label="type")
    values = data.draw(st.lists(st.sampled_from([*pool, None]), min_size=1, max_size=8), label="values")
    array = pa.array(values, kind.value_type if pa.types.is_dictionary(kind) else kind)
    together = labels.names(array).to_pylist()
    assert together == [labels.names(array.slice(i, 1)).to_pylist()[0] for i in range(len(array))]
    assert together == labels.names(array.dictionary_encode()).to_pylist()
    order = random.Random(len(values)).sample(range(len(values)), len(values))
    assert labels.names(array.take(pa.array(order))).to_pylist() == [together[i] for i in order]


NUMBERS = ((1, "1"), (10, "10"), (2**53 - 1, "9007199254740991"), (-3, "-3"), (0, "0"))


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(25, 4), pa.decimal256(60, 0)])
@pytest.mark.parametrize(("number", "label"), NUMBERS)
def test_a_number_has_one_label_whatever_stores_it(kind, number, label):
    array = pa.array([number], pa.decimal256(60, 0)).cast(kind)
    assert labels.as_text(array).to_pylist() == labels.names(array).to_pylist() == [label]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(("zone", "label"), [(None, "2001-09-09 01:46:40"), ("Asia/Tokyo", "2001-09-09 01:46:40Z")])
def test_a_moment_has_one_label_whatever_stores_it(unit, zone, label):
    array = pa.array([10**9], pa.timestamp("s")).cast(pa.timestamp(unit)).view(pa.timestamp(unit, zone))
    assert labels.as_text(array).to_pylist() == [label]


def test_bytes_have_names_of_their_own():
    """8-byte numbers are no text: repaired with replacement characters, most of them were one person."""
    words = [i.to_bytes(8, "little") for i in range(20_000)] + [b"\0" + b"ff", b"\xff", b"\\xff", b"ff"]
    found = labels.names(pa.array(words, pa.binary())).to_pylist()
    assert len(set(found)) == len(words)
    texts = [word.decode() for word in words if _is_text(word)]
    assert labels.names(pa.array(texts)).to_pylist() == labels.names(pa.array([t.encode() for t in texts])).to_pylist()


def _is_text(word: bytes) -> bool:
    try:
        return bool(word.decode())
    except UnicodeDecodeError:
        return False


def test_floats_that_stand_for_several_numbers_are_no_labels():
    for kind, first in ((pa.float64(), 2.0**53), (pa.float32(), 2.0**24), (pa.float16(), 2.0**11)):
        array = pa.array([first, first - 1, float("inf")], pa.float64()).cast(kind)
        assert labels.as_text(array).to_pylist() == [None, f"{first - 1:.0f}", None]
        assert labels.run_together(array).tolist() == [True, False, True]


def test_declared_labels_are_read_as_the_source_spells_them():
    assert labels.as_stored(("1.0", "2.50", "none"), pa.int64()) == ("1", "2.5", "none")
    assert labels.as_stored(("1.0", "1"), pa.float64()) == ("1.0", "1")  # would become one
    assert labels.as_stored(("True", "False"), pa.bool_()) == ("true", "false")
    assert labels.as_stored(("1.0",), pa.string()) == ("1.0",)


def test_a_person_has_one_name_however_a_text_spells_a_whole_number():
    spelt = ["100000", "100000.0", "100000,0", "1e+05", "1E+5", "100000.00"]
    assert set(labels.names(pa.array(spelt)).to_pylist()) == {"100000"}
    assert labels.names(pa.array(["0", "-0.0", "0.000"])).to_pylist() == ["0"] * 3
    apart = [
        "1e5",
        "12e4",
        "1,000",
        "1.5",
        "1.50",
        "01",
        "1",
        "1.25e+01",
        "NaN",
    ]  # codes, and what no library writes so
    assert labels.names(pa.array(apart)).to_pylist() == apart


def test_a_text_that_may_be_two_numbers_is_nobodys_name():
    """17.000 may be 17 or 17 thousand; a float of 2**53 or more stands for several persons."""
    unclear = pa.array(["17.000", "1.000", "1.2345678901234568e+16", "1e+300"], pa.large_string())
    assert labels.names(unclear).to_pylist() == [None] * 4
