"""The board counted: on how many tables `sketch` is ahead of each other method and on which it is behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nacre.metrics import metric

OURS = "sketch"
QUESTIONS = {
    "boosted trees": ("auc_hgb_gap", "r2_hgb_gap"),
    "two-way tables": ("tvd2",),
    "three-way tables": ("tvd3",),
    "told from real rows": ("c2st_auc",),
    "tails": ("tail_999",),
    "SDMetrics, columns": ("sdm_shapes",),
    "SDMetrics, pairs": ("sdm_pairs",),
}
FREE = ("real", "bootstrap")  # made of the real rows


class Line(NamedTuple):
    """Tables on which ours is ahead of another method, by one question at one budget, and on which it is behind."""

    question: str
    epsilon: float
    method: str
    ahead: tuple[str, ...]
    behind: tuple[str, ...]


def tally(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """A line for every question, budget and other method that share a table with ours."""
    found: dict[tuple[str, float, str], dict[str, float]] = {}
    asked = {name: question for question, names in QUESTIONS.items() for name in names}
    for row in rows:
        if row["metric"] in asked and row["method"] not in FREE and row["mean"] is not None and row["epsilon"]:
            sign = -1.0 if metric(row["metric"]).direction == "higher" else 1.0
            key = asked[row["metric"]], row["epsilon"], row["method"]
            found.setdefault(key, {})[row["dataset"]] = sign * row["mean"]
    lines = []
    for question in QUESTIONS:
        for epsilon in sorted({e for q, e, _ in found if q == question}):
            ours = found.get((question, epsilon, OURS), {})
            for method in sorted({m for q, e, m in found if (q, e) == (question, epsilon)} - {OURS}):
                theirs = found[question, epsilon, method]
                both = sorted(ours.keys() & theirs.keys())
                ahead = tuple(t for t in both if ours[t] < theirs[t])
                behind = tuple(t for t in both if ours[t] > theirs[t])
                if both:
                    lines.append(Line(question, epsilon, method, ahead, behind))
    return lines
