"""A metric is one object: once it is registered it is computed, kept, drawn and printed."""

import json

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.cli.judging import summary_lines
from nacre.evaluation.score import Judge
from nacre.metrics import METRICS
from nacre.metrics.metric import COMPARED, INF, Metric
from nacre.metrics.score import Measured
from nacre.report.text import from_json

SCHEMA = nacre.Schema({"x": nacre.Numeric((0, 100)), "y": nacre.Boolean()})


def medians(pair):
    """How far the medians of the first number lie apart."""
    first = pair.domain.numbers[0]
    ours, real = (np.nanmedian(first.numbers(side.frame[first.name])) for side in (pair.ours, pair.real))
    return Measured.of(pair.rows, median_gap=abs(float(ours - real)))


@pytest.fixture
def registered(monkeypatch):
    toy = Metric(
        "median_gap", "lower", (0.0, INF), "years", COMPARED, "difference of the medians", medians, headline=99
    )
    monkeypatch.setitem(METRICS, toy.name, toy)


def table(middle, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"x": rng.normal(middle, 1, 201), "y": rng.random(201) < 0.5})


def test_a_metric_registered_anywhere_is_in_scores_json_page_text_and_table(registered):
    real, fake = table(40), table(47, seed=1)
    expected = abs(np.median(real["x"].to_numpy()) - np.median(fake["x"].to_numpy()))
    report = nacre.evaluate(fake, train=real, schema=SCHEMA, suites="fidelity")
    found = {s.of: s for s in report.scores if s.metric == "median_gap"}
    assert found["synthetic"].value == pytest.approx(expected) and found["synthetic"].rows == 201
    assert 0 <= found["bootstrap"].value < 1  # what chance leaves, without a word of it in the toy
    kept = from_json(json.loads(report.to_json()))
    assert found["synthetic"] in kept.scores
    page = report.to_html()
    assert "difference of the medians" in page and f"{expected:.3f}</strong> years" in page
    assert f"| `median_gap` | {expected:.4g} |" in report.to_markdown()
    assert any(
        line.startswith(f"{'median_gap':13}{expected:.3f}   bootstrap of real") for line in summary_lines(report)
    )


def test_the_engine_of_benchmarks_computes_what_is_registered(monkeypatch, registered):
    from nacre.evaluation import score

    monkeypatch.setattr(score, "DISTANCES", (*score.DISTANCES, "median_gap"))
    real, fake = (t.to_pandas() for t in (table(40), table(47, seed=1)))
    found = Judge(real, real, SCHEMA, "y").distances(fake)
    assert found["median_gap"] == pytest.approx(abs(real["x"].median() - fake["x"].median()))
    assert set(found) == set(score.DISTANCES)


def test_without_it_nothing_of_it_is_anywhere():
    report = nacre.evaluate(table(47), train=table(40), schema=SCHEMA, suites="fidelity")
    assert "median_gap" not in report.to_json() + report.to_html()
