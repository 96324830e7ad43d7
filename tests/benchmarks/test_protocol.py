"""The benchmark loop on a tiny table, with a method that needs no fitting; data lookup; the command line."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.sketch import adult, covertype

from benchmarks import __main__ as command
from benchmarks import catalogue, data, methods, protocol, topics
from benchmarks import results as result_files
from nacre.errors import DataError, NacreError
from nacre.evaluation.score import Protocol
from nacre.metrics import METRICS
from nacre.table.columns import Categorical, Numeric
from nacre.table.schema import Schema


def tiny():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    y = np.where(x + rng.normal(0, 0.5, 600) > 0, "yes", "no")
    schema = Schema(
        {
            "x": Numeric(bounds=(-5, 5)),
            "z": Numeric(bounds=(-5, 5)),
            "y": Categorical(categories=("no", "yes")),
        }
    )
    frame = pd.DataFrame({"x": x, "z": -x + rng.normal(size=600), "y": y})
    return data.Dataset("tiny", frame, replace(schema, rows=480), "y")


def shuffled(task, case):
    """Every column on its own: keeps one-way tables, loses everything else."""
    rng = np.random.default_rng(task.seed)
    table = task.private.apply(lambda c: rng.permutation(c.to_numpy()))
    return methods.Made(table, "proven", 1e-7, {"fit_s": 0.5, "sample_s": 0.1})


STUDY = protocol.Study(
    load=tiny,
    cases=(
        methods.Case("real"),
        methods.Case("bootstrap"),
        methods.Case("mine", 1.0, 1e-5),
        methods.Case("mine", 1.0),
        methods.Case("mine", 2.0, 1e-5, seeds=1),
    ),
    protocol=Protocol(suites=("quick",)),
    gaps=("auc_lr", "auc_hgb"),
    test_rows=100,
)
TABLE = {**methods.METHODS, "mine": shuffled}


@pytest.fixture
def results(tmp_path):
    return result_files.Results("tiny", "command", tmp_path, tmp_path / "work")


def test_a_study_fills_the_rows(results):
    protocol.run_study(STUDY, catalogue.Options(seeds=2), results, TABLE)
    rows = json.loads(results.path.read_text())["rows"]
    found = {(r["method"], r["epsilon"], r["delta"], r["metric"]): r for r in rows}
    assert {r["metric"] for r in rows} <= set(METRICS)
    real, mine = found["real", None, None, "auc_lr"], found["mine", 1.0, 1e-5, "auc_lr"]
    gap = found["mine", 1.0, 1e-5, "auc_lr_gap"]
    assert real["mean"] > 0.9 > mine["mean"] and gap["mean"] == pytest.approx(real["mean"] - mine["mean"])
    assert real["seeds"] == mine["seeds"] == 2 and mine["guarantee"] == "proven" and real["guarantee"] == "none"
    assert found["real", None, None, "tvd2"]["mean"] == 0 < found["bootstrap", None, None, "tvd2"]["mean"]
    assert found["mine", 1.0, 1e-5, "tvd1"]["mean"] == pytest.approx(0, abs=1e-9)
    assert found["mine", 1.0, 1e-5, "kendall_rmse"]["mean"] > 0.2
    assert found["mine", 1.0, 1e-7, "fit_s"]["mean"] == 0.5  # the default δ is the one that the release states
    assert found["mine", 2.0, 1e-5, "auc_hgb"]["seeds"] == 1
    assert ("real", None, None, "auc_lr_gap") not in found


def test_figures_survive_a_crash_and_only_the_rest_is_run_again(results, tmp_path):
    calls = []

    def failing(task, case):
        calls.append((case.delta, task.seed))
        if task.seed == 1:
            raise RuntimeError("killed")
        return shuffled(task, case)

    options = catalogue.Options(seeds=2, only=("mine",))
    with pytest.raises(RuntimeError, match="killed"):
        protocol.run_study(STUDY, options, results, {**TABLE, "mine": failing})
    rows = json.loads(results.path.read_text())["rows"]
    assert rows and all(r["seeds"] == 1 for r in rows)
    resumed = result_files.Results("tiny", "command", tmp_path, tmp_path / "work", resume=True)
    calls.clear()
    protocol.run_study(
        STUDY,
        options,
        resumed,
        {**TABLE, "mine": lambda t, c: (calls.append((c.delta, t.seed)), shuffled(t, c))[1]},
    )
    assert calls == [(1e-5, 1), (None, 1)]


def test_a_resumed_run_keeps_the_ceiling_it_measured(results, tmp_path, monkeypatch):
    protocol.run_study(STUDY, catalogue.Options(seeds=1, only=("real",)), results, TABLE)
    first = results.of(result_files.Setting("real", "tiny"), 0)
    resumed = result_files.Results("tiny", "command", tmp_path, tmp_path / "work", resume=True)
    fitted = []
    downstream = protocol.Judge.downstream
    monkeypatch.setattr(protocol.Judge, "downstream", lambda judge, t: (fitted.append(t), downstream(judge, t))[1])
    protocol.run_study(STUDY, catalogue.Options(seeds=1, only=("bootstrap",)), resumed, TABLE)
    again = resumed.of(result_files.Setting("bootstrap", "tiny"), 0)
    assert len(fitted) == 1  # the bootstrap alone, not the real table once more
    assert again["auc_lr_gap"] == pytest.approx(first["auc_lr"] - again["auc_lr"])


def test_nacre_is_called_as_promised(monkeypatch):
    import sys
    from types import ModuleType, SimpleNamespace

    asked = []

    def fit(table, **options):
        asked.append(options)
        certificate = SimpleNamespace(guarantee="proven", delta=1e-7)
        return SimpleNamespace(certificate=certificate, sample=lambda n, as_, seed: table.head(n))

    stand_in = ModuleType("nacre")
    stand_in.fit = fit  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nacre", stand_in)
    dataset = tiny()
    task = methods.Task(dataset, dataset.frame, 0)
    made = methods.METHODS["sketch"](task, methods.Case("sketch", 1.0, 1e-5))
    methods.METHODS["sketch-bought"](task, methods.Case("sketch-bought", 1.0, 1e-5))
    methods.METHODS["sketch-no-target"](task, methods.Case("sketch-no-target", 1.0))
    assert len(made.table) == 600 and made.guarantee == "proven" and set(made.figures) == {"fit_s", "sample_s"}
    full, bought, plain = asked
    assert full == {
        "schema": dataset.schema,
        "epsilon": 1.0,
        "delta": 1e-5,
        "method": "sketch",
        "target": "y",
        "seed": 0,
    }
    assert bought["schema"] is None and bought["target"] == "y"
    assert "target" not in plain and "delta" not in plain


def test_splits_are_stratified_and_repeatable():
    dataset = tiny()
    private, holdout = dataset.split(3)
    assert (len(private), len(holdout)) == (480, 120)
    assert abs((private["y"] == "yes").mean() - (holdout["y"] == "yes").mean()) < 0.01
    pd.testing.assert_frame_equal(private, dataset.split(3)[0])
    assert not private.equals(dataset.split(4)[0])
    small = dataset.head(100)
    assert len(small.frame) == 100 and small.schema.rows == len(small.split(0)[0]) == 80


def test_missing_data_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("NACRE_DATA", raising=False)
    with pytest.raises(DataError, match=r"NACRE_DATA is not set.*adult\.parquet.*C5XW20"):
        data.adult()
    monkeypatch.setenv("NACRE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"has no covtype\.parquet"):
        data.covertype()
    pd.DataFrame({"age": [1]}).to_parquet(tmp_path / "adult.parquet")
    with pytest.raises(DataError, match="1 rows; the published table has 48,842"):
        data.adult()


def test_the_command_line_lists_and_refuses(monkeypatch, capsys, tmp_path):
    assert command.main(["list"]) == 0
    assert "sketch-adult" in capsys.readouterr().out
    monkeypatch.delenv("NACRE_DATA", raising=False)
    monkeypatch.setattr("benchmarks.results.WORK", tmp_path)
    assert command.main(["run", "sketch-adult", "--quick"]) == 2
    assert "NACRE_DATA is not set" in capsys.readouterr().err
    for bad in (["run", "nothing"], ["run", "speed", "--seeds", "0"], []):
        with pytest.raises(SystemExit) as stop:
            command.main(bad)
        assert stop.value.code == 2


def test_the_recorded_command_is_the_one_to_type():
    args = command.parser().parse_args(["run", "sketch-adult", "--seeds", "3", "--only", "real", "--jobs", "2"])
    assert command.command_line(args) == "python -m benchmarks run sketch-adult --seeds 3 --only real"


def test_names_that_no_case_has_are_refused_before_anything_is_lost(monkeypatch, capsys):
    """A mistyped name neither runs everything nor forgets what was measured; `none` runs nothing."""
    monkeypatch.setattr(command, "Results", lambda *_, **__: pytest.fail("the log of an earlier run was opened"))
    for bad in ("sqllite", "storm,sqllite", "none,storm"):
        assert command.main(["run", "ledger", "--only", bad]) == 2
    told = capsys.readouterr().err
    assert "--only sqllite: ledger has no such case" in told and "postgresql, storm" in told and "stands alone" in told
    both, none = catalogue.Options(only=("storm", "sqlite")), catalogue.Options(only=("none",))
    assert both.of(("sqlite", "postgresql")) == ("sqlite",) and both.of(("a", "b")) == ("a", "b")
    assert none.of(("sqlite", "postgresql")) == () and none.nothing and not none.wants("sqlite")


def test_every_benchmark_lists_what_it_can_be_asked_for():
    for benchmark in catalogue.CATALOGUE.values():
        benchmark.check(("none",))
        with pytest.raises(NacreError, match="no such case"):
            benchmark.check(("no-such-name",))
    catalogue.CATALOGUE["audit-all"].check(("method/kme/1.0", "door", "kme"))
    catalogue.CATALOGUE["pearl-credit"].check(("ends", "merf"))
    catalogue.CATALOGUE["iw-synthetic"].check(("sniw-mmd/2d-bounded", "real"))
    catalogue.CATALOGUE["ppem-ehr"].check(("codes/ppem-50", "hospital", "ppem-5-dp"))


@pytest.mark.parametrize("name", ["adult", "covertype"])
def test_schemas_are_public_and_complete(name):
    schema = Schema.load(data.SCHEMAS / f"{name}.json")
    assert schema.weakest()[0] == "public" and not schema.undeclared()


def test_studies_name_known_methods_and_metrics():
    for study in (adult.STUDY, covertype.COLLAPSED, covertype.UNCOLLAPSED):
        assert {c.method for c in study.cases} <= set(methods.METHODS)
        assert study.cases[0].method == "real"
        assert {f"{g}_gap" for g in study.gaps} <= set(METRICS)
    assert {"auc_hgb", "auc_mean10", "f1_tree", "f1_forest", "tvd2", "kendall_rmse"} <= set(topics.UTILITY)
