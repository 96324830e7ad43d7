"""Progress: every pass over the rows says how far it is, out of how many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import demo
from nacre.cli.inputs import estimated_rows
from nacre.cli.progress import Bars


def test_every_pass_says_how_many_rows_it_has_done(small):
    """One-way tables read the file, the tables after them read what was kept: both report all rows."""
    import nacre

    seen: list[tuple[str, int]] = []
    nacre.fit(
        str(small / "people.csv"),
        schema=nacre.Schema.load(small / "people.json"),
        epsilon=1.0,
        options={"particles": 16, "steps": 2},
        progress=lambda what, done, total: seen.append((what, done)),
    )
    steps = [what for what, _ in seen]
    first, second = steps.index("counting one-way tables"), steps.index("counting tables")
    assert ("reading rows", 700) in seen[first:second] and ("reading rows", 700) in seen[second:]


def test_the_bar_of_each_pass_has_a_total(monkeypatch):
    bars = Bars(False, {"reading rows": 700})

    class Screen:
        def __init__(self):
            self.totals = []

        def add_task(self, what, total):
            self.totals.append((what, total))
            return len(self.totals)

        def remove_task(self, task):
            pass

        def update(self, task, **state):
            pass

    bars._progress = Screen()
    for done in (300, 700, 300, 700):  # two passes
        bars("reading rows", done, None)
    assert bars._progress.totals == [("reading rows", 700)] * 2


@pytest.mark.parametrize("names", (["a.parquet"], ["a.parquet", "b.parquet"], ["a.csv", "b.csv"]))
def test_rows_of_folders_and_patterns_are_estimated(names, small, tmp_path):
    for name in names:
        (tmp_path / name).write_bytes((small / f"people.{name.rpartition('.')[2]}").read_bytes())
    for source in (tmp_path, tmp_path / f"*.{names[0].rpartition('.')[2]}"):
        assert estimated_rows(str(source)) == pytest.approx(700 * len(names), rel=0.02)


def test_the_demo_names_a_command_that_works_from_the_shell(tmp_path):
    """From another folder, with and without the program among the commands of the shell."""
    beside = Path(sys.executable).with_name("nacre")
    for path in (str(beside.parent), "/nonexistent"):
        environment = {**os.environ, "PATH": f"{path}:/usr/bin:/bin"}
        code = "from nacre.demo import _program; print(_program())"
        told = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        command = told.stdout.strip()
        done = subprocess.run(
            f"{command} --version", shell=True, env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stdout.startswith("nacre "), (command, done.stderr)
    assert command != "nacre"


def test_another_program_of_the_same_name_is_not_recommended(tmp_path, monkeypatch):
    other = tmp_path / "nacre"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if Path(sys.executable).with_name("nacre").exists():
        assert demo._program().endswith("nacre") and demo._program() != "nacre"
