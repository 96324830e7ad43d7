"""Columns that state how they are written: read that way, cells on their step, written back that way."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from nacre.errors import SchemaError
from nacre.table import Between, Boolean, Categorical, Datetime, Numeric, Schema
from nacre.table.conditions import Condition
from nacre.table.encoding import encode
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat
from nacre.table.grid import Grid
from nacre.table.values.decoding import decode
from nacre.table.writing import write_table

YEARS = ("2000-01-01", "2030-01-01")
WRITTEN = {
    "price": (Numeric((0, 9999), format={"prefix": "$", "thousands": ",", "decimals": 2}), ["$1,941.32", "$0.05"]),
    "share": (Numeric((0, 100), format={"decimal": ",", "suffix": " %"}, decimals=1), ["40,8 %", "100 %"]),
    "code": (Numeric((0, 99_999), integer=True, format={"width": 5}), ["01001", "99999"]),
    "born": (Datetime(("1900-01-01", "2030-01-01"), format="%d.%m.%Y"), ["31.12.2024", "01.02.1903"]),
    "seen": (Datetime(YEARS, format="%m/%d/%Y %I:%M %p"), ["12/10/2020 10:57 PM", "01/02/2003 12:00 AM"]),
    "smokes": (Boolean(format={"true": "Y", "false": "N"}), ["N", "Y"]),
    "ward": (Categorical(("NA", "b"), null_words=("?",), nullable=True), ["NA", "b"]),
}  # fmt: skip
SCHEMA = Schema({name: column for name, (column, _) in WRITTEN.items()})
TABLE = pa.table({name: texts for name, (_, texts) in WRITTEN.items()})


def test_a_table_comes_back_as_it_was_written():
    encoded = encode(TABLE, SCHEMA)
    assert not any(encoded.outside().values())
    assert encoded["price"].values.tolist() == [1941.32, 0.05] and encoded["code"].values.tolist() == [1001, 99_999]
    out = decode(encoded, SCHEMA)
    assert out.to_pydict() == TABLE.to_pydict()
    assert set(out.schema.types) == {pa.string()}


def test_the_json_says_it_and_gives_it_back():
    text = SCHEMA.to_json()
    assert '"format": "%d.%m.%Y"' in text and '"format": {"true": "Y", "false": "N"}' in text
    assert '"format": {"thousands": ",", "prefix": "$", "decimals": 2}' in text
    again = Schema.from_json(text)
    assert again == SCHEMA and again.to_json() == text
    assert again.columns["seen"].unit == "minute" and again.columns["born"].unit == "day"
    comma = NumberFormat(decimal=",")
    marked = Numeric((0, 1), decimals=1, format=comma, null_words=("-",), provenance={"format": "bought"})
    assert marked.provenance["format"] == "bought" and marked.provenance["decimals"] == "public"
    assert Numeric(format=NumberFormat(decimals=2), provenance={"format": "read"}).provenance["decimals"] == "read"


def test_plain_formats_keep_typed_columns_and_say_to_text_files_how(tmp_path):
    schema = Schema({
        "cost": Numeric((0, 99), format={"decimals": 2}, null_words=("NA",), nullable=True),
        "day": Datetime(("2020-01-01", "2021-01-01"), format="%Y-%m-%d 00:00:00"),
        "at": Datetime(("2020-01-01", "2021-01-01")),
        "ok": Boolean(format={"true": "True", "false": "False"}),
        "word": Categorical(("a",), nullable=True, null_words=("-", "?")),
    })  # fmt: skip
    table = pa.table({
        "cost": ["12.50", "NA", "3.00"], "day": ["2020-03-01 00:00:00"] * 3, "at": ["2020-03-01 10:57:00"] * 3,
        "ok": ["True", "False", "True"], "word": ["a", "?", "-"],
    })  # fmt: skip
    out = decode(encode(table, schema), schema)
    assert out.schema.types == [pa.float64(), pa.timestamp("us"), pa.timestamp("us"), pa.bool_(), pa.string()]
    assert out["cost"].to_pylist() == [12.5, None, 3.0] and out["day"][0].as_py() == dt.datetime(2020, 3, 1)
    write_table(out, tmp_path / "out.csv")
    options = pacsv.ConvertOptions(column_types={name: pa.string() for name in table.column_names})
    found = pacsv.read_csv(tmp_path / "out.csv", convert_options=options)
    assert found.to_pydict() == {**table.to_pydict(), "word": ["a", "-", "-"]}


def test_text_of_a_typed_source_can_stay_text():
    schema = Schema({
        "n": Numeric((0, 9), integer=True, text=True), "x": Numeric((0, 9), text=True),
        "t": Datetime(("2020-01-01", "2021-01-01"), unit="day", text=True), "b": Boolean(text=True),
    })  # fmt: skip
    table = pa.table({"n": ["7"], "x": ["1.5"], "t": ["2020-02-29"], "b": ["true"]})
    assert decode(encode(table, schema), schema).to_pydict() == table.to_pydict()
    assert Schema.from_json(schema.to_json()) == schema


def test_typed_values_are_read_whatever_the_format():
    found = WRITTEN["price"][0].encode(pa.array([1.5, None, 7.0]))
    assert found.values[[0, 2]].tolist() == [1.5, 7.0] and found.null.tolist() == [False, True, False]


def test_null_words_and_unreadable_values_are_told_apart():
    column = Numeric((0, 10), nullable=True, null_words=("NA", "?"), format=NumberFormat(decimal=","))
    found = column.encode(pa.array(["1,5", "NA", " ? ", "", None, "n/a", "1.5"]).dictionary_encode())
    assert found.null.tolist() == [False] + [True] * 6
    assert found.unreadable.tolist() == [False] * 5 + [True] * 2


@pytest.mark.parametrize("decimals", [0, 1, 2, 4])
@pytest.mark.parametrize("bounds", [(0.0, 5.0), (-3.0, 700.0), (12.0, 12.0)])
def test_cells_of_decimals_hold_multiples_of_the_step(decimals, bounds):
    column = Numeric(bounds, decimals=decimals, atoms=(bounds[1],))
    grid = Grid.of(column)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, grid.cells, 5000)
    values = grid.draw(codes, rng)
    assert (grid.codes(values) == codes).all()
    assert (np.round(values.values, decimals) == values.values).all()
    assert bounds[0] <= values.values.min() and values.values.max() <= bounds[1]
    inside = np.round(rng.uniform(*bounds, 1000), decimals)
    found = column.encode(pa.array(inside))
    assert not found.outside.any() and (found.values == inside).all()


def test_one_number_with_decimals_has_a_share():
    column = Numeric((0, 2), decimals=1)
    for asked, cells in ((0.3, 1), (Between(0.3, 0.5), 3)):
        assert Condition.of(asked, column).mask(Grid.of(column)).sum() == cells
    wide = Grid.of(Numeric((0, 1000), decimals=2))
    between = Condition.of(Between(17.29, 17.31), wide.column)
    cells = np.repeat(np.flatnonzero(between.mask(wide)), 300)
    values = wide.draw(cells, np.random.default_rng(1), *between.spans[0])
    assert set(values.values.tolist()) == {17.29, 17.3, 17.31}


def test_values_off_the_step_are_rounded_and_counted():
    found = Numeric((0, 1), decimals=1).encode(pa.array([0.1 + 0.2, 0.25, 1.0, float("inf")]))
    assert found.values.tolist() == [0.3, 0.2, 1.0, 1.0] and found.outside.tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Numeric((0, 1.25), decimals=1), "no number of 1 decimals"),
        (lambda: Numeric((0, 2.0**50), decimals=6), "more digits than a number can keep"),
        (lambda: Numeric((0, 1e30), format=NumberFormat(decimal=",")), "too large for a format"),
        (lambda: Numeric(integer=True, decimals=2), "integer"),
        (lambda: Numeric(decimals=3, format=NumberFormat(decimals=2)), "not be written in full"),
        (lambda: Numeric(format="%d"), "write an object"),
        (lambda: Boolean(text="yes"), "text is 'yes'"),
        (lambda: Datetime(("1900-01-01", "2020-01-01"), format="%d.%m.%y"), "two digits stand for"),
        (lambda: Datetime(tz="UTC", format="%d.%m.%Y"), "has no zone"),
        (lambda: Categorical(("a", "?"), null_words=("?",)), "both a label and a null word"),
        (lambda: Categorical(null_words=("",)), "the empty text means missing anyway"),
        (lambda: Numeric(null_words="NA"), "write a list"),
        (lambda: Boolean(provenance={"format": "read"}), "does not state"),
    ],
)
def test_contradictions_are_refused(make, said):
    with pytest.raises(SchemaError, match=said):
        make()


def test_formats_are_hashable_values():
    assert len({NumberFormat(), NumberFormat(decimal="."), DateFormat("%d.%m.%Y"), TruthFormat()}) == 3
    assert hash(Numeric((0, 1), format=NumberFormat(decimal=","))) is not None
