"""nacre.evaluate from any kind of table to a tidy report."""

import json

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.engines import MemoryRows
from nacre.errors import DomainNotDeclared, NacreError, SchemaError
from nacre.evaluation.tables import OUTSIDE, draw, frame_of
from nacre.metrics import METRICS
from nacre.report.ranking import weakest
from nacre.report.text import from_json, to_json
from nacre.table.simulate.people import people, people_schema
from nacre.table.writing import write_table

COLUMNS = ("sex", "age", "region", "income", "joined", "smoker", "late_payment")
SCHEMA = nacre.Schema({name: people_schema().columns[name] for name in COLUMNS})
TRAIN, HOLDOUT = people(1_500, seed=1).select(COLUMNS), people(600, seed=2).select(COLUMNS)


def damaged(table, seed=0):
    """Every column shuffled: right one by one, wrong together."""
    rng = np.random.default_rng(seed)
    return pa.table({n: table.column(n).take(rng.permutation(table.num_rows)) for n in table.column_names})


@pytest.fixture(scope="module")
def report():
    seen = []
    found = nacre.evaluate(
        damaged(TRAIN), train=TRAIN, holdout=HOLDOUT, schema=SCHEMA, target="late_payment", suites="quick",
        progress=lambda *step: seen.append(step),
    )  # fmt: skip
    assert seen[-1] == ("evaluating", seen[-1][2], seen[-1][2]) and len(seen) > 10
    return found


def value(report, name, of="synthetic", columns=()):
    (found,) = [s for s in report.scores if (s.metric, s.of, s.columns) == (name, of, columns)]
    return found


def test_scores_are_registered_unique_and_in_range(report):
    keys = [(s.metric, s.of, s.columns) for s in report.scores]
    assert len(keys) == len(set(keys))
    for s in report.scores:
        low, high = METRICS[s.metric].range
        assert low <= s.value <= high and s.rows > 0
        assert s.low is None or (s.low <= s.value + 0.02 and s.value - 0.02 <= s.high)
    names = {s.metric for s in report.scores}
    assert names >= {"tvd1", "tvd2", "tvd3", "ks", "wasserstein", "kendall_rmse", "correlation_rmse", "cramers_v_mae",
                     "range_query", "marginal_l1", "dwp_rmse", "c2st_auc", "auc_hgb", "f1_tree", "roc_hard_lr",
                     "auc_lr_gap", "tvd1_holdout"}  # fmt: skip
    assert {s.of for s in report.scores} == {"synthetic", "real", "bootstrap", "majority"}
    assert value(report, "tvd1_holdout").rows == 600 and value(report, "tvd1").rows == 1_500  # of the smaller table


def test_a_table_right_one_by_one_and_wrong_together_is_found_out(report):
    assert value(report, "tvd1").value == pytest.approx(0, abs=1e-12)
    assert value(report, "tvd2").value > value(report, "tvd2", "bootstrap").value
    assert value(report, "c2st_auc").low > 0.55
    assert value(report, "auc_lr").value < 0.6 < 0.65 < value(report, "auc_lr", "real").value
    gap = value(report, "auc_lr_gap")
    assert gap.value == pytest.approx(value(report, "auc_lr", "real").value - value(report, "auc_lr").value)
    assert gap.low > 0 and value(report, "auc_lr", "majority").value == 0.5
    worst = weakest(report)
    assert worst[0].metric.startswith("auc_") or len(worst[0].columns) == 2
    assert not any(len(s.columns) == 1 for s in worst)  # single columns are right


def test_every_distance_stands_beside_what_chance_alone_leaves(report):
    """A bootstrap of the private table, or the holdout in place of the synthetic one."""
    whole = [s for s in report.scores if not s.columns and s.of == "synthetic" and not s.metric.endswith("_gap")]
    beside = {s.metric for s in report.scores if not s.columns and s.of in ("bootstrap", "real")}
    assert {s.metric for s in whole} <= beside
    assert value(report, "range_query", "bootstrap").value > 0
    for name in ("marginal_l1", "kendall_rmse", "correlation_rmse"):
        assert 0 < value(report, name, "bootstrap").value < value(report, name).value, name
    assert value(report, "c2st_auc", "real").value < 0.55 and value(report, "c2st_p", "real").value > 1e-3


def test_the_real_table_itself_has_no_gap():
    same = nacre.evaluate(TRAIN, train=TRAIN, holdout=HOLDOUT, schema=SCHEMA, target="late_payment", suites=["lr"])
    for name in ("tvd1", "tvd2", "tvd3", "range_query", "kendall_rmse", "cramers_v_mae", "auc_lr_gap"):
        assert value(same, name).value == 0, name
    assert value(same, "tvd1_holdout").value == value(same, "tvd1_holdout", "real").value > 0
    assert weakest(same) == []


def test_scores_do_not_depend_on_the_kind_of_table_or_the_number_of_jobs(tmp_path):
    import polars

    fake = damaged(TRAIN)
    for name, table in (("fake.csv", fake), ("train.parquet", TRAIN), ("kept.csv", HOLDOUT)):
        write_table(table, tmp_path / name)
    asked = {"schema": SCHEMA, "target": "late_payment", "suites": ("tree",), "seed": 3}
    first = nacre.evaluate(fake, train=TRAIN, holdout=HOLDOUT, n_jobs=1, **asked)
    files = nacre.evaluate(
        tmp_path / "fake.csv", train=str(tmp_path / "train.parquet"), holdout=tmp_path / "kept.csv", n_jobs=2, **asked
    )
    frames = nacre.evaluate(fake.to_pandas(), train=polars.from_arrow(TRAIN), holdout=HOLDOUT.to_pandas(), **asked)
    assert first.scores == files.scores == frames.scores


def test_a_numeric_target_is_regressed():
    asked = {"schema": SCHEMA, "target": "income", "suites": ("default", "joint")}
    found = nacre.evaluate(damaged(TRAIN), train=TRAIN, holdout=HOLDOUT, **asked)
    assert value(found, "r2_ridge").value < value(found, "r2_ridge", "real").value
    assert value(found, "r2", "majority").value == pytest.approx(0, abs=0.02)
    assert value(found, "kl_knn").rows <= 1_500 and any("kl_knn looks at" in n for n in found.notes)
    assert value(found, "kl_knn").value > value(found, "kl_knn", "real").value
    assert value(found, "mse_hgb", "real").value > 0 and not [s for s in found.scores if s.metric.startswith("auc_")]


def test_without_schema_target_or_holdout_the_notes_say_what_that_means():
    found = nacre.evaluate(damaged(TRAIN), train=TRAIN)
    assert any("No schema was given" in n for n in found.notes)
    assert any("No target was named" in n for n in found.notes)
    found = nacre.evaluate(damaged(TRAIN), train=TRAIN, schema=SCHEMA, target="late_payment")
    assert any("no held-out rows" in n for n in found.notes)
    assert not [s for s in found.scores if s.of == "real"]


def test_big_tables_are_sampled_and_the_notes_say_so():
    found = nacre.evaluate(damaged(TRAIN), train=TRAIN, schema=SCHEMA, suites=["fidelity"], rows=400)
    (note,) = [n for n in found.notes if n.startswith("The train table has 1,500 rows")]
    assert "400 of them" in note and f"{0.5 * np.sqrt((1 - 400 / 1500) / 400):.4f}" in note
    assert value(found, "tvd1").rows == 400 and found.facts["train rows"] == "1,500, of which 400 were used"


def test_mistakes_are_named():
    with pytest.raises(SchemaError, match="target 'colour': no such column"):
        nacre.evaluate(TRAIN, train=TRAIN, schema=SCHEMA, target="colour")
    with pytest.raises(SchemaError, match=r"the synthetic table lacks the column\(s\) age"):
        nacre.evaluate(TRAIN.drop_columns(["age"]), train=TRAIN, schema=SCHEMA)
    with pytest.raises(NacreError, match="no suite or classifier 'eleven'"):
        nacre.evaluate(TRAIN, train=TRAIN, schema=SCHEMA, suites=["eleven"])
    with pytest.raises(NacreError, match="rows=3: expected"):
        nacre.evaluate(TRAIN, train=TRAIN, schema=SCHEMA, rows=3)
    with pytest.raises(DomainNotDeclared, match="'age'"):
        nacre.evaluate(TRAIN, train=TRAIN, schema=nacre.Schema({"age": nacre.Numeric()}))


def test_samples_are_uniform_in_one_pass_and_keep_the_order():
    rows = MemoryRows(pa.table({"i": list(range(5_000))}), batch_rows=300)
    counts = np.zeros(5_000)
    for seed in range(200):
        table, total = draw(rows, ["i"], 500, np.random.default_rng(seed))
        chosen = table.column("i").to_numpy()
        assert total == 5_000 and len(chosen) == 500 and (np.diff(chosen) > 0).all()
        counts[chosen] += 1
    # 200 draws of 10 % each: 20 +- 4.2 a row; the mean over the first and last tenth has a deviation of 0.19.
    assert abs(counts[:500].mean() - 20) < 1 and abs(counts[-500:].mean() - 20) < 1
    whole, _ = draw(rows, ["i"], None, np.random.default_rng(0))
    assert whole.num_rows == 5_000


def test_a_frame_has_the_types_of_the_schema_whatever_the_file_has():
    schema = nacre.Schema({
        "b": nacre.Boolean(nullable=True), "c": nacre.Categorical(("u", "v")), "n": nacre.Numeric((0, 9), integer=True),
        "t": nacre.Datetime(("2020-01-01", "2020-12-31"), nullable=True),
    })  # fmt: skip
    text = pa.table({"b": ["true", "", "false"], "c": ["v", "z", "u"], "n": ["3", "99", "0"],
                     "t": ["2020-02-03", "", "2020-01-01"]})  # fmt: skip
    frame = frame_of(text, schema)
    assert frame["b"].astype(object).where(frame["b"].notna(), None).tolist() == ["True", None, "False"]
    assert frame["c"].tolist() == ["v", OUTSIDE, "u"] and frame["n"].tolist() == [3.0, 99.0, 0.0]
    assert str(frame["t"][0]) == "2020-02-03 00:00:00+00:00" and frame["t"].isna().tolist() == [False, True, False]


def test_json_reads_back_and_markdown_says_what_matters(report, tmp_path):
    text = report.to_json(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text() == text
    back = from_json(json.loads(text))
    assert back.scores == report.scores and back.facts == report.facts and to_json(back) == to_json(report)
    np.testing.assert_array_equal(back.matrices[0].real, report.matrices[0].real)
    assert json.loads(text)["warning"].startswith("Contains unprotected statistics")
    with pytest.raises(NacreError, match="exists already"):
        report.to_json(tmp_path / "r.json")
    with pytest.raises(NacreError, match="not a report"):
        from_json({"scores": []})
    words = report.to_markdown()
    assert "Contains unprotected statistics" in words and "| `auc_hgb` |" in words and "## What is weakest" in words
    assert all(f"| {name} |" in words for name in COLUMNS)


def test_values_that_the_schema_does_not_cover_are_counted_and_told():
    """A schema narrower than the data: clamping both tables would make them look alike."""
    schema = nacre.Schema({"savings": nacre.Numeric((0, 1)), "kind": nacre.Categorical(("a", "b"))})
    rng = np.random.default_rng(0)
    x, kind = rng.random(1_000), np.where(rng.random(1_000) < 0.5, "a", "b")
    far = np.arange(1_000) < 180
    real = pa.table({"savings": np.where(far, 3.0, x), "kind": kind})
    fake = pa.table({"savings": np.where(far, 1e9, x), "kind": np.where(far, "z", kind)})
    found = nacre.evaluate(fake, train=real, schema=schema, suites="fidelity")
    assert "column savings: 18 % of the real rows lie outside the range that the schema gives." in found.notes
    assert "column kind: 18 % of the synthetic rows lie outside the list that the schema gives." in found.notes
    assert value(found, "ks", columns=("savings",)).value == pytest.approx(0.18)
    assert value(found, "wasserstein", columns=("savings",)).value == pytest.approx(0.18 * (1e9 - 3))
    assert value(found, "tvd1", columns=("kind",)).value == pytest.approx(0.18)
    clean = nacre.evaluate(pa.table({"savings": x, "kind": kind}), train=real, schema=schema, suites="fidelity")
    assert value(clean, "tvd1", columns=("savings",)).value == pytest.approx(0.18)
    assert not any("synthetic rows lie outside" in n for n in clean.notes)
    bars = next(c for c in found.columns if c.name == "kind")
    assert bars.labels[-1] == "(outside the list)" and bars.synthetic[-1] == pytest.approx(0.18)
    assert bars.distance == pytest.approx(0.18) and bars.synthetic.sum() == pytest.approx(1)
    endless = pa.table({"savings": np.where(far, np.inf, x), "kind": kind})
    wild = nacre.evaluate(endless, train=real, schema=schema, suites="fidelity")
    assert value(wild, "ks", columns=("savings",)).value == pytest.approx(0.18)


def test_the_private_table_is_refused_as_its_own_holdout(tmp_path):
    write_table(TRAIN, tmp_path / "train.csv")
    path = tmp_path / "train.csv"
    for holdout in (path, tmp_path / "." / "train.csv"):
        with pytest.raises(NacreError, match="the private table itself"):
            nacre.evaluate(TRAIN, train=str(path), holdout=holdout, schema=SCHEMA)
    with pytest.raises(NacreError, match="the private table itself"):
        nacre.evaluate(TRAIN, train=TRAIN, holdout=TRAIN, schema=SCHEMA)


def test_a_page_says_what_was_compared_and_when(report):
    assert any("mmd_p: 200 permutations" in n and "0.005" in n for n in report.notes)
    assert report.facts["made"].endswith("UTC") and "nacre " in report.facts["versions"]
    assert "files" not in report.facts  # tables from memory have no names
