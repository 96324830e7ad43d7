"""Clipping and dequantisation of DP-HFlow on Adult: the questions of its Figures 4 and 5, by held-out likelihood.

The paper's configuration with each clipping at epsilon 1, with uniform and variational dequantisation over a range of
budgets, and our form with the same changes at epsilon 1. Three classifiers instead of nine.
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
    "": {},
    "-flat": {"clipping": "flat"},
    "-per-unit": {"clipping": "per-unit"},
    "-sparse": {"clipping": "sparse"},
    "-variational": {"dequantisation": "variational"},
}
FORMS = ("hflow-paper", "hflow")
MAKERS: Mapping[str, Maker] = {
    form + name: hflow.flow(form, **change) for form in FORMS for name, change in CHANGES.items()
}
BUDGETS = (0.5, 1.0, 3.0, 10.0, None)
CASES = (
    *(Case(form + name, 1.0, hflow.DELTA) for form in FORMS for name in CHANGES),
    *(
        Case("hflow-paper" + name, epsilon, hflow.DELTA if epsilon else None, seeds=3)
        for name in ("", "-variational")
        for epsilon in BUDGETS
        if epsilon != 1.0
    ),
)
STUDY = Study(data.adult, CASES, Protocol(suites=("quick",)), (), quick_cases=("hflow-paper-flat",))


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
    names = {"": "per-layer", "-flat": "flat", "-per-unit": "per-unit", "-sparse": "sparse"}
    for form, mark, shift in zip(FORMS, "os", (-0.12, 0.12)):
        drawn = [_nll(results, form + name, 1.0) for name in names]
        places = [i + shift for i, values in enumerate(drawn) for _ in values]
        left.plot(places, np.concatenate(drawn), mark, fillstyle="none", label=form)
    left.set_xticks(range(len(names)), names.values())
    left.set(title="Clipping, ε = 1", ylabel="held-out nats per row (lower is better)")
    left.legend()
    for name, text in (("", "uniform"), ("-variational", "variational")):
        drawn = [_nll(results, "hflow-paper" + name, e) for e in BUDGETS]
        middle, spread = [v.mean() for v in drawn], [v.std(ddof=1) for v in drawn]
        right.errorbar(range(len(BUDGETS)), middle, yerr=spread, marker="o", capsize=3, label=text)
    right.set_xticks(range(len(BUDGETS)), [f"{e:g}" if e else "not private" for e in BUDGETS])
    right.set(title="Dequantisation, hflow-paper", xlabel="ε", ylabel="held-out nats per row")
    right.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _nll(results: Results, method: str, epsilon: float | None) -> np.ndarray:
    setting = results.find(method, "adult", epsilon)
    found = [results.of(setting, seed).get("nll") for seed in range(20)] if setting else []
    return np.array([v for v in found if v is not None])
