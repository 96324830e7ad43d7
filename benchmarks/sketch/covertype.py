"""The sketch on Covertype, seven classes: indicators collapsed by default, and uncollapsed once."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import data, published
from benchmarks.catalogue import Options
from benchmarks.methods import Case
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

DELTA = 1e-5
COLLAPSED = Study(
    load=data.covertype,
    cases=(
        Case("real"),
        Case("sketch", 1.0, DELTA),
        Case("bootstrap", seeds=1),
        Case("independent", 1.0, DELTA, seeds=1),
        Case("sketch", 0.1, DELTA, seeds=2),
    ),
    protocol=Protocol(suites=("nine",), train_rows=100_000),
    gaps=("f1_lr", "f1_tree", "f1_forest", "f1_hgb", "f1_macro", "f1_mean9"),
    test_rows=40_000,
)
UNCOLLAPSED = replace(
    COLLAPSED,
    load=data.covertype55,
    cases=(Case("real", seeds=1), Case("sketch", 1.0, DELTA, seeds=1)),
    quick_cases=(),
)
ONLY = names_of(COLLAPSED, UNCOLLAPSED)


def run(options: Options, results: Results) -> None:
    results.published = published.rows("covertype")
    run_study(COLLAPSED, options, results)
    run_study(UNCOLLAPSED, options, results)
