"""What was drawn passes the checks that a table's owner has already, as they are: pandera's and those of a database."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pandera.pandas as pa
import polars as pl
import pytest

import nacre
from nacre.table import Boolean, Categorical, Datetime, Identifier, Numeric, Schema
from nacre.table.rules import Calendar, Combinations, Geo, Ordered

ROWS = 1_500
WARDS = ("low", "mid", "high")
PLANS = (("basic", 1), ("basic", 2), ("plus", 5))
CLINIC = [[10.0, 59.5, 11.5, 60.5]]  # west, south, east, north


def visits(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    came = pd.Series(pd.Timestamp("2024-01-01 08:00", tz="Europe/Oslo"))
    came = came.repeat(rows).reset_index(drop=True) + pd.to_timedelta(rng.integers(0, 300, rows), unit="D")
    came = came + pd.to_timedelta(rng.integers(0, 540, rows), unit="min")
    plan = rng.integers(0, 3, rows)
    return pd.DataFrame({
        "visit": np.arange(1, rows + 1),
        "ward": rng.choice(WARDS, rows),
        "came": came,
        "left": came + pd.to_timedelta(rng.integers(10, 400, rows), unit="min"),
        "born": (pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, rows), unit="D")).date,
        "fee": np.round(rng.gamma(2, 20, rows), 2),
        "age": pd.array(np.where(rng.random(rows) < 0.1, None, rng.integers(18, 90, rows)), dtype="Int64"),
        "emergency": rng.random(rows) < 0.2,
        "plan": np.array([p for p, _ in PLANS])[plan],
        "seats": np.array([s for _, s in PLANS])[plan],
        "lat": np.round(rng.uniform(59.6, 60.4, rows), 4),
        "lon": np.round(rng.uniform(10.1, 11.4, rows), 4),
    })  # fmt: skip


SCHEMA = Schema(
    {
        "visit": Identifier(),
        "ward": Categorical(WARDS, ordered=True),
        "came": Datetime(("2024-01-01", "2024-12-31T00:00:00"), tz="Europe/Oslo", unit="minute"),
        "left": Datetime(("2024-01-01", "2025-01-31T00:00:00"), tz="Europe/Oslo", unit="minute"),
        "born": Datetime(("1930-01-01", "2006-12-31"), unit="day"),
        "fee": Numeric((0, 500), decimals=2),
        "age": Numeric((18, 90), integer=True, nullable=True),
        "emergency": Boolean(),
        "plan": Categorical(("basic", "plus")),
        "seats": Numeric((1, 5), integer=True),
        "lat": Numeric((59, 61), decimals=4),
        "lon": Numeric((9, 12), decimals=4),
    },
    rows=ROWS,
    rules=(Ordered(("came", "left"), strict=True), Calendar("came"), Combinations(("plan", "seats"), PLANS),
           Geo(("lat", "lon"), CLINIC)),
)  # fmt: skip

OWN = pa.DataFrameSchema(
    {
        "visit": pa.Column("int64", unique=True),
        "ward": pa.Column(str, pa.Check.isin(WARDS)),
        "came": pa.Column(pd.DatetimeTZDtype("us", "Europe/Oslo"), pa.Check(lambda s: (s.dt.second == 0).all())),
        "left": pa.Column(pd.DatetimeTZDtype("us", "Europe/Oslo")),
        "born": pa.Column(object, pa.Check(lambda s: s.map(lambda day: day.isoformat() >= "1930").all())),
        "fee": pa.Column("float64", pa.Check(lambda s: (s * 100).sub((s * 100).round()).abs().lt(1e-6).all())),
        "age": pa.Column("Int64", pa.Check.in_range(18, 90), nullable=True),
        "emergency": pa.Column("bool"),
        "plan": pa.Column(str, pa.Check.isin(["basic", "plus"])),
        "seats": pa.Column("int64", pa.Check.in_range(1, 5)),
        "lat": pa.Column("float64", pa.Check.in_range(59.5, 60.5)),
        "lon": pa.Column("float64", pa.Check.in_range(10.0, 11.5)),
    },
    checks=[pa.Check(lambda t: (t["came"] < t["left"]).all()),
            pa.Check(lambda t: [*zip(t["plan"], t["seats"])] and {*zip(t["plan"], t["seats"])} <= {*PLANS})],
    strict=True,
    ordered=True,
)  # fmt: skip

TABLE = """
CREATE TABLE visits (
  visit INTEGER PRIMARY KEY, ward TEXT NOT NULL REFERENCES wards (name), came TEXT NOT NULL, left TEXT NOT NULL,
  born TEXT NOT NULL CHECK (born BETWEEN '1930-01-01' AND '2006-12-31' AND date(born) = born),
  fee REAL NOT NULL CHECK (abs(fee * 100 - round(fee * 100)) < 1e-6), age INTEGER CHECK (age BETWEEN 18 AND 90),
  emergency INTEGER NOT NULL CHECK (emergency IN (0, 1)), plan TEXT NOT NULL, seats INTEGER NOT NULL,
  lat REAL NOT NULL CHECK (lat BETWEEN 59.5 AND 60.5), lon REAL NOT NULL CHECK (lon BETWEEN 10 AND 11.5),
  CHECK (datetime(came) < datetime(left)),
  CHECK ((plan = 'basic' AND seats IN (1, 2)) OR (plan = 'plus' AND seats = 5))
) STRICT
"""


@pytest.fixture(scope="module")
def drawn():
    return nacre.fit(visits(), schema=SCHEMA, epsilon=3.0, noise_seed=0, delta=1e-6)


def test_the_owners_pandera_schema_takes_both_tables_as_they_are(drawn):
    OWN.validate(visits())
    OWN.validate(drawn.sample(5_000, seed=1))


def test_the_same_columns_and_types_as_the_table_has(drawn):
    real, made = visits(), drawn.sample(200, seed=1)
    assert [*made.columns] == [*real.columns] and (made.dtypes == real.dtypes).all()
    assert pl.from_pandas(real).schema == drawn.sample(200, seed=1, as_="polars").schema


def test_a_database_with_types_keys_and_checks_takes_it(drawn):
    with sqlite3.connect(":memory:") as base:
        base.execute("PRAGMA foreign_keys = ON")
        base.execute("CREATE TABLE wards (name TEXT PRIMARY KEY) STRICT")
        base.executemany("INSERT INTO wards VALUES (?)", [(ward,) for ward in WARDS])
        base.execute(TABLE)
        drawn.sample(5_000, seed=2).to_sql("visits", base, if_exists="append", index=False)
        assert base.execute("SELECT count(*) FROM visits").fetchone() == (5_000,)
        broken = drawn.sample(1, seed=3).assign(visit=9_999, fee=1.005)
        with pytest.raises(pd.errors.DatabaseError):  # it does look
            broken.to_sql("visits", base, if_exists="append", index=False)


def test_times_of_day_of_visits_are_those_of_the_clinic(drawn):
    hours = drawn.sample(5_000, seed=4)["came"].dt.hour
    assert hours.between(8, 17).mean() > 0.8
