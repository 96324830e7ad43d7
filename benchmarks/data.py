"""The public tables that benchmarks use, with public schemas, and the split of the evaluation protocol."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nacre.errors import DataError
from nacre.table.schema import Schema

SCHEMAS = Path(__file__).parent / "schemas"
HOLDOUT = 0.2
PRIVMRF = "coded as in PrivMRF's comparison (Cai, Lei, Wei, Xiao, PVLDB 14, 2021)"
MIMIC = "MIMIC-III Clinical Database Demo v1.4, doi:10.13026/C2HM2Q"


@dataclass(frozen=True)
class Source:
    """A file that must be fetched once: what it is called, how many rows it has, where it comes from."""

    file: str
    rows: int
    origin: str


SOURCES: Mapping[str, Source] = {
    "adult": Source("adult.parquet", 48_842, "Adult / Census Income, UCI, doi:10.24432/C5XW20"),
    "covertype": Source("covtype.parquet", 581_012, "Covertype, UCI, doi:10.24432/C50K5N"),
    "mnist": Source("mnist.npz", 60_000, "MNIST, doi:10.1109/5.726791"),
    "fashion-mnist": Source("fashion_mnist.npz", 60_000, "Fashion-MNIST, arXiv:1708.07747"),
    "census": Source("census_income_kdd.parquet", 299_285, "Census-Income (KDD), UCI, doi:10.24432/C5N30T"),
    "intrusion": Source("kddcup99_10percent.parquet", 494_021, "KDD Cup 1999, 10 % file, UCI, doi:10.24432/C51C7N"),
    "diabetes130": Source(
        "diabetes130_us_hospitals.parquet", 101_766, "Diabetes 130-US Hospitals, UCI, doi:10.24432/C5230J"
    ),
    "housing": Source(
        "california_housing_ocean_proximity.parquet",
        20_640,
        "California housing, StatLib, doi:10.1016/S0167-7152(96)00140-X",
    ),
    "boston": Source("boston_housing.parquet", 506, "Boston housing, StatLib, doi:10.1016/0095-0696(78)90006-2"),
    "diabetes": Source("diabetes_sklearn.parquet", 442, "Diabetes, doi:10.1214/009053604000000067"),
    "california": Source(
        "california_housing.parquet", 20_640, "California housing, StatLib, doi:10.1016/S0167-7152(96)00140-X"
    ),
    "credit": Source("creditcard.parquet", 284_807, "Credit card fraud, ULB, doi:10.1109/SSCI.2015.33"),
    "privmrf-nltcs": Source("privmrf_nltcs.parquet", 21_574, f"NLTCS, {PRIVMRF}"),
    "privmrf-br2000": Source("privmrf_br2000.parquet", 38_000, f"BR2000, {PRIVMRF}"),
    "privmrf-adult": Source("privmrf_adult.parquet", 45_222, f"Adult, {PRIVMRF}"),
    "mimic-icustays": Source("mimic3demo_icustays.parquet", 136, MIMIC),
    "mimic-admissions": Source("mimic3demo_admissions.parquet", 129, MIMIC),
    "mimic-patients": Source("mimic3demo_patients.parquet", 100, MIMIC),
    **{
        f"mimic-{name}": Source(f"mimic3demo_{name}{more}.parquet", rows, MIMIC)
        for name, more, rows in (
            ("diagnoses", "_icd", 1_761),
            ("procedures", "_icd", 506),
            ("prescriptions", "", 10_398),
        )
    },
    "national2019": Source(
        "nist_national2019.parquet", 27_253, "NIST Diverse Communities Data Excerpts, American Community Survey 2019"
    ),
}


@dataclass(frozen=True)
class Dataset:
    """A table, its public schema and the column to predict."""

    name: str
    frame: pd.DataFrame
    schema: Schema
    target: str

    def head(self, rows: int | None) -> Dataset:
        """A stratified sample for smoke runs; the whole when `rows` is None."""
        if rows is None or rows >= len(self.frame):
            return self
        from sklearn.model_selection import train_test_split

        some, _ = train_test_split(self.frame, train_size=rows, stratify=self._strata, random_state=0)
        schema = replace(self.schema, rows=_private_rows(rows))
        return replace(self, frame=some.reset_index(drop=True), schema=schema)

    def split(self, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """80 % private table, 20 % holdout, by seed; stratified on the target unless that is a number."""
        from sklearn.model_selection import train_test_split

        private, holdout = train_test_split(self.frame, test_size=HOLDOUT, stratify=self._strata, random_state=seed)
        return private.reset_index(drop=True), holdout.reset_index(drop=True)

    @property
    def _strata(self) -> pd.Series | None:
        return None if self.schema.columns[self.target].measured else self.frame[self.target]


def folder(name: str) -> Path:
    """The folder that holds the file of table `name`, or an error that says what is missing."""
    source = SOURCES[name]
    where = os.environ.get("NACRE_DATA")
    if not where:
        raise DataError(
            f"NACRE_DATA is not set, so {source.file} ({source.origin}) cannot be found. "
            "Put the file in a folder and set NACRE_DATA to that folder"
        )
    if not (Path(where) / source.file).is_file():
        raise DataError(f"NACRE_DATA is set but has no {source.file} ({source.origin}). Put the file there")
    return Path(where)


def path(name: str) -> Path:
    return folder(name) / SOURCES[name].file


def read(name: str) -> pd.DataFrame:
    """The table as published, or an error where it is another version of it."""
    frame = pd.read_parquet(path(name))
    if len(frame) != SOURCES[name].rows:
        raise DataError(
            f"{SOURCES[name].file} has {len(frame):,} rows; the published table has {SOURCES[name].rows:,}. "
            "Figures on another version of the table do not compare"
        )
    return frame


def adult() -> Dataset:
    """All 48,842 rows with their nulls; the published train/test split is not used."""
    frame = read("adult").drop(columns="split", errors="ignore")
    return Dataset("adult", frame, _schema("adult", len(frame)), "income")


def covertype() -> Dataset:
    """The 4 wilderness and 40 soil indicators collapsed to two categorical columns: 13 columns."""
    frame = read("covertype")
    wide = {
        "Wilderness_Area": _indicators(frame, "Wilderness_Area", 4),
        "Soil_Type": _indicators(frame, "Soil_Type", 40),
    }
    kept = [c for c in frame.columns if not c.startswith(tuple(wide))]
    small = (
        frame[kept]
        .drop(columns="Cover_Type")
        .assign(
            **{name: _which(frame[columns].to_numpy()) for name, columns in wide.items()},
            Cover_Type=frame["Cover_Type"].astype(str),
        )
    )
    return Dataset("covertype", small, _schema("covertype", len(frame)), "Cover_Type")


def credit() -> pd.DataFrame:
    """29 features and the class as text; `Time` is left out."""
    frame = read("credit").drop(columns="Time")
    return frame.assign(Class=frame["Class"].astype(str))


def housing() -> pd.DataFrame:
    """Block groups of California: nine numbers and `ocean_proximity`."""
    return read("housing")


def diabetes130() -> pd.DataFrame:
    """Stays in hospital: what is known of most of them, codes as labels."""
    frame = read("diabetes130")
    codes = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
    kept = ["race", "gender", "age", *codes, "time_in_hospital", "num_lab_procedures", "num_procedures",
            "num_medications", "number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses",
            "readmitted"]  # fmt: skip
    return frame[kept].assign(**{c: frame[c].astype(str) for c in codes})


@cache
def images(name: str, rows: int | None = None) -> tuple[np.ndarray, ...]:
    """Training images and labels, test images and labels, as published; the first `rows` of both for a smoke run."""
    with np.load(path(name)) as held:
        found = tuple(held[part][:rows] for part in ("x_train", "y_train", "x_test", "y_test"))
    if rows is None and len(found[0]) != SOURCES[name].rows:
        raise DataError(f"{SOURCES[name].file} has {len(found[0]):,} training images, not {SOURCES[name].rows:,}")
    return found


def covertype55() -> Dataset:
    """Uncollapsed: 10 numbers, 44 indicators as booleans, the class."""
    from nacre.table.columns import Boolean

    frame = read("covertype")
    flags = [*_indicators(frame, "Wilderness_Area", 4), *_indicators(frame, "Soil_Type", 40)]
    table = frame.assign(**{c: frame[c].astype(bool) for c in flags}, Cover_Type=frame["Cover_Type"].astype(str))
    base = _schema("covertype", len(frame))
    columns = {c: Boolean() if c in flags else base.columns[c] for c in table.columns}
    return Dataset("covertype-55", table, replace(base, columns=columns), "Cover_Type")


def census() -> Dataset:
    """All 299,285 rows; the instance weight and the published split are left out, codes become labels."""
    frame = read("census").drop(columns=["instance weight", "split"])
    schema = _schema("census", len(frame))
    codes = [c for c in frame.columns if schema.columns[c].kind == "categorical" and frame[c].dtype.kind in "iu"]
    return Dataset("census", frame.assign(**{c: frame[c].astype(str) for c in codes}), schema, "income")


GROUPS = {
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "r2l": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
    "u2r": "buffer_overflow loadmodule perl rootkit",
}  # the task description's groups of the 22 attacks


def intrusion() -> Dataset:
    """All 494,021 rows; the 23 labels merged into normal and four groups of attacks, flags as booleans."""
    frame = read("intrusion")
    group = {label: name for name, labels in GROUPS.items() for label in labels.split()} | {"normal": "normal"}
    schema = _schema("intrusion", len(frame))
    flags = [c for c in frame.columns if schema.columns[c].kind == "boolean"]
    label = frame["label"].map(group)
    if label.isna().any():
        raise DataError("kddcup99_10percent.parquet: a label belongs to none of the five groups")
    return Dataset("intrusion", frame.assign(**{c: frame[c] == 1 for c in flags}, label=label), schema, "label")


DATASETS: Mapping[str, Callable[[], Dataset]] = {
    "adult": adult,
    "census": census,
    "intrusion": intrusion,
    "covertype": covertype,
    "covertype-55": covertype55,
}


def _indicators(frame: pd.DataFrame, stem: str, count: int) -> list[str]:
    columns = [f"{stem}{i}" for i in range(1, count + 1)]
    lacking = [c for c in columns if c not in frame.columns]
    if lacking:
        raise DataError(f"covtype.parquet lacks the column(s) {', '.join(lacking)}")
    return columns


def _which(flags: np.ndarray) -> Any:
    """ "1", "2", ... for the one indicator that is set."""
    if not (flags.sum(axis=1) == 1).all():
        raise DataError("covtype.parquet: every row must have exactly one wilderness area and one soil type")
    return (flags.argmax(axis=1) + 1).astype(str)


def _schema(name: str, rows: int) -> Schema:
    """The published size of the table is public, and so is the share that the split makes private."""
    return replace(Schema.load(SCHEMAS / f"{name}.json"), rows=_private_rows(rows))


def _private_rows(rows: int) -> int:
    return rows - int(np.ceil(rows * HOLDOUT))
