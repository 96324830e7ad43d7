"""The loop of a utility benchmark: split, ceiling, cases, gaps to the ceiling; written after each case."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from benchmarks.catalogue import Options
from benchmarks.data import Dataset
from benchmarks.methods import METHODS, Case, Made, Maker, NotMade, Task
from benchmarks.results import Results, Setting
from nacre.evaluation.downstream import at_most, labels
from nacre.evaluation.score import Judge, Protocol
from nacre.metrics import MODELS
from nacre.metrics.domain import Domain

QUICK_ROWS = 4_000
# Hard-label scores per classifier would be two thirds of the rows and answer no question; their means stay.
HIDDEN = tuple(f"{s}_{m}" for s in ("roc_hard", "prc_hard") for m in MODELS)


@dataclass(frozen=True)
class Study:
    """One table under one protocol with a list of cases. At most `test_rows` of the holdout are scored."""

    load: Callable[[], Dataset]
    cases: Sequence[Case]
    protocol: Protocol
    gaps: Sequence[str]
    test_rows: int | None = None
    quick_cases: Sequence[str] = ("real", "bootstrap", "independent", "sketch")


def run_study(study: Study, options: Options, results: Results, methods: Mapping[str, Maker] = METHODS) -> None:
    """All cases of all seeds. A case that is already in `results` is left alone.

    A case that fails ends the run with its own error; what was measured before it is on disk, and the same
    command with --resume goes on from there.
    """
    dataset = study.load().head(QUICK_ROWS if options.quick else None)
    for seed in range(options.seeds):
        cases = [c for c in _wanted(study, options) if c.seeds is None or seed < c.seeds]
        todo = [c for c in cases if not results.has(_name(dataset, c), seed)]
        if not todo:
            continue
        judge, task = _prepare(study, options, dataset, seed)
        known = results.of(Setting("real", dataset.name), seed)
        if known:
            judge.ceiling = known  # measured before the run was resumed
        for case in todo:
            start = time.perf_counter()
            try:
                made = methods[case.method](task, case)
            except NotMade as nothing:
                results.tell(_name(dataset, case), nothing.about)
                print(f"seed {seed}  {case.method} ε={case.epsilon}  no table: {nothing}", flush=True)
                continue
            results.tell(_name(dataset, case), made.about)
            figures = _figures(judge, case, made, study.gaps)
            delta = made.delta if case.delta is None else case.delta
            setting = Setting(case.method, dataset.name, case.epsilon, delta, made.guarantee)
            results.add(setting, seed, figures, _name(dataset, case))
            results.write()
            _say(seed, case, figures, time.perf_counter() - start)


def names_of(*studies: Study) -> tuple[str, ...]:
    """What `--only` may name."""
    return tuple(dict.fromkeys(case.method for study in studies for case in study.cases))


def _name(dataset: Dataset, case: Case) -> str:
    return f"{dataset.name}/{case.method}/{case.epsilon}/{case.delta}"


def _wanted(study: Study, options: Options) -> list[Case]:
    cases = [c for c in study.cases if options.wants(c.method)]
    if options.quick:
        cases = [c for c in cases if c.method in study.quick_cases and c.epsilon in (None, 1.0)]
    return cases


def _prepare(study: Study, options: Options, dataset: Dataset, seed: int) -> tuple[Judge, Task]:
    private, holdout = dataset.split(seed)
    domain = Domain.of(dataset.schema)
    keep = at_most(labels(holdout, domain, dataset.target), study.test_rows, seed)
    protocol = replace(study.protocol, seed=seed, n_jobs=options.jobs)
    if options.quick:
        protocol = replace(protocol, suites=("quick",))
    judge = Judge(private, holdout.iloc[keep].reset_index(drop=True), domain, dataset.target, protocol)
    return judge, Task(dataset, private, seed)


def _figures(judge: Judge, case: Case, made: Made, gaps: Sequence[str]) -> dict[str, float]:
    if case.method == "real":
        return _shown({**judge.distances(made.table), **judge.ceiling})
    table: pd.DataFrame = made.table
    figures = judge.score(table)
    # The ceiling costs as much as a case: only where a gap to it is shown.
    behind = {k: v for k, v in judge.gaps(figures).items() if k.removesuffix("_gap") in gaps} if gaps else {}
    return _shown({**figures, **behind, **made.figures})


def _shown(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if name not in HIDDEN}


def _say(seed: int, case: Case, figures: Mapping[str, float], seconds: float) -> None:
    headline = (
        "auc_mean10",
        "auc_hgb",
        "auc_hgb_gap",
        "f1_tree",
        "f1_forest",
        "tvd2",
        "kendall_rmse",
        "fit_s",
    )
    shown = "  ".join(f"{k} {figures[k]:.4f}" for k in headline if k in figures)
    budget = "" if case.epsilon is None else f" ε={case.epsilon:g}" + ("" if case.delta else " default δ")
    print(f"seed {seed}  {case.method}{budget}  {shown}  ({seconds:.0f} s)", flush=True)
