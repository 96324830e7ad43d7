"""LiRA on logistic regressions of simulated intensive-care stays: SGD, DP-SGD, ExpM+NF, and a planted memoriser.

Shadows are trained by the method of the target, on random halves of all stays; targets are further models of the same
kind. A seed of the results is a target. The planted model votes by inverse distance, so that a point it has seen
decides alone: the attack must find it. `--only shadows` takes the time of 1,000 models of plain SGD alone, on the cores
that the process may use.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.places import PICTURES
from benchmarks.results import Results, Setting, cores
from nacre.audit import lira
from nacre.learners.descending import DpSgd, Sgd
from nacre.learners.flow import LABEL, ExpmNf
from nacre.learners.labelled import Scale
from nacre.learners.shadows import train_shadows
from nacre.table.simulate.icu import simulate_icu

FIGURE = PICTURES / "lira.svg"
NEIGHBOURS = 24
# method: (training, shadows, targets); DP-SGD and the flow at the value 1, as their benchmark tunes them
METHODS: dict[str, tuple[Any, int, int]] = {
    "memoriser": (None, 64, 8),
    "sgd": (Sgd(rate=1.0, steps=600), 1000, 50),
    "dpsgd-l2": (DpSgd("l2", 300, 512.0, 2.0, epsilon=1.0, delta=1e-5), 128, 16),
    "expm-nf-paper": (
        ExpmNf.paper(1.0, 0.02, 3.0, kind="sylvester", layers=4, steps=600, rate=1e-2, draws=32, batch=512), 128, 16,
    ),
}  # fmt: skip
EPSILON = {"dpsgd-l2": 1.0, "expm-nf-paper": 1.0}
COLOURS = {"memoriser": "#b5651d", "sgd": "#1b4f72", "dpsgd-l2": "#1e8449", "expm-nf-paper": "#7d3c98"}


def data(stays: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    made = simulate_icu(stays, 0)
    x = made.filled()[:, -1]
    return Scale.of((-4.0, 4.0), x)(x), {"lr-mortality-last": made.died, "lr-los-last": made.stayed}


def confidences(method: str, x: np.ndarray, y: np.ndarray, members: np.ndarray) -> np.ndarray:
    """φ of every point under every model, [models, points]."""
    training = METHODS[method][0]
    if training is None:
        return memorised(x, y, members)
    found = train_shadows(training, x, y.astype(np.int32), members)
    logits = found[:, :-1] @ x.T.astype(np.float32) + found[:, -1:]
    return np.where(y, logits, -logits)


def memorised(x: np.ndarray, y: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Votes of the nearest members among 24, weighted by 1/distance: a member is its own nearest."""
    near, gaps = _nearest(x, NEIGHBOURS)
    phi = np.empty(members.shape)
    for m, inside in enumerate(members):
        weight = inside[near] / (gaps + 1e-4)
        p = (weight * (y[near] == y[:, None])).sum(1) + 0.5
        phi[m] = lira.confidence(p / (weight.sum(1) + 1.0))
    return phi


def _nearest(x: np.ndarray, count: int, step: int = 500) -> tuple[np.ndarray, np.ndarray]:
    squares = np.square(x).sum(1)
    places, gaps = [], []
    for a in range(0, len(x), step):
        d = np.maximum(squares[a : a + step, None] + squares - 2 * x[a : a + step] @ x.T, 0)
        d[np.arange(len(d)), np.arange(a, a + len(d))] = 0
        part = np.argpartition(d, count, axis=1)[:, :count]
        places.append(part)
        gaps.append(np.sqrt(np.take_along_axis(d, part, axis=1)))
    return np.concatenate(places), np.concatenate(gaps)


def attack(method: str, x: np.ndarray, y: np.ndarray, quick: bool) -> tuple[dict[str, Any], float]:
    """Scores of the targets online and offline, and the seconds that the models took."""
    shadows, targets = (24, 4) if quick else METHODS[method][1:]
    members = lira.halves(shadows + targets, len(x), 0)
    start = time.monotonic()
    phi = confidences(method, x, y, members)
    seconds = time.monotonic() - start
    laws = lira.Shadows.of(phi[:shadows], members[:shadows])
    told = {"members": members[shadows:], "online": laws.online(phi[shadows:]), "offline": laws.offline(phi[shadows:])}
    return told, seconds


def measure(method: str, dataset: str, x: np.ndarray, y: np.ndarray, results: Results, quick: bool) -> Any:
    told, seconds = attack(method, x, y, quick)
    guarantee = {"dpsgd-l2": "proven (real arithmetic)"}.get(method, "none")
    delta = 1e-5 if method == "dpsgd-l2" else None
    for kind in ("online", "offline"):
        setting = Setting(f"{method}, {kind}", dataset, EPSILON.get(method), delta, guarantee)
        for t, (scores, inside) in enumerate(zip(told[kind], told["members"])):
            figures = {
                "lira_auc": lira.area(scores, inside),
                "lira_tpr_1": lira.found_at(scores, inside, 0.01),
                "lira_tpr_01": lira.found_at(scores, inside, 0.001),
            }
            if kind == "online" and t == 0:
                figures["shadows_s"] = seconds
            results.add(setting, t, figures, f"{dataset}/{method}/{kind}")
    curve = lira.Curve.of(told["online"], told["members"])
    kept = _curves(results)
    kept[f"{method}, {dataset}"] = _plain(curve)
    _curve_file(results).write_text(json.dumps(kept))
    print(f"{dataset} {method}: {seconds:.0f} s", flush=True)


def _curve_file(results: Results) -> Path:
    return results.log.with_suffix(".curves.json")


def _curves(results: Results) -> dict[str, Any]:
    """What was drawn so far, by method and task; beside the log of the run."""
    path = _curve_file(results)
    return json.loads(path.read_text()) if path.exists() else {}


def _plain(curve: Any) -> dict[str, list[float]]:
    return {name: [round(float(v), 7) for v in values] for name, values in asdict(curve).items()}


ONLY = (*METHODS, "shadows")


def run(options: Options, results: Results) -> None:
    x, labels = data(2_000 if options.quick else 21_877)
    for method in METHODS:
        for dataset, y in labels.items():
            done = results.has(f"{dataset}/{method}/online", 0)
            if options.wants(method) and not done and not (method == "memoriser" and dataset != "lr-los-last"):
                measure(method, dataset, x, y, results, options.quick)
                results.write()
    if options.wants("shadows"):
        time_shadows(x, labels["lr-los-last"], results, options.quick)
    if not options.quick and any(map(options.wants, METHODS)):
        FIGURE.write_text(figure(results))


def time_shadows(x: np.ndarray, y: np.ndarray, results: Results, quick: bool) -> None:
    """Wall time of 1,000 shadow models, compilation included."""
    import jax

    where = f"{cores()} cores" if jax.default_backend() == "cpu" else "an accelerator"
    models = 24 if quick else 1000
    setting = Setting(f"sgd, {models:,} shadows, {where}", "lr-los-last")
    case = f"lr-los-last/shadows/{where}"
    if results.has(case, 0):
        return
    start = time.monotonic()
    confidences("sgd", x, y, lira.halves(models, len(x), 1))
    seconds = time.monotonic() - start
    results.add(setting, 0, {"shadows_s": seconds}, case)
    results.write()
    print(f"{case}: {seconds:.1f} s", flush=True)


# ---------------------------------------------------------------------------------------------------- figure


def figure(results: Results) -> str:
    """Log-log curves: median of the targets and the band from 5 % to 95 %, one panel per task."""
    curves = _curves(results)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 440" font-family="sans-serif" font-size="12">',
             "<title>Members found over false alarms, log-log, with bands</title>"]  # fmt: skip
    for panel, dataset in enumerate(("lr-mortality-last", "lr-los-last")):
        left = 60 + 440 * panel
        parts.append(f'<text x="{left}" y="20" font-size="14">{dataset}</text>')
        parts.append(_axes(left))
        for name, curve in curves.items():
            method, where = name.rsplit(", ", 1)
            if where == dataset:
                parts.append(_drawn(curve, left, COLOURS[method]))
    for i, (name, colour) in enumerate(COLOURS.items()):
        label = f"{name}: {LABEL}" if name.startswith("expm-nf") else name
        parts.append(f'<text x="{60 + 150 * i}" y="430" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _place(rate: float, found: float, left: int) -> str:
    x, y = (max(-3.0, np.log10(max(v, 1e-9))) for v in (rate, found))
    return f"{left + 120 * (x + 3):.1f},{40 - 120 * y:.1f}"


def _axes(left: int) -> str:
    ticks = [f'<text x="{left + 120 * i - 8}" y="418">{10.0 ** (i - 3):g}</text>'
             f'<text x="{left - 38}" y="{404 - 120 * i}">{10.0 ** (i - 3):g}</text>' for i in range(4)]  # fmt: skip
    frame = f'<rect x="{left}" y="40" width="360" height="360" fill="none" stroke="#888"/>'
    chance = f'<polyline points="{left},400 {left + 360},40" stroke="#bbb" stroke-dasharray="4" fill="none"/>'
    return "".join([frame, chance, *ticks])


def _drawn(curve: dict[str, list[float]], left: int, colour: str) -> str:
    line = " ".join(_place(r, v, left) for r, v in zip(curve["rates"], curve["median"]))
    band = [_place(r, v, left) for r, v in zip(curve["rates"], curve["high"])]
    band += [_place(r, v, left) for r, v in zip(curve["rates"][::-1], curve["low"][::-1])]
    return (
        f'<polygon points="{" ".join(band)}" fill="{colour}" opacity="0.15"/>'
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
    )
