"""PEARL and DP-MERF on thinned Adult: hard labels over ten classifiers, random queries, two-way tables (E8, E13).

Shares of the real table's own figures are what compares with the paper: its encoding is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import published
from benchmarks.catalogue import Options
from benchmarks.methods import METHODS, Case, Made, Maker, Task, nacre_method
from benchmarks.pearl import balanced
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol
from nacre.metrics.cells import cells
from nacre.metrics.counts import distances, sampled
from nacre.metrics.domain import Domain
from nacre.metrics.queries import range_queries

DELTA = 1e-5
BINS = 10  # equal public bins of the two-way tables (specs/pearl.md 5)


def queried(maker: Maker) -> Maker:
    """The same table with the two fidelity figures of the paper."""

    def make(task: Task, case: Case) -> Made:
        made = maker(task, case)
        domain = Domain.of(task.dataset.schema)
        pairs = sampled(domain.names, 2, 10_000, task.seed)
        apart = distances(cells(made.table, domain, BINS), cells(task.private, domain, BINS), pairs)
        found = {
            "range_query": range_queries(made.table, task.private, domain, seed=task.seed).value,
            "marginal_l1": 2 * apart.mean,
        }
        return Made(made.table, made.guarantee, made.delta, {**made.figures, **found})

    return make


VARIANTS: Mapping[str, Maker] = {
    "pearl": nacre_method("pearl"),
    "pearl-critic": nacre_method("pearl", options={"critic": True}),
    "pearl-network": nacre_method("pearl", options={"network": True}),
    "pearl-one-way": nacre_method("pearl", options={"orders": (1.0, 0.0, 0.0)}),
    "pearl-paper": nacre_method("pearl-paper"),
    "pearl-paper-no-critic": nacre_method("pearl-paper", options={"critic": 0}),
    "pearl-paper-exact": nacre_method("pearl-paper", options={"outputs": "exact"}),
    "pearl-paper-straight": nacre_method("pearl-paper", options={"outputs": "straight-through"}),
    "pearl-paper-scales": nacre_method("pearl-paper", options={"outputs": "exact", "spread": (0.5, 1.0, 2.0)}),
    "merf": nacre_method("merf"),
    "merf-scale": nacre_method("merf", options={"scale": "bought"}),
    "sketch": nacre_method("sketch"),
}
MAKERS: Mapping[str, Maker] = {**METHODS, **{name: queried(maker) for name, maker in VARIANTS.items()}}
CASES = (Case("real"), *(Case(name, 1.0, DELTA) for name in VARIANTS))
ABLATIONS = ("pearl-network", "pearl-one-way", "pearl-paper-straight", "pearl-paper-scales")  # on this table alone
STUDY = Study(
    load=balanced.adult,
    cases=CASES,
    protocol=Protocol(suites=("ten",)),
    gaps=("roc_hard_mean10", "prc_hard_mean10", "auc_mean10"),
    quick_cases=("real", "pearl", "sketch"),
)
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    results.published = published.rows("adult-balanced")
    run_study(STUDY, options, results, MAKERS)
