"""The real program in a process of its own: speed of help, Ctrl-C, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HEAVY = ("jax", "pandas", "polars", "pyarrow", "scipy", "numpy", "sklearn", "dp_accounting", "opendp")


def start(*arguments: object, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def best_of(times: int, *arguments: str) -> float:
    """The least processor time of several runs: unlike the clock on the wall, it does not count other programs."""
    found = []
    for _ in range(times):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        found.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(found)


def test_import_and_help_are_quick():
    assert best_of(3, "-c", "import nacre") < 0.5
    assert best_of(3, "-m", "nacre", "--help") < 1.0


@pytest.mark.parametrize("module", ["nacre", "nacre.cli"])
def test_nothing_heavy_is_imported_before_it_is_used(module):
    code = f"import sys, {module}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"


def test_the_installed_program_runs():
    done = subprocess.run([Path(sys.executable).with_name("nacre"), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("nacre ")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopping_while_rows_are_written_leaves_nothing_behind(release, tmp_path, stop):
    out = tmp_path / "many.csv"
    process = start("-m", "nacre", "sample", release, "-o", out, "--rows", 50_000_000)
    until = time.monotonic() + 30
    while not any(p.stat().st_size for p in tmp_path.iterdir()):  # the unfinished file, under another name
        assert time.monotonic() < until and process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(stop)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert err == f"nacre: interrupted; {out} was not written\n"
    assert list(tmp_path.iterdir()) == []


def test_stopping_in_the_middle_of_a_fit_says_what_was_opened(small, tmp_path):
    """The signal is sent by the process itself, right after the first door has answered."""
    code = f"""
import os, signal, sys
from nacre.synthesizers.independent import Independent
whole = Independent.fit
def fit(*a):
    whole(*a)
    os.kill(os.getpid(), signal.SIGINT)
Independent.fit = fit
from nacre.cli import run
sys.exit(run(["synth", {str(small / "people.csv")!r}, "-o", {str(tmp_path / "o.csv")!r}, "-e", "1",
    "--release", {str(tmp_path / "r.nacre")!r}, "--schema", {str(small / "people.json")!r}, "--go-on",
    "--method", "independent"]))
"""
    process = start("-c", code)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith(
        "nacre: interrupted; nothing was written; the noisy answers to one-way were thrown away."
    )
    assert list(tmp_path.iterdir()) == []


def test_stopping_before_anything_was_opened(tmp_path):
    code = """
import os, signal, sys
import nacre.engines
nacre.engines.open_rows = lambda *a, **k: os.kill(os.getpid(), signal.SIGINT)
from nacre.cli import run
sys.exit(run(["synth", "x.csv", "-o", "o.csv", "-e", "1", "--json"]))
"""
    process = start("-c", code, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "nacre: interrupted; nothing was written and nothing was spent\n"
    assert '"exit_code": 130' in out


def test_a_reader_that_goes_away_is_no_error(release):
    process = start("-m", "nacre", "certificate", release)
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_no_progress_bars_without_a_terminal(release, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "sample", str(release), "-o", str(tmp_path / "o.csv")],
        capture_output=True, text=True, check=True, env={**os.environ, "NACRE_DEBUG": ""},
    )  # fmt: skip
    assert done.stderr == ""


def test_progress_bars_on_a_terminal_show_time_left(release, tmp_path):
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", "sample", str(release), "-o", str(tmp_path / "o.csv"), "--rows", "300000"],
        stdout=subprocess.DEVNULL, stderr=follower, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    assert process.wait(timeout=60) == 0
    assert b"writing rows" in shown and b"left" in shown


def test_a_training_that_was_broken_off_is_not_called_free():
    """Steps were noisy answers already, though none stands in the transcript before the last."""
    from types import SimpleNamespace

    from nacre.cli.running import _opened
    from nacre.privacy.transcript import Transcript

    terms = SimpleNamespace(epsilon=1.0)
    assert _opened(Transcript(), terms) == " and nothing was spent"
    assert "count the whole run as spent" in _opened(Transcript(begun=True), terms)
