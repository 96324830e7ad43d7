"""nacre and the strongest private peer that finishes on Adult, on Covertype with seven classes; one seed.

That is MST: AIM, stronger where it ends, ends within the limit at epsilon 0.1 only."""

from __future__ import annotations

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.methods import Case
from benchmarks.peers.study import methods
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

DELTA = 1e-5
STUDY = Study(
    load=data.covertype,
    cases=(
        Case("real", seeds=1),
        *(Case(method, e, DELTA, seeds=1) for e in (1.0, 0.1, 10.0) for method in ("sketch", "mst-dpmm")),
    ),
    protocol=Protocol(suites=("nine",), train_rows=100_000),
    gaps=("f1_lr", "f1_tree", "f1_forest", "f1_hgb", "f1_mean9"),
    test_rows=40_000,
    quick_cases=("real", "sketch", "mst-dpmm"),
)
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    run_study(STUDY, options, results, methods(options, results))
