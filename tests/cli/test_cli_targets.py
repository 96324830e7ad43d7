"""Targets from the command line: shares when fitting and when drawing, a column of weights, and mistakes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.csv as pacsv
import pytest

from nacre.owner import diagnostic_lines

TINY = ("--option", "steps=2", "--option", "batch=16", "--option", "width=8")
EVEN = "late_payment=true:0.5,false:0.5"


def shares(path, column, value):
    found = pacsv.read_csv(path)[column].to_pylist()
    return sum(v == value for v in found) / len(found)


def test_shares_asked_for_when_fitting_come_out_when_drawing(call, small, tmp_path):
    """500 rows: five standard errors of a share of one half are 0.11."""
    kept, out = tmp_path / "p.nacre", tmp_path / "even.csv"
    end = call("fit", small / "people.csv", "-o", kept, "-e", 10, "--schema", small / "people.json", "--method",
               "independent", "--target-shares", EVEN)  # fmt: skip
    assert end.code == 0, end.err
    assert call("sample", kept, "-o", out, "--rows", 500, "--seed", 1).code == 0
    assert abs(shares(out, "late_payment", True) - 0.5) < 0.11
    end = call("certificate", kept)
    assert end.code == 0 and "shares of late_payment" in end.out.replace("\n", " ")


def test_several_columns_when_drawing(call, release, tmp_path):
    out = tmp_path / "both.csv"
    end = call("sample", release, "-o", out, "--rows", 500, "--seed", 1, "--rebalance", EVEN,
               "--rebalance", "sex=female:0.8,male|other:0.2")  # fmt: skip
    assert end.code == 0, end.err
    assert abs(shares(out, "late_payment", True) - 0.5) < 0.11 and abs(shares(out, "sex", "female") - 0.8) < 0.09


def test_what_weights_are_worth_reaches_the_owner_and_nobody_else(call, small, tmp_path, monkeypatch):
    """Column `age` as weights: by hand, the largest over the mean and (Σw)²/Σw². The release holds neither."""

    def untrained(data, config, steps, key, progress):
        return {k: np.asarray(v) for k, v in config.generator.start(key).items()}

    monkeypatch.setattr("nacre.synthesizers.weighted.training.train", untrained)  # compiling is beside the point
    kept = tmp_path / "w.nacre"
    end = call("fit", small / "people.csv", "-o", kept, "-e", "none", "--schema", small / "people.json", "--method",
               "weighted", "--weights", "age", *TINY, "--json")  # fmt: skip
    assert end.code == 0, end.err
    w = pacsv.read_csv(small / "people.csv")["age"].to_numpy().astype(float)
    worth = (
        f"largest weight is {w.max() / w.mean():,.1f} times the mean, and they are worth {w.sum() ** 2 / (w @ w):,.0f} "
    )
    assert f"nacre: owner only: the rows of the table are weighted: the {worth}" in end.err
    assert "weighted: the" not in end.out and "worth" not in call("certificate", kept).out


@pytest.mark.slow
def test_the_owners_report_tells_what_weights_are_worth(call, small, tmp_path):
    end = call("synth", small / "people.csv", "-o", tmp_path / "f.csv", "-e", "none", "--schema", small / "people.json",
               "--method", "weighted", "--weights", "age", *TINY, "--report", tmp_path / "r.json")  # fmt: skip
    assert end.code == 0, end.err
    notes = json.loads((tmp_path / "r.json").read_text())["notes"]
    assert [n for n in notes if "the largest weight is" in n] == [
        line.partition("owner only: ")[2] for line in end.err.splitlines() if "the largest weight is" in line
    ]


def test_how_chains_mixed_in_words():
    told = {"chains": 4, "r_hat": 1.004, "bulk_ess": 900.0, "tail_ess": 1200.0, "accepted": 0.3, "passed": True}
    (line,) = diagnostic_lines(told)
    assert line.startswith("4 chains: R-hat 1.004, bulk ESS 900, tail ESS 1,200, accepted 0.30; as usually")
    assert "NOT as usually" in diagnostic_lines({**told, "passed": False})[0]


def test_a_pool_says_what_it_is_worth(call, release, tmp_path):
    """A range that cuts the cells of the release: rows are drawn by weight, and what they are worth is public."""
    end = call("sample", release, "-o", tmp_path / "p.csv", "--rows", 50, "--seed", 1, "--rebalance", EVEN,
               "--rebalance", "income=..33333.3:0.5,33333.31..:0.5")  # fmt: skip
    assert end.code == 0, end.err
    assert "nacre: the rows of the release that were drawn from are weighted: the largest weight is" in end.err


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("--target-shares", "late_payment=true:0.5"), "sum to 0.5"),
        (("--target-shares", EVEN, "--target-shares", EVEN), "twice"),
        (("--target-shares", "nobody=1:1"), "no column 'nobody'"),
        (("--weights", "age"), "does not weigh rows"),
        (("--weights", "nobody", "--method", "weighted", "-e", "none"), "--weights 'nobody': there is no such column"),
    ],
)
def test_mistakes(call, small, tmp_path, more, match):
    out = tmp_path / "f.csv"
    end = call("synth", small / "people.csv", "-o", out, "-e", 1, "--schema", small / "people.json", *more)
    assert end.code == 2 and match in end.error
    assert not out.exists()


def test_a_plan_knows_that_shares_give_weights(call, small):
    """Settings of weights, which are refused where there are none."""
    more = ("--option", "batches=weighted", "--option", "truncate=3")
    given = ("plan", small / "people.json", "-e", "none", "--method", "weighted", *more)
    end = call(*given)
    assert end.code == 2 and "leave it out" in end.error
    end = call(*given, "--target-shares", EVEN)
    assert end.code == 0, end.err
