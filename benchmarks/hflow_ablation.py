"""Clipping and dequantisation of the flow on Adult: the questions of the paper's Figures 4 and 5, by likelihood.

`hflow` with each clipping at epsilon 1, and with uniform and variational dequantisation over a range of budgets. Three
classifiers instead of nine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks import data, hflow
from benchmarks.catalogue import Options
from benchmarks.methods import Case, Maker
from benchmarks.protocol import Study, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

CHANGES: Mapping[str, dict] = {
    "hflow": {},
    "hflow-flat": {"clipping": "flat"},
    "hflow-per-unit": {"clipping": "per-unit"},
    "hflow-sparse": {"clipping": "sparse"},
    "hflow-variational": {"dequantisation": "variational"},
}
MAKERS: Mapping[str, Maker] = {name: hflow.flow(**change) for name, change in CHANGES.items()}
BUDGETS = (1.0, 3.0, 10.0, None)
CASES = (
    *(Case(name, 1.0, hflow.DELTA) for name in CHANGES),
    *(
        Case(name, epsilon, hflow.DELTA if epsilon else None)
        for name in ("hflow", "hflow-variational")
        for epsilon in BUDGETS[1:]
    ),
)
STUDY = Study(data.adult, CASES, Protocol(suites=("quick",)), (), quick_cases=("hflow-flat",))


def run(options: Options, results: Results) -> None:
    run_study(STUDY, options, results, MAKERS)
    if not options.quick:
        draw(results, Path(__file__).parent.parent / "docs" / "methods" / "hflow-ablation.png")


def draw(results: Results, path: Path) -> None:
    """Left: likelihood of each clipping at epsilon 1. Right: of each dequantisation over the budget."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    names = {"hflow": "per-layer", "hflow-flat": "flat", "hflow-per-unit": "per-unit", "hflow-sparse": "sparse"}
    for place, name in enumerate(names):
        values = _nll(results, name, 1.0)
        left.plot(np.full(len(values), place), values, "o", fillstyle="none", color="C0")
    left.set_xticks(range(len(names)), names.values())
    left.set(title="Clipping, ε = 1", ylabel="held-out nats per row (lower is better)")
    for name, text in (("hflow", "uniform"), ("hflow-variational", "variational")):
        drawn = {i: values for i, e in enumerate(BUDGETS) if len(values := _nll(results, name, e))}
        points = [(i, value) for i, values in drawn.items() for value in values]
        right.plot(*zip(*points), "o", fillstyle="none", label=text)
    right.set_xticks(range(len(BUDGETS)), [f"{e:g}" if e else "not private" for e in BUDGETS])
    right.set(title="Dequantisation", xlabel="ε", ylabel="held-out nats per row")
    right.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _nll(results: Results, method: str, epsilon: float | None) -> np.ndarray:
    setting = results.find(method, "adult", epsilon)
    found = [results.of(setting, seed).get("nll") for seed in range(20)] if setting else []
    return np.array([v for v in found if v is not None])
