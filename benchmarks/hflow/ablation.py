"""Clipping and dequantisation of the flow on Adult: the questions of the paper's Figures 4 and 5, by likelihood.

`hflow` with each clipping at epsilon 1, and with uniform and variational dequantisation over a range of budgets. Three
classifiers instead of nine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.hflow import tables
from benchmarks.methods import Case, Maker
from benchmarks.places import PICTURES
from benchmarks.protocol import Study, names_of, run_study
from benchmarks.results import Results
from nacre.evaluation.score import Protocol

CHANGES: Mapping[str, dict] = {
    "hflow": {},
    "hflow-flat": {"clipping": "flat"},
    "hflow-per-unit": {"clipping": "per-unit"},
    "hflow-sparse": {"clipping": "sparse"},
    "hflow-variational": {"dequantisation": "variational"},
}
MAKERS: Mapping[str, Maker] = {name: tables.flow("hflow", change) for name, change in CHANGES.items()}
BUDGETS = (1.0, 3.0, 10.0, None)
CASES = (
    *(Case(name, 1.0, tables.DELTA) for name in CHANGES),
    *(
        Case(name, epsilon, tables.DELTA if epsilon else None)
        for name in ("hflow", "hflow-variational")
        for epsilon in BUDGETS[1:]
    ),
)
STUDY = Study(data.adult, CASES, Protocol(suites=("quick",)), (), quick_cases=("hflow-flat",))


NAMES = {"hflow": "per-layer", "hflow-flat": "flat", "hflow-per-unit": "per-unit", "hflow-sparse": "sparse"}
FORMS = {"hflow": "uniform", "hflow-variational": "variational"}
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    run_study(STUDY, options, results, MAKERS)
    if not options.quick:
        draw(results, PICTURES)


def draw(results: Results, folder: Path) -> None:
    """One point per seed: each clipping at epsilon 1, and each dequantisation over the budget, of what was measured."""
    clippings = {
        text: {i: _nll(results, name, 1.0)} for i, (name, text) in enumerate(_measured(results, NAMES).items())
    }
    if len(clippings) > 1:
        _picture(folder / "hflow-clipping.png", clippings, "clipping, ε = 1", list(clippings))
    forms = {
        text: {i: _nll(results, name, epsilon) for i, epsilon in enumerate(BUDGETS)}
        for name, text in _measured(results, FORMS).items()
    }
    if len(forms) > 1:
        budgets = [f"{e:g}" if e else "not private" for e in BUDGETS]
        _picture(folder / "hflow-dequantisation.png", forms, "dequantisation, by ε", budgets, legend=True)


def _measured(results: Results, names: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in names.items() if len(_nll(results, name, 1.0))}


def _picture(path: Path, drawn: Mapping[str, dict], title: str, ticks: list[str], legend: bool = False) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    for shift, (text, places) in enumerate(drawn.items()):
        points = [(place + 0.08 * shift * legend, v) for place, values in places.items() for v in values]
        axes.plot(*np.array(points).T, "o", fillstyle="none", color=f"C{shift * legend}", label=text)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set(xlim=(-0.5, len(ticks) - 0.5), title=title, ylabel="held-out nats per row (lower is better)")
    if legend:
        axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _nll(results: Results, method: str, epsilon: float | None) -> np.ndarray:
    setting = results.find(method, "adult", epsilon)
    found = [results.of(setting, seed).get("nll") for seed in range(20)] if setting else []
    return np.array([v for v in found if v is not None])
