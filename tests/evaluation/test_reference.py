"""Agreement to 1e-3 with an independent evaluation script on the same Adult files.

NACRE_DATA names the folder with adult.parquet; NACRE_REFERENCE_EVALUATION the script, which reads
EVAL_DIR/data/{adult_full,train,test}.csv and appends one JSON line to EVAL_DIR/eval.jsonl.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nacre.evaluation.score import Judge, Protocol
from nacre.metrics.domain import Domain

NAMES = {"LR": "lr", "GNB": "gnb", "BNB": "bnb", "SVM": "svm", "DT": "tree", "LDA": "lda", "Ada": "ada",
         "Bag": "bag", "GBM": "gbm", "MLP": "mlp", "HGB": "hgb"}  # fmt: skip
SCORES = {"auc": "auc", "ap": "ap", "f1": "f1", "hroc": "roc_hard", "hprc": "prc_hard"}
TABLES = {"tvd1": "tvd1", "tvd1max": "tvd1_max", "tvd2": "tvd2", "kendall_rmse": "kendall_rmse"}


def needed(variable):
    value = os.environ.get(variable)
    if not value:
        reason = f"{variable} is not set: cannot compare with the reference evaluation"
        pytest.skip(reason)  # shown by pytest -rs
    return Path(value)


def damaged(frame, seed):
    """A table that is neither the real one nor noise: in a third of the rows every column is shuffled."""
    rng = np.random.default_rng(seed)
    some = rng.random(len(frame)) < 1 / 3
    part = frame[some].apply(lambda column: rng.permutation(column.to_numpy()))
    return pd.concat([frame[~some], part], ignore_index=True)


def write(frame, path):
    path.parent.mkdir(exist_ok=True)
    text = frame.select_dtypes(exclude="number").columns
    frame.assign(**{c: frame[c].astype(object).where(frame[c].notna(), "missing") for c in text}).to_csv(
        path, index=False
    )


@pytest.mark.slow
def test_agrees_with_the_reference_script(tmp_path):
    script = needed("NACRE_REFERENCE_EVALUATION")
    needed("NACRE_DATA")
    from benchmarks import data

    adult = data.adult()
    private, holdout = adult.split(0)
    synthetic = damaged(private, 0)
    for name, frame in (
        ("adult_full", adult.frame),
        ("train", private),
        ("test", holdout),
        ("synthetic", synthetic),
    ):
        write(frame, tmp_path / "data" / f"{name}.csv")
    environment = {**os.environ, "EVAL_DIR": f"{tmp_path}/"}
    command = [sys.executable, str(script), "damaged", str(tmp_path / "data" / "synthetic.csv"), "--nosd"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    reference = json.loads((tmp_path / "eval.jsonl").read_text())
    ours = Judge(private, holdout, Domain.of(adult.schema), "income", Protocol()).score(synthetic)

    pairs = {ours_name: reference[name] for name, ours_name in TABLES.items()}
    for model, name in NAMES.items():
        pairs |= {f"{SCORES[s]}_{name}": reference["per"][model][s] for s in SCORES}
    pairs |= {f"{SCORES[s]}_mean10": reference[f"m_{s}"] for s in SCORES}
    assert len(pairs) == 4 + 55 + 5
    assert pairs["tvd2"] > 0.01 and pairs["auc_hgb"] < 0.93  # the table is really damaged
    apart = {k: (ours[k], v) for k, v in pairs.items() if abs(ours[k] - v) > 1e-3}
    assert not apart
