"""Real tables with the rules that their documentation, or common sense, states of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks import data
from nacre.table import Between, Boolean, Categorical, Column, Datetime, Numeric, Schema
from nacre.table.rules import AllOrNone, Combinations, IfThen, NullIff, OneHot, Ordered, RowRule, Total


@dataclasses.dataclass(frozen=True)
class Ruled:
    """A table, what is public of its columns, and its rules."""

    frame: pd.DataFrame
    columns: dict[str, Column]
    rules: tuple[RowRule, ...]

    def schema(self, rules: bool = True) -> Schema:
        return Schema(self.columns, rows=len(self.frame), rules=self.rules if rules else ())


def _labels(frame: pd.DataFrame, *names: str) -> dict[str, Column]:
    """Columns of labels with what occurs: their code books list these."""
    found: dict[str, Column] = {}
    for name in names:
        held = frame[name].dropna().astype(str).unique()
        found[name] = Categorical(tuple(sorted(held)), nullable=bool(frame[name].isna().any()))
    return found


def _whole(low: int, high: int, null: bool = False) -> Column:
    return Numeric((low, high), integer=True, nullable=null)


def admissions() -> Ruled:
    """Moments of the demo are moved into 2100 to 2210."""
    frame = data.read("mimic-admissions")
    span = ("2100-01-01 00:00:00", "2210-12-31 00:00:00")
    names = ("admission_type", "admission_location", "insurance", "marital_status")
    columns: dict[str, Column] = {
        "admittime": Datetime(span, unit="minute"),
        "dischtime": Datetime(span, unit="minute"),
    }
    columns |= {n: Datetime(span, unit="minute", nullable=True) for n in ("deathtime", "edregtime", "edouttime")}
    columns |= _labels(frame, *names) | {"hospital_expire_flag": _whole(0, 1)}
    rules = (
        Ordered(("admittime", "dischtime")),
        Ordered(("admittime", "deathtime")),
        Ordered(("edregtime", "edouttime")),
        AllOrNone(("edregtime", "edouttime")),
        NullIff("deathtime", when={"hospital_expire_flag": 0}),
    )
    return Ruled(frame[list(columns)], columns, rules)


def icustays() -> Ruled:
    frame = data.read("mimic-icustays")
    columns = _labels(frame, "dbsource", "first_careunit", "last_careunit") | {
        "intime": Datetime(("2100-01-01 00:00:00", "2210-12-31 00:00:00")),
        "los": Numeric((0, 200), decimals=4),
        "outtime": Datetime(("2100-01-01 00:00:00", "2211-12-31 00:00:00")),
    }
    rules = (Total("outtime", ("intime", "los"), unit="day"), Ordered(("intime", "outtime")))
    return Ruled(frame[list(columns)], columns, rules)


def california() -> Ruled:
    frame = data.housing()
    columns = {
        "longitude": Numeric((-125, -114), decimals=2),
        "latitude": Numeric((32, 42), decimals=2),
        "housing_median_age": _whole(1, 52),
        "total_rooms": _whole(1, 40_000),
        "total_bedrooms": _whole(1, 10_000, null=True),
        "population": _whole(1, 40_000),
        "households": _whole(1, 10_000),
        "median_income": Numeric((0, 15.1)),
        "median_house_value": _whole(14_999, 500_001),
        **_labels(frame, "ocean_proximity"),
    }
    return Ruled(frame[list(columns)], columns, (Ordered(("total_bedrooms", "total_rooms")),))


def adult() -> Ruled:
    found = data.adult()
    frame = found.frame
    levels = frame[["education", "education-num"]].drop_duplicates().sort_values("education-num")  # the code book's
    rules = (
        Combinations(("education", "education-num"), tuple(levels.itertuples(index=False, name=None))),
        IfThen({"relationship": "Husband"}, {"sex": "Male"}),
        IfThen({"relationship": "Wife"}, {"sex": "Female"}),
        IfThen({"relationship": ["Husband", "Wife"]}, {"marital-status": ["Married-civ-spouse", "Married-AF-spouse"]}),
    )
    return Ruled(frame, dict(found.schema.columns), rules)


def diabetes() -> Ruled:
    frame = data.read("diabetes130").sample(50_000, random_state=0).reset_index(drop=True)
    labels = ("race", "gender", "age", "insulin", "metformin", "change", "diabetesMed", "readmitted", "A1Cresult")
    columns = _labels(frame, *labels) | {
        "time_in_hospital": _whole(1, 14),
        "num_lab_procedures": _whole(1, 132),
        "num_procedures": _whole(0, 6),
        "num_medications": _whole(1, 81),
    }
    rules = tuple(IfThen({"diabetesMed": "No"}, {n: "No"}) for n in ("insulin", "metformin", "change"))
    return Ruled(frame[list(columns)], columns, rules)


def national() -> Ruled:
    """N means that a question was not asked."""
    frame = data.read("national2019").astype(object)
    frame = frame.where(frame != "N", None)
    for name in ("AGEP", "NOC", "NPF", "PINCP"):
        frame[name] = pd.to_numeric(frame[name])
    names = ("SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU", "PINCP_DECILE", "DVET",
             "DREM", "DPHY", "DEYE", "DEAR")  # fmt: skip
    columns = _labels(frame, *names) | {
        "AGEP": _whole(0, 99),
        "NOC": _whole(0, 20, null=True),
        "NPF": _whole(0, 20, null=True),
        "PINCP": Numeric((-20_000, 1_500_000), nullable=True),
    }
    rules = (
        NullIff("MSP", when={"AGEP": Between(None, 14)}),
        NullIff("PINCP", when={"AGEP": Between(None, 14)}),
        NullIff("PINCP_DECILE", when={"AGEP": Between(None, 14)}),
        NullIff("EDU", when={"AGEP": Between(None, 2)}),
        NullIff("DREM", when={"AGEP": Between(None, 4)}),
        NullIff("DPHY", when={"AGEP": Between(None, 4)}),
        IfThen({"HOUSING_TYPE": ["2", "3"]}, {"OWN_RENT": "0"}),
        IfThen({"HOUSING_TYPE": "1"}, {"OWN_RENT": ["1", "2"]}),
    )
    return Ruled(frame[list(columns)], columns, rules)


def covertype() -> Ruled:
    frame = data.read("covertype").sample(50_000, random_state=0).reset_index(drop=True)
    areas = tuple(n for n in frame.columns if n.startswith("Wilderness"))
    soils = tuple(n for n in frame.columns if n.startswith("Soil"))
    columns: dict[str, Column] = {n: Boolean() for n in (*areas, *soils)}
    numbers = ("Elevation", "Aspect", "Slope", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm")
    ends = ((1_800, 4_000), (0, 360), (0, 90), (0, 255), (0, 255), (0, 255))
    columns |= {name: _whole(*pair) for name, pair in zip(numbers, ends)}
    columns["Cover_Type"] = _whole(1, 7)
    frame = frame[list(columns)].astype(dict.fromkeys((*areas, *soils), bool)).astype(dict.fromkeys(numbers, np.int64))
    return Ruled(frame, columns, (OneHot(areas), OneHot(soils)))


TABLES: dict[str, Callable[[], Ruled]] = {
    "admissions": admissions, "icustays": icustays, "california": california, "adult": adult, "diabetes": diabetes,
    "national": national, "covertype": covertype,
}  # fmt: skip
