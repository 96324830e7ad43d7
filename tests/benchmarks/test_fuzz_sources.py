"""The campaign against the readers, a little of it, and that it would notice what it looks for."""

import json
import subprocess
import sys

import pytest
from benchmarks.reading import fuzz_sources as fuzz
from benchmarks.reading.seed_files import seeds

pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install nacre[excel]")


def campaign(*arguments: object) -> dict:
    """In a process of its own: it forks, and a process that has threads of other libraries must not."""
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_good_files_are_read(tmp_path):
    for ending, contents in seeds().items():
        fine = 0
        for i, content in enumerate(contents):
            path = tmp_path / f"{i}{ending}"
            path.write_bytes(content)
            fine += fuzz.attempt(path)
        assert fine >= len(contents) - (ending == ".zip")  # an archive of two files is refused


def test_damaged_files_are_read_or_refused_with_an_error_of_our_own():
    found = campaign("-m", "benchmarks.reading.fuzz_sources", "--cases", 1_500, "--seed", 20)
    assert found["faults"] == [] and found["cases"] == found["read"] + found["refused"] == 1_500
    assert found["read"] > 150 and set(found["endings"]) == set(fuzz.SHARES)


def test_a_case_is_a_function_of_its_seed():
    good = seeds()
    assert [fuzz.case(i, good) for i in range(300)] == [fuzz.case(i, seeds() if i == 7 else good) for i in range(300)]


BROKEN = """
import json, os, sys, time
from benchmarks.reading import fuzz_sources as fuzz

def other_error(path):
    if b"\\xff" in path.read_bytes():
        raise ValueError("an error of another kind")
    return True

def deadly(path):
    return path.suffix != ".parquet" or os._exit(0)

def slow(path):
    time.sleep(0.05 if path.suffix == ".parquet" else 0)
    return True

fuzz.SLOW, found = 0.03, {}
for fuzz.attempt in (other_error, deadly, slow):
    name = fuzz.attempt.__name__
    *_, last = fuzz.campaign(1, 60, 30)
    found[name] = last.told()
print(json.dumps(found))
"""


def test_a_broken_reader_is_noticed():
    found = campaign("-c", BROKEN)
    for name, part in (("other_error", "ValueError"), ("deadly", "died or hung"), ("slow", "took ")):
        assert found[name]["cases"] == 30 and 0 < len(found[name]["faults"]) < 30
        assert all(part in fault["what"] and 0 <= fault["seed"] - 10**9 < 30 for fault in found[name]["faults"]), name
