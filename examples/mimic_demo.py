"""The worked example of docs/relational.md: the MIMIC-III demo as a database with keys, and a synthetic one like it.

    python mimic_demo.py FOLDER

FOLDER holds the tables of the demo (https://physionet.org/content/mimiciii-demo, open to everybody) as CSV or Parquet
files, such as PATIENTS.csv or mimic3demo_patients.parquet. Written into the current folder: mimic.sqlite (the private
database), mimic.json (its description), mimic.nacre (the release) and fake.sqlite (100 synthetic patients).
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import nacre
from nacre import Categorical, Database, Datetime, Identifier, Key, Numeric, Schema
from nacre.engines import open_rows
from nacre.table.rules import Ordered

SQL = """
CREATE TABLE patients (subject_id INTEGER PRIMARY KEY, gender TEXT, expire_flag INTEGER);
CREATE TABLE admissions (hadm_id INTEGER PRIMARY KEY, subject_id INTEGER REFERENCES patients, admittime TIMESTAMP,
  dischtime TIMESTAMP, admission_type TEXT, insurance TEXT, marital_status TEXT, hospital_expire_flag INTEGER);
CREATE TABLE icustays (icustay_id INTEGER PRIMARY KEY, subject_id INTEGER REFERENCES patients,
  hadm_id INTEGER REFERENCES admissions, first_careunit TEXT, intime TIMESTAMP, los REAL);
CREATE TABLE diagnoses_icd (subject_id INTEGER REFERENCES patients, hadm_id INTEGER REFERENCES admissions,
  seq_num INTEGER, icd9_code TEXT);
CREATE TABLE procedures_icd (subject_id INTEGER REFERENCES patients, hadm_id INTEGER REFERENCES admissions,
  seq_num INTEGER, icd9_code TEXT);
CREATE TABLE prescriptions (subject_id INTEGER REFERENCES patients, hadm_id INTEGER REFERENCES admissions,
  startdate TIMESTAMP, drug_type TEXT, route TEXT);
CREATE TABLE d_icd_diagnoses (icd9_code TEXT PRIMARY KEY, short_title TEXT);
"""
NAMES = ["patients", "admissions", "icustays", "diagnoses_icd", "procedures_icd", "prescriptions", "d_icd_diagnoses"]
# Public: the times of the demo are shifted into these years, and its documentation lists the words.
YEARS = ("2100-01-01", "2210-12-31")
UNITS = ("CCU", "CSRU", "MICU", "SICU", "TSICU")
MARRIED = ("DIVORCED", "MARRIED", "SEPARATED", "SINGLE", "UNKNOWN (DEFAULT)", "WIDOWED")
PROCEDURES = ("3893", "966", "9604", "9671", "9672", "9904", "9907", "3961", "8856", "3895", "3995", "4513")
ROUTES = ("IV", "PO", "IV DRIP", "SC", "PO/NG", "IH", "PR", "TP", "NG", "IM")


def moment() -> Datetime:
    return Datetime(YEARS, unit="s")


def described() -> Database:
    """What is public about the database, and whose rows are whose: a patient owns what hangs on their admissions."""
    number = Identifier()
    sequence = Numeric((1, 60), integer=True, nullable=True)
    flag = Categorical(("0", "1"))
    return Database(
        tables={
            "patients": Schema({"subject_id": number, "gender": Categorical(("F", "M")), "expire_flag": flag}),
            "admissions": Schema({
                "hadm_id": number, "subject_id": number, "admittime": moment(),
                "dischtime": Datetime(YEARS, unit="s"),
                "admission_type": Categorical(("ELECTIVE", "EMERGENCY", "URGENT")),
                "insurance": Categorical(("Government", "Medicaid", "Medicare", "Private", "Self Pay")),
                "marital_status": Categorical(MARRIED, other="another", nullable=True), "hospital_expire_flag": flag,
            }, rules=(Ordered(("admittime", "dischtime")),)),
            "icustays": Schema({
                "icustay_id": number, "subject_id": number, "hadm_id": number, "first_careunit": Categorical(UNITS),
                "intime": moment(), "los": Numeric((0, 60), nullable=True),
            }),
            "diagnoses_icd": Schema({
                "subject_id": number, "hadm_id": number, "seq_num": sequence,
                "icd9_code": Identifier(text=True, nullable=True),
            }),
            "procedures_icd": Schema({
                "subject_id": number, "hadm_id": number, "seq_num": sequence,
                "icd9_code": Categorical(PROCEDURES, other="another"),
            }),
            "prescriptions": Schema({
                "subject_id": number, "hadm_id": number, "startdate": Datetime(YEARS, unit="day", nullable=True),
                "drug_type": Categorical(("ADDITIVE", "BASE", "MAIN")), "route": Categorical(ROUTES, other="another"),
            }),
            "d_icd_diagnoses": Schema({"icd9_code": Identifier(text=True), "short_title": Identifier(text=True)}),
        },
        keys=[
            Key("admissions.subject_id -> patients.subject_id", cap=4, order="admittime"),
            Key("icustays.hadm_id -> admissions.hadm_id", cap=2, order="intime"),
            Key("diagnoses_icd.hadm_id -> admissions.hadm_id", cap=15, order="seq_num"),
            Key("procedures_icd.hadm_id -> admissions.hadm_id", cap=6, order="seq_num"),
            Key("prescriptions.hadm_id -> admissions.hadm_id", cap=30, order="startdate"),
            *(Key(f"{t}.subject_id -> patients.subject_id") for t in NAMES[2:6]),
            Key("diagnoses_icd.icd9_code -> d_icd_diagnoses.icd9_code"),
        ],
        unit="patients",
        public=["d_icd_diagnoses"],
    )  # fmt: skip


def private_database(folder: Path, path: Path) -> None:
    """The tables of the demo in one SQLite file, with the keys that they have."""
    files = {p.stem.lower().removeprefix("mimic3demo_"): p for p in sorted(folder.iterdir())}
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        made.executescript(SQL)
        for name in NAMES:
            columns = [row[1] for row in made.execute(f"PRAGMA table_info({name})")]
            for batch in open_rows(str(files[name])).batches():
                batch = batch.rename_columns([c.lower() for c in batch.schema.names]).select(columns)
                rows = zip(*(column.to_pylist() for column in batch.columns))
                made.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)


def main(folder: Path) -> None:
    private_database(folder, Path("mimic.sqlite"))
    described().save("mimic.json", force=True)
    # A hundred patients are few: with the 46,520 of the whole database, epsilon 1 gives more than this.
    notes = nacre.OwnerNotes()
    release = nacre.fit("mimic.sqlite", schema=described(), epsilon=4.0, delta=1e-5, owner=notes)
    print(notes)  # for the owner alone: what was left out
    print(release.certificate)
    release.save("mimic.nacre", force=True)
    release.write("fake.sqlite", 100, force=True)
    with closing(sqlite3.connect("fake.sqlite")) as fake:
        print("keys that lead nowhere:", len(fake.execute("PRAGMA foreign_key_check").fetchall()))
        for name in NAMES:
            print(name, fake.execute(f"SELECT count(*) FROM {name}").fetchone()[0], "rows")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        print(__doc__)
