"""The board as a picture: for every table how far the pairs of each method's rows are from the real ones, and what
boosted trees lose when they learn from them. Both axes are logarithmic: a dot further left is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.report.markup import text

EPSILON = 1.0
PANELS = (
    (("tvd2",), "two-way tables: total variation distance"),
    (("auc_hgb_gap", "r2_hgb_gap"), "boosted trees: AUC or R² lost"),
)
COLOURS = {"sketch": "#1b6ca8", "sketch-no-target": "#7fb2dd", "support-points": "#0e8a7d", "independent": "#999999",
           "mst-dpmm": "#c05746", "aim-dpmm": "#e0a030", "privbayes-dpmm": "#8e5ba6", "aim-opendp": "#5b8c5a",
           "dp-ctgan": "#333333", "bootstrap": "#d9d9d9"}  # fmt: skip
LEFT, WIDTH, GAP, LINE, TOP = 110, 290, 30, 24, 56
LEAST = 1e-3  # the left end of an axis: gaps below it, or below zero, stand there


def picture(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line a table, one dot a method; methods by colour, with their names at the foot."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row["epsilon"] in (None, EPSILON) and row["method"] in COLOURS and row["mean"] is not None:
            found.setdefault(row["dataset"], {}).setdefault(row["method"], {})[row["metric"]] = row["mean"]
    tables = sorted(found)
    methods = [m for m in COLOURS if any(m in own for own in found.values())]
    foot = TOP + LINE * len(tables)
    height = foot + 34 + 18 * math.ceil(len(methods) / 4)
    parts = [_names(tables), *(_panel(found, tables, i, foot) for i in range(len(PANELS))), _key(methods, foot + 44)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + 2 * (WIDTH + GAP)} {height}" '
        'font-family="sans-serif" font-size="12">\n'
        f"<title>What rows of each method lose at ε = {EPSILON:g}, table by table</title>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n{"".join(parts)}</svg>\n'
    )


def _names(tables: list[str]) -> str:
    places = enumerate(tables)
    return "".join(f'<text x="{LEFT - 10}" y="{_y(i) + 4}" text-anchor="end">{text(t)}</text>\n' for i, t in places)


def _y(line: int) -> float:
    return TOP + LINE * (line + 0.5)


def _x(value: float, panel: int) -> float:
    share = 1 - math.log10(min(1.0, max(LEAST, value))) / math.log10(LEAST)
    return LEFT + panel * (WIDTH + GAP) + share * WIDTH


def _panel(found: Mapping[str, Mapping[str, Mapping[str, float]]], tables: list[str], panel: int, foot: float) -> str:
    metrics, title = PANELS[panel]
    parts = [f'<text x="{_x(LEAST, panel):.0f}" y="22" font-weight="bold">{title}</text>\n']
    for mark in (0.001, 0.01, 0.1, 1.0):
        at, words = _x(mark, panel), f"≤ {mark:g}" if mark == LEAST else f"≥ {mark:g}" if mark == 1 else f"{mark:g}"
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{foot}" stroke="#ddd"/>\n')
        parts.append(f'<text x="{at:.1f}" y="{foot + 16}" text-anchor="middle" fill="#555">{words}</text>\n')
    for i, table in enumerate(tables):
        parts.append(
            f'<line x1="{_x(LEAST, panel):.1f}" x2="{_x(1, panel):.1f}" y1="{_y(i)}" y2="{_y(i)}" stroke="#eee"/>\n'
        )
        for method in reversed([m for m in COLOURS if m in found[table]]):  # ours on top
            value = next((found[table][method][m] for m in metrics if m in found[table][method]), None)
            if value is not None:
                says = f"{table}, {method}: {value:.4g}"
                parts.append(
                    f'<circle cx="{_x(value, panel):.1f}" cy="{_y(i)}" r="5" fill="{COLOURS[method]}" stroke="#fff">'
                    f"<title>{text(says)}</title></circle>\n"
                )
    return "".join(parts)


def _key(methods: list[str], top: float) -> str:
    parts = []
    for i, method in enumerate(methods):
        x, y = LEFT + 150 * (i % 4), top + 18 * (i // 4)
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{COLOURS[method]}"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{method}</text>\n')
    return "".join(parts)
