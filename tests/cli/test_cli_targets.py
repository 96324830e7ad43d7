"""Targets from the command line: shares when fitting and when drawing, a column of weights, and mistakes."""

from __future__ import annotations

import pyarrow.csv as pacsv
import pytest

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


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("--target-shares", "late_payment=true:0.5"), "sum to 0.5"),
        (("--target-shares", EVEN, "--target-shares", EVEN), "twice"),
        (("--target-shares", "nobody=1:1"), "no column 'nobody'"),
        (("--weights", "age"), "does not weigh rows"),
        (("--weights", "nobody", "--method", "weighted", "-e", "none"), "missing in the table ['nobody']"),
    ],
)
def test_mistakes(call, small, tmp_path, more, match):
    out = tmp_path / "f.csv"
    end = call("synth", small / "people.csv", "-o", out, "-e", 1, "--schema", small / "people.json", *more)
    assert end.code == 2 and match in end.error
    assert not out.exists()
