"""The one list of metrics: what a figure is called, which way is better, its range, how it is computed and printed.

Reports and benchmark rows use these names and no others.
"""

from __future__ import annotations

from dataclasses import replace

from nacre.metrics import (
    attacks,
    columns,
    counts,
    dependence,
    distinguish,
    hidden,
    joint,
    pictures,
    predictions,
    queries,
    runs,
    shares,
)
from nacre.metrics.databases import events, keys, planted, tables, units
from nacre.metrics.databases import queries as joined_queries
from nacre.metrics.metric import TRAINED, Direction, Metric
from nacre.metrics.models import MODELS, REGRESSORS
from nacre.metrics.score import Score

__all__ = ["METRICS", "MODELS", "REGRESSORS", "Direction", "Metric", "Score", "metric"]
# In the order of reports. To add a metric: a file that lists its METRICS, and its name here.
_LISTED = [m for file in (predictions, counts, queries, shares, distinguish, joint, dependence, columns, pictures,
                        hidden, runs, attacks) for m in file.METRICS]  # fmt: skip
_BASE = [replace(m, linked=tables.ALSO.get(m.name)) for m in _LISTED]
_DATABASES = [m for file in (keys, tables, joined_queries, events, units, planted) for m in file.METRICS]


def _gap(base: Metric) -> Metric:
    return replace(
        base,
        name=f"{base.name}_gap",
        direction="lower",
        range=(-(base.range[1] - base.range[0]), base.range[1] - base.range[0]),
        reads=("synthetic", "private", "holdout"),
        gap_of=base.name,
        headline=None,
        text=f"{base.name} of the real table in the same run, minus that of the synthetic table",
    )


def _index(metrics: list[Metric]) -> dict[str, Metric]:
    index = {m.name: m for m in metrics}
    if len(index) != len(metrics):
        raise ValueError("two metrics share a name")
    return index


METRICS: dict[str, Metric] = _index(
    [*_BASE, *_DATABASES, *(_gap(m) for m in _BASE if m.reads == TRAINED and m.unit == "1" and m.direction == "higher")]
)


def metric(name: str) -> Metric:
    """The metric of that name; KeyError says how to add one."""
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}: add it to nacre.metrics before reporting it")
    return METRICS[name]
