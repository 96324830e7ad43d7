"""Drafts: kinds guessed, and every fact marked as read."""

import dataclasses
import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nacre.engines import open_rows
from nacre.errors import DataError, SchemaError
from nacre.privacy.discovery import unknown
from nacre.table import Boolean, Categorical, Datetime, Identifier, Numeric, Schema, Tensor
from nacre.table.encoding import encode
from nacre.table.simulate.people import people
from nacre.table.sources.storage import as_written
from nacre.table.values.decoding import decode
from nacre.table.writing import write_table

N = 200
UUIDS = [f"{i:08x}-aa" for i in range(N)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, 9, 5]), Numeric((3, 9), integer=True)),
        (pa.array(["3", "9", ""]), Categorical(("3", "9"), nullable=True)),
        (pa.array(["Yes", "No", "Yes"]), Categorical(("No", "Yes"))),
        (pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 3, 1)]),
         Datetime(("2020-01-01", "2020-03-01"), unit="day", format="%Y-%m-%d 00:00:00")),
        (pa.array([12.5, 0.25, 3.0]), Numeric((0.25, 12.5), decimals=2)),
        (pa.array([None, None], pa.float64()), Categorical(("other",), other="other", nullable=True)),
        (pa.array([None, None]), Categorical(("other",), other="other", nullable=True)),
        (pa.array(["same"] * 60), Categorical(("same",))),
        (pa.array(["one of many sentences that say little and go on and on, as notes in a record mostly do"] * 60),
         Identifier(text=True)),
        (pa.array([f"note {i // 3}" for i in range(N)]), Identifier(text=True)),
        (pa.array(range(N)), Identifier()),
        (pa.array([3.0, None, 5.0]), Numeric((3, 5), integer=True, nullable=True)),
        (pa.array([0.5, float("nan"), 2.0]), Numeric((0.5, 2), decimals=1, nullable=True)),
        (pa.array([True, None]), Boolean(nullable=True)),
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


TWO_DAYS = ("2019-01-01", "2020-02-29")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["3", " 9", ""], Numeric((3, 9), integer=True, nullable=True)),
        (["1e-3", "2"], Numeric((0.001, 2))),
        (["0", "1"], Numeric((0, 1), integer=True)),
        (["3,14", "12,50", "0,70"], Numeric((0.7, 12.5), format={"decimal": ",", "decimals": 2})),
        (["$1,941.32", "$5.10"], Numeric((5.1, 1941.32), format={"thousands": ",", "prefix": "$", "decimals": 2})),
        (["7", "NA", "?", "NA"], Numeric((7, 7), integer=True, nullable=True, null_words=("NA", "?"))),
        (["007", "010", "123"], Categorical(("007", "010", "123"))),
        (["250.00", "401.9", "V45.81", "038.9"], Categorical(("038.9", "250.00", "401.9", "V45.81"))),
        (["Yes", "No", "Yes"], Boolean(format={"true": "Yes", "false": "No"})),
        (["Yes", "Yes"], Categorical(("Yes",))),
        (["2020-02-29", "2019-01-01"], Datetime(TWO_DAYS, unit="day")),
        (["29.02.2020", "01.01.2019"], Datetime(TWO_DAYS, format="%d.%m.%Y")),
        (["02/29/2020", "01/01/2019"], Datetime(TWO_DAYS, format="%m/%d/%Y")),
        (["01/02/2020", "01/01/2019"], Categorical(("01/01/2019", "01/02/2020"))),  # which is the month?
        (["2020-02-29T10:30", None],
         Datetime(("2020-02-29T10:30:00", "2020-02-29T10:30:00"), format="%Y-%m-%dT%H:%M", nullable=True)),
        (["b", "2020-01-01", "7"], Categorical(("2020-01-01", "7", "b"))),
    ],
)  # fmt: skip
def test_what_texts_stand_for_in_a_source_without_types(texts, expected):
    table = pa.table([pa.array(texts, pa.string())], schema=pa.schema([as_written("x")]))
    assert dataclasses.replace(Schema.draft(table).columns["x"], provenance={}) == expected


def test_numbers_that_are_names():
    ids = pa.array(range(3, N + 3))
    named = {"patient_id": ids, "rank": ids, "paid": ids, "Unnamed: 0": ids}
    kinds = [c.kind for c in Schema.draft(pa.table(named)).columns.values()]
    assert kinds == ["identifier", "numeric", "numeric", "identifier"]


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
    pieces = pa.Table.from_batches([table.slice(i, 97).combine_chunks().to_batches()[0] for i in range(0, 3_000, 97)])
    assert Schema.draft(pieces) == Schema.draft(table)


def test_draft_of_pandas_and_exclusions():
    frame = pd.DataFrame({"a": [1, 2], "empty": [None, None], "b": ["x", "y"]})
    assert Schema.draft(frame).columns["empty"].nullable
    assert Schema.draft(frame, exclude=["empty"]).names == ("a", "b")
    with pytest.raises(SchemaError, match="exclude names 'c'"):
        Schema.draft(frame, exclude=["c"])


def test_row_names_that_a_library_saved_are_made_anew(tmp_path):
    (tmp_path / "p.csv").write_text('"","a"\n' + "".join(f'"{i}",{i % 3}\n' for i in range(N)))
    rows = open_rows(tmp_path / "p.csv")
    assert rows.column_names == ["Unnamed: 0", "a"]
    assert isinstance(Schema.draft(rows).columns["Unnamed: 0"], Identifier)
    assert isinstance(unknown(rows.column_names).columns["Unnamed: 0"], Identifier)


def test_infinities_are_no_bounds():
    assert Schema.draft(pa.table({"x": [1.5, np.inf]})).columns["x"].bounds == (1.5, 1.5)
    with pytest.raises(DataError, match="no values that nacre can model"):
        Schema.draft(pa.table({"x": [np.inf, -np.inf]}))
