"""Moments as weeks, days of the week and times of day, and back: exactly, in every zone, unit and writing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import nacre
from nacre import Between
from nacre.table import Datetime, Numeric, Schema
from nacre.table.encoding import Encoded, encode
from nacre.table.formats import DateFormat
from nacre.table.rules import Calendar, Ordered
from nacre.table.values.civil import DAY, Civil
from nacre.table.values.decoding import decode
from nacre.table.values.instants import UNITS
from nacre.table.values.stored import Values

ZONES = (None, "UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo",
         "Pacific/Apia", "Europe/Dublin", "Asia/Kathmandu", "America/Scoresbysund")  # fmt: skip
EVERY_ZONE = pytest.mark.parametrize("zone", ZONES)


def moments_of(column, rows=20_000, seed=0):
    low, high = (end // column.step for end in column.ends)
    rng = np.random.default_rng(seed)
    found = rng.integers(low, high + 1, rows)
    found[:2] = low, high
    return found * column.step


def around_changes(column, civil):
    """Every unit of time for some hours around each change of the clocks."""
    since = civil.changes[0][1:]
    step = max(column.step, UNITS["minute"])
    near = np.arange(-5 * UNITS["hour"], 5 * UNITS["hour"], step)
    found = (since[:, None] + near).ravel()
    found -= found % column.step
    return found[(found >= column.ends[0]) & (found <= column.ends[1])]


def there_and_back(column, moments):
    schema = Schema({"t": column}, rules=(Calendar("t"),))
    row_map = schema.inner.row_map
    modelled = row_map.encode(Encoded({"t": Values.of(moments)}, len(moments)))
    for name, own in schema.inner.columns.items():
        low, high = own.limits
        assert ((modelled[name].values >= low) & (modelled[name].values <= high)).all(), name
        assert (own.grid().codes(modelled[name]) >= 0).all()
    return row_map.decode(modelled)["t"].values


@EVERY_ZONE
@pytest.mark.parametrize("unit", ["us", "ms", "s", "minute", "hour"])
def test_every_moment_comes_back(zone, unit):
    for bounds in (("2009-03-05T01:00:00", "2013-11-12T22:00:00"), ("1890-01-01", "2190-12-31T00:00:00")):
        column = Datetime(bounds, tz=zone, unit=unit)
        moments = moments_of(column)
        if zone is not None:
            moments = np.concatenate([moments, around_changes(column, Civil(zone, *column.ends))])
        np.testing.assert_array_equal(there_and_back(column, moments), moments)


def test_every_date_comes_back():
    for bounds in (("2019-12-30", "2021-01-02"), ("0001-01-01", "9999-12-31")):
        column = Datetime(bounds, unit="day")
        moments = np.arange(column.ends[0], min(column.ends[1], column.ends[0] + 10**6 * DAY) + 1, DAY)
        np.testing.assert_array_equal(there_and_back(column, moments), moments)
    assert Schema({"t": column}, rules=(Calendar("t"),)).inner.modelled == (
        "t, year", "t, week of the year", "t, day of the week",
    )  # fmt: skip


@EVERY_ZONE
@pytest.mark.parametrize("bounds", [("2019-03-05T01:00:00", "2021-11-12T22:00:00"), ("1950-06-01", "2050-06-01"),
                                    ("2021-03-28T00:00:00", "2021-03-28T06:00:00")])  # fmt: skip
def test_whatever_is_drawn_is_a_moment_of_the_domain(zone, bounds):
    """All of weeks, days and times, those among them that the bounds or the clocks leave out too."""
    column = Datetime(bounds, tz=zone, unit="minute")
    inner = Schema({"t": column}, rules=(Calendar("t"),)).inner
    rng = np.random.default_rng(0)
    drawn = {n: Values.of(rng.integers(c.limits[0], c.limits[1] + 1, 50_000)) for n, c in inner.columns.items()}
    found = inner.row_map.decode(Encoded(drawn, 50_000))["t"].values
    assert found.min() >= column.ends[0] and found.max() <= column.ends[1] and not (found % column.step).any()
    np.testing.assert_array_equal(there_and_back(column, found), found)
    texts = column.decode(Values.of(found)).cast(pa.timestamp("us", zone))
    assert texts.null_count == 0


def test_the_hour_that_clocks_show_twice_stays_two_hours():
    column = Datetime(("2021-01-01", "2021-12-31T00:00:00"), tz="Europe/Oslo", unit="minute")
    inner = Schema({"t": column}, rules=(Calendar("t"),)).inner
    twice = pa.array(["2021-10-31T00:30:00Z", "2021-10-31T01:30:00Z"])  # 2:30 in summer time, and in winter time
    found = encode(pa.table({"t": twice}), inner)
    assert found["t, time of day"].values.tolist() == [150, 24 * 60 + 30]
    assert decode(found, inner)["t"].cast(pa.timestamp("us", "UTC")).to_pylist() == [
        pd.Timestamp("2021-10-31T00:30Z"),
        pd.Timestamp("2021-10-31T01:30Z"),
    ]


def test_a_time_that_clocks_skip_becomes_the_moment_of_the_change():
    column = Datetime(("2021-01-01", "2021-12-31T00:00:00"), tz="Europe/Oslo", unit="minute")
    inner = Schema({"t": column}, rules=(Calendar("t"),)).inner
    day = encode(pa.table({"t": pa.array(["2021-03-28T12:00:00"])}), inner)
    drawn = {**day.columns, "t, time of day": Values.of(np.array([150]))}  # 2:30 did not occur
    found = decode(Encoded(drawn, 1), inner)["t"].to_pylist()
    assert str(found[0]) == "2021-03-28 03:00:00+02:00"


def test_times_of_day_have_cells_of_a_quarter_and_one_for_its_first_moment():
    column = Datetime(("2021-01-01", "2021-12-31T00:00:00"), unit="s")
    grid = Schema({"t": column}, rules=(Calendar("t"),)).inner.columns["t, time of day"].grid()
    assert grid.cells == 2 * 96 and (grid.width == 0).sum() == 96
    hours = Datetime(("2021-01-01", "2021-12-31T00:00:00"), unit="hour")
    assert Schema({"t": hours}, rules=(Calendar("t"),)).inner.columns["t, time of day"].grid().cells == 24


def office(rows, seed=0):
    """Visits on weekdays from eight to five, most at whole hours, twice as many in winter; some not yet."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2021-01-04", "2022-12-30")
    days = days[days.day_of_week < 5]
    weight = np.where(np.isin(days.month, (11, 12, 1, 2)), 2.0, 1.0)
    day = rng.choice(days.to_numpy(), rows, p=weight / weight.sum())
    minute = rng.integers(8 * 60, 17 * 60, rows)
    minute = np.where(rng.random(rows) < 0.6, minute // 60 * 60, minute)
    moment = pd.Series(day + minute.astype("timedelta64[m]")).dt.tz_localize("Europe/Oslo")
    return pd.DataFrame({
        "visit": moment.where(rng.random(rows) < 0.9),
        "age": np.where(minute < 12 * 60, rng.integers(60, 90, rows), rng.integers(18, 60, rows)),
    })  # fmt: skip


COLUMNS = {
    "visit": Datetime(("2021-01-01", "2022-12-31T00:00:00"), tz="Europe/Oslo", unit="minute", nullable=True),
    "age": Numeric((18, 90), integer=True),
}


def shapes(frame):
    visit = frame["visit"].dropna()
    return {
        "weekend": (visit.dt.day_of_week >= 5).mean(),
        "night": (~visit.dt.hour.between(8, 16)).mean(),
        "whole": (visit.dt.minute == 0).mean(),
        "winter": visit.dt.month.isin((11, 12, 1, 2)).mean(),
        "early and old": (frame["age"][visit.index][visit.dt.hour < 12] >= 60).mean(),
        "null": frame["visit"].isna().mean(),
    }


@pytest.fixture(scope="module")
def visits():
    schema = Schema(COLUMNS, rows=8_000, rules=(Calendar("visit"),))
    return nacre.fit(office(8_000), schema=schema, epsilon=2.0, noise_seed=0, delta=1e-6)


def test_drawn_moments_have_the_shapes_of_the_table(visits):
    drawn, real = shapes(visits.sample(20_000, seed=1)), shapes(office(20_000, seed=9))
    for name, share in real.items():
        assert abs(drawn[name] - share) < 0.1, (name, drawn[name], share)
    plain = nacre.fit(office(8_000), schema=Schema(COLUMNS, rows=8_000), epsilon=2.0, noise_seed=0, delta=1e-6)
    without = shapes(plain.sample(20_000, seed=1))
    # The rule is what keeps them.
    assert without["weekend"] > 0.15 and without["night"] > 0.4 and without["whole"] < 0.1


def test_conditions_on_moments_are_met(visits):
    day = visits.sample(300, where={"visit": Between("2021-05-03", "2021-05-09")}, seed=2)["visit"]
    assert day.dt.tz_convert("UTC").between("2021-05-03", "2021-05-09T23:59:59Z").all()
    assert visits.sample(100, where={"visit": None}, seed=2)["visit"].isna().all()
    given = visits.sample(2_000, where={"age": Between(60, 90)}, seed=2)["visit"].dropna()
    assert (given.dt.hour < 12).mean() > 0.8


def test_moments_come_out_as_they_are_declared_to_be_written():
    written = DateFormat("%d.%m.%Y %H:%M")
    columns = {"t": Datetime(("2021-01-01", "2021-06-30T00:00:00"), format=written, tz="Europe/Oslo"),
               "d": Datetime(("2020-01-01", "2020-12-31"), unit="day")}  # fmt: skip
    schema = Schema(columns, rows=500, rules=(Calendar("t"), Calendar("d")))
    rng = np.random.default_rng(0)
    texts = pd.Series(pd.Timestamp("2021-01-02") + pd.to_timedelta(rng.integers(0, 200_000, 500), unit="min"))
    frame = pd.DataFrame({"t": texts.dt.strftime(written.pattern), "d": texts.dt.date - pd.Timedelta(days=366)})
    drawn = nacre.fit(frame, schema=schema, epsilon=20.0, noise_seed=0).sample(2_000, seed=1, as_="pyarrow")
    assert drawn["t"].type == pa.string() and drawn["d"].type == pa.date32()
    assert pd.to_datetime(drawn["t"].to_pandas(), format=written.pattern).notna().all()


def test_a_moment_below_another_keeps_its_shapes_too():
    column = Datetime(("2021-01-01", "2021-12-31T00:00:00"))
    later = Datetime(("2021-01-01", "2022-12-31T00:00:00"))
    schema = Schema({"a": column, "b": later}, rules=(Ordered(("a", "b")), Calendar("a")))
    assert schema.inner.modelled == ("a, week", "a, day of the week", "a, time of day", "b - a")
