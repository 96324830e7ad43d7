"""The databases of the benchmark: tables, their public description, what models are asked, and the split by units."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.data import HOLDOUT, read
from benchmarks.places import WORK
from nacre.errors import DataError
from nacre.metrics.databases.events import Event
from nacre.table.columns import Categorical, Column, Datetime, Identifier, Numeric
from nacre.table.database import Database, Key
from nacre.table.schema import Schema
from nacre.table.simulate.clinic import clinic

Frames = dict[str, pd.DataFrame]
TPCH = WORK / "tpch"  # made by tpchgen-cli, a program of its own environment
TPCH_PYTHON = WORK / "tpch-env"
CLINIC_UNITS = 50_000
CLINIC_SEED = 1_000  # of the law's sample; splits have their own
_ENCOUNTERS = 5  # of a patient: the first ones count, as in the prototype whose goals the benchmark has


@dataclass(frozen=True)
class Relational:
    """`events` are what models foresee; `planted`: whether the laws of the simulated clinic hold in it."""

    name: str
    frames: Frames
    database: Database
    events: tuple[Event, ...] = ()
    planted: bool = False

    def split(self, seed: int) -> tuple[Frames, Frames]:
        """A fifth of the units is held out, with all that is theirs."""
        root = self.frames[self.database.unit]
        held = np.random.default_rng([seed, 11]).permutation(len(root))[: int(len(root) * HOLDOUT)]
        out = np.zeros(len(root), bool)
        out[held] = True
        return self.some(~out), self.some(out)

    def some(self, units: np.ndarray) -> Frames:
        """The units where it is true, with all that is theirs; public tables whole."""
        found = dict(self.frames)
        unit = self.database.unit
        found[unit] = self.frames[unit][units].reset_index(drop=True)
        for name in self.database.owned[1:]:
            key = self.database.owner(name)
            assert key is not None
            kept = self.frames[name][key.column].isin(found[key.parent][key.parent_column])
            found[name] = self.frames[name][kept].reset_index(drop=True)
        return found


def _labels(values: pd.Series, order: tuple[str, ...] | None = None) -> tuple[pd.Series, Column]:
    found = values.astype(str)
    labels = order or tuple(sorted(found.unique()))
    return found, Categorical(labels, ordered=order is not None)


def _cut(values: pd.Series, edges: list[int]) -> tuple[pd.Series, Column]:
    """Numbers in public bins, by the lowest number of each."""
    names = tuple(f"{e} up" for e in (0, *edges))
    return _labels(pd.Series(np.array(names)[np.digitize(values, edges)], values.index), names)


# ------------------------------------------------------------------------------------------------------- diabetes130

_DISPOSITIONS = {1: "home", 3: "nursing", 6: "home care",
                 **dict.fromkeys((2, 4, 5, 8, 15, 22, 23, 24, 27, 28, 29, 30), "elsewhere"),
                 **dict.fromkeys((11, 13, 14, 19, 20, 21), "died")}  # fmt: skip
_SOURCES = {7: "emergency", 1: "referral", 2: "referral", 3: "referral", 4: "transfer", 5: "transfer", 6: "transfer"}
_CHAPTERS = (("circulatory", 390, 460), ("respiratory", 460, 520), ("digestive", 520, 580), ("injury", 800, 1000),
             ("musculoskeletal", 710, 740), ("genitourinary", 580, 630), ("neoplasms", 140, 240))  # fmt: skip
_SYMPTOMS = {785: "circulatory", 786: "respiratory", 787: "digestive", 788: "genitourinary", 250: "diabetes"}


def _chapter(code: object) -> str:
    """The group of an ICD-9 diagnosis, as the table's authors group them."""
    if not isinstance(code, str) or code[0] in "EV" or not code.replace(".", "").isdigit():
        return "other"
    whole = int(float(code))
    if whole in _SYMPTOMS:
        return _SYMPTOMS[whole]
    return next((name for name, low, high in _CHAPTERS if low <= whole < high), "other")


def diabetes130() -> Relational:
    """Patients and their first five encounters, in the order of their numbers; fifteen columns in public bins."""
    d = read("diabetes130").sort_values(["patient_nbr", "encounter_id"])
    d = d[d.groupby("patient_nbr").cumcount() < _ENCOUNTERS].reset_index(drop=True)
    decade = d["age"].str.extract(r"\[(\d+)-")[0].astype(int).clip(20, 90)
    made = {
        "age": _labels(decade, tuple(str(a) for a in range(20, 100, 10))),
        "type": _labels(d["admission_type_id"].map({1: "emergency", 2: "urgent", 3: "elective"}).fillna("other")),
        "disposition": _labels(d["discharge_disposition_id"].map(_DISPOSITIONS).fillna("other")),
        "source": _labels(d["admission_source_id"].map(_SOURCES).fillna("other")),
        "stay": _cut(d["time_in_hospital"], [2, 3, 4, 5, 7, 9]),
        "labs": _cut(d["num_lab_procedures"], [10, 25, 35, 42, 48, 56, 66]),
        "meds": _cut(d["num_medications"], [6, 9, 12, 15, 18, 22, 28]),
        "inpatient": _cut(d["number_inpatient"], [1, 2, 3, 4]),
        "emergencies": _cut(d["number_emergency"], [1, 2]),
        "diagnosis": _labels(d["diag_1"].map(_chapter)),
        "a1c": _labels(d["A1Cresult"].fillna("None")),
        "insulin": _labels(d["insulin"]),
        "change": _labels(d["change"]),
        "diabetes_med": _labels(d["diabetesMed"]),
        "readmitted": _labels(d["readmitted"]),
    }
    encounters = pd.DataFrame({"id": d["encounter_id"], "patient": d["patient_nbr"]})
    encounters = encounters.assign(**{name: values for name, (values, _) in made.items()})
    first = d[~d["patient_nbr"].duplicated()].reset_index(drop=True)
    people = {"race": _labels(first["race"].fillna("unknown")), "male": _labels(first["gender"] == "Male")}
    patients = pd.DataFrame({"id": first["patient_nbr"], **{name: values for name, (values, _) in people.items()}})
    database = Database(
        tables={
            "patients": Schema({"id": Identifier(), **{n: c for n, (_, c) in people.items()}}),
            "encounters": Schema({"id": Identifier(), "patient": Identifier(), **{n: c for n, (_, c) in made.items()}}),
        },
        keys=[Key("encounters.patient -> patients.id", cap=_ENCOUNTERS, order="id")],
        unit="patients",
    )
    meds = tuple(made["meds"][1].words[4:])
    events = (
        Event("next exists", "encounters", without=("readmitted",)),
        Event("readmitted next", "encounters", "readmitted", ("<30", ">30")),
        Event("next medications", "encounters", "meds", meds),
    )
    return Relational("diabetes130", {"patients": patients, "encounters": encounters}, database, events)


# ----------------------------------------------------------------------------------------------------------- planted


def planted() -> Relational:
    """A made-up clinic with effects of known size over two keys, between siblings and in time."""
    made = clinic(CLINIC_UNITS, CLINIC_SEED)
    frames = {name: table.to_pandas() for name, table in made.tables.items()}
    events = (
        Event("next exists", "visits"),
        Event("severe next", "visits", "severity", ("severe",)),
    )
    return Relational("planted", frames, made.database, events, planted=True)


# -------------------------------------------------------------------------------------------------------------- tpch


def tpch(scale: str = "0.1") -> Relational:
    """TPC-H: customers, their orders and the lines of those; parts and suppliers are public."""
    names = ("customer", "orders", "lineitem", "part", "supplier")
    folder = TPCH / scale
    if not all((folder / f"{name}.parquet").exists() for name in names):
        _generate(scale, names)
    frames = {name: pd.read_parquet(folder / f"{name}.parquet") for name in names}
    for frame in frames.values():
        for column in frame.columns:
            if frame[column].dtype == object and type(frame[column].iloc[0]).__name__ == "Decimal":
                frame[column] = frame[column].astype(float)
    days = lambda low, high: Datetime((low, high), unit="day")  # noqa: E731
    labels = lambda table, column: Categorical(tuple(sorted(frames[table][column].unique())))  # noqa: E731
    frames["customer"]["c_nationkey"] = frames["customer"]["c_nationkey"].astype(str)
    frames["supplier"]["s_nationkey"] = frames["supplier"]["s_nationkey"].astype(str)
    nations = Categorical(tuple(str(n) for n in range(25)))
    tables = {
        "customer": {
            "c_custkey": Identifier(),
            "c_nationkey": nations,
            "c_acctbal": Numeric((-1_000, 10_000), decimals=2),
            "c_mktsegment": labels("customer", "c_mktsegment"),
        },
        "orders": {
            "o_orderkey": Identifier(),
            "o_custkey": Identifier(),
            "o_orderstatus": labels("orders", "o_orderstatus"),
            "o_totalprice": Numeric((0, 600_000), decimals=2),
            "o_orderdate": days("1992-01-01", "1998-12-31"),
            "o_orderpriority": labels("orders", "o_orderpriority"),
        },
        "lineitem": {
            "l_orderkey": Identifier(),
            "l_partkey": Identifier(),
            "l_suppkey": Identifier(),
            "l_linenumber": Identifier(),
            "l_quantity": Numeric((1, 50), integer=True),
            "l_extendedprice": Numeric((0, 110_000), decimals=2),
            "l_discount": Numeric((0, 0.1), decimals=2),
            "l_tax": Numeric((0, 0.08), decimals=2),
            "l_returnflag": labels("lineitem", "l_returnflag"),
            "l_linestatus": labels("lineitem", "l_linestatus"),
            "l_shipdate": days("1992-01-01", "1998-12-31"),
            "l_shipinstruct": labels("lineitem", "l_shipinstruct"),
            "l_shipmode": labels("lineitem", "l_shipmode"),
        },
        "part": {
            "p_partkey": Identifier(),
            "p_mfgr": labels("part", "p_mfgr"),
            "p_brand": labels("part", "p_brand"),
            "p_size": Numeric((1, 50), integer=True),
            "p_container": labels("part", "p_container"),
            "p_retailprice": Numeric((900, 2_100), decimals=2),
        },
        "supplier": {
            "s_suppkey": Identifier(),
            "s_nationkey": nations,
            "s_acctbal": Numeric((-1_000, 10_000), decimals=2),
        },
    }  # fmt: skip
    database = Database(
        tables={name: Schema(columns) for name, columns in tables.items()},
        keys=[
            Key("orders.o_custkey -> customer.c_custkey", cap=40, order="o_orderdate"),
            Key("lineitem.l_orderkey -> orders.o_orderkey", cap=7, order="l_linenumber"),
            Key("lineitem.l_partkey -> part.p_partkey"),
            Key("lineitem.l_suppkey -> supplier.s_suppkey"),
        ],
        unit="customer",
        public=["part", "supplier"],
    )
    frames = {name: frames[name][list(columns)] for name, columns in tables.items()}
    events = (Event("next exists", "orders"),)  # nothing else of an order tells of the next
    return Relational(f"tpch-{scale}", frames, database, events)


def _generate(scale: str, names: tuple[str, ...]) -> None:
    program = TPCH_PYTHON / "bin" / "tpchgen-cli"
    if not program.exists():
        raise DataError(f"{program} is not there: make an environment {TPCH_PYTHON} with the package tpchgen-cli")
    command = [str(program), "parquet", "-s", scale, "-o", str(TPCH / scale), "-T", ",".join(names)]
    subprocess.run(command, check=True, capture_output=True)


# ------------------------------------------------------------------------------------------------------------ mimic

_PUBLIC = ("2060-01-01", "2220-12-31")  # dates of MIMIC are moved into this range


def mimic3demo() -> Relational:
    """A hundred patients of intensive care in six tables."""
    found = {name: read(f"mimic-{name}") for name in ("patients", "admissions", "icustays", "diagnoses", "procedures",
                                                      "prescriptions")}  # fmt: skip
    for name, columns in {"admissions": ["admittime", "dischtime"], "icustays": ["intime"]}.items():
        for column in columns:
            found[name][column] = pd.to_datetime(found[name][column])
    found["prescriptions"]["startdate"] = pd.to_datetime(found["prescriptions"]["startdate"])
    for name in ("diagnoses", "procedures"):
        found[name]["chapter"] = found[name]["icd9_code"].str[:2]
    labels = lambda table, column: Categorical(  # noqa: E731
        tuple(sorted(found[table][column].dropna().unique())), nullable=bool(found[table][column].isna().any())
    )
    moment = Datetime(_PUBLIC, unit="s")
    tables: Mapping[str, dict[str, Column]] = {
        "patients": {"subject_id": Identifier(), "gender": labels("patients", "gender")},
        "admissions": {
            "hadm_id": Identifier(), "subject_id": Identifier(), "admittime": moment, "dischtime": moment,
            **{c: labels("admissions", c) for c in ("admission_type", "discharge_location", "insurance", "ethnicity")},
        },
        "icustays": {
            "icustay_id": Identifier(), "hadm_id": Identifier(), "subject_id": Identifier(), "intime": moment,
            "first_careunit": labels("icustays", "first_careunit"), "los": Numeric((0, 200)),
        },
        "diagnoses": {
            "subject_id": Identifier(), "hadm_id": Identifier(), "seq_num": Identifier(),
            "chapter": labels("diagnoses", "chapter"),
        },
        "procedures": {
            "subject_id": Identifier(), "hadm_id": Identifier(), "seq_num": Identifier(),
            "chapter": labels("procedures", "chapter"),
        },
        "prescriptions": {
            "subject_id": Identifier(), "hadm_id": Identifier(),
            "startdate": Datetime(_PUBLIC, unit="s", nullable=True),
            **{c: labels("prescriptions", c) for c in ("drug_type", "route")},
        },
    }  # fmt: skip
    below = {"icustays": (8, "intime"), "diagnoses": (40, "seq_num"), "procedures": (40, "seq_num"),
             "prescriptions": (200, "startdate")}  # fmt: skip
    keys = [Key("admissions.subject_id -> patients.subject_id", cap=8, order="admittime")]
    for name, (cap, order) in below.items():
        keys.append(Key(f"{name}.hadm_id -> admissions.hadm_id", cap=cap, order=order))
        keys.append(Key(f"{name}.subject_id -> patients.subject_id"))
    database = Database(tables={n: Schema(c) for n, c in tables.items()}, keys=keys, unit="patients")
    frames = {name: found[name][list(columns)] for name, columns in tables.items()}
    return Relational("mimic3demo", frames, database, (Event("next exists", "admissions"),))


DATABASES: Mapping[str, Callable[[], Relational]] = {
    "diabetes130": diabetes130,
    "planted": planted,
    "tpch-0.1": tpch,
    "mimic3demo": mimic3demo,
}
