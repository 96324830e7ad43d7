"""DP-HFlow on the four tables of its paper: nine classifiers, Kendall's tau, the published figures beside ours.

`hflow` is our form, `hflow-paper` the published configuration; what lies between them is shown on Adult one step at a
time. Cases without epsilon are not private.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import data, published
from benchmarks.catalogue import Options
from benchmarks.methods import METHODS, Case, Maker, Task, nacre_method
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results, Setting
from nacre.evaluation.score import Protocol

DELTA = 1e-5  # the paper's; above 1/n on the large tables, as there
GAPS = ("auroc_mean9", "apc_mean9", "f1_mean9")
LIKELY_ROWS, SAMPLES = 4_096, 64  # rows of the holdout and points of a row's box behind `nll`


def likelihood(release: Any, task: Task) -> dict[str, float]:
    """The held-out negative log-likelihood, by the bound that a release gives."""
    _, holdout = task.dataset.split(task.seed)
    return {"nll": -float(release.log_prob(holdout.head(LIKELY_ROWS), samples=SAMPLES, seed=task.seed).mean())}


def flow(method: str = "hflow", **options: Any) -> Maker:
    return nacre_method(method, options=options, more=likelihood)


VARIANTS: Mapping[str, Maker] = {
    "hflow": flow(),
    "hflow-paper": flow("hflow-paper"),
    "hflow-long": flow(steps=3000),
    "hflow-paper-marginals": flow("hflow-paper", marginals=0.1, space="normal"),
    "hflow-three-blocks": flow(blocks=3, linear="low-rank"),
    "hflow-no-labels": flow(labels=False),
    "hflow-flat": flow(clipping="flat"),
    "hflow-per-unit": flow(clipping="per-unit"),
    "hflow-sparse": flow(clipping="sparse"),
    "hflow-variational": flow(dequantisation="variational"),
    "merf": nacre_method("merf"),
    "dpcgan": nacre_method("dpcgan"),
    "gswgan": nacre_method("gswgan"),
}
MAKERS: Mapping[str, Maker] = {**METHODS, **VARIANTS}
MAIN = (
    Case("real"),
    Case("hflow", 1.0, DELTA),
    Case("hflow-paper", 1.0, DELTA),
    Case("hflow"),
    Case("hflow-paper"),
    Case("sketch", 1.0, DELTA),
    Case("independent", 1.0, DELTA),
    Case("merf", 1.0, DELTA),
    Case("dpcgan", 1.0, DELTA),
    Case("gswgan", 1.0, DELTA),
)
STEPS = tuple(
    Case(name, 1.0, DELTA, seeds=1) for name in VARIANTS if name not in {"hflow-long", *(c.method for c in MAIN)}
)
LARGE_ROWS = 50_000  # the most rows that a classifier trains on
QUICK = ("real", "hflow")


def study(table: str) -> Study:
    """Adult with the steps between the paper's configuration and ours; the large tables with the main cases, Census
    with three times the steps besides."""
    load = data.DATASETS[table]
    if table == "adult":
        return Study(load, (*MAIN, *STEPS), Protocol(suites=("nine",)), GAPS, quick_cases=QUICK)
    cases = (*MAIN, Case("hflow-long", 1.0, DELTA)) if table == "census" else MAIN
    return Study(load, cases, Protocol(suites=("nine",), train_rows=LARGE_ROWS), GAPS, 40_000, QUICK)


ONLY = names_of(study("adult"), study("census"))


def run(options: Options, results: Results) -> None:
    table = results.name.removeprefix("hflow-")
    results.published = published.rows(f"{table}-hflow")
    run_study(study(table), options, results, MAKERS)
    if table == "adult" and options.wants("hflow") and not options.quick:
        sampling(results)


def sampling(results: Results) -> None:
    """The time to draw 100,000 rows from a saved flow of Adult. Two steps of training: what a draw costs depends on the
    sizes of the network alone."""
    import nacre

    dataset = data.adult()
    setting = Setting("hflow", "adult, 100,000 rows drawn", guarantee=None)
    if results.of(setting, 0):
        return
    private, _ = dataset.split(0)
    made = nacre.fit(private, schema=dataset.schema, epsilon=None, method="hflow", target=dataset.target,
                     options={"steps": 2, "batch": 64})  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "adult.nacre")
        release = nacre.load(Path(folder) / "adult.nacre")
        start = time.perf_counter()
        release.write(Path(folder) / "rows.parquet", 100_000)
        results.add(setting, 0, {"sample_write_s": time.perf_counter() - start}, "sampling")
    results.write()
