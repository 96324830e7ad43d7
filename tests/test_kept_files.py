"""Files that earlier versions wrote are read as they were then: the same rows, promises, predictions, books, bytes.

`tests/kept/VERSION` holds them with what they gave (`expected.json`, by `benchmarks/house/kept.py`). They are not made
anew when a test fails: nobody can make the files of others anew. Rows that a seed draws are a version's own where its
way of drawing has changed: mixtures are drawn with low variance now, and `drawn.json` holds what they give since.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

import nacre

KEPT = Path(__file__).parent / "kept"
FILES = {
    f"{folder.name}/{name}": (folder / name, expected)
    for folder in sorted(KEPT.iterdir())
    for name, expected in json.loads((folder / "expected.json").read_text()).items()
}
DRAWN = {
    f"{path.parent.name}/{name}": own
    for path in sorted(KEPT.glob("*/drawn.json"))
    for name, own in json.loads(path.read_text()).items()
}
UNREAD = {"target"}  # arrays of mixtures that nothing reads any more, and that are not written again


def of(*endings: str) -> Any:
    return pytest.mark.parametrize("name", [n for n in FILES if n.endswith(endings)])


def near(found: Any, expected: Any) -> None:
    """Labels and whole numbers as they were; other numbers as near as another processor may come."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            near(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            near(a, b)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    else:
        assert (found.isoformat() if hasattr(found, "isoformat") else found) == expected


def same_members(path: Path, again: Path) -> None:
    """Byte by byte; of a certificate the figures may be composed a little more exactly than then, and with them its
    hash in the manifest."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(again) as new:
        assert old.namelist() == new.namelist()
        for member in old.namelist():
            if member == "arrays.safetensors":
                one, two = (load(f.read(member)) for f in (old, new))
                assert one.keys() - UNREAD == two.keys() - UNREAD, member
                assert all(np.array_equal(one[key], two[key]) for key in two), member
            elif member == "certificate.json":
                near(json.loads(new.read(member)), json.loads(old.read(member)))
            elif member != "manifest.json":
                assert new.read(member) == old.read(member), member
        assert {*json.loads(new.read("manifest.json"))} == {*json.loads(old.read("manifest.json"))}


@of(".nacre")
def test_a_release_gives_the_same_rows_and_is_written_as_it_was(name, tmp_path):
    path, expected = FILES[name]
    release = nacre.load(path)
    assert str(release.certificate) == expected["certificate"]
    drawn = DRAWN.get(name, expected)
    first = next(iter(drawn["rows"].values()))
    near(release.sample(len(first), seed=5, as_="pyarrow").to_pydict(), drawn["rows"])
    if "where" in drawn:
        near(release.sample(4, seed=5, where={"sex": "F"}, as_="pyarrow").to_pydict(), drawn["where"])
    release.save(tmp_path / "again.nacre")
    same_members(path, tmp_path / "again.nacre")


@of(".sketch")
def test_a_sketch_still_adds_and_is_written_as_it_was(name, tmp_path):
    path, expected = FILES[name]
    made = nacre.load_sketch(path)
    found = {"certificate": str(made.certificate), "digest": made.digest, "ids": list(made.ids)}
    assert found == expected
    made.save(tmp_path / "again.sketch")
    same_members(path, tmp_path / "again.sketch")


@of(".learner")
def test_a_learner_predicts_the_same(name, tmp_path):
    from benchmarks.house.learning import TRAININGS, rows

    from nacre import learners

    path, expected = FILES[name]
    X = rows(TRAININGS[path.stem][0])[0]
    made = learners.load(path)
    assert str(made.certificate_) == expected["certificate"]
    near(made.predict_proba(X[:8]).tolist(), expected["proba"])
    made.save(tmp_path / "again.learner")
    same_members(path, tmp_path / "again.learner")


@of(".sqlite")
def test_a_ledger_says_the_same_and_takes_another_release(name, tmp_path, monkeypatch, capsys):
    from nacre.cli import run

    path, expected = FILES[name]
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    for variable in ("NACRE_LEDGER", "NACRE_POPULATION"):
        monkeypatch.delenv(variable, raising=False)
    books = shutil.copy(path, tmp_path / "books.sqlite")
    assert run(["ledger", "status", str(books), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert run(["ledger", "verify", str(books), "--release", str(path.with_name("paid0.nacre"))]) == 0
    (tmp_path / "t.csv").write_text("ill\n" + "true\nfalse\n" * 50)
    nacre.Schema({"ill": nacre.Boolean()}, rows=100).save(tmp_path / "t.json")
    asked = [
        "--schema",
        "t.json",
        "--delta",
        "1e-6",
        "--method",
        "independent",
        "--go-on",
        "-q",
        "--ledger",
        str(books),
    ]
    monkeypatch.chdir(tmp_path)
    for number, (epsilon, code) in enumerate((("1", 0), ("2", 0), ("2", 2))):
        output = ["-o", f"{number}.nacre", "-e", epsilon, "--delta", "1e-6", "--population", "people"]
        assert run(["fit", "t.csv", *output, *asked]) == code
    assert "does not fit into the rest" in capsys.readouterr().err


@of(".json")
def test_a_schema_is_written_as_it_was(name):
    path, expected = FILES[name]
    assert nacre.Schema.load(path).to_json() == expected["json"]


def test_there_is_a_file_of_every_kind():
    """An empty list of cases would pass unseen."""
    assert {Path(name).suffix for name in FILES} == {".nacre", ".sketch", ".learner", ".sqlite", ".json"}
