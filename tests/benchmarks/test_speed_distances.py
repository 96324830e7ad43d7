"""The benchmark of distances: all ways give one number, and a package that is missing is told, not left out."""

import json

import pytest
from benchmarks.results import Results
from benchmarks.speed import distances, distances_tasks


@pytest.fixture
def results(tmp_path):
    return Results("distances", "a command", tmp_path, tmp_path / "work")


def test_the_ways_to_an_energy_distance_agree():
    rows = distances_tasks.two_samples(60, 20)
    values = {name: way(*rows) for (name, task), way in distances_tasks.WAYS.items()
              if task == "energy" and name not in distances.PEERS}  # fmt: skip
    assert len(values) == 4
    distances.agree(values)
    with pytest.raises(RuntimeError, match="do not agree"):
        distances.agree({**values, "other": 1.01 * values["nacre"]})


@pytest.mark.parametrize("task", ["mmd", "ksd"])
def test_the_tests_of_both_sides_judge_alike(task):
    """300 rows of one law: p-values of 400 draws each, of different streams; 0.1 is four standard errors."""
    rows = distances_tasks.SAMPLES[task](300, 3)
    ours, plain = (distances_tasks.WAYS[name, task](*rows, draws=400) for name in ("nacre", "numpy"))
    assert ours == pytest.approx(plain, abs=0.1)


def test_a_package_that_is_missing_stands_in_the_notes(monkeypatch, results):
    size = distances.sizes(quick=True)["energy"]
    told = {"wall_s": 1.0, "first_call_s": 2.0, "peak_mb": 3.0, "value": 0.5}
    answers = {"nacre": told, "scipy": {**told, "wall_s": 4.0}, "numpy": {**told, "wall_s": 9.0}}
    monkeypatch.setattr(distances, "child", lambda method, *_, **__: answers.get(method, "is not installed"))
    rows = {setting.method: figures for setting, figures in distances.compare("energy", size, results)}
    assert rows["nacre"]["speedup_numpy"] == 9 and rows["nacre"]["speedup_peer"] == 4
    results.write()
    notes = json.loads(results.path.read_text())["notes"]
    assert any("dcor is not installed" in n for n in notes)
    monkeypatch.setenv("NACRE_DISTANCE_PEERS", "/nowhere/python")
    assert distances.peer_python() is None
