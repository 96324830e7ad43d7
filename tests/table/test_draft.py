"""Drafts: kinds guessed, and every fact marked as read."""

import dataclasses
import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nacre.engines import open_rows
from nacre.errors import DataError, SchemaError
from nacre.table import Boolean, Categorical, Datetime, Identifier, Numeric, Schema, Tensor
from nacre.table.decoding import decode
from nacre.table.encoding import encode
from nacre.table.simulate import people
from nacre.table.writing import write_table

N = 200
UUIDS = [f"{i:08x}-aa" for i in range(N)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, 9, 5]), Numeric((3, 9), integer=True)),
        (pa.array([3.0, None, 5.0]), Numeric((3, 5), integer=True, nullable=True)),
        (pa.array([0.5, float("nan"), 2.0]), Numeric((0.5, 2), nullable=True)),
        (pa.array(["3", " 9", ""]), Numeric((3, 9), integer=True, nullable=True)),
        (pa.array(["1e-3", "2"]), Numeric((0.001, 2))),
        (pa.array([True, None]), Boolean(nullable=True)),
        (pa.array(["Yes", "no", "yes"]), Boolean()),
        (pa.array(["0", "1"]), Numeric((0, 1), integer=True)),
        (pa.array(["2020-02-29", "2019-01-01"]), Datetime(("2019-01-01", "2020-02-29"), unit="day")),
        (pa.array(["2020-02-29T10:30", None]),
         Datetime(("2020-02-29T10:30:00", "2020-02-29T10:30:00"), unit="minute", nullable=True)),
        (pa.array([dt.date(2020, 1, 1)]), Datetime(("2020-01-01", "2020-01-01"), unit="day")),
        (pa.array([dt.datetime(2020, 1, 1, 0, 0, 1)], pa.timestamp("ms", "UTC")),
         Datetime(("2020-01-01T00:00:01", "2020-01-01T00:00:01"), tz="UTC")),
        (pa.array(["b", "a", "b", None]), Categorical(("a", "b"), nullable=True)),
        (pa.array(["b", "a", "b"]).dictionary_encode(), Categorical(("a", "b"))),
        (pa.array(["b", "2020-01-01", "7"]), Categorical(("2020-01-01", "7", "b"))),
        (pa.array(UUIDS), Identifier(text=True)),
        (pa.array([[0.0, 2.0], [1.0, 5.0]]), Tensor((2,), (0, 5))),
    ],
)  # fmt: skip
def test_kinds(values, expected):
    column = Schema.draft(pa.table({"x": values})).columns["x"]
    assert set(column.provenance.values()) == {"read"} and "kind" in column.provenance
    assert dataclasses.replace(column, provenance={}) == expected


def test_numbers_that_are_names():
    ids = pa.array(range(1, N + 1))
    columns = Schema.draft(pa.table({"patient_id": ids, "rank": ids, "paid": ids})).columns
    assert [c.kind for c in columns.values()] == ["identifier", "numeric", "numeric"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_draft_covers_its_table(tmp_path, ending):
    """Whatever the format, the table encodes with nothing outside and comes back in the drafted types."""
    table = people(2_000, seed=3)
    write_table(table, tmp_path / f"p.{ending}")
    rows = open_rows(tmp_path / f"p.{ending}")
    schema = Schema.draft(rows)
    assert schema.weakest()[0] == "read" and schema.columns["person_id"].kind == "identifier"
    back = pa.Table.from_batches(rows.batches())
    encoded = encode(back, schema)
    assert not any(encoded.outside().values())
    out = decode(encoded, schema)
    for name in ("age", "income", "education", "smoker", "late_payment", "joined"):
        assert out[name].to_pylist() == table[name].to_pylist(), name


def test_a_draft_of_batches_is_the_draft_of_the_whole():
    table = people(3_000, seed=8)
    pieces = pa.Table.from_batches([table.slice(i, 7).combine_chunks().to_batches()[0] for i in range(0, 3_000, 7)])
    assert Schema.draft(pieces) == Schema.draft(table)


def test_draft_of_pandas_and_exclusions():
    frame = pd.DataFrame({"a": [1, 2], "empty": [None, None], "b": ["x", "y"]})
    with pytest.raises(DataError, match="column 'empty' has no values, only missing ones"):
        Schema.draft(frame)
    assert Schema.draft(frame, exclude=["empty"]).names == ("a", "b")
    with pytest.raises(SchemaError, match="exclude names 'c'"):
        Schema.draft(frame, exclude=["c"])


def test_infinities_are_no_bounds():
    assert Schema.draft(pa.table({"x": [1.5, np.inf]})).columns["x"].bounds == (1.5, 1.5)
    with pytest.raises(DataError, match="no values that nacre can model"):
        Schema.draft(pa.table({"x": [np.inf, -np.inf]}))
