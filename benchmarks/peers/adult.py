"""nacre and other packages on Adult: the same rows, the same evaluation, each in a fresh process; one seed."""

from __future__ import annotations

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.methods import Case
from benchmarks.peers.registry import PEERS
from benchmarks.peers.study import methods
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

DELTA = 1e-5
EPSILONS = (1.0, 0.1, 10.0)


def cases() -> tuple[Case, ...]:
    """Ours first, then the others in the order of the registry; methods without privacy run once."""
    budgets = {name: [(e, DELTA) for e in EPSILONS] if p.private else [(None, None)] for name, p in PEERS.items()}
    theirs = [Case(name, e, d, seeds=1) for name, pairs in budgets.items() for e, d in pairs]
    return (Case("real", seeds=1), Case("bootstrap", seeds=1), *theirs)


STUDY = Study(
    load=data.adult,
    cases=cases(),
    protocol=Protocol(suites=("ten", "strong")),
    gaps=("auc_lr", "auc_hgb", "ap_hgb", "auc_mean10", "auc_mean9_no_gnb"),
    quick_cases=("real", "sketch", "independent", "mst-dpmm", "copula"),
)
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    run_study(STUDY, options, results, methods(options, results))
