"""A messy CSV file in, a messy CSV file out: every column in its own writing, bought or declared."""

import csv
import dataclasses
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from messy import SHAPES, messy, write

import nacre
from nacre.engines import open_rows
from nacre.errors import UnreadableColumn
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema
from nacre.table.grid import Grid
from nacre.table.sources import Options

DECLARED = Schema({
    "ratio": Numeric((0, 20), format={"decimal": ",", "decimals": 2}),
    "price": Numeric((0, 100_000), format={"prefix": "$", "thousands": ",", "decimals": 2}),
    "share": Numeric((0, 100), format={"suffix": "%", "decimals": 1}),
    "seen": Datetime(("2018-01-01", "2021-12-31T23:59"), format="%m/%d/%Y %I:%M %p"),
    "born": Datetime(("1960-01-01", "2010-12-31"), format="%d.%m.%Y"),
    "zip": Categorical(("01001", "02139", "10115", "60601", "94110")),
    "smokes": Boolean(format={"true": "Y", "false": "N"}),
    "visits": Numeric((0, 119), integer=True, nullable=True, null_words=("NA", "-", "?")),
    "day": Datetime(("2020-01-01", "2021-12-31"), format="%Y-%m-%d 00:00:00"),
    "city": Categorical(("Köln", "Zürich", "Málaga", "Other")),
})  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return messy()


@pytest.fixture(scope="module")
def rows(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("messy") / "people.csv"
    write(path, table)
    return open_rows(path, options=Options(encoding="cp1252"))


@pytest.mark.parametrize("schema", [None, DECLARED], ids=["bought", "declared"])
def test_every_column_comes_back_in_its_own_writing(table, rows, schema, tmp_path):
    release = nacre.fit(rows, epsilon=1.0, schema=schema, method="independent", noise_seed=2)
    release.write(tmp_path / "fake.csv", seed=1)
    with open(tmp_path / "fake.csv", encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        fake = dict(zip(next(lines), zip(*lines)))
    for name, shape in SHAPES.items():
        strange = [text for text in fake[name] if not re.fullmatch(shape, text)]
        assert not strange, (name, strange[:5])
        assert _distance(table[name], fake[name], release.schema.columns[name]) <= 0.03, name
    assert "other" not in release.schema.columns["city"].labels


def _distance(real, fake, column):
    """Total variation over the declared cells in at most twenty groups, and no value that cannot be read."""
    grid = Grid.of(column)
    shares = []
    for texts in (real, fake):
        values = column.encode(pa.array(texts))
        assert not values.unreadable.any()
        shares.append(np.bincount(grid.codes(values) + 1, minlength=grid.cells + 1) / len(texts))
    if column.ordered:
        group = np.minimum((np.cumsum(shares[0]) * 20).astype(int), 19)
        shares = [np.bincount(group, weights=s, minlength=20) for s in shares]
    return np.abs(shares[0] - shares[1]).sum() / 2


def test_draft_and_purchase_agree(rows):
    drafted = Schema.draft(rows)
    bought = nacre.fit(rows, epsilon=1.0, method="independent", noise_seed=4).schema
    for name, column in drafted.columns.items():
        found = bought.columns[name]
        assert _writing(column) == _writing(found), name


def _writing(column):
    facts = [
        f.name for f in dataclasses.fields(column) if f.name not in ("bounds", "provenance", "null_words", "nullable")
    ]
    return column.kind, {f: getattr(column, f) for f in facts}, set(column.null_words)


def test_the_decimal_mark_of_a_source_is_what_its_numbers_have(tmp_path):
    """Declared with the source, as on the command line: for what is bought or drafted, and for numbers whose schema
    says nothing of it; whole numbers and numbers of a typed source are as they were."""
    rng = np.random.default_rng(5)
    values, ages = rng.integers(1_000, 9_999, 6_000), rng.integers(18, 90, 6_000)
    lines = [f"{v // 1000},{v % 1000:03d};{a}\n" for v, a in zip(values, ages)]
    (tmp_path / "t.csv").write_text("x;age\n" + "".join(lines))
    said = open_rows(tmp_path / "t.csv", options=Options(decimal=","))
    declared = Schema({"x": Numeric((0.0, 10.0)), "age": Numeric((0, 99), integer=True)})
    for found in (
        Schema.draft(said),
        nacre.fit(said, epsilon=4.0, method="independent", noise_seed=1).schema,
        nacre.fit(said, epsilon=4.0, method="independent", schema=declared).schema,
        nacre.buy_schema(said, epsilon=4.0).schema,
    ):
        assert found.columns["x"].format.decimal == "," and not found.columns["x"].integer, found
        assert 0 <= found.columns["x"].bounds[0] < found.columns["x"].bounds[1] <= 16
        assert found.columns["age"].integer and found.columns["age"].format is None
    table = pa.table({"x": values / 1000, "age": ages})
    pq.write_table(table, tmp_path / "t.parquet")
    typed = open_rows(tmp_path / "t.parquet", options=Options(decimal=","))
    assert nacre.fit(typed, epsilon=4.0, method="independent", schema=declared).schema.columns["x"].format is None


def test_a_wrong_declaration_stops_the_run(rows):
    wrong = Numeric((0, 20), format={"decimal": ".", "decimals": 2}, nullable=True)
    schema = dataclasses.replace(DECLARED, columns={**DECLARED.columns, "ratio": wrong})
    with pytest.raises(UnreadableColumn, match=r"'ratio' \(numeric\): about (9\d|100)%"):
        nacre.fit(rows, epsilon=1.0, schema=schema, method="independent", noise_seed=3)
