"""Small made-up tables and their schemas, written without a line of nacre: the same before and after a change of it."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

Cell: TypeAlias = str | int | float | bool | None
Table: TypeAlias = dict[str, list[Cell]]
ROWS = 400
SEX, EDU, YEARS = ("F", "M"), ("lo", "mid", "hi"), (9, 12, 17)


def people(seed: int = 1, rows: int = ROWS) -> Table:
    """What makes real tables hard, in few rows: nulls, a rare label, a date, a column that follows from another."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, rows)
    edu = np.where(age < 25, rng.integers(0, 2, rows), rng.integers(0, 3, rows))
    pay = np.round(rng.gamma(2.0, 9_000.0, rows) * (1 + edu), 2).clip(0, 100_000)
    smoker = rng.random(rows) < 0.3
    late = rng.random(rows) < 0.2 + 0.3 * smoker
    first = datetime.date(2020, 1, 1)
    return {
        "id": [f"p{i:04}" for i in range(rows)],
        "age": age.tolist(),
        "pay": _with_gaps(pay.tolist(), rng.random(rows) < 0.08),
        "sex": [SEX[k] for k in rng.integers(0, 2, rows)],
        "edu": [EDU[k] for k in edu],
        "years": [YEARS[k] for k in edu],
        "smoker": _with_gaps(smoker.tolist(), rng.random(rows) < 0.05),
        "joined": [(first + datetime.timedelta(days=int(d))).isoformat() for d in rng.integers(0, 366, rows)],
        "late": late.tolist(),
    }


PEOPLE = {
    "format": 1,
    "columns": {
        "id": {"kind": "identifier"},
        "age": {"kind": "numeric", "bounds": [18, 90], "integer": True},
        "pay": {"kind": "numeric", "bounds": [0.0, 100_000.0], "nullable": True},
        "sex": {"kind": "categorical", "categories": ["F", "M"]},
        "edu": {"kind": "categorical", "categories": ["lo", "mid", "hi"], "ordered": True},
        "years": {"kind": "numeric", "bounds": [0, 20], "integer": True},
        "smoker": {"kind": "boolean", "nullable": True},
        "joined": {"kind": "datetime", "bounds": ["2020-01-01", "2020-12-31"], "unit": "day"},
        "late": {"kind": "boolean"},
    },
    "rows": ROWS,
    "dependencies": [
        {"determinant": "edu", "dependent": "years", "mapping": [["lo", 9], ["mid", 12], ["hi", 17]]},
    ],
    "impossible": [{"age": {"low": None, "high": 24}, "edu": ["hi"]}],
}
FEW = ("age", "pay", "sex", "smoker", "late")


def of_columns(names: Sequence[str], **more: object) -> dict[str, object]:
    """The schema of some of the columns."""
    columns: Mapping[str, object] = PEOPLE["columns"]  # type: ignore[assignment]
    return {"format": 1, "columns": {n: columns[n] for n in names}, "rows": ROWS, **more}


def visits() -> Table:
    """Up to four rows of each of 120 persons."""
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(120), rng.integers(1, 5, 120))
    return {
        "person": [f"v{i:03}" for i in person],
        "ward": [("north", "south", "west")[k] for k in rng.integers(0, 3, len(person))],
        "days": rng.integers(0, 15, len(person)).tolist(),
    }


VISITS = {
    "format": 1,
    "columns": {
        "person": {"kind": "identifier", "person": True},
        "ward": {"kind": "categorical", "categories": ["north", "south", "west"]},
        "days": {"kind": "numeric", "bounds": [0, 14], "integer": True},
    },
    "unit": {"column": "person", "cap": 2},
    "rows": 300,
}
IMAGES = {
    "format": 1,
    "columns": {
        "image": {"kind": "tensor", "shape": [8, 8], "bounds": [0.0, 1.0]},
        "kind": {"kind": "categorical", "categories": ["bar", "dot"]},
    },
    "rows": 120,
}


def write_images(path: Path) -> None:
    """8 x 8 pictures of a bar or a dot, in Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(3)
    kind = rng.integers(0, 2, 120)
    image = rng.random((120, 8, 8)) * 0.2
    image[kind == 0, :, 3] += 0.8
    image[kind == 1, 3:5, 3:5] += 0.8
    flat = pa.array(image.astype(np.float32).ravel())
    names = pa.array([("bar", "dot")[k] for k in kind])
    pq.write_table(pa.table({"image": pa.FixedSizeListArray.from_arrays(flat, 64), "kind": names}), path)


def _with_gaps(values: list[Cell], gone: np.ndarray) -> list[Cell]:
    return [None if g else v for v, g in zip(values, gone)]


def write_csv(path: Path, table: Table, delimiter: str = ",", encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(table)
        for row in zip(*table.values()):
            writer.writerow(["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row])


def some(table: Table, names: Sequence[str]) -> Table:
    return {n: table[n] for n in names}


def fill(folder: Path) -> None:
    """Write every table and schema that the cases use."""
    whole, other = people(), people(7)
    write_csv(folder / "people.csv", whole)
    write_csv(folder / "held.csv", people(4, 200))
    write_csv(folder / "few.csv", some(whole, FEW))
    write_csv(folder / "few2.csv", some(other, FEW))
    write_csv(folder / "weighed.csv", {**some(whole, FEW), "w": [1 + i % 3 for i in range(ROWS)]})
    write_csv(folder / "visits.csv", visits())
    write_csv(folder / "semicolon.csv", some(whole, FEW), ";", "cp1252")
    lines = [json.dumps(dict(zip(FEW, row))) for row in zip(*(whole[n] for n in FEW))]
    (folder / "few.jsonl").write_text("\n".join(lines) + "\n")
    write_images(folder / "images.parquet")
    bare = {n: c for n, c in of_columns(FEW).items() if n != "rows"}
    documents = {"people": PEOPLE, "few": of_columns(FEW), "bare": bare, "visits": VISITS, "images": IMAGES}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
