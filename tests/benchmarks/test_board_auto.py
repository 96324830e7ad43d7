"""The benchmark of `auto`: its row is that of the method it takes, against the best; and the picture of the board."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from benchmarks.board import auto, picture, tally
from benchmarks.results import Results, Setting

from benchmarks import data
from nacre.table import Boolean, Numeric, Schema


def small(rows: int) -> data.Dataset:
    rng = np.random.default_rng(rows)
    x = rng.random((rows, 3))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": x[:, 0] + 0.2 * rng.normal(size=rows) > 0.5})
    columns = {**{n: Numeric((0, 1)) for n in "abc"}, "y": Boolean()}
    return data.Dataset(f"small-{rows}", frame, Schema(columns, rows=rows), "y")


def test_the_row_of_auto_is_that_of_what_it_takes_over_the_best(tmp_path):
    results = Results("auto", "", tmp_path, tmp_path)
    errors = {"sketch": (0.4, 0.5, 0.9), "support-points": (0.3, 0.2, 0.1), "independent": (0.5, 0.1, 0.1)}
    for method in auto.METHODS:
        for seed, error in enumerate(errors.get(method, (0.6, 0.6, 0.6))):
            where = Setting(method, "boston", 1.0, auto.DELTA, "proven")
            results.add(where, seed, {"model_error": error})
    auto.summarise(results, list(auto.CELLS), lambda _: small(300))
    found = {(r["method"], r["metric"]): r["mean"] for r in json.loads(results.path.read_text())["rows"]}
    assert found["auto: support-points", "over_best"] == pytest.approx(2.0)  # the median of the floor is .1
    assert found["auto: support-points", "model_error"] == pytest.approx(0.2)


def test_errors_are_those_of_both_models_on_the_holdout():
    dataset = small(600)
    private, holdout = dataset.split(0)
    judged = auto.judge(dataset, private, holdout, 0)
    own, shuffled = (judged("real", t) for t in (private, private.assign(y=private.y.sample(frac=1).to_numpy())))
    assert own["model_error"] == pytest.approx(1 - (own["auc_lr"] + own["auc_hgb"]) / 2)
    assert own["model_error"] < 0.2 < shuffled["model_error"] and own["tvd2"] == 0 < shuffled["tvd2"]


def test_every_table_is_of_a_shape_of_its_own_and_every_method_has_cells():
    assert len(auto.TABLES) >= 12
    assert {c.method for c in auto.CELLS} == set(auto.METHODS)


def test_the_picture_holds_every_method_where_its_figures_are():
    row = {"epsilon": 1.0, "seeds": 1}
    rows = [{**row, "dataset": t, "method": m, "metric": k, "mean": v}
            for t, m, k, v in (("a", "sketch", "tvd2", 0.01), ("a", "mst-dpmm", "tvd2", 0.1),
                               ("b", "sketch", "r2_hgb_gap", -0.2), ("b", "mst-dpmm", "r2_hgb_gap", 3.0))]  # fmt: skip
    rows += [{**rows[0], "epsilon": 10.0, "mean": 0.5}, {**rows[0], "method": "of nobody"}]
    drawn = ET.fromstring(picture.picture(rows))
    dots = {c[0].text: float(c.attrib["cx"]) for c in drawn.findall(".//{*}circle") if len(c)}
    assert set(dots) == {"a, sketch: 0.01", "a, mst-dpmm: 0.1", "b, sketch: -0.2", "b, mst-dpmm: 3"}
    assert dots["a, sketch: 0.01"] < dots["a, mst-dpmm: 0.1"] and dots["b, sketch: -0.2"] < dots["b, mst-dpmm: 3"]
    assert re.findall("≤ 0.001", picture.picture(rows))


def test_the_count_names_the_tables_that_ours_loses():
    def row(table, method, name, mean, epsilon=1.0):
        return {"dataset": table, "method": method, "metric": name, "mean": mean, "epsilon": epsilon}

    rows = [row("a", "sketch", "tvd2", 0.1), row("b", "sketch", "tvd2", 0.3), row("a", "mst", "tvd2", 0.2),
            row("b", "mst", "tvd2", 0.2), row("c", "mst", "tvd2", 0.2), row("a", "bootstrap", "tvd2", 0.0),
            row("a", "sketch", "sdm_pairs", 0.9), row("a", "mst", "sdm_pairs", 0.8),
            row("a", "mst", "tvd2", 0.0, 10.0)]  # fmt: skip
    assert tally.tally(rows) == [
        ("two-way tables", 1.0, "mst", ("a",), ("b",)),
        ("SDMetrics, pairs", 1.0, "mst", ("a",), ()),
    ]


def test_some_columns_of_a_table_are_a_table_of_their_own():
    found = auto.few(small(50), ("b", "y"))
    assert list(found.frame) == list(found.schema.columns) == ["b", "y"] and found.target == "y"
    assert found.schema.rows == 50
