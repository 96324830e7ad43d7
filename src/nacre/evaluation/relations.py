"""What a report draws of a database: numbers of rows, times between them, synthetic units as they came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.evaluation import axes
from nacre.evaluation.columns import compare_values
from nacre.metrics.databases.keys import gaps
from nacre.metrics.databases.linked import Level, Linked
from nacre.report.report import Comparison, Extract, Relation, Relations, Timeline
from nacre.table.columns import Numeric
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    import pandas as pd

LANES = 14  # units of a timeline
ROWS = 25  # of one unit and table
DAY = 86_400.0


def drawn(synthetic: Linked, real: Linked) -> Relations:
    keys = tuple(_relation(synthetic, real, level.name) for level in synthetic.children)
    lines = [_timeline(synthetic, level) for level in synthetic.children if synthetic.above(level) is synthetic.root]
    return Relations(synthetic.root.name, keys, tuple(t for t in lines if t is not None), _history(synthetic))


def _relation(synthetic: Linked, real: Linked, name: str) -> Relation:
    pairs = [(tables, tables.levels[name]) for tables in (real, synthetic)]
    level = pairs[0][1]
    key = level.key
    assert key is not None and key.cap is not None
    counts = [tables.owned_rows(one) for tables, one in pairs]
    between = [gaps(tables, one) for tables, one in pairs]
    unit = "days" if _moments(level) else "steps"
    gap = None
    if between[0] is not None and between[1] is not None and len(between[0]) and len(between[1]):
        scale = DAY if _moments(level) else 1.0
        gap = _numbers(f"{name} gap", [b / scale for b in between if b is not None], whole=False)
        gap = Comparison(**{**vars(gap), "kind": unit})
    counted = _numbers(f"{real.above(level).name}.{name} count", counts, whole=True)
    return Relation(name, key.parent, key.cap, key.order, counted, gap)


def _moments(level: Level) -> bool:
    return level.key is not None and level.key.order in level.domain.names and level.domain[str(level.key.order)].time


def _numbers(name: str, found: list[np.ndarray], whole: bool) -> Comparison:
    """Real, synthetic."""
    low, high = (float(f([f(v) for v in found])) for f in (np.min, np.max))
    column = Numeric((low, max(high, low + 1)), integer=whole)
    kept = [Values(v.astype(np.float64), np.zeros(len(v), bool), np.zeros(len(v), bool)) for v in found]
    return compare_values(name, column, *kept)


def _timeline(tables: Linked, level: Level) -> Timeline | None:
    """Rows of the first units that have two or more."""
    key = level.key
    if key is None or key.order is None or key.order not in level.domain.names:
        return None
    variable = level.domain[key.order]
    values = variable.raw(level.frame[key.order])
    units = np.flatnonzero(tables.owned_rows(level) > 1)[:LANES]
    each = [values[level.parent == u] for u in units]
    known = np.concatenate([v[~np.isnan(v)] for v in each]) if each else np.empty(0)
    if not len(known):
        return None
    low, high = float(known.min()), float(known.max())
    span = (high - low) or 1.0
    places = tuple(tuple(((v[~np.isnan(v)] - low) / span).tolist()) for v in each)
    return Timeline(level.name, key.order, (_end(low, variable.time), _end(high, variable.time)), places)


def _end(value: float, time: bool) -> str:
    return str(np.datetime64(int(value), "s").astype("datetime64[D]")) if time else axes.number(value)


def _history(tables: Linked) -> tuple[Extract, ...]:
    """The first unit whose number of rows, over all tables, is nearest to one and a half times the mean."""
    total = sum(np.bincount(level.unit, minlength=tables.units) for level in tables.children)
    if not len(tables.children):
        return ()
    unit = int(np.argmin(np.abs(total - 1.5 * np.mean(total))))
    numbers: dict[str, np.ndarray] = {}
    found = []
    for name, level in tables.levels.items():
        rows = np.flatnonzero(level.unit == unit)
        numbers[name] = rows
        frame = level.frame.iloc[rows[:ROWS]][list(level.domain.names)]
        heads, first = (name,), [[f"{name} {i + 1}"] for i in range(len(frame))]
        if level.key is not None and level.key.parent != tables.root.name:
            above = np.searchsorted(numbers[level.key.parent], level.parent[rows[:ROWS]])
            heads = (name, "of")
            first = [[f"{name} {i + 1}", f"{level.key.parent} {a + 1}"] for i, a in enumerate(above.tolist())]
        cells = [_words(frame[v.name], v.time) for v in level.domain]
        lines = tuple((*start, *(c[i] for c in cells)) for i, start in enumerate(first))
        found.append(Extract(name, (*heads, *level.domain.names), lines, len(rows)))
    return tuple(found)


def _words(values: pd.Series, time: bool) -> list[str]:
    """Values as a reader writes them: no parts of a day where there are none, no decimals of whole numbers."""
    if time:
        midnight = bool((values.dropna() == values.dropna().dt.normalize()).all())
        shown = values.dt.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")
        return ["" if null else str(v) for v, null in zip(shown, values.isna())]
    return ["" if null else _word(v) for v, null in zip(values, values.isna())]


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
