"""Peers: processes that work, crash, hang or are missing; their facts; the codes and bins that they are given."""

import importlib
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.peers import build, launch, registry, study

from benchmarks import catalogue, data, protocol, results_page, studies
from benchmarks import methods as made_by
from benchmarks import results as result_files
from nacre.evaluation.score import Protocol
from nacre.table.columns import Boolean, Categorical, Numeric
from nacre.table.schema import Schema

WORKS = """
    import json, sys, pathlib, shutil
    job = json.loads(pathlib.Path(sys.argv[1]).read_text())
    shutil.copy(job["rows"], job["table"])
    ballast = bytearray(80 * 2**20)
    facts = {"package": "fake", "version": "1.2", "fit_s": 0.5, "sample_s": 0.1, "spent": "epsilon = 1"}
    pathlib.Path(job["facts"]).write_text(json.dumps(facts))
    with open(job["rows"] + ".calls", "a") as calls:
        calls.write("x")
    import time; time.sleep(0.5)
"""
CRASHES = "raise ValueError('the domain has no bottom')"
SILENT = "print('nothing to do')"
HANGS = """
    import pathlib, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path("child.pid").write_text(str(child.pid))
    time.sleep(600)
"""


@pytest.fixture
def script(tmp_path):
    def write(text, name="adapter.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def job(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(tmp_path / "rows.parquet")
    return {"rows": str(tmp_path / "rows.parquet")}


def start(adapter, job, folder, limit_s=60.0, python=Path(sys.executable)):
    return launch.launch(python, adapter, job, folder, limit_s)


def test_a_peer_that_works_leaves_a_table_facts_and_its_costs(script, job, tmp_path):
    outcome = start(script(WORKS), job, tmp_path / "run")
    assert outcome.finished and outcome.facts["version"] == "1.2"
    assert pd.read_parquet(tmp_path / "run" / "table.parquet")["x"].tolist() == [1, 2]
    assert 0.5 < outcome.run_s < 60 and 0 < outcome.cpu_s < 60
    assert 80 < outcome.peak_mb < 500  # the ballast, not what this test process weighs


def test_a_peer_that_crashes_is_quoted(script, job, tmp_path):
    outcome = start(script(CRASHES), job, tmp_path / "run")
    assert not outcome.finished
    assert outcome.reason == "ended with status 1: ValueError: the domain has no bottom"


def test_a_peer_that_leaves_nothing_is_not_credited_with_an_older_table(script, job, tmp_path):
    assert start(script(WORKS), job, tmp_path / "run").finished
    outcome = start(script(SILENT), job, tmp_path / "run")
    assert outcome.reason == "left no table: nothing to do"


def test_a_peer_that_hangs_is_killed_with_its_children(script, job, tmp_path):
    begun = time.perf_counter()
    outcome = start(script(HANGS), job, tmp_path / "run", limit_s=2.0)
    assert outcome.reason.startswith("did not finish within 2 s") and 2 < outcome.run_s < 30
    assert time.perf_counter() - begun < 60
    child = int((tmp_path / "run" / "child.pid").read_text())
    until = time.perf_counter() + 10
    while _alive(child) and time.perf_counter() < until:
        time.sleep(0.05)
    assert not _alive(child)


def test_waiting_for_a_core_is_not_the_peers_time():
    """Two busy processes on one core: each waits for about as long as it runs."""
    core = min(os.sched_getaffinity(0))
    busy = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"]
    pair = [subprocess.Popen(busy) for _ in range(2)]
    try:
        time.sleep(2)
        waited = [launch._waited_s(p.pid) for p in pair]
    finally:
        for p in pair:
            p.kill()
            p.wait()
    assert sum(waited) > 1 and launch._waited_s(pair[0].pid) == 0


def _alive(pid):
    """A killed process that nobody has waited for yet is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_an_environment_that_is_missing_or_broken_is_a_reason(script, job, tmp_path):
    python = tmp_path / "env" / "bin" / "python"
    assert start(script(WORKS), job, tmp_path / "run", python=python).reason == "not installed: run `make peers`"
    python.parent.mkdir(parents=True)
    (tmp_path / "env" / "failed.txt").write_text("ERROR: no matching distribution\n")
    outcome = start(script(WORKS), job, tmp_path / "run", python=python)
    assert outcome.reason == "not installed: ERROR: no matching distribution"


def test_an_environment_of_its_own_does_not_see_our_packages(script, job, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    shows = script("import os; print('path', os.environ.get('PYTHONPATH'))")
    assert start(shows, job, tmp_path / "run", python=python).reason.endswith("path None")
    assert start(shows, job, tmp_path / "run").reason.endswith("path /somewhere")


def table():
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(10, 4, 400))
    frame = pd.DataFrame(
        {
            "x": np.clip(x, 0, 20).astype(int),
            "z": rng.random(400),
            "c": rng.choice(np.array(["a", "b", None], dtype=object), 400),
            "b": rng.random(400) > 0.5,
            "y": np.where(x > 10, "yes", "no"),
        }
    )
    columns = {
        "x": Numeric(bounds=(0, 20), integer=True),
        "z": Numeric(bounds=(0, 1)),
        "c": Categorical(categories=("a", "b", "never"), nullable=True),
        "b": Boolean(),
        "y": Categorical(categories=("no", "yes")),
    }
    return data.Dataset("tiny", frame, Schema(columns, rows=320), "y")


BINS = {"x": [0, 1, 5, 10, 21], "z": [0.0, 0.25, 1.0]}


@pytest.fixture
def adapters(monkeypatch):
    monkeypatch.syspath_prepend(str(registry.ADAPTERS))
    return importlib.import_module


@pytest.fixture
def codes(adapters, tmp_path):
    dataset = table()
    dataset.schema.save(tmp_path / "schema.json")
    described = json.loads((tmp_path / "schema.json").read_text())["columns"]
    job = adapters("job").Job("mst", dataset.frame, described, BINS, "y", 1.0, 1e-5, 3, tmp_path / "schema.json")
    return adapters("codes").Codes(job)


def test_codes_hold_the_public_domain_and_come_back_to_the_same_cells(codes):
    frame = table().frame
    assert codes.sizes == {"x": 4, "z": 2, "c": 4, "b": 2, "y": 2}  # 3 labels and null; "never" has a code too
    coded = codes.encode(frame)
    assert coded["x"].tolist() == pd.cut(frame["x"], BINS["x"], right=False, labels=False).tolist()
    assert (coded["c"] == 3).equals(frame["c"].isna())
    back = codes.decode(coded)
    assert codes.encode(back).equals(coded)
    assert back["y"].tolist() == frame["y"].tolist() and back["c"].isna().equals(frame["c"].isna())
    assert (back["x"] == back["x"].round()).all() and back["x"].max() <= 20
    third = back["x"][coded["x"] == 3]
    assert set(third) == set(range(10, 21))  # every whole number of the last bin, the upper bound included


@pytest.mark.parametrize(("name", "value", "match"), [("y", "maybe", "outside"), ("y", None, "nulls")])
def test_codes_refuse_what_the_domain_does_not_have(codes, name, value, match):
    frame = table().frame.astype({name: object})
    frame.loc[0, name] = value
    with pytest.raises(ValueError, match=match):
        codes.encode(frame)


def test_modes_and_codes_of_ctgan_come_back_to_the_same_rows(adapters):
    """Two far modes: a value is its offset from one of them; labels, null and truth values by number."""
    frame = table().frame.assign(z=lambda f: np.where(f["b"], 5.0, -5.0) + f["z"])
    coding = adapters("run_ctgan").Coding(frame, ["x", "z"], 0)
    assert coding.codes.shape == (400, 5) and coding.offsets.shape == (400, 2)
    assert (coding.codes.max(axis=0) < coding.sizes).all() and coding.sizes[2:] == (3, 2, 2)
    assert np.abs(coding.offsets).max() <= 0.99
    sides = [set(coding.codes[frame["b"] == b, 1]) for b in (True, False)]
    assert not sides[0] & sides[1]  # no mode serves both
    back = coding.table(coding.offsets, coding.codes)
    pd.testing.assert_frame_equal(back[["x", "c", "b", "y"]], frame[["x", "c", "b", "y"]], check_dtype=False)
    np.testing.assert_allclose(back["z"], frame["z"], atol=1e-9)
    assert back["x"].dtype.kind == "i" and back["b"].dtype == bool
    far = coding.table(np.ones((400, 2)), coding.codes)
    assert far["x"].max() <= frame["x"].max() and far["z"].max() <= frame["z"].max()


@pytest.mark.parametrize("dataset", ["adult", "covertype"])
def test_bins_cover_exactly_the_public_ranges(dataset):
    described = json.loads((data.SCHEMAS / f"{dataset}.json").read_text())["columns"]
    bins = json.loads((registry.HERE / "bins" / f"{dataset}.json").read_text())
    ranges = {n: c["bounds"] for n, c in described.items() if c["kind"] == "numeric"}
    assert set(bins) == set(ranges)
    for name, (low, high) in ranges.items():
        assert bins[name][0] == low and bins[name][-1] == high + 1  # integers: the last bin holds the upper bound
        assert all(a < b for a, b in zip(bins[name], bins[name][1:], strict=False))


def small_study(monkeypatch, script, tmp_path):
    monkeypatch.setattr(registry, "HERE", tmp_path)
    monkeypatch.setattr(study, "HERE", tmp_path)
    monkeypatch.setattr(study, "ADAPTERS", tmp_path)
    monkeypatch.setattr(study, "RUNS", tmp_path / "runs")
    (tmp_path / "bins").mkdir(exist_ok=True)
    (tmp_path / "bins" / "tiny.json").write_text(json.dumps(BINS))
    script(WORKS, "works.py"), script(CRASHES, "crashes.py")
    kinds = {"good": ("works.py", False, True), "bad": ("crashes.py", True, False)}
    peers = {n: registry.Peer(n, "", f, "mst", True, *facts, "some notes") for n, (f, *facts) in kinds.items()}
    cases = (made_by.Case("real"), made_by.Case("good", 1.0, 1e-5), made_by.Case("bad", 1.0, 1e-5))
    return protocol.Study(table, cases, Protocol(suites=("quick",)), ("auc_lr",)), peers


def test_a_study_keeps_figures_of_the_one_and_the_reason_of_the_other(monkeypatch, script, tmp_path):
    small, peers = small_study(monkeypatch, script, tmp_path)

    def run(resume, only=()):
        results = result_files.Results("tiny", "command", tmp_path / "results", tmp_path / "work", resume)
        options = catalogue.Options(seeds=1, only=only)
        protocol.run_study(small, options, results, study.methods(options, results, peers))
        results.write()
        return json.loads(results.path.read_text())

    document = run(resume=False)
    found = {(r["method"], r["metric"]): r for r in document["rows"]}
    assert found["good", "tvd2"]["mean"] == 0 and found["good", "fit_s"]["mean"] == 0.5
    assert found["good", "peak_mb"]["mean"] > 80 and found["good", "cpu_s"]["mean"] > 0
    assert found["good", "tvd2"]["guarantee"] is None  # nobody here checked it
    assert not any(method == "bad" for method, _ in found)
    good, bad = document["peers"]
    assert good["outcome"] == "finished" and good["version"] == "1.2" and good["spent"] == "epsilon = 1"
    assert "no bottom" in bad["outcome"] and bad["reads_domain"] and not bad["reports_spend"]
    page = results_page.render([document])
    assert "| good | fake | no | yes | some notes | tiny | ε 1: finished (1.2) |" in page
    assert "| yes | no | some notes |" in next(line for line in page.splitlines() if line.startswith("| bad |"))

    calls = tmp_path / "runs" / "tiny" / "tiny-0" / "rows.parquet.calls"
    script(WORKS, "crashes.py")  # mended
    assert run(resume=True)["peers"] == document["peers"] and calls.read_text() == "x"
    (tmp_path / "work" / "tiny.jsonl").unlink()  # evaluated again, not fitted again
    assert run(resume=True)["rows"] == document["rows"] and calls.read_text() == "x"
    again = run(resume=True, only=("bad",))
    assert [p["outcome"] for p in again["peers"]] == ["finished", "finished"] and calls.read_text() == "xx"


def test_another_budget_is_another_job(monkeypatch, script, tmp_path):
    small, peers = small_study(monkeypatch, script, tmp_path)
    results = result_files.Results("tiny", "command", tmp_path / "results", tmp_path / "work", True)
    make = study.methods(catalogue.Options(), results, peers)["good"]
    private, _ = small.load().split(0)
    task = made_by.Task(small.load(), private, 0)
    for delta, calls in ((1e-5, "x"), (1e-5, "x"), (1e-6, "xx")):
        make(task, made_by.Case("good", 1.0, delta))
        assert (tmp_path / "runs" / "tiny" / "tiny-0" / "rows.parquet.calls").read_text() == calls


def test_our_own_method_runs_like_a_peer(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(study, "HERE", tmp_path)
    (tmp_path / "bins").mkdir()
    (tmp_path / "bins" / "tiny.json").write_text(json.dumps(BINS))
    results = result_files.Results("tiny", "command", tmp_path / "results", tmp_path / "work")
    dataset = table()
    private, _ = dataset.split(0)
    case = made_by.Case("independent", 1.0, 1e-5)
    made = study.methods(catalogue.Options(), results)["independent"](made_by.Task(dataset, private, 0), case)
    assert made.guarantee == "proven" and len(made.table) == len(private) == 320
    assert list(made.table.columns) == list(private.columns)
    assert made.figures["fit_s"] < made.figures["run_s"] and made.about["package"] == "nacre"
    assert made.about["reports_spend"] and "epsilon" in made.about["spent"]


def test_every_peer_has_an_adapter_and_pins_without_addresses():
    environments = {p.environment for p in registry.PEERS.values()} - {""} | {
        "distances",
        "sdmetrics",
    }
    assert environments == set(build.names())
    for peer in registry.PEERS.values():
        assert (registry.ADAPTERS / peer.adapter).is_file() and peer.notes
    for name in environments:
        lines = (registry.HERE / f"requirements-{name}.txt").read_text().split()
        assert lines and all("==" in line and "/" not in line for line in lines)


def test_the_cases_cover_every_peer_at_every_budget():
    asked = {(c.method, c.epsilon) for c in studies.PEERS_ADULT.cases}
    for peer in registry.PEERS.values():
        assert {e for name, e in asked if name == peer.name} == ({0.1, 1.0, 10.0} if peer.private else {None})
    assert {c.method for c in studies.PEERS_COVERTYPE.cases} <= {"real", *registry.PEERS}
    assert all(c.seeds == 1 for s in (studies.PEERS_ADULT, studies.PEERS_COVERTYPE) for c in s.cases)


@pytest.mark.slow  # two virtual environments with pip in them
def test_an_environment_that_cannot_be_built_says_why(monkeypatch, tmp_path, capsys):
    (tmp_path / "requirements-nil.txt").write_text("--no-index\nno-such-package-as-this==1\n")
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(build, "ENVIRONMENTS", tmp_path / "envs")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert build.main([]) == 1 and "no-such-package-as-this" in capsys.readouterr().out
    assert not (tmp_path / "envs" / "nil" / "bin" / "python").exists()
    assert "no-such-package-as-this" in (tmp_path / "envs" / "nil" / "failed.txt").read_text()
    assert build.main(["other"]) == 2
    (tmp_path / "requirements-nil.txt").write_text("")
    assert build.main([]) == 0 and os.access(tmp_path / "envs" / "nil" / "bin" / "python", os.X_OK)
    made = (tmp_path / "envs" / "nil" / "installed.txt").stat().st_mtime_ns
    assert build.main(["nil"]) == 0 and (tmp_path / "envs" / "nil" / "installed.txt").stat().st_mtime_ns == made
