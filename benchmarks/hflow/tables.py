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
from benchmarks.peers import study as peers
from benchmarks.peers.registry import Peer
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results, Setting
from nacre.evaluation.score import Protocol

DELTA = 1e-5  # the paper's; above 1/n on the large tables, as there
LIKELY_ROWS, SAMPLES = 4_096, 64  # rows of the holdout and points of a row's box behind `nll`


def likelihood(release: Any, task: Task) -> dict[str, float]:
    """The held-out negative log-likelihood, by the bound that a release gives."""
    _, holdout = task.dataset.split(task.seed)
    return {"nll": -float(release.log_prob(holdout.head(LIKELY_ROWS), samples=SAMPLES, seed=task.seed).mean())}


COLD = {"warm": 0.0, "rate": 3e-3}  # DP-SGD alone, as `hflow` was before it began at bought tables
FLOWS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "hflow": ("hflow", {}),
    "hflow-cold": ("hflow", COLD),
    "hflow-tables": ("hflow", {"warm": 0.99, "steps": 1, "averaging": 0.0}),
    "hflow-paper": ("hflow-paper", {}),
    "hflow-no-labels": ("hflow", {"labels": False}),
    "hflow-three-blocks": ("hflow", {"blocks": 3, "linear": "low-rank"}),
    "hflow-small-batch": ("hflow", {"batch": 1024, "steps": 2300}),
    "hflow-constant-rate": ("hflow", {"decay": "constant", "averaging": 0.0}),
    "hflow-no-marginals": ("hflow", {**COLD, "marginals": 0.0, "space": "uniform"}),
    "hflow-paper-marginals": ("hflow-paper", {"marginals": 0.1, "space": "normal"}),
}  # method and options: ours; without its warm start; with next to nothing else; the published form; steps between them


def flow(method: str, options: Mapping[str, Any]) -> Maker:
    return nacre_method(method, options=options, more=likelihood)


PLAIN = ("merf", "dpcgan", "gswgan")
VARIANTS: Mapping[str, Maker] = {
    **{name: flow(*given) for name, given in FLOWS.items()},
    **{name: nacre_method(name) for name in PLAIN},
}
MAKERS: Mapping[str, Maker] = {**METHODS, **VARIANTS}
MAIN = (
    Case("real"),
    Case("hflow", 1.0, DELTA),
    Case("hflow-cold", 1.0, DELTA),
    Case("hflow-paper", 1.0, DELTA),
    Case("hflow"),
    Case("hflow-cold"),
    Case("hflow-paper"),
    Case("sketch", 1.0, DELTA),
    Case("independent", 1.0, DELTA),
    Case("merf", 1.0, DELTA),
    Case("dpcgan", 1.0, DELTA),
    Case("gswgan", 1.0, DELTA),
    Case("ctgan"),
)
CTGAN = Peer(
    "ctgan", "sdv", "run_ctgan.py", "ctgan", False, True, False,
    "No privacy. Default settings; the package's networks and losses, with a training loop that keeps the rows on the "
    "device and handles all columns at once; mixtures of numeric columns fitted to at most 50,000 rows.",
)  # fmt: skip
STEPS = tuple(Case(name, 1.0, DELTA, seeds=3) for name in VARIANTS if name not in {c.method for c in MAIN})
WIDE = ("real", "hflow", "hflow-paper", "sketch")  # of Covertype with its indicators as columns
LARGE_ROWS = 50_000  # the most rows that a classifier trains on
QUICK = ("real", "hflow")


def study(table: str) -> Study:
    """Adult with the steps between the paper's configuration and ours; the large tables with the main cases."""
    load = data.DATASETS[table]
    if table == "adult":
        return Study(load, (*MAIN, *STEPS), Protocol(suites=("nine",)), (), quick_cases=QUICK)
    cases = [case for case in MAIN if table != "covertype-55" or case.method in WIDE]
    return Study(load, cases, Protocol(suites=("nine",), train_rows=LARGE_ROWS), (), 40_000, QUICK)


ONLY = names_of(study("adult"))


def run(options: Options, results: Results) -> None:
    table = results.benchmark.removeprefix("hflow-")
    results.published = published.rows(f"{table}-hflow")
    run_study(study(table), options, results, {**MAKERS, **peers.methods(options, results, {"ctgan": CTGAN})})
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
                     options={"steps": 2, "batch": 64, "lessons": 2})  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "adult.nacre")
        release = nacre.load(Path(folder) / "adult.nacre")
        start = time.perf_counter()
        release.write(Path(folder) / "rows.parquet", 100_000)
        results.add(setting, 0, {"sample_write_s": time.perf_counter() - start}, "sampling")
    results.write()
