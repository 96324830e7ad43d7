"""Studies of one table with one protocol, declared: the sketch alone, and beside other packages in fresh processes.

Beside others on Covertype stands the strongest private peer that finishes on Adult, MST: AIM, stronger where it ends,
ends within the limit at epsilon 0.1 only. Covertype's indicators are collapsed by default, and uncollapsed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks import data, published
from benchmarks.catalogue import Options
from benchmarks.methods import METHODS, Case
from benchmarks.peers import study as peers
from benchmarks.peers.registry import PEERS
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

DELTA = 1e-5  # the papers' δ; the default one is run once beside it
EPSILONS = (1.0, 0.1, 10.0)
CLASSES = ("f1_lr", "f1_tree", "f1_forest", "f1_hgb", "f1_macro", "f1_mean9")

SKETCH_ADULT = Study(
    load=data.adult,
    cases=(
        Case("real"),
        Case("bootstrap"),
        Case("independent", 1.0, DELTA),
        *(Case("sketch", epsilon, DELTA) for epsilon in EPSILONS),
        Case("sketch-bought", 1.0, DELTA),
        Case("sketch-no-target", 1.0, DELTA),
        Case("sketch", 1.0, None),
    ),
    protocol=Protocol(suites=("ten", "strong")),
    gaps=("auc_lr", "auc_hgb", "ap_hgb", "auc_mean10", "auc_mean9_no_gnb", "ap_mean10", "f1_macro", "f1_hgb"),
)
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
    gaps=CLASSES,
    test_rows=40_000,
)
UNCOLLAPSED = replace(
    COLLAPSED,
    load=data.covertype55,
    cases=(Case("real", seeds=1), Case("sketch", 1.0, DELTA, seeds=1)),
    quick_cases=(),
)


def beside_others() -> tuple[Case, ...]:
    """Ours first, then the others in the order of the registry; methods without privacy run once."""
    budgets = {name: [(e, DELTA) for e in EPSILONS] if p.private else [(None, None)] for name, p in PEERS.items()}
    theirs = [Case(name, e, d, seeds=1) for name, pairs in budgets.items() for e, d in pairs]
    return (Case("real", seeds=1), Case("bootstrap", seeds=1), *theirs)


PEERS_ADULT = replace(
    SKETCH_ADULT,
    cases=beside_others(),
    gaps=("auc_lr", "auc_hgb", "ap_hgb", "auc_mean10", "auc_mean9_no_gnb"),
    quick_cases=("real", "sketch", "independent", "mst-dpmm", "copula"),
)
PEERS_COVERTYPE = replace(
    COLLAPSED,
    cases=(
        Case("real", seeds=1),
        *(Case(method, e, DELTA, seeds=1) for e in EPSILONS for method in ("sketch", "mst-dpmm")),
    ),
    gaps=tuple(name for name in CLASSES if name != "f1_macro"),
    quick_cases=("real", "sketch", "mst-dpmm"),
)
STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sketch-adult": (SKETCH_ADULT,),
    "sketch-covertype": (COLLAPSED, UNCOLLAPSED),
    "peers-adult": (PEERS_ADULT,),
    "peers-covertype": (PEERS_COVERTYPE,),
}
PUBLISHED = {"sketch-adult": "adult", "sketch-covertype": "covertype"}  # whose figures stand beside
ONLY = {name: names_of(*studies) for name, studies in STUDIES.items()}


def run(options: Options, results: Results) -> None:
    name = results.benchmark
    results.published = published.rows(PUBLISHED[name]) if name in PUBLISHED else []
    made = peers.methods(options, results) if name.startswith("peers-") else METHODS
    for study in STUDIES[name]:
        run_study(study, options, results, made)
