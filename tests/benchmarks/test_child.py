"""Processes of other packages' environments: what is said where one is missing or fails."""

import sys

from benchmarks.child import peer_answer


def test_a_peer_that_cannot_run_says_why(monkeypatch):
    for name in ("NACRE_SOME_PYTHON", "NACRE_OTHER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    asked = (["NACRE_SOME_PYTHON", "NACRE_OTHER_PYTHON"], "speed.distances_tasks", "measure")
    nobody = {"method": "nobody", "task": "energy"}
    assert peer_answer(*asked, nobody) == {"why": "NACRE_SOME_PYTHON names no environment with it"}
    monkeypatch.setenv("NACRE_OTHER_PYTHON", sys.executable)
    assert "missing 2 required positional arguments" in peer_answer(*asked, nobody)["why"]
    assert peer_answer(*asked, {**nobody, "n": 3, "d": 1}) == {"why": "KeyError: ('nobody', 'energy')"}
