"""The one list of metrics: what a figure is called, which way is better, its range, and what it reads.

Reports and benchmark rows use these names and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nacre.metrics import attacks, runs, tables
from nacre.metrics.metric import MODELS, REGRESSORS, TRAINED, Direction, Metric

__all__ = ["METRICS", "MODELS", "REGRESSORS", "Direction", "Metric", "metric"]
_BASE = [*tables.listed(), *runs.listed(), *attacks.listed()]


def _gap(base: Metric) -> Metric:
    return replace(
        base,
        name=f"{base.name}_gap",
        direction="lower",
        range=(-(base.range[1] - base.range[0]), base.range[1] - base.range[0]),
        reads=("synthetic", "private", "holdout"),
        text=f"{base.name} of the real table in the same run, minus that of the synthetic table",
    )


def _index(metrics: list[Metric]) -> Mapping[str, Metric]:
    index = {m.name: m for m in metrics}
    if len(index) != len(metrics):
        raise ValueError("two metrics share a name")
    return index


METRICS: Mapping[str, Metric] = _index(
    [*_BASE, *(_gap(m) for m in _BASE if m.reads == TRAINED and m.unit == "1" and m.direction == "higher")]
)


def metric(name: str) -> Metric:
    """The metric of that name; KeyError says how to add one."""
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}: add it to nacre.metrics before reporting it")
    return METRICS[name]
