"""Clipping and dequantisation of the flow on Adult: the questions of the paper's Figures 4 and 5, by likelihood.

The flow by DP-SGD alone, since a warm start would hide what DP-SGD gains or loses: with each clipping at epsilon 1 in a
short training (sparse clipping forms batch times parameters), and with uniform and variational dequantisation over a
range of budgets. Three classifiers instead of nine.
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

SHORT = {"batch": 256, "steps": 600}
CLIPPINGS = ("per-layer", "flat", "per-unit", "sparse")
FORMS = {"hflow-cold": "uniform", "hflow-variational": "variational"}
CHANGES: Mapping[str, dict] = {
    **{f"hflow-short-{clipping}": {**SHORT, "clipping": clipping} for clipping in CLIPPINGS},
    **{name: {"dequantisation": form} for name, form in FORMS.items()},
}
MAKERS: Mapping[str, Maker] = {n: tables.flow("hflow", {**tables.COLD, **more}) for n, more in CHANGES.items()}
BUDGETS = (1.0, 10.0, None)
CASES = (
    *(Case(f"hflow-short-{clipping}", 1.0, tables.DELTA) for clipping in CLIPPINGS),
    *(Case(name, epsilon, tables.DELTA if epsilon else None) for name in FORMS for epsilon in BUDGETS),
)
STUDY = Study(data.adult, CASES, Protocol(suites=("quick",)), (), quick_cases=("hflow-short-flat",))
ONLY = names_of(STUDY)


def run(options: Options, results: Results) -> None:
    run_study(STUDY, options, results, MAKERS)
    if not options.quick:
        draw(results, PICTURES)


def draw(results: Results, folder: Path) -> None:
    """One point per seed: each clipping at epsilon 1, and each dequantisation over the budget, of what was measured."""
    named = _measured(results, {f"hflow-short-{clipping}": clipping for clipping in CLIPPINGS})
    clippings = {text: {i: _nll(results, name, 1.0)} for i, (name, text) in enumerate(named.items())}
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
