"""Column by column: does what comes out look like what went in? Nothing is declared but the unit, epsilon is 1.

`diabetes130` is the table of that name as Parquet, `diabetes130-csv` the same as CSV (50 columns, at most 3 rows of a
patient); `messy` and `messy-declared` are `messy.py`. A column is wrong where a value is written in another way than
the table writes it, where it has values of another kind, or a label that the table never had (but `other`).
Shares of missing values are compared with the whole table, rows that the cap leaves out included.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nacre
from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.reading import messy
from benchmarks.results import Results, Setting
from nacre.engines import open_rows
from nacre.privacy.discovery import unknown
from nacre.table import Categorical, Column, Identifier, Schema, Unit
from nacre.table import sources as reading
from nacre.table.grid import Grid

ROWS = 20_000  # of the made-up table
EPSILON, CAP = 1.0, 3
_PERSON = "patient_nbr"
_GROUPS = 20
Texts = Mapping[str, Sequence[str | None]]


def hospital(kind: str, seed: int, quick: bool) -> tuple[Setting, dict[str, float]]:
    del seed  # of the noise, which is another one in every run
    frame = data.read("diabetes130")
    frame = frame.head(5_000) if quick else frame
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"stays.{'csv' if kind.endswith('csv') else 'parquet'}"
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
        rows = open_rows(path)
        start = unknown(rows.column_names)
        start = Schema({**start.columns, _PERSON: Identifier(person=True)}, unit=Unit(_PERSON, CAP))
        release = nacre.fit(rows, epsilon=EPSILON, schema=start, go_on=quick)
        made = Path(folder) / f"made{path.suffix}"
        release.write(made, seed=0)
        real, fake = _texts(path), _texts(made)
    figures = _compare(real, fake, release.schema, _wrong(real, fake, release.schema))
    return _setting(kind, release), figures


def made_up(kind: str, seed: int, quick: bool) -> tuple[Setting, dict[str, float]]:
    real = messy.table(4_000 if quick else ROWS, seed)
    with tempfile.TemporaryDirectory() as folder:
        path, made = Path(folder) / "export.csv", Path(folder) / "made.csv"
        messy.write(path, real)
        rows = open_rows(path, options=reading.Options(encoding=messy.ENCODING))
        schema = messy.DECLARED if kind.endswith("declared") else None
        release = nacre.fit(rows, epsilon=EPSILON, schema=schema, go_on=quick)
        release.write(made, seed=0)
        fake = _texts(made)
    wrong = {n for n, shape in messy.SHAPES.items() if not all(re.fullmatch(shape, t or "") for t in fake[n])}
    return _setting(kind, release), _compare(real, fake, release.schema, wrong)


def _setting(kind: str, release: nacre.Release) -> Setting:
    return Setting("sketch", kind, EPSILON, release.certificate.delta, release.certificate.guarantee)


def _texts(path: Path) -> dict[str, list[str | None]]:
    """Every value as its text, None where it is missing."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            names = next(lines)
            return {n: [t or None for t in column] for n, column in zip(names, zip(*lines))}
    table = pq.read_table(path)
    return {n: table[n].cast(pa.string()).to_pylist() for n in table.column_names}


def _wrong(real: Texts, fake: Texts, schema: Schema) -> set[str]:
    """Columns with labels or truth words that the table never had, or of numbers where it has codes."""
    found = set()
    for name, column in schema.columns.items():
        if isinstance(column, Identifier):
            continue
        had, has = ({t for t in texts[name] if t is not None} for texts in (real, fake))
        labels = isinstance(column, Categorical)
        numbers = all(re.fullmatch(r"-?\d+(\.\d+)?", t) for t in had)
        if (labels and has - had - {column.other}) or (not labels and column.kind == "numeric" and not numbers):
            found.add(name)
        if not labels and column.kind != "numeric" and has - had:
            found.add(name)  # truth values have their words
    return found


def _compare(real: Texts, fake: Texts, schema: Schema, wrong: set[str]) -> dict[str, float]:
    learnt = {n: c for n, c in schema.columns.items() if not isinstance(c, Identifier)}
    gone = [abs(_missing(real[n], c) - _missing(fake[n], c)) for n, c in learnt.items()]
    pairs = [_distance(real[n], fake[n], c) for n, c in learnt.items()]
    lost = [_lost(real[n], fake[n]) for n, c in learnt.items() if isinstance(c, Categorical)]
    if wrong:
        print("wrong:", ", ".join(sorted(wrong)), flush=True)
    return {
        "columns": len(schema.columns),
        "columns_wrong": len(wrong),
        "columns_made_anew": len(schema.columns) - len(learnt),
        "unreadable_share": max(bad for _, bad in pairs),
        "missing_error": max(gone),
        "label_lost": max(lost, default=0.0),
        "tvd1": float(np.mean([d for d, _ in pairs])),
        "tvd1_max": max(d for d, _ in pairs),
    }


def _lost(real: Sequence[str | None], fake: Sequence[str | None]) -> float:
    """The share of the rows that the most frequent label held which never comes back."""
    had, has = Counter(t for t in real if t is not None), {*fake}
    return max((n for label, n in had.items() if label not in has), default=0) / len(real)


def _missing(texts: Sequence[str | None], column: Column) -> float:
    return sum(t is None or t in column.null_words for t in texts) / len(texts)


def _distance(real: Sequence[str | None], fake: Sequence[str | None], column: Column) -> tuple[float, float]:
    """(total variation over the cells of the column, ordered ones in at most twenty groups; share of the real values
    that the column cannot read)."""
    grid = Grid.of(column)
    shares, bad = [], []
    for texts in (real, fake):
        values = column.encode(pa.array(texts, pa.string()))
        shares.append(np.bincount(grid.codes(values) + 1, minlength=grid.cells + 1) / len(texts))
        bad.append(float(np.mean(values.unreadable)))
    if column.ordered:
        group = np.minimum((np.cumsum(shares[0]) * _GROUPS).astype(int), _GROUPS - 1)
        shares = [np.bincount(group, weights=s, minlength=_GROUPS) for s in shares]
    return float(np.abs(shares[0] - shares[1]).sum() / 2), max(bad)


CASES = {"diabetes130": hospital, "diabetes130-csv": hospital, "messy": made_up, "messy-declared": made_up}
ONLY = tuple(CASES)


def run(options: Options, results: Results) -> None:
    for case in options.of(ONLY):
        for seed in range(options.seeds):
            if results.has(case, seed):
                continue
            setting, figures = CASES[case](case, seed, options.quick)
            results.add(setting, seed, figures, case)
            results.write()
            print(f"{case} {seed}: {figures}", flush=True)
