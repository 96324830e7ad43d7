"""The tables of the board: of many shapes, each with a public schema and a column to predict.

Large tables are cut to a fixed random sample, card payments apart, whose tails need all rows. Ranges are those of code
books where these state any, else round numbers that hold every row of the published table (benchmarks/schemas says the
same of its files).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.board import kway, nist
from benchmarks.hospital_table import TARGET, hospital
from benchmarks.support.tables import BOUNDS
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.columns import Column

ROWS = 30_000
CALIFORNIA = {**BOUNDS["california"], "total_rooms": (0, 40_000), "total_bedrooms": (0, 7_000),
              "population": (0, 40_000), "households": (0, 7_000), "median_income": (0, 16)}  # fmt: skip
WHOLE = ("housing_median_age", "total_rooms", "total_bedrooms", "population", "households", "median_house_value")
MEASURED = 20  # of the made-up stays: nine vital signs and eleven laboratory values


def _dataset(name: str, frame: pd.DataFrame, columns: Mapping[str, Column], target: str) -> data.Dataset:
    """With the number of private rows, which the split makes public."""
    frame = frame[list(columns)].reset_index(drop=True)
    return data.Dataset(name, frame, Schema(columns, rows=len(frame) - int(np.ceil(len(frame) * data.HOLDOUT))), target)


def sampled(dataset: data.Dataset, rows: int = ROWS) -> data.Dataset:
    """At most so many rows, the same for every seed, rare classes as they come."""
    if rows >= len(dataset.frame):
        return dataset
    frame = dataset.frame.sample(rows, random_state=0).reset_index(drop=True)
    return replace(dataset, frame=frame, schema=replace(dataset.schema, rows=rows - int(np.ceil(rows * data.HOLDOUT))))


def california() -> data.Dataset:
    columns: dict[str, Column] = {
        name: Numeric(ends, integer=name in WHOLE, nullable=name == "total_bedrooms")
        for name, ends in CALIFORNIA.items()
    }
    columns["ocean_proximity"] = Categorical(("<1H OCEAN", "INLAND", "ISLAND", "NEAR BAY", "NEAR OCEAN"))
    return _dataset("california", data.housing(), columns, "median_house_value")


def credit() -> data.Dataset:
    columns = Schema.load(data.SCHEMAS / "credit.json").columns
    return _dataset("credit", data.credit(), columns, "Class")


def diabetes130() -> data.Dataset:
    frame, schema = hospital()
    return sampled(_dataset("diabetes130", frame, schema.columns, TARGET))


def small(name: str, target: str) -> data.Dataset:
    """A few hundred rows of numbers only."""
    frame = data.read(name).astype(np.float64)
    lower = {c.lower(): ends for c, ends in BOUNDS[name].items()}
    return _dataset(name, frame, {c: Numeric(lower[c.lower()]) for c in frame}, target)


def coded(name: str) -> data.Dataset:
    """A table of codes; the last column is predicted."""
    found = kway.load(name)
    return _dataset(name, found.frame, found.schema.columns, found.target)


def national2019() -> data.Dataset:
    """Who owns the home they live in, who rents, who lives in group quarters."""
    found = nist.load()
    frame = _dataset("national2019", found.frame, found.schema.columns, "OWN_RENT")
    return replace(frame, schema=replace(frame.schema, dependencies=found.schema.dependencies))


def mimic() -> data.Dataset:
    """136 stays in intensive care: who died in hospital. Labels are those of the documentation of MIMIC-III."""
    stays, admissions, patients = (data.read(f"mimic-{part}") for part in ("icustays", "admissions", "patients"))
    table = stays.merge(admissions, on="hadm_id", suffixes=("", "_a"))
    table = table.merge(patients, on="subject_id", suffixes=("", "_p"))
    born, came = (pd.to_datetime(table[c]) for c in ("dob", "intime"))
    units = ("CCU", "CSRU", "MICU", "SICU", "TSICU")
    frame = pd.DataFrame({
        "gender": table["gender"], "age": np.minimum((came.dt.year - born.dt.year), 90),
        "admission_type": table["admission_type"], "insurance": table["insurance"],
        "married": table["marital_status"].eq("MARRIED"), "first_careunit": table["first_careunit"],
        "last_careunit": table["last_careunit"], "los": table["los"], "died": table["hospital_expire_flag"] == 1,
    })  # fmt: skip
    columns = {
        "gender": Categorical(("F", "M")),
        "age": Numeric((0, 90), integer=True),
        "admission_type": Categorical(("ELECTIVE", "EMERGENCY", "NEWBORN", "URGENT")),
        "insurance": Categorical(("Government", "Medicaid", "Medicare", "Private", "Self Pay")),
        "married": Boolean(),
        "first_careunit": Categorical(units),
        "last_careunit": Categorical(units),
        "los": Numeric((0, 180)),
        "died": Boolean(),
    }
    return _dataset("mimic", frame, columns, "died")


def stays() -> data.Dataset:
    """Made-up stays in intensive care: the last value of each of 20 measurements, 0 where none was taken."""
    from nacre.table.simulate.icu import simulate_icu

    made = simulate_icu()
    last = made.filled()[:, -1, :MEASURED]
    names = [f"m{i}" for i in range(MEASURED)]
    frame = pd.DataFrame(last.astype(np.float64), columns=pd.Index(names)).assign(died=made.died.astype(bool))
    columns = {**{n: Numeric((-20, 20), atoms=(0,)) for n in names}, "died": Boolean()}
    return _dataset("stays", frame, columns, "died")


def people() -> data.Dataset:
    """Made-up people; dates and names of persons are left out, which few packages take."""
    from nacre.table.simulate.people import people as simulated
    from nacre.table.simulate.people import people_schema

    schema = people_schema()
    columns = {n: c for n, c in schema.columns.items() if not c.moments and c.learnt}
    found = _dataset("people", simulated(ROWS, seed=0).to_pandas(), columns, "late_payment")
    rules = {"dependencies": schema.dependencies, "impossible": schema.impossible}
    return replace(found, schema=replace(found.schema, **rules))


TABLES: Mapping[str, Callable[[], data.Dataset]] = {
    "adult": data.adult,
    "covertype": lambda: sampled(data.covertype()),
    "census": lambda: sampled(data.census()),
    "california": california,
    "credit": credit,
    "diabetes130": diabetes130,
    "intrusion": lambda: sampled(data.intrusion()),
    "boston": lambda: small("boston", "MEDV"),
    "diabetes": lambda: small("diabetes", "target"),
    "nltcs": lambda: coded("nltcs"),
    "br2000": lambda: coded("br2000"),
    "national2019": national2019,
    "mimic": mimic,
    "stays": stays,
    "people": people,
}
