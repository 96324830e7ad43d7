"""A kind of column is its class and its line in the registry: nothing else knows it, and everything works."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.engines import open_rows
from nacre.errors import SchemaError
from nacre.evaluation.columns import compare_columns
from nacre.table import Between, Boolean, Condition, Numeric, Schema
from nacre.table.columns import KINDS, Labelled, Measured
from nacre.table.draft import draft
from nacre.table.encoding import encode
from nacre.table.grid import Grid, IntegerGrid, RealGrid
from nacre.table.values import casting
from nacre.table.values.decoding import decode
from nacre.table.votes.spans import numeric_bounds
from nacre.table.writing import write_table

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclasses.dataclass(frozen=True)
class Weekday(Labelled):
    """Days of the week, always the seven."""

    kind: ClassVar[str] = "weekday"
    ordered = True

    @property
    def labels(self):
        return DAYS

    @classmethod
    def drafted(cls, look):
        found = look.labels and set(look.labels) <= set(DAYS)
        return cls(nullable=look.found.nullable) if found and look.found.labelled else None

    def read(self, array):
        words = [None if w is None else w[:3].title() for w in array.to_pylist()]
        codes = np.array([DAYS.index(w) if w in DAYS else -1 for w in words], np.int32)
        return codes, casting.absent(array), (codes < 0) & ~casting.absent(array)

    def place_of(self, value, where):
        if value not in DAYS:
            raise SchemaError(f"{where}: {value!r} is no day of the week")
        return DAYS.index(value)


@dataclasses.dataclass(frozen=True)
class Percent(Measured):
    """Shares of a hundred, written with their sign: no bounds to declare."""

    kind: ClassVar[str] = "percent"
    text = True

    @property
    def ends(self):
        return (0.0, 100.0)

    @classmethod
    def drafted(cls, look):
        found = look.found
        percent = isinstance(found, Numeric) and found.format is not None and found.format.suffix == "%"
        return cls(nullable=found.nullable) if percent else None

    def read(self, array):
        return casting.floats(pa.array([None if t is None else t.rstrip("%") for t in array.to_pylist()], pa.string()))

    def spelled(self, values, null=None):
        return pa.array([f"{v:.1f}%" for v in values], mask=null)

    def grid(self):
        return RealGrid.over(self, self.ends, None, ())

    def place_of(self, value, where):
        return self.inside(float(value), where, value, self.ends)


@dataclasses.dataclass(frozen=True)
class Clock(Measured):
    """Minutes as `1:05`, between bounds that a budget may buy."""

    bounds: tuple[int, int] | None = None

    kind: ClassVar[str] = "clock"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "nullable", "null_words")
    probe = "magnitude"
    text = True

    @property
    def ends(self):
        return self.bounds

    def bounded_by(self, histogram, sigma):
        return self.bought(numeric_bounds(histogram, sigma, True))

    def read(self, array):
        parts = [None if t is None else t.split(":") for t in array.to_pylist()]
        return casting.integers(pa.array([None if p is None else int(p[0]) * 60 + int(p[1]) for p in parts]))

    def spelled(self, values, null=None):
        return pa.array([f"{v // 60}:{v % 60:02d}" for v in values], mask=null)

    def grid(self):
        return IntegerGrid.over(self, self.ends)


@dataclasses.dataclass(frozen=True)
class Stopwatch(Clock):
    """The same without a public grid by which bounds could be bought."""

    kind: ClassVar[str] = "stopwatch"
    probe = None


@pytest.fixture
def kinds(monkeypatch):
    for kind in (Weekday, Percent, Clock, Stopwatch):
        monkeypatch.setitem(KINDS, kind.kind, kind)


@pytest.fixture
def table(kinds):
    rng = np.random.default_rng(4)
    share = rng.beta(2, 5, 3_000) * 100
    day = rng.choice(DAYS, 3_000, p=[0.3, 0.25, 0.15, 0.1, 0.1, 0.05, 0.05])
    return pa.table({
        "day": pa.array(day, mask=rng.random(3_000) < 0.1),
        "share": [f"{v:.1f}%" for v in share],
        "late": share > 30,
    })  # fmt: skip


@pytest.fixture
def path(table, tmp_path):
    write_table(table, tmp_path / "a.csv")
    return tmp_path / "a.csv"


def test_a_draft_finds_it(path):
    schema = Schema.draft(open_rows(path))
    assert schema.columns["day"] == Weekday(nullable=True, provenance=dict.fromkeys(("kind", "nullable"), "read"))
    assert isinstance(schema.columns["share"], Percent) and isinstance(schema.columns["late"], Boolean)
    assert schema.weakest()[0] == "read" and not schema.undeclared()


def test_json_gives_it_back(kinds):
    schema = Schema({"day": Weekday(nullable=True), "share": Percent()})
    text = schema.to_json()
    assert '"day": {"kind": "weekday", "nullable": true' in text
    back = Schema.from_json(text)
    assert back == schema and isinstance(back.columns["share"], Percent)
    with pytest.raises(SchemaError, match="column 'day' has the unknown key 'bounds'; the keys are kind, nullable"):
        Schema.from_json({"format": 1, "columns": {"day": {"kind": "weekday", "bounds": [0, 1]}}})


def test_values_cells_and_conditions(table):
    schema = Schema({"day": Weekday(nullable=True), "share": Percent(), "late": Boolean()})
    encoded = encode(table, schema)
    assert not any(encoded.outside().values())
    rng = np.random.default_rng(1)
    for name, column in schema.columns.items():
        grid = Grid.of(column)
        codes = grid.codes(encoded[name])
        assert (codes >= 0).all() and (grid.codes(grid.draw(codes, rng)) == codes).all()
    assert decode(encoded, schema).equals(table.cast(decode(encoded, schema).schema))
    weekend = Condition.of(Between("Sat", None), schema.columns["day"])
    assert weekend.matches(encoded["day"]).sum() == sum(d in ("Sat", "Sun") for d in table["day"].to_pylist())
    half = Condition.of(Between(None, 50), schema.columns["share"]).mask(Grid.of(schema.columns["share"]))
    assert 0 < half.sum() < len(half)


def test_it_is_learnt_drawn_saved_and_compared(table, tmp_path):
    schema = Schema({"day": Weekday(nullable=True), "share": Percent(), "late": Boolean()}, rows=3_000)
    release = nacre.fit(table, schema=schema, epsilon=5.0, method="independent", target="late")
    release.save(tmp_path / "r.nacre")
    made = nacre.load(tmp_path / "r.nacre").sample(3_000, as_="pyarrow", where={"day": list(DAYS)})
    assert set(made["day"].to_pylist()) == set(DAYS) and made["share"].to_pylist()[0].endswith("%")
    assert made.schema.field("day").type == made.schema.field("share").type == pa.string()
    day, share, _ = compare_columns(table, made, schema)
    assert day.labels == DAYS and np.abs(day.real - day.synthetic).max() < 0.05
    assert share.kind == "percent" and np.abs(share.real - share.synthetic).sum() < 0.2
    train, holdout = table.slice(0, 2_000), table.slice(2_000)
    report = nacre.evaluate(made, train=train, holdout=holdout, schema=schema, target="late", suites="quick")
    assert {score.columns for score in report.scores if len(score.columns) == 1} >= {("day",), ("share",)}


@pytest.fixture
def minutes():
    late = np.random.default_rng(2).integers(300, 540, 3_000)
    return pa.table({"time": [f"{m // 60}:{m % 60:02d}" for m in late], "late": late > 400})


def test_its_bounds_are_bought_by_its_own_reading(kinds, minutes):
    schema = Schema({"time": Clock(), "late": Boolean()}, rows=3_000)
    release = nacre.fit(minutes, schema=schema, epsilon=8.0, method="independent")
    low, high = release.schema.columns["time"].bounds
    assert 200 < low <= 310 and 530 <= high < 700
    assert release.schema.columns["time"].provenance["bounds"] == "bought"
    assert release.sample(5, as_="pyarrow")["time"][0].as_py().count(":") == 1


def test_bounds_that_cannot_be_bought_are_asked_for_before_anything_is_spent(kinds, minutes):
    schema = Schema({"time": Stopwatch(), "late": Boolean()}, rows=3_000)
    with pytest.raises(SchemaError, match="'time': bounds not declared, and those of a stopwatch column cannot be"):
        nacre.plan(minutes, schema=schema, epsilon=8.0)


def test_the_draft_of_another_registry_does_not_know_it(path, monkeypatch):
    for kind in ("weekday", "percent", "clock", "stopwatch"):
        monkeypatch.delitem(KINDS, kind)
    columns = draft(open_rows(path)).columns
    assert [c.kind for c in columns.values()] == ["categorical", "numeric", "boolean"]
