"""The planner's expected errors beside what came out: the law that is fitted, and the ratios that were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.results import RESULTS
from benchmarks.sketch import planner

from nacre.planning.expected import expected


def test_a_known_law_is_found_again(tmp_path):
    """found = e^-0.5·raw^0.8, pairs e^0.3 more for each fine column, with a spread of 0.3; 400 of each in two cases:
    within five standard errors. Columns of one value and other tables have no say."""
    rng = np.random.default_rng(0)
    path = tmp_path / "pairs.jsonl"
    with path.open("w") as out:
        for case in ("one/1", "two/1", "other/1"):
            found = []
            for of in ("column", "pair"):
                for i, raw in enumerate(np.exp(rng.uniform(-6, -1, 400))):
                    fine, constant = (i // 2 % 3 if of == "pair" else 0), i % 2 == 0
                    far = 5 if case == "other/1" else -5 if constant else 0
                    value = float(np.exp(-0.5 + 0.8 * np.log(raw) + 0.3 * fine + rng.normal(0, 0.3) + far))
                    found.append({"of": of, "groups": 9, "raw": float(raw), "found": value, "fine": fine,
                                  "commonest": 0.99 if constant else 0.4})  # fmt: skip
            out.write(json.dumps({"case": case, "found": found}) + "\n")
    told = planner.laws(path, {"one", "two"})
    for intercept, power, _, spread in told.values():
        assert abs(intercept + 0.5) < 0.25 and abs(power - 0.8) < 0.06 and abs(spread - 0.3) < 0.06
    assert told["column"][2] == 0 and abs(told["pair"][2] - 0.3) < 0.12


def test_figures_are_medians_and_shares():
    made = [{"of": "pair", "value": 0.2, "low": 0.1, "high": 0.3, "found": f} for f in (0.05, 0.1, 0.2, 0.4)]
    assert planner.figures(made) == {"planned_tvd2": pytest.approx(1.5), "inside_tvd2": 0.5}


@pytest.mark.parametrize("of", ("column", "pair"))
def test_the_range_holds_eight_of_ten_draws_of_its_own_law(of):
    from nacre.planning.expected import _LAWS

    told = expected(0.05, of)
    drawn = told.value * np.exp(np.random.default_rng(1).normal(0, _LAWS[of][3], 20_000))
    assert np.mean((drawn >= told.low) & (drawn <= told.high)) == pytest.approx(0.8, abs=0.015)


@pytest.mark.skipif(not Path(RESULTS / "planner.json").exists(), reason="the benchmark `planner` has not been run")
def test_recorded_ratios_are_near_one():
    """Three tables: the middle of the planned distances within a factor of two of what came out."""
    rows = json.loads((RESULTS / "planner.json").read_text())["rows"]
    ratios = {(r["dataset"], r["epsilon"], r["metric"]): r["mean"] for r in rows if r["metric"].startswith("planned")}
    assert len({dataset for dataset, _, _ in ratios}) == 3
    assert all(0.5 < ratio < 2 for ratio in ratios.values()), ratios
