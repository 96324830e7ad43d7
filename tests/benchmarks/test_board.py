"""The board, k-way tables, NIST's score: figures counted by hand, and cells that are run alone."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.board import board, cells, kway, nist, tables
from benchmarks.board import judge as board_judge
from benchmarks.board import tails as board_tails
from benchmarks.board.kmarginal import kmarginal
from benchmarks.catalogue import Options
from benchmarks.peers.public_bins import public_bins
from benchmarks.peers.registry import PEERS
from benchmarks.results import Results

from benchmarks import data, methods
from nacre.metrics import METRICS
from nacre.metrics.domain import Domain
from nacre.table import Categorical, Numeric, Schema

SIZES = (2, 3, 2, 4, 2)
REFERENCE = [802.5777777777777, 736.3333333333333, 864.2666666666668]  # printed by the reference script


def coded(seed, rows=500):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"c{i}": rng.integers(0, size, rows).astype(str) for i, size in enumerate(SIZES)})


def test_kway_distances_are_those_of_plain_counting():
    real, other = coded(0), coded(1, 400)
    found = dict(kway.distances(kway.Codes.of(real, SIZES), kway.Codes.of(other, SIZES)))
    for k in (3, 4, 5):
        each = []
        for names in combinations(real.columns, k):
            p, q = (t.groupby(list(names)).size() / len(t) for t in (real, other))
            each.append(p.sub(q, fill_value=0).abs().sum() / 2)
        assert found[f"tvd{k}"] == pytest.approx(np.mean(each), abs=1e-12)
    assert 0 < found["tvd3"] < found["tvd4"] < found["tvd5"]


def test_the_sets_of_columns_are_fixed_whatever_the_seed_of_the_noise():
    names = tuple(map(str, range(16)))
    assert kway.sampled(names, 3, kway.SETS, kway.SEED) == kway.sampled(names, 3, kway.SETS, kway.SEED)
    assert len(set(kway.sampled(names, 3, kway.SETS, kway.SEED))) == kway.SETS


GRID = tuple(cells.Cell(t, m, e) for t in ("a", "b") for m, e in (("real", None), ("mine", 0.1), ("mine", 10.0)))


def test_a_word_of_each_kind_is_one_cell():
    assert cells.words(GRID) == ("a", "b", "real", "mine", "0.1", "10")
    alone = cells.chosen(GRID, Options(only=("b", "mine", "10")))
    assert [c.name for c in alone] == ["b/mine/10"]
    assert [c.name for c in cells.chosen(GRID, Options(only=("a", "0.1")))] == ["a/real", "a/mine/0.1"]
    assert cells.chosen(GRID, Options(only=("none",))) == [] and len(cells.chosen(GRID, Options())) == 6


def test_a_grid_is_measured_once_and_what_fails_stays_empty(tmp_path):
    frame = coded(0)
    schema = Schema({c: Categorical(tuple(map(str, range(s)))) for c, s in zip(frame, SIZES)}, rows=500)
    asked = []

    def mine(task, case):
        asked.append((task.seed, case.epsilon, case.delta))
        if case.epsilon == 10.0:
            about = {"method": "mine", "package": "other", "version": "1", "outcome": "did not finish"}
            raise methods.NotMade("did not finish", about)
        return methods.Made(task.private, "proven", 1e-5, {"fit_s": 1.0})

    def prepare(table, seed):
        task = methods.Task(data.Dataset(table, frame, schema, "c4"), frame, seed)
        return task, lambda _, made: {"tvd3": float(len(made) != 500)}

    grid = cells.Grid(GRID, {"real": methods.real, "mine": mine}, prepare)
    results = Results("tiny", "", tmp_path, tmp_path / "work")
    cells.run_grid(grid, Options(seeds=2, only=("a",)), results)
    kept = json.loads(results.path.read_text())
    found = {(r["method"], r["epsilon"], r["metric"]): r for r in kept["rows"]}
    assert set(found) == {("real", None, "tvd3"), ("mine", 0.1, "tvd3"), ("mine", 0.1, "fit_s")}
    assert found["mine", 0.1, "tvd3"]["seeds"] == 2 and found["mine", 0.1, "tvd3"]["guarantee"] == "proven"
    assert found["mine", 0.1, "tvd3"]["delta"] == 1e-5 and found["real", None, "tvd3"]["delta"] is None
    assert kept["peers"][0]["outcome"] == "did not finish"
    again = Results("tiny", "", tmp_path, tmp_path / "work", resume=True)
    asked.clear()
    cells.run_grid(grid, Options(seeds=2, only=("a", "mine", "0.1")), again)
    assert asked == []


def test_every_cell_of_kway_has_a_method_and_published_figures():
    assert {c.method for c in kway.CELLS} == set(kway.METHODS)
    assert len(kway.CELLS) == 3 * (1 + 2 * 3)
    for table in kway.TABLES:
        rows = kway.published.rows(f"{table}-kway")
        assert {(r["dataset"], r["epsilon"]) for r in rows} == {(table, e) for e in kway.EPSILONS} and len(rows) == 9


def survey(seed, rows=3_000):
    """Made-up answers with the columns of NIST's table."""
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(rows) < 0.2, "N", np.round(rng.lognormal(10, 1, rows), -1).astype(str))
    poverty = np.where(rng.random(rows) < 0.3, "501", rng.integers(0, 501, rows).astype(str))
    return pd.DataFrame({
        "PUMA": rng.choice(("01-01301", "06-07502", "36-03710"), rows, p=(0.6, 0.3, 0.1)),
        "AGEP": rng.integers(0, 96, rows).astype(str), "SEX": rng.choice(("1", "2"), rows),
        "EDU": rng.choice(("N", "1", "12"), rows), "DENSITY": rng.choice(("16.3", "73.0"), rows), "PINCP": income,
        "POVPIP": np.where(rng.random(rows) < 0.1, "N", poverty),
    })  # fmt: skip


def test_the_score_of_equal_tables_is_1000_and_of_disjoint_ones_0():
    real = survey(0)
    assert kmarginal(real, real) == pytest.approx(1000, abs=1e-9)
    assert kmarginal(real, real.assign(PUMA="40-00200")) == pytest.approx(0, abs=1e-9)


def test_the_score_is_that_of_plain_counting():
    names = ["PUMA", "SEX", "EDU", "DENSITY"]
    real, other = survey(0)[names], survey(1, 1_000)[names]
    gaps = []
    for pair in combinations(names[1:], 2):
        p, q = (t.groupby(["PUMA", *pair]).size() / len(t) for t in (real, other))
        gaps.append(p.sub(q, fill_value=0).abs().sum())
    assert kmarginal(real, other) == pytest.approx(1000 - 500 * np.mean(gaps), abs=1e-9)


def test_the_score_is_that_of_the_reference_script():
    """NACRE_REFERENCE_KMARGINAL names a script with `score(real, synthetic)`; without, its printed figures stand."""
    pairs = [(survey(0), survey(1, 1_000)), (survey(0), survey(0).assign(PINCP="N")), (survey(2), survey(3))]
    found = [kmarginal(*pair) for pair in pairs]
    assert found == pytest.approx(REFERENCE, abs=1e-9)
    path = os.environ.get("NACRE_REFERENCE_KMARGINAL")
    if path:
        spec = importlib.util.spec_from_file_location("reference", path)
        assert spec is not None and spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        assert found == pytest.approx([script.score(*pair) for pair in pairs], abs=1e-9)


def test_the_national_schema_is_public_and_holds_a_row_of_its_dictionary():
    schema = Schema(nist.COLUMNS)
    assert len(nist.COLUMNS) == 21 and schema.weakest()[0] == "public" and not schema.undeclared()
    assert set(nist.COLUMNS["DENSITY"].labels) == set(nist.DENSITY.values())
    assert {c.method for c in nist.CELLS} == set(nist.METHODS) and len(nist.CELLS) == 8


def test_tails_and_spikes_by_hand():
    schema = Schema({"x": Numeric((0, 1_000)), "y": Categorical(("a", "b"))}, rows=10_000)
    domain = Domain.of(schema)
    x = np.concatenate([np.zeros(4_000), np.linspace(0.5, 1_000, 6_000)])
    real = pd.DataFrame({"x": x, "y": "a"})
    same = board_tails.tails(real, real, domain)
    # 10,000 rows leave ten beyond the .999 quantile: too few to say anything
    assert same == {"tail_99": 0, "tail_top1": 0, "tail_99_max": 0, "tail_top1_max": 0, "spikes_within": 1}
    cut = board_tails.tails(real, real.assign(x=np.minimum(x, 500)), domain)
    middle = np.median(x)
    assert cut["tail_99"] == pytest.approx((np.quantile(x, 0.99) - 500) / (np.quantile(x, 0.99) - middle))
    assert cut["tail_top1"] == pytest.approx((x[-100:].mean() - 500) / (x[-100:].mean() - middle))
    assert cut["spikes_within"] == 1  # the zeros; the new spike at 500 is none of the real rows
    less = board_tails.tails(real, real.assign(x=np.where(np.arange(10_000) < 900, 1.0, x)), domain)
    assert less["spikes_within"] == 0
    nothing = board_tails.tails(real, real.assign(x=np.nan), domain)
    assert nothing["tail_99"] == 1 and nothing["spikes_within"] == 0


def test_public_bins_hold_every_value_once():
    columns = {
        "few": Numeric((1, 16), integer=True),
        "narrow": Numeric((-3.0, 7.0)),
        "amount": Numeric((0, 100_000), integer=True),
        "signed": Numeric((-50_000.0, 5_000_000.0)),
        "label": Categorical(("a",)),
    }
    found = public_bins(Schema(columns))
    assert set(found) == set(columns) - {"label"}
    for name, edges in found.items():
        low, high = columns[name].bounds
        assert edges[0] == low and edges[-1] == high + columns[name].integer
        assert (np.diff(edges) > 0).all() and len(edges) <= 50
    assert found["few"] == list(range(1, 18)) and found["amount"][:2] == [0, 1]
    assert 0.0 in found["signed"] and len(found["narrow"]) == 25


def tiny(target):
    rng = np.random.default_rng(3)
    x = rng.normal(size=600).clip(-5, 5)
    frame = pd.DataFrame({"x": x, "z": (x + rng.normal(size=600)).clip(-5, 5), "y": np.where(x > 0, "b", "a")})
    frame.loc[::50, "y"] = None
    columns = {"x": Numeric((-5, 5)), "z": Numeric((-5, 5)), "y": Categorical(("a", "b"), nullable=True)}
    return data.Dataset("tiny", frame.dropna() if target == "y" else frame, Schema(columns, rows=480), target)


@pytest.mark.parametrize("target, score", [("y", "auc_hgb"), ("z", "r2_hgb")])
def test_the_board_judges_labels_and_numbers(target, score, tmp_path, monkeypatch):
    dataset = tiny(target)
    private, holdout = dataset.split(0)
    monkeypatch.setattr(board_judge, "SDMETRICS", tmp_path / "python")  # not built: the cells of the report stay empty
    judge = board_judge.Board(dataset, private, holdout, 0, tmp_path)
    rng = np.random.default_rng(1)
    shuffled = private.apply(lambda c: rng.permutation(c.to_numpy()))
    found = judge.figures(shuffled)
    assert set(found) <= set(METRICS) and not {"sdm_shapes", "sdm_pairs"} & set(found)
    assert found["tvd1"] == pytest.approx(0, abs=1e-9) and found["tvd2"] > 0.1 and found["tvd3"] > found["tvd2"]
    assert found["correlation_mae"] > 0.5 and found["c2st_auc"] > 0.7
    assert found[f"{score}_gap"] == pytest.approx(judge.ceiling()[score] - found[score]) and found[f"{score}_gap"] > 0.2
    assert "c2st_auc" not in judge.figures(private, resampled=True)


def test_both_tables_go_alike_to_other_packages():
    frame = tiny("y").frame.assign(x=lambda t: t["x"].astype(str)).head(20)
    domain = Domain.of(tiny("y").schema)
    plain = board_judge.plain(pd.concat([frame, pd.DataFrame({"x": ["?"], "z": [9.0], "y": ["c"]})]), domain)
    assert plain["x"].dtype == np.float64 and np.isnan(plain["x"].iloc[-1])
    assert plain["y"].iloc[-1] == "another value" and set(plain["y"][:20]) <= {"a", "b", None}


def test_the_report_of_sdmetrics_is_read(tmp_path, monkeypatch):
    """The environment of the package is stood in for: what it is given, and what becomes of its answer or its end."""
    dataset = tiny("y")
    private, holdout = dataset.split(0)
    judge = board_judge.Board(dataset, private, holdout, 0, tmp_path / "report")
    python = tmp_path / "python"
    python.write_text("")
    monkeypatch.setattr(board_judge, "SDMETRICS", python)
    asked = {}

    def answer(module, task, given, python, limit_s):
        asked.update(given, module=module, task=task)
        return {"figures": {"sdm_shapes": 0.9, "sdm_pairs": 0.8}, "version": "0.32.0"}

    monkeypatch.setattr(board_judge.child, "answer", answer)
    assert judge.report(holdout) == {"sdm_shapes": 0.9, "sdm_pairs": 0.8}
    assert (asked["module"], asked["task"]) == ("board.sdm", "scores")
    assert len(pd.read_parquet(asked["real"])) == len(private)
    assert len(pd.read_parquet(asked["synthetic"])) == len(holdout)
    assert json.loads(Path(asked["kinds"]).read_text()) == {"x": "numerical", "z": "numerical", "y": "categorical"}

    def late(*_, **__):
        raise subprocess.TimeoutExpired("python", 1)

    monkeypatch.setattr(board_judge.child, "answer", late)
    assert judge.report(holdout) == {}


def test_every_cell_of_the_board_has_a_table_and_a_method():
    assert len(tables.TABLES) >= 10 and {c.table for c in board.CELLS} == set(tables.TABLES)
    assert {*board.OURS, *board.THEIRS} <= set(PEERS)
    assert [c.name for c in cells.chosen(board.CELLS, Options(only=("adult", "sketch", "1")))] == ["adult/sketch/1"]


def test_a_sample_of_a_table_declares_its_own_rows():
    dataset = tiny("y")
    few = tables.sampled(dataset, 100)
    assert len(few.frame) == 100 and few.schema.rows == len(few.split(0)[0]) == 80
    assert tables.sampled(dataset, 10_000) is dataset
