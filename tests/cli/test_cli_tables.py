"""`nacre tables`, and rows drawn each for itself."""

from __future__ import annotations

import pytest

import nacre


def test_counts_are_printed_and_told_to_machines(call, release):
    shown = call("tables", release, "sex")
    assert shown.code == 0 and "95 % interval" in shown.out and " to " in shown.out
    told = call("tables", release, "age by region", "--edges", "age=18,40,65", "--json").json
    assert told["columns"] == ["age", "region"]
    assert sum(cell["share"] for cell in told["cells"]) == pytest.approx(1)
    assert {cell["age"] for cell in told["cells"]} >= {"..<18", "18..<40", "40..<65", "65.."}
    assert all(cell["low"] is None for cell in told["cells"])
    one = call("tables", release, "region", "--json").json["cells"]
    frame = nacre.load(release).expected("region")
    assert [c["count"] for c in one] == frame["count"].tolist()
    assert {type(c["below_noise"]) for c in one} <= {bool, type(None)}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["agee"], "no modelled column 'agee'"),
        (["age", "--edges", "age"], "expected COLUMN=EDGES"),
        (["age", "--edges", "ag=3"], "expected COLUMN=EDGES"),
        (["age", "--edges", "age=40,x"], "x"),
    ],
)
def test_mistakes_are_named(call, release, arguments, told):
    end = call("tables", release, *arguments)
    assert end.code == 2 and told in end.error


def test_rows_can_be_drawn_each_for_itself(call, release, small, tmp_path):
    for name, more in (("even", []), ("alone", ["--independent"])):
        assert call("sample", release, "-o", tmp_path / f"{name}.csv", "--rows", 50, "--seed", 1, *more).code == 0
    alone = nacre.load(release).sample(50, seed=1, independent=True, as_="pyarrow")
    lines = {name: (tmp_path / f"{name}.csv").read_text().splitlines() for name in ("even", "alone")}
    assert lines["even"] != lines["alone"] and len(lines["alone"]) == 51
    assert [line.split(",")[2] for line in lines["alone"][1:]] == [str(v) for v in alone.column(2).to_pylist()]
