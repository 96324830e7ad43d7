"""PPEM on medical records: a simulated matrix of diagnosis codes, and an open hospital table.

`codes`: 46,520 made-up people with 1,071 groups of codes (nacre.table.simulate.codes), the size of the paper's table;
hidden are the 50 or 200 most frequent groups, each moved by 0.05 or 0.01. auroc_codes: every group with at least 20
held-out cases is predicted from all others by ridge regression, trained on synthetic rows. The paper's figures beside
it are of MIMIC-III: another table, to compare the pattern and not the numbers.

`hospital`: first stays of 71,518 diabetes patients in 130 US hospitals, 27 columns; hidden are age and gender
(`ppem-2`), or these with the numbers of drugs and diagnoses and insulin (`ppem-5`). Readmission by logistic regression,
the standardised length of stay by least squares. Held out: 20 %. `-paper`, `-control` and `_given` as in `ppem-credit`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from benchmarks import hospital_table, published
from benchmarks.catalogue import Options
from benchmarks.ppem import hiding
from benchmarks.ppem.figures import Records, Split, matrix, predicted
from benchmarks.results import Results
from nacre.table.simulate.codes import CODES, ROWS, code_matrix, code_names, codes_schema

HIDDEN_CODES = {"50": 0.05, "200": 0.01}  # most frequent groups -> distance of the decoy: rare codes have little room
HIDDEN = {"2": ("age", "gender"), "5": ("age", "gender", "num_medications", "number_diagnoses", "insulin")}
BATCH, PASSES = 256, 40
PRIVATE = {"steps": 2_000}  # of PPEM with epsilon
RIDGE, CASES = 0.05, 20  # on the correlation matrix; held-out cases that a code must have to be predicted
GANS = ("wgan", "medgan")
HOLDOUT = 0.2


def _halves(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = np.random.default_rng([seed, 71]).permutation(len(frame))
    cut = round(HOLDOUT * len(frame))
    return frame.iloc[order[cut:]].reset_index(drop=True), frame.iloc[order[:cut]].reset_index(drop=True)


@cache
def code_table(rows: int, codes: int) -> pd.DataFrame:
    return pd.DataFrame(code_matrix(rows, codes), columns=code_names(codes))


def code_splits(options: Options) -> list[Split]:
    rows, codes = (1_500, 240) if options.quick else (ROWS, CODES)
    frame = code_table(rows, codes)
    schema = codes_schema(codes, rows=rows - round(HOLDOUT * rows))
    return [Split(seed, *_halves(frame, seed), schema, None) for seed in range(options.seeds)]


def hospital_splits(options: Options) -> list[Split]:
    frame, schema = hospital_table.hospital()
    if options.quick:
        frame = frame.sample(2_000, random_state=0)
    schema = replace(schema, rows=len(frame) - round(HOLDOUT * len(frame)))
    target = hospital_table.TARGET
    return [Split(seed, *_halves(frame, seed), schema, target) for seed in range(options.seeds)]


def codes_predicted(made: Records, one: Split) -> dict[str, float]:
    """auroc_codes. The coefficients of all regressions are in one inverse: of column j on all others they are
    −Ω_ij/Ω_jj, Ω the inverse of the correlation matrix plus a ridge."""
    from scipy.stats import rankdata

    names = list(one.schema.modelled)
    x, y = (matrix(r, one.schema, names) for r in (made, one.held))
    mean, spread = x.mean(axis=0), x.std(axis=0)
    safe = np.where(spread > 0, spread, np.inf)  # a code that nobody has says nothing
    z = (x - mean) / safe
    inverse = np.linalg.inv(z.T @ z / len(z) + RIDGE * np.eye(len(names)))
    slope = -inverse / np.diag(inverse)
    np.fill_diagonal(slope, 0.0)
    count = y.sum(axis=0)
    asked = np.flatnonzero((count >= CASES) & (len(y) - count >= CASES))
    scores = ((y - mean) / safe) @ slope[:, asked]
    rank = rankdata(scores, axis=0)
    cases = count[asked]
    hits = (rank * y[:, asked]).sum(axis=0) - cases * (cases + 1) / 2
    return {"auroc_codes": float((hits / (cases * (len(y) - cases))).mean())}


def codes_study(options: Options, results: Results) -> hiding.Study:
    some = code_splits(options)
    steps = PASSES * len(some[0].private) // BATCH
    most = tuple(code_names(50))
    return hiding.Study("ppem-ehr", "codes", some, codes_predicted, steps, BATCH, most, options, results)


def codes(options: Options, results: Results) -> None:
    job = codes_study(options, results)
    hiding.real(job)
    for size, decoy in HIDDEN_CODES.items():
        hiding.hiding(job, f"ppem-{size}", tuple(code_names(int(size))), decoy)
    for name in GANS:
        hiding.gan(job, name)
    for size in HIDDEN_CODES:
        hiding.private(job, f"ppem-{size}-dp", tuple(code_names(int(size))), **PRIVATE)


def hospital_study(options: Options, results: Results) -> hiding.Study:
    some = hospital_splits(options)
    steps = PASSES * len(some[0].private) // BATCH
    useful = partial(predicted, number="time_in_hospital")
    return hiding.Study("ppem-ehr", "hospital", some, useful, steps, BATCH, HIDDEN["2"], options, results)


def hospital(options: Options, results: Results) -> None:
    job = hospital_study(options, results)
    hiding.real(job)
    for size, hidden in HIDDEN.items():
        hiding.hiding(job, f"ppem-{size}", hidden)
        hiding.hiding_private(job, f"ppem-{size}-dp", hidden, **PRIVATE)
    for name in GANS:
        hiding.gan(job, name)


ONLY = (
    *hiding.names("codes", (*hiding.lanes(HIDDEN_CODES, ("",)), *GANS)),
    *hiding.names("hospital", (*hiding.lanes(HIDDEN), *GANS)),
)


def run(options: Options, results: Results) -> None:
    results.published = published.rows("codes-ppem")
    results.note(
        f"{PASSES} passes over the private rows at {BATCH} rows a step. The decoy asks every hidden code for a "
        "distance of 0.05 (50 codes) or 0.01 (200), every hidden hospital column for 0.2. With epsilon: total "
        "ε 1, δ 1e-6, 2,000 steps of the energies, 400 of the generators."
    )
    tables = {"codes": codes, "hospital": hospital}
    named = {word.partition("/")[0] for word in options.only}
    for table, made in tables.items():
        if table in named or not named or named - set(tables):
            made(options, results)
    results.write()
