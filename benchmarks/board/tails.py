"""Tails and spikes of numbers: what equal bins and mean distances do not see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from nacre.metrics.domain import Domain, Variable

BEYOND = 20  # real rows that must lie beyond a quantile before it says anything
SPIKE, SPIKE_ROWS = 0.01, 50  # share of the real rows, and how many, from which on one value is a spike
WITHIN = 0.2  # of its real share
LEVELS = {"tail_99": 0.99, "tail_999": 0.999}
TOP = 0.01  # the share of rows whose mean is `tail_top1`


def tails(real: pd.DataFrame, made: pd.DataFrame, domain: Domain) -> dict[str, float]:
    """Errors of upper quantiles and of the mean above the highest of them, of the mean column and of the worst, each as
    a share of how far the real figure lies above the real median; `spikes_within`, the share of spikes whose frequency
    is within a fifth of the real one. A figure is left out where no column has enough rows for it."""
    found: dict[str, list[float]] = {}
    spikes: list[bool] = []
    for variable in domain.numbers:
        x, y = (_present(variable, table) for table in (real, made))
        if not len(x):
            continue
        for name, error in _errors(x, y):
            found.setdefault(name, []).append(error)
        spikes += _spikes(x, y, len(real), len(made))
    figures = {name: float(np.mean(errors)) for name, errors in found.items()}
    figures |= {f"{name}_max": float(np.max(errors)) for name, errors in found.items()}
    return figures | ({"spikes_within": float(np.mean(spikes))} if spikes else {})


def _present(variable: Variable, table: pd.DataFrame) -> np.ndarray:
    values = variable.raw(table[variable.name])
    return np.sort(values[~np.isnan(values)])


def _errors(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, float]]:
    """Of one column, both samples sorted; an empty synthetic column is wrong by all there is."""
    middle = float(np.median(x))
    wanted = {name: (float(np.quantile(x, q)), q) for name, q in LEVELS.items() if len(x) * (1 - q) >= BEYOND}
    if len(x) * TOP >= BEYOND:
        wanted["tail_top1"] = (_top(x), 1 - TOP)
    for name, (figure, q) in wanted.items():
        if figure == middle:
            continue  # nothing lies beyond
        ours = middle if not len(y) else _top(y) if name == "tail_top1" else float(np.quantile(y, q))
        yield name, abs(ours - figure) / abs(figure - middle)


def _top(values: np.ndarray) -> float:
    return float(values[-max(1, round(TOP * len(values))) :].mean())


def _spikes(x: np.ndarray, y: np.ndarray, rows: int, made: int) -> list[bool]:
    values, counts = np.unique(x, return_counts=True)
    often = counts >= max(SPIKE * rows, SPIKE_ROWS)
    spiky, share = values[often], counts[often] / rows
    ours = (np.searchsorted(y, spiky, side="right") - np.searchsorted(y, spiky, side="left")) / made
    return (np.abs(ours - share) <= WITHIN * share).tolist()
