"""Figures of the benchmarks of hidden columns, against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.catalogue import Options
from benchmarks.ppem import ehr, figures, hiding
from benchmarks.results import Results
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from nacre.synthesizers.ppem.method import Ppem
from nacre.table import Boolean, Categorical, Numeric, Schema
from nacre.table.simulate.codes import code_matrix, code_names, codes_schema


def halves(frame: pd.DataFrame, schema: Schema, target: str | None = None) -> figures.Split:
    cut = len(frame) // 2
    return figures.Split(0, frame[:cut].reset_index(drop=True), frame[cut:].reset_index(drop=True), schema, target)


def test_every_code_from_all_others_is_ridge_regression():
    x = code_matrix(1_600, 12, seed=3)
    one = halves(pd.DataFrame(x, columns=code_names(12)), codes_schema(12))
    train, test = x[:800].astype(float), x[800:].astype(float)
    mean, sd = train.mean(axis=0), train.std(axis=0)
    found = []
    for j in range(12):
        others = [i for i in range(12) if i != j]
        if min(test[:, j].sum(), (1 - test[:, j]).sum()) < ehr.CASES:
            continue
        model = Ridge(alpha=ehr.RIDGE * 800, fit_intercept=False)
        model.fit(((train - mean) / sd)[:, others], ((train - mean) / sd)[:, j])
        found.append(roc_auc_score(test[:, j], model.predict(((test - mean) / sd)[:, others])))
    assert len(found) > 6
    assert ehr.codes_predicted(one.real, one)["auroc_codes"] == pytest.approx(np.mean(found), abs=1e-9)


def test_distances_of_hidden_and_visible_columns():
    """A flag moved by 0.25, a label moved by 0.5, a number that stays: by hand."""
    schema = Schema({"flag": Boolean(), "mark": Categorical(("a", "b", "c")), "size": Numeric((0.0, 100.0))})
    n = 400
    frame = pd.DataFrame(
        {"flag": np.arange(n) % 2 == 0, "mark": ["a", "b"] * (n // 2), "size": np.arange(n) % 100 * 1.0}
    )
    one = halves(pd.concat([frame, frame], ignore_index=True), schema)
    moved = frame.assign(flag=np.arange(n) % 4 == 0, mark=["c", "b"] * (n // 2))
    made = halves(pd.concat([moved, moved], ignore_index=True), schema).real
    far = figures.column_distances(made, one)
    assert far == pytest.approx({"flag": 0.25, "mark": 0.5, "size": 0.0})
    found = figures.distances(made, one, ("flag", "mark"))
    assert found["ks_hidden"] == pytest.approx(0.25) and found["ks_visible"] == 0.0 and found["mmd_p"] < 0.01
    # one share of true and three labels: differences 0.25, 0.5, 0, 0.5
    assert found["dwp_rmse"] == pytest.approx(np.sqrt((0.25**2 + 2 * 0.5**2) / 4))
    assert found["recovered_error"] == pytest.approx(0.5)


def test_a_decoy_that_would_imitate_a_few_people_is_left_out_with_a_note(tmp_path):
    """Forty codes in 400 rows: the method is not trained, a note says why once, the other lanes are."""
    one = halves(pd.DataFrame(code_matrix(800, 45, seed=3), columns=code_names(45)), codes_schema(45))
    results = Results("ppem-ehr", "test", tmp_path, tmp_path)
    study = hiding.Study("ppem-ehr", "codes", [one], lambda *_: {}, 5, 16, (), Options(1, True), results)
    names = tuple(code_names(45)[:40])
    method = Ppem(hide=names, decoy=0.4)
    assert not hiding.imitable(study, method, "ppem-40", one) and not hiding.imitable(study, method, "ppem-40", one)
    assert len(results.notes) == 1 and "codes/ppem-40 is left out: a decoy of 0.4 in 40" in results.notes[0]
    assert hiding.imitable(study, Ppem(hide=names[:1], decoy=0.05), "ppem-1", one)
    assert list(hiding.models(study, [one], ["ppem-40"], names, 0.4)) == []
