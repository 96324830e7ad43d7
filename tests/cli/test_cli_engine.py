"""`--engine` on the command line: refused where it cannot work, before anything is spent."""

from __future__ import annotations

import pytest


def test_an_engine_that_is_not_known_costs_nothing(call, small, tmp_path):
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "--epsilon", 1, "--engine", "spark")
    assert end.code == 2 and "engine 'spark' is not known; use ray, ray:4" in end.err
    assert not (tmp_path / "f.csv").exists()


def test_a_plan_for_a_cluster_needs_no_cluster(call, small):
    here, there = (
        call("plan", small / "people.json", "-e", 1, "--json", *more) for more in ((), ("--engine", "ray:3"))
    )
    assert there.code == 0 and there.json["notes"]["memory_mb"] > here.json["notes"]["memory_mb"]


def test_a_plan_shows_pairs_other_plans_and_what_would_help(call, small):
    end = call("plan", small / "people.json", "-e", 5, "--target", "late_payment")
    for words in (
        "pairs of the largest expected error",
        "Other methods and budgets",
        "What would help",
        "twice the rows",
    ):
        assert words in end.out
    notes = call("plan", small / "people.json", "-e", 5, "--json").json["notes"]
    assert {x["method"] for x in notes["compared"]} == {"sketch", "pearl", "independent"}
    assert notes["would_help"][0]["what"] == "as planned" and notes["each_pair"][0]["expected"]["value"] > 0


@pytest.mark.slow
def test_synth_with_workers_and_a_report(call, small, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install nacre[distributed]")
    out, page = tmp_path / "f.csv", tmp_path / "r.html"
    asked = ("--epsilon", 5, "--method", "independent", "--schema", small / "people.json", "--target", "late_payment")
    end = call("synth", small / "people.csv", "-o", out, *asked, "--engine", "ray:1", "--report", page)
    assert end.code == 0, end.err
    assert out.exists() and page.exists()
