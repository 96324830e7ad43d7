"""An open hospital table with its public codebook: diabetes inpatients of 130 US hospitals, 27 columns."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks import data
from nacre.table import Boolean, Categorical, Numeric, Schema

DATASET, TARGET = "diabetes130", "readmitted"
COUNTS = {"time_in_hospital": 14, "num_lab_procedures": 132, "num_procedures": 6, "num_medications": 81,
          "number_outpatient": 42, "number_emergency": 76, "number_inpatient": 21, "number_diagnoses": 16}  # fmt: skip
DRUGS = ("metformin", "repaglinide", "glimepiride", "glipizide", "glyburide", "pioglitazone", "rosiglitazone",
         "insulin")  # fmt: skip
CHAPTERS = (  # of ICD-9, by the number that a code begins with
    ("infectious", 1, 139), ("neoplasms", 140, 239), ("endocrine", 240, 279), ("blood", 280, 289),
    ("mental", 290, 319), ("nervous", 320, 389), ("circulatory", 390, 459), ("respiratory", 460, 519),
    ("digestive", 520, 579), ("genitourinary", 580, 629), ("pregnancy", 630, 679), ("skin", 680, 709),
    ("musculoskeletal", 710, 739), ("congenital", 740, 779), ("symptoms", 780, 799), ("injury", 800, 999),
)  # fmt: skip


def hospital() -> tuple[pd.DataFrame, Schema]:
    """First encounter of each patient, with diagnoses by chapter, drugs as taken or not, and the public codebook."""
    frame = data.read(DATASET).sort_values("encounter_id").drop_duplicates("patient_nbr")
    table = frame[["race", "gender", "age", "max_glu_serum", "A1Cresult", *COUNTS]].copy()
    table["race"] = table["race"].where(table["race"].notna(), None)
    table["admission_type"] = frame["admission_type_id"].astype(str)
    for place in (1, 2):
        table[f"diagnosis_{place}"] = _chapter(frame[f"diag_{place}"])
    for drug in DRUGS:
        table[drug] = frame[drug] != "No"
    table["change"], table["diabetes_drug"] = frame["change"] == "Ch", frame["diabetesMed"] == "Yes"
    table[TARGET] = frame["readmitted"] != "NO"
    chapters = (*(name for name, _, _ in CHAPTERS), "external", "none")
    columns: dict[str, Any] = {
        "race": Categorical(("AfricanAmerican", "Asian", "Caucasian", "Hispanic", "Other"), nullable=True),
        "gender": Categorical(("Female", "Male", "Unknown/Invalid")),
        "age": Categorical(tuple(f"[{a}-{a + 10})" for a in range(0, 100, 10)), ordered=True),
        "max_glu_serum": Categorical(("None", "Norm", ">200", ">300")),
        "A1Cresult": Categorical(("None", "Norm", ">7", ">8")),
        **{name: Numeric((0, top), integer=True) for name, top in COUNTS.items()},
        "admission_type": Categorical(tuple(map(str, range(1, 9)))),
        **{f"diagnosis_{place}": Categorical(chapters) for place in (1, 2)},
        **{name: Boolean() for name in (*DRUGS, "change", "diabetes_drug", TARGET)},
    }
    return table.reset_index(drop=True), Schema(columns)


def _chapter(codes: pd.Series) -> pd.Series:
    number = pd.to_numeric(codes, errors="coerce")
    found = pd.Series("external", index=codes.index, dtype=object)  # codes that begin with a letter
    found[codes.isna()] = "none"
    for name, first, last in CHAPTERS:
        found[(number >= first) & (number < last + 1)] = name
    return found
