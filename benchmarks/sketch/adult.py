"""The sketch on Adult: ε = 0.1, 1 and 10; at the default δ, without a target, and with a bought domain."""

from __future__ import annotations

from benchmarks import data, published
from benchmarks.catalogue import Options
from benchmarks.methods import Case
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

DELTA = 1e-5  # the papers' δ; the default one is run once beside it
STUDY = Study(
    load=data.adult,
    cases=(
        Case("real"),
        Case("bootstrap"),
        Case("independent", 1.0, DELTA),
        Case("sketch", 1.0, DELTA),
        Case("sketch", 0.1, DELTA),
        Case("sketch", 10.0, DELTA),
        Case("sketch-bought", 1.0, DELTA),
        Case("sketch-no-target", 1.0, DELTA),
        Case("sketch", 1.0, None),
    ),
    protocol=Protocol(suites=("ten", "strong")),
    gaps=("auc_lr", "auc_hgb", "ap_hgb", "auc_mean10", "auc_mean9_no_gnb", "ap_mean10", "f1_macro", "f1_hgb"),
)
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    results.published = published.rows("adult")
    run_study(STUDY, options, results)
