"""A made-up table of people, realistic enough for demonstrations, tests and speed measurements.

Nobody is in it. It has what makes real tables hard: skew, spikes, rare categories, nulls, dates, time
zones, a column that follows from another, combinations that cannot occur, and a target that depends on the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from nacre.errors import DataError
from nacre.table.columns import Boolean, Categorical, Datetime, Identifier, Numeric
from nacre.table.conditions import Between
from nacre.table.rules import Dependency
from nacre.table.schema import Schema
from nacre.table.values.decoding import arrow_schema
from nacre.table.values.instants import UNITS, microseconds

CHUNK = 250_000
_SEX = ("female", "male", "other")
_REGION = ("north", "south", "east", "west", "centre", "coast", "highlands", "islands", "abroad")
_REGION_SHARES = (0.22, 0.2, 0.17, 0.15, 0.12, 0.08, 0.04, 0.0185, 0.0015)
_EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
_YEARS = (0, 6, 11, 13, 16, 18, 21)
_MARITAL = ("single", "married", "divorced", "widowed")
_WORK = ("employee", "self-employed", "unemployed", "student", "retired", "military")
_PLAN = ("basic", "standard", "plus", "premium")


def people_schema(rows: int | None = None) -> Schema:
    """The public schema of `people`: declared, not read."""
    return Schema(
        {
            "person_id": Identifier(),
            "age": Numeric((16, 95), integer=True),
            "sex": Categorical(_SEX),
            "region": Categorical(_REGION),
            "education": Categorical(_EDUCATION, ordered=True),
            "school_years": Numeric((0, 21), integer=True),
            "marital": Categorical(_MARITAL),
            "work": Categorical(_WORK),
            "hours": Numeric((0, 99), integer=True),
            "income": Numeric((0.0, 2_000_000.0), nullable=True),
            "savings": Numeric((-50_000.0, 5_000_000.0)),
            "visits": Numeric((0, 400), integer=True),
            "smoker": Boolean(nullable=True),
            "plan": Categorical(_PLAN, nullable=True),
            "joined": Datetime(("2005-01-01", "2024-12-31"), unit="day"),
            "last_seen": Datetime(("2020-01-01", "2024-12-31T23:59:59"), tz="Europe/Oslo", unit="s", nullable=True),
            "late_payment": Boolean(),
        },
        rows=rows,
        dependencies=(Dependency("education", "school_years", dict(zip(_EDUCATION, _YEARS, strict=True))),),
        impossible=(
            {"age": Between(None, 20), "education": ["master", "doctorate"]},
            {"age": Between(None, 17), "marital": ["divorced", "widowed"]},
        ),
    )


def people(rows: int, seed: int = 0) -> pa.Table:
    """`rows` made-up people. The same seed gives the same table, and a longer table begins with the
    shorter one up to the last whole chunk of 250,000 rows."""
    return pa.Table.from_batches(
        [b for t in people_chunks(rows, seed) for b in t.to_batches()], arrow_schema(people_schema())
    )


def people_chunks(rows: int, seed: int = 0) -> Iterator[pa.Table]:
    """The same table in chunks of 250,000 rows, for files larger than memory."""
    if rows < 1:
        raise DataError(f"rows is {rows}; ask for at least 1")
    for i, start in enumerate(range(0, rows, CHUNK)):
        rng = np.random.default_rng([seed, i])
        yield _chunk(rng, min(CHUNK, rows - start), start)


def _chunk(rng: np.random.Generator, n: int, start: int) -> pa.Table:
    age = np.clip(16 + rng.gamma(2.6, 12.5, n), 16, 95).astype(np.int64)
    sex = _choice(rng, np.tile([0.503, 0.489, 0.008], (1, 1)), n)
    region = _choice(rng, np.array([_REGION_SHARES]), n)
    drive = rng.normal(size=n)  # what education, work and income share
    education = _education(rng, age, drive)
    marital = _marital(rng, age)
    work = _work(rng, age, drive)
    hours = _hours(rng, work)
    income = _income(rng, age, education, work, hours, drive)
    savings = np.round(np.clip(income * rng.lognormal(-0.6, 1.1, n) - 3_000 + 400.0 * (age - 30), -5e4, 5e6), 2)
    smoker = rng.random(n) < 0.28 - 0.03 * education
    visits = np.clip(rng.poisson(np.exp(0.1 + 0.022 * (age - 30) + 0.5 * smoker) * rng.gamma(1.2, 0.8, n)), 0, 400)
    plan = np.clip(np.searchsorted([8_000, 30_000, 90_000], income + rng.normal(0, 9_000, n)), 0, 3)
    joined, last_seen = _moments(rng, n, age)
    score = -2.1 + 1.1 * smoker - 0.000012 * savings - 0.35 * drive + 0.9 * (work == 2) + 0.25 * (region > 5)
    late = rng.random(n) < 1 / (1 + np.exp(-score))
    no_income = rng.random(n) < 0.03 + 0.05 * (work == 1)
    columns = [
        pa.array(np.arange(start + 1, start + n + 1)),
        pa.array(age),
        _words(_SEX, sex),
        _words(_REGION, region),
        _words(_EDUCATION, education),
        pa.array(np.array(_YEARS, np.int64)[education]),
        _words(_MARITAL, marital),
        _words(_WORK, work),
        pa.array(hours),
        pa.array(income, mask=no_income),
        pa.array(savings),
        pa.array(visits.astype(np.int64)),
        pa.array(smoker, mask=rng.random(n) < 0.06),
        _words(_PLAN, plan, rng.random(n) < 0.35 - 0.002 * age),
        pa.array(joined, pa.int32()).cast(pa.date32()),
        pa.array(last_seen, pa.int64(), mask=rng.random(n) < 0.12).cast(pa.timestamp("us", "Europe/Oslo")),
        pa.array(late),
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(people_schema()))


def _choice(rng: np.random.Generator, shares: np.ndarray, n: int) -> np.ndarray:
    """One index per row; `shares` has a row of probabilities for each table row, or one for all."""
    edges = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    u = rng.random(n)
    if len(shares) == 1:
        return np.searchsorted(edges[0], u, side="right")
    return (u[:, None] >= edges).sum(axis=1)


def _words(labels: tuple[str, ...], index: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(index.astype(np.int32), mask=null))


def _education(rng: np.random.Generator, age: np.ndarray, drive: np.ndarray) -> np.ndarray:
    level = 2.7 + 1.1 * drive - 0.018 * np.maximum(age - 40, 0) + rng.normal(0, 0.9, len(age))
    level = np.clip(np.rint(level), 0, 6).astype(np.int64)
    return np.where(age <= 20, np.minimum(level, 3), level)


def _marital(rng: np.random.Generator, age: np.ndarray) -> np.ndarray:
    years = np.maximum(age - 18, 0) / 20.0
    shares = np.stack([np.exp(1.5 - 1.9 * years), 0.9 * years, 0.25 * years, 0.04 * years**2.5], axis=1)
    return np.where(age <= 17, 0, _choice(rng, shares + 1e-9, len(age)))


def _work(rng: np.random.Generator, age: np.ndarray, drive: np.ndarray) -> np.ndarray:
    young, old = 1 / (1 + np.exp((age - 22) / 2.0)), 1 / (1 + np.exp((66 - age) / 1.8))
    busy = (1 - young) * (1 - old)
    shares = np.stack(
        [
            busy + 0.3 * young,
            0.16 * busy,
            0.09 * busy * np.exp(-0.6 * drive),
            young,
            old + 0.01,
            0.004 * busy,
        ],
        axis=1,
    )
    return _choice(rng, shares, len(age))


def _hours(rng: np.random.Generator, work: np.ndarray) -> np.ndarray:
    base = np.array([38.0, 42.0, 0.0, 9.0, 0.0, 40.0])[work]
    spread = np.array([6.0, 14.0, 0.0, 8.0, 0.0, 4.0])[work]
    hours = np.rint(base + spread * rng.normal(size=len(work)))
    hours = np.where((rng.random(len(work)) < 0.42) & (work == 0), 40, hours)  # the usual contract
    return np.clip(hours, 0, 99).astype(np.int64)


def _income(
    rng: np.random.Generator,
    age: np.ndarray,
    education: np.ndarray,
    work: np.ndarray,
    hours: np.ndarray,
    drive: np.ndarray,
) -> np.ndarray:
    log = 9.3 + 0.14 * education + 0.016 * np.minimum(age, 55) + 0.28 * drive + rng.normal(0, 0.45, len(age))
    income = np.exp(log) * (0.25 + hours / 40.0)
    nothing = (work == 2) | ((work == 3) & (rng.random(len(age)) < 0.7)) | (rng.random(len(age)) < 0.01)
    return np.round(np.where(nothing, 0.0, np.minimum(income, 2e6)), 2)


def _moments(rng: np.random.Generator, n: int, age: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Days since the epoch on which a person joined, and the instant when last seen, mostly in working
    hours."""
    first, last = (microseconds(d, "people") // UNITS["day"] for d in ("2005-01-01", "2024-12-31"))
    joined = last - (rng.beta(1.1, 1.3, n) * (last - first) * np.minimum(1, (age - 15) / 20)).astype(np.int64)
    start = microseconds("2020-01-01", "people") // UNITS["day"]
    day = last - np.minimum(rng.exponential(240.0, n), last - start - 1).astype(np.int64)
    second = np.clip(rng.normal(13 * 3600, 3.2 * 3600, n), 0, 86_399).astype(np.int64)
    return joined.astype(np.int32), (day * 86_400 + second) * 1_000_000
