"""Result files: layout, aggregation, interruption, and the page made from them."""

import json

import pytest

from benchmarks import catalogue, published, results_page, topics
from benchmarks import results as result_files
from nacre.errors import NacreError
from nacre.metrics import METRICS

KEYS = ("method", "dataset", "epsilon", "delta", "guarantee", "metric", "mean", "std", "seeds", "published", "source")
SKETCH = result_files.Setting("sketch", "adult", 1.0, 1e-5, "proven")


@pytest.fixture
def make(tmp_path):
    def made(resume=False):
        return result_files.Results(
            "demo", "python -m benchmarks run demo", tmp_path / "results", tmp_path / "work", resume
        )

    return made


def test_the_layout_of_a_result_file(make):
    results = make()
    results.published = published.rows("adult")[:1]
    results.add(SKETCH, 0, {"auc_hgb": 0.9})
    results.add(SKETCH, 1, {"auc_hgb": 0.92})
    results.write()
    document = json.loads(results.path.read_text())
    assert list(document) == ["name", "command", "commit", "date", "versions", "hardware", "rows"]
    assert all(tuple(row) == KEYS for row in document["rows"])
    ours, theirs = document["rows"]
    assert ours == {
        "method": "sketch",
        "dataset": "adult",
        "epsilon": 1.0,
        "delta": 1e-5,
        "guarantee": "proven",
        "metric": "auc_hgb",
        "mean": pytest.approx(0.91),
        "std": pytest.approx(0.02 / 2**0.5),
        "seeds": 2,
        "published": None,
        "source": "nacre",
    }
    assert theirs["mean"] is None and theirs["seeds"] == 0 and theirs["published"] > 0 and theirs["source"] != "nacre"
    assert "python" in document["versions"] and document["hardware"]["cores"] >= 1


def test_one_seed_has_no_spread_and_a_nan_is_no_figure(make):
    results = make()
    results.add(SKETCH, 0, {"auc_hgb": 0.9, "kendall_rmse": float("nan")})
    first, second = results.rows()
    assert first["std"] is None and first["seeds"] == 1
    assert second["mean"] is None and second["seeds"] == 0
    results.write()  # strict JSON has no NaN


def test_a_quick_run_knows_its_benchmark(tmp_path):
    results = result_files.Results("hflow-adult.quick", "", tmp_path, tmp_path)
    assert results.benchmark == "hflow-adult" and results.path.name == "hflow-adult.quick.json"


def test_only_registered_metrics_are_accepted(make):
    with pytest.raises(KeyError, match="accuracy"):
        make().add(SKETCH, 0, {"accuracy": 1.0})
    with pytest.raises(KeyError, match="accuracy"):
        result_files.published_row(SKETCH, "accuracy", 1.0, "a paper")


def test_an_interrupted_run_is_resumed_and_a_new_one_starts_over(make):
    make().add(SKETCH, 0, {"auc_hgb": 0.9}, case="adult/sketch/1.0/1e-05")
    again = make(resume=True)
    assert again.has("adult/sketch/1.0/1e-05", 0)
    assert not again.has("adult/sketch/1.0/1e-05", 1) and not again.has("adult/sketch/1.0/None", 0)
    again.add(SKETCH, 0, {"auc_hgb": 0.8}, case="adult/sketch/1.0/1e-05")
    again.add(SKETCH, 1, {"auc_hgb": 0.6}, case="adult/sketch/1.0/1e-05")
    assert make(resume=True).rows()[0]["mean"] == pytest.approx(0.7)  # the newer value of seed 0 counts
    assert make().rows() == []


def test_remarks_and_facts_outlive_an_interruption_and_reach_the_page(make):
    results = make()
    assert not {"notes", "peers"} & set(results.document())
    results.note("a busy machine")
    about = {"method": "aim", "dataset": "adult", "epsilon": 1.0, "package": "p", "version": "2", "outcome": "died"}
    results.tell("adult/aim/1.0", about | {"reads_domain": True, "reports_spend": False, "notes": "n"})
    again = make(resume=True)
    again.note("a busy machine")
    assert again.document()["notes"] == ["a busy machine"]
    assert again.document()["peers"] == results.document()["peers"] and not again.has("adult/aim/1.0", 0)
    again.only_note("an idle machine")
    assert make(resume=True).document()["notes"] == ["an idle machine"]
    again.note("a busy machine")
    page = results_page.render([again.document()])
    assert " a busy machine |" in page and "| aim | p | yes | no | n | adult | ε 1: died (2) |" in page


@pytest.mark.parametrize("dataset", published.FIGURES)
def test_figures_of_others_are_registered_and_possible(dataset):
    rows = published.rows(dataset)
    for row in rows:
        low, high = METRICS[row["metric"]].range
        assert low <= row["published"] <= high
        stated = row["epsilon"] is not None and not dataset.endswith(published.WITHOUT_DELTA)
        assert row["delta"] == (1e-5 if stated else None)
    assert len({(r["method"], r["epsilon"], r["metric"], r["source"]) for r in rows}) == len(rows)


def page(results, *tables):
    """What the page says of these results alone."""
    asked = (topics.Topic("A topic", "A question?", tables),)
    return results_page.render([results.document()], asked).splitlines()


def cells(lines, beginning):
    (line,) = (line for line in lines if line.startswith(beginning))
    return line.strip("| ").split(" | ")


def test_the_page_shows_ours_and_theirs_side_by_side(make):
    results = make()
    results.published = published.rows("adult")
    results.add(result_files.Setting("real", "adult"), 0, {"auc_hgb": 0.93})
    for seed, value in enumerate((0.90, 0.92)):
        results.add(SKETCH, seed, {"auc_hgb": value, "tvd1": 0.01})
    lines = page(results, topics.Table("Adult", ("demo",), ("tvd1", "auc_hgb")))
    assert cells(lines, "| ε | method") == ["ε", "method", "guarantee", "tvd1 ↓", "auc_hgb ↑", "seeds"]
    assert cells(lines, "| 1 | sketch |") == ["1", "sketch", "proven", "0.0100 ± 0.0000", "0.9100 ± 0.0141", "2"]
    assert "| *0.0200* | *0.8955* |" in next(line for line in lines if line.startswith("| 1 | aim | not checked |"))
    assert "| 0.9300 *0.9300* |" in next(line for line in lines if line.startswith("|  | real | none |"))
    order = [line.split(" | ")[1] for line in lines if line.startswith("| 1 |")]
    assert order[0] == "sketch" and order[1:] == sorted(order[1:])
    assert any(line.startswith("Not nacre's: ") and "`aim`: AIM, mbi 1.0" in line for line in lines)
    assert any(line.startswith("What the figures are: `auc_hgb`: ") for line in lines)


def test_the_page_is_that_of_the_files():
    """Whoever measures anew writes the page anew: `python -m benchmarks page`."""
    assert results_page.PAGE.read_text() == results_page.render(results_page.documents())
    beside = results_page.pages(results_page.documents())
    assert set(beside) == {"board.md", "board.svg"}
    assert all((results_page.PAGE.parent / name).read_text() == text for name, text in beside.items())


def test_the_page_is_short_and_no_result_file_is_missing_from_it():
    shown = results_page.PAGE.read_text().splitlines()
    asked = {name for topic in topics.TOPICS for table in topic.tables for name in table.files}
    assert len(shown) <= 800
    for document in results_page.documents():
        name = document["name"]
        assert name in asked
        (line,) = (line for line in shown if line.startswith(f"| [{name}](../benchmarks/results/{name}.json)"))
        assert f"| `{document['command']}` | {document['date']} |" in line
        assert all(note.replace("|", "\\|") in line for note in document.get("notes", ()))


def test_every_table_asks_for_figures_that_its_files_have():
    files = {document["name"]: document for document in results_page.documents()}
    for table in (table for topic in topics.TOPICS for table in topic.tables):
        rows = results_page._rows(table, files)
        assert {row["metric"] for row in rows} == set(table.metrics), table.title
        assert {row["file"] for row in rows} == set(table.files), table.title
    assert set(files) <= set(catalogue.CATALOGUE)


def test_quick_runs_are_left_out(make, tmp_path):
    results = make()
    results.add(SKETCH, 0, {"auc_hgb": 0.9})
    results.write()
    results.path.with_name("demo.quick.json").write_text("not read")
    text = results_page.write(results.path.parent, tmp_path / "results.md").read_text()
    assert "[demo](../benchmarks/results/demo.json)" in text and "quick" not in text


def test_every_benchmark_has_a_runner():
    assert {"sketch-adult", "sketch-covertype", "speed"} <= set(catalogue.CATALOGUE)
    assert all(callable(b.runner()) and b.text for b in catalogue.CATALOGUE.values())


def test_figures_of_another_package_name_it_as_their_source(tmp_path):
    results = result_files.Results("r", "command", folder=tmp_path, work=tmp_path)
    results.tell("a", {"method": "mst", "package": "other", "version": "1.2"})
    results.tell("b", {"method": "sketch", "package": "nacre", "version": "0.1"})
    for method in ("mst", "sketch", "real"):
        results.add(result_files.Setting(method, "adult"), 0, {"tvd1": 0.1})
    assert {r["method"]: r["source"] for r in results.rows()} == {
        "mst": "other 1.2",
        "sketch": "nacre",
        "real": "nacre",
    }


def test_a_partial_run_leaves_other_figures_in_the_file(tmp_path):
    """Asked for one method only, the figures of the other stay; a run that measures nothing changes nothing."""
    whole = result_files.Results("r", "whole", tmp_path, tmp_path / "work")
    whole.add(result_files.Setting("one", "d"), 0, {"auroc": 0.1})
    whole.add(result_files.Setting("two", "d"), 0, {"auroc": 0.2})
    whole.note("a busy machine")
    whole.write()
    before = whole.path.read_text()
    nothing = result_files.Results("r", "nothing", tmp_path, tmp_path / "work", keep=True)
    nothing.write()
    assert whole.path.read_text() == before
    part = result_files.Results("r", "part", tmp_path, tmp_path / "work", keep=True)
    part.add(result_files.Setting("two", "d"), 0, {"auroc": 0.9})
    part.write()
    told = json.loads(part.path.read_text())
    assert {r["method"]: r["mean"] for r in told["rows"]} == {"one": 0.1, "two": 0.9}
    assert told["notes"] == ["a busy machine"]
    rest = result_files.Results("r", "rest", tmp_path, tmp_path / "work", resume=True, keep=True)
    rest.add(result_files.Setting("one", "d"), 0, {"auroc": 0.8})
    rest.write()
    assert "notes" not in json.loads(rest.path.read_text())  # all was measured anew


def test_figures_that_are_kept_name_the_run_they_are_of(tmp_path):
    """Also after two more runs, and after one that only writes a remark, which is no run."""
    of = result_files.Setting
    for command, methods in (("first", "abc"), ("second", "bc"), ("third", "c")):
        run = result_files.Results("r", command, tmp_path, tmp_path / "work", keep=True)
        for method in methods:
            run.add(of(method, "d"), 0, {"auroc": 0.5})
        run.write()
    remark = result_files.Results("r", "remark", tmp_path, tmp_path / "work", keep=True)
    remark.note("a remark")
    remark.write()
    told = json.loads(remark.path.read_text())
    assert told["command"] == "third" and [run["command"] for run in told["earlier"]] == ["second", "first"]
    runs = {r["method"]: told["earlier"][r["run"]]["command"] if "run" in r else "top" for r in told["rows"]}
    assert runs == {"a": "first", "b": "second", "c": "top"}
    assert f"| 2, the first of {told['date']} |" in results_page.render([told])


def test_logs_of_several_machines_can_be_put_one_behind_the_other(tmp_path, monkeypatch):
    """Every figure keeps the machine and the commit it is of; the newest run stands at the top of the file."""
    of, logs = result_files.Setting, []
    for cores, seed in ((16, 0), (64, 1), (2, 2)):
        monkeypatch.setattr(result_files, "hardware", lambda cores=cores: {"cores": cores})
        monkeypatch.setattr(result_files, "commit", lambda cores=cores: f"commit {cores}")
        one = result_files.Results("r", "run", tmp_path / f"there{cores}", tmp_path / f"there{cores}")
        one.add(of("all", "d"), seed, {"auroc": 0.5 + seed / 10})
        one.add(of(f"on {cores}", "d"), 0, {"auroc": 0.5})
        logs.append(one.log.read_text())
    monkeypatch.setattr(result_files, "hardware", lambda: {"cores": 1})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "r.jsonl").write_text("".join(logs))
    here = result_files.Results("r", "run", tmp_path, tmp_path / "work", resume=True, keep=True)
    here.write()
    told = json.loads(here.path.read_text())
    top = told["hardware"]["cores"]
    runs = {r["method"]: told["earlier"][r["run"]]["hardware"]["cores"] if "run" in r else top for r in told["rows"]}
    assert top == 2 and runs == {"all": 2, "on 16": 16, "on 64": 64, "on 2": 2} and told["commit"] == "commit 2"
    assert next(r for r in told["rows"] if r["method"] == "all")["seeds"] == 3


def test_a_figure_that_fewer_seeds_have_says_how_many(make):
    """A class that two of three seeds lost has a figure of one."""
    results = make()
    for seed in range(3):
        figures = {"energy": 0.5, **({"fid_class": 33.5} if not seed else {})}
        results.add(result_files.Setting("real", "d"), seed, figures)
    lines = page(results, topics.Table("t", ("demo",), ("energy", "fid_class"), lines=("method",)))
    assert cells(lines, "| real") == ["real", "none", "0.5000 ± 0.0000", "33.5 (1)", "3"]


def test_a_field_can_stand_in_lines_or_in_columns_but_no_figure_is_lost(make):
    results = make()
    for epsilon in (0.5, 2.0):
        for dataset in ("few 5", "few 10"):
            results.add(result_files.Setting("a", dataset, epsilon, 1e-6), 0, {"mse": epsilon})
    results.add(result_files.Setting("a", "many", 2.0, 1e-6), 0, {"mse": 7.0})
    few = {"dataset": "few .*"}
    by_budget = topics.Table("t", ("demo",), ("mse",), lines=("dataset", "method"), columns=("epsilon",), where=few)
    lines = page(results, by_budget)
    assert cells(lines, "| table") == ["table", "method", "guarantee", "ε 2 ↓", "ε 0.5 ↓", "seeds"]
    assert [line.split(" | ")[0] for line in lines if " | a | " in line] == ["| few 5", "| few 10"]
    assert cells(lines, "| few 5") == ["few 5", "a", "none", "2.0000", "0.5000", "1"]
    with pytest.raises(NacreError, match="two figures in one cell"):
        page(results, topics.Table("t", ("demo",), ("mse",), lines=("method",)))


def test_what_a_flow_made_is_called_empirical_whatever_its_parameter(make):
    results = make()
    for method in ("expm-nf", "sgd"):
        results.add(result_files.Setting(method, "d", 1.0), 0, {"auc": 0.5})
    lines = page(results, topics.Table("t", ("demo",), ("auc",), lines=("method",)))
    assert [cells(lines, f"| {m}")[1] for m in ("expm-nf", "sgd")] == [results_page.EMPIRICAL, "none"]
