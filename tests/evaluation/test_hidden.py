"""The block on hidden columns: the verdict follows the MMD test, figures equal their definitions, all show it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from nacre.errors import NacreError
from nacre.evaluation import hidden
from nacre.evaluation.hidden import hidden_marginals
from nacre.report.hidden import verdict
from nacre.report.report import Report
from nacre.report.text import from_json, to_json
from nacre.table import Categorical, Numeric, Schema

SCHEMA = Schema({"x": Numeric((-10.0, 10.0)), "c": Categorical(("a", "b")), "y": Numeric((-10.0, 10.0))})


def table(shift, seed, n=1500):
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1.0, n)
    return pd.DataFrame({"x": x, "c": np.where(rng.random(n) < 0.3, "a", "b"), "y": x + rng.normal(size=n)})


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hidden, "REPEATS", 5)

        def scores(records, columns):  # of a standard normal law for x; wrong on purpose for the labels
            own = records["x"].values[:, None] if columns == ["x"] else records["c"].values[:, None] + 0.0
            return own, -own

        return hidden_marginals(
            table(0.8, 1), train=table(0.0, 2), schema=SCHEMA, hide=[["x"], ["c"]], alpha=0.1, control=table(0.0, 3),
            scores=scores, rows=400,
        )  # fmt: skip


def by(one, metric, of="synthetic", columns=()):
    return next(s for s in one.scores if (s.metric, s.of, s.columns) == (metric, of, columns))


def test_the_verdict_and_the_effect_sizes(found):
    moved, kept = found
    assert moved.told and not kept.told and (moved.alpha, moved.sets) == (0.1, 2)
    assert by(moved, "mean_gap", columns=("x",)).value == pytest.approx(0.8, abs=0.12)
    assert abs(by(moved, "mean_gap", "control", ("x",)).value) < 0.12
    wanted = ks_2samp(table(0.0, 2)["x"], table(0.8, 1)["x"]).statistic
    assert by(moved, "ks", columns=("x",)).value == pytest.approx(wanted)
    assert by(kept, "share_gap", columns=("c",)).value < 0.05
    assert by(moved, "mmd_p").rows == 400 and by(moved, "mmd_p", "control").value > 0.01
    assert by(moved, "ksd_p", "energy").value > 0.01, "the scores are those of the rows' own law"
    assert by(kept, "ksd_p", "energy").value < 0.01, "every set has its own Stein test"
    assert by(moved, "ksd_nu", "energy").value == pytest.approx(400 * by(moved, "ksd_u", "energy").value)
    assert not [s for one in found for s in one.scores if s.metric == "null_share"], "no column may be missing"


def test_several_sets_share_the_level(monkeypatch):
    """A p-value of 0.04 at α = 0.05: enough for one set, not for one of two."""
    from types import SimpleNamespace

    import nacre.distances

    def test(x, y, level, **rest):
        return SimpleNamespace(p_value=0.04, statistic=0.0, rejects=level >= 0.04)

    monkeypatch.setattr(hidden, "REPEATS", 1)
    monkeypatch.setattr(nacre.distances, "mmd_test", test)
    for sets, told in (([["x"]], [True]), ([["x"], ["c"]], [False, False])):
        found = hidden_marginals(table(0, 1, 200), train=table(0, 2, 200), schema=SCHEMA, hide=sets, alpha=0.05)
        assert [one.told for one in found] == told


def test_shares_of_missing_values_stand_beside_each_other(monkeypatch):
    """A number and a label that may be missing: by hand, of the real rows, the release and the control."""
    monkeypatch.setattr(hidden, "REPEATS", 2)
    schema = Schema({"x": Numeric((-10.0, 10.0), nullable=True), "c": Categorical(("a", "b"), nullable=True)})

    def gappy(seed, gone):
        frame = table(0.0, seed, 200)[["x", "c"]]
        frame.loc[: gone - 1, "x"] = np.nan
        frame.loc[: 2 * gone - 1, "c"] = None
        return frame

    (one,) = hidden_marginals(
        gappy(1, 20), train=gappy(2, 60), schema=schema, hide=[["x", "c"]], control=gappy(3, 50), rows=100
    )
    shares = {(s.of, s.columns[0]): s.value for s in one.scores if s.metric == "null_share"}
    assert shares == pytest.approx({
        ("real", "x"): 0.3, ("synthetic", "x"): 0.1, ("control", "x"): 0.25,
        ("real", "c"): 0.6, ("synthetic", "c"): 0.2, ("control", "c"): 0.5,
    })  # fmt: skip


def test_every_format_shows_it_and_says_what_it_is_not(found):
    report = Report(scores=(), hidden=found)
    page, text = report.to_html(), report.to_markdown()
    for made in (page, text):
        assert "not differential privacy" in made and "FAILED" in made and "mean_gap" in made
    assert from_json(json.loads(json.dumps(to_json(report)))).hidden == found
    assert "hidden" not in to_json(replace(report, hidden=()))


def test_the_verdict_says_when_the_control_is_told_apart_too(found):
    moved, kept = found
    assert "proves little" not in verdict(moved) and verdict(kept).startswith("FAILED")
    scores = tuple(replace(s, value=0.001) if (s.metric, s.of) == ("mmd_p", "control") else s for s in moved.scores)
    assert "tells the control from them too" in verdict(replace(moved, scores=scores))


def test_sets_must_be_sets():
    with pytest.raises(NacreError, match="sets of columns"):
        hidden_marginals(table(0, 1), train=table(0, 2), schema=SCHEMA, hide=["x"])
