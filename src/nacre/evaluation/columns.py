"""Shares of rows, column by column: what the pages draw.

`compare_columns` reads private rows: unprotected statistics, for the owner. `profile_columns` reads synthetic rows
alone, for the sheet that travels with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacre.evaluation import axes
from nacre.report.report import Comparison, Profile
from nacre.table import Schema
from nacre.table.columns.base import Column
from nacre.table.encoding import Values, check_names

if TYPE_CHECKING:
    import pyarrow as pa

BINS = 36
LABELS = 12  # categories drawn; the rest are summed
OUTSIDE = "(outside the list)"  # the bar of values that are none of the declared categories
_TAIL = 0.005  # of the real rows at each end that do not stretch the axis; the outermost bins hold all beyond it


def compare_columns(real: pa.Table, synthetic: pa.Table, schema: Schema) -> list[Comparison]:
    """One comparison for every modelled column of two Arrow tables described by the same schema."""
    a, b = _encode(real, schema), _encode(synthetic, schema)
    return [_compare(name, schema.columns[name], a[name], b[name]) for name in _drawable(schema)]


def profile_columns(synthetic: pa.Table, schema: Schema) -> list[Profile]:
    """One profile for every modelled column of a synthetic Arrow table. No other rows are read: axes, order and
    choice of categories follow from the synthetic rows and the schema."""
    found = _encode(synthetic, schema)
    return [_profile(name, schema.columns[name], found[name]) for name in _drawable(schema)]


def _encode(table: pa.Table, schema: Schema) -> dict[str, Values]:
    """Nothing is clamped to the schema's range before it is drawn: the axis follows the values themselves."""
    check_names(schema, table.schema.names)
    return {name: schema.columns[name].unbounded().encode(table.column(name)) for name in _drawable(schema)}


def _drawable(schema: Schema) -> list[str]:
    return [n for n in schema.modelled if schema.columns[n].labelled or schema.columns[n].measured]


def compare_values(name: str, column: Column, real: Values, synthetic: Values) -> Comparison:
    """One comparison of values that stand in no table, such as numbers of rows."""
    return _compare(name, column, real, synthetic)


def _profile(name: str, column: Column, found: Values) -> Profile:
    same = _compare(name, column, found, found, fenced=True)  # beside itself: one way to bin and label for both pages
    nulls = None if same.nulls is None else same.nulls[1]
    return Profile(name, same.kind, same.synthetic, same.labels, same.ends, nulls, same.ticks, same.bins)


def _compare(name: str, column: Column, real: Values, synthetic: Values, fenced: bool = False) -> Comparison:
    nulls = (float(real.null.mean()), float(synthetic.null.mean())) if column.nullable else None
    kept = [v.values[~v.null] for v in (real, synthetic)]
    if column.labelled:
        labels, shares = _labels(column.words, kept, column.ordered)
        return Comparison(name, column.kind, shares[0], shares[1], labels, nulls=nulls)
    edges = _edges(kept, column, fenced)
    shares = [_share(np.histogram(np.clip(v, edges[0], edges[-1]), edges)[0]) for v in kept]
    return Comparison(
        name,
        column.title,
        shares[0],
        shares[1],
        ends=_ends(edges, column),
        nulls=nulls,
        ticks=axes.ticks(edges, column),
        bins=axes.bins(edges, column),
    )


def _labels(names: tuple[str, ...], kept: list[np.ndarray], ordered: bool) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Bars by category, the most frequent first unless the order means something; beyond twelve the rest is one bar.
    Values outside the list are the last bar, where there are any."""
    k = len(names)
    shares = [_share(np.bincount(np.where(v >= 0, v, k).astype(np.int64), minlength=k + 1)) for v in kept]
    labels, known = _listed(names, [s[:k] for s in shares], ordered)
    if not any(s[k] for s in shares):
        return labels, known
    return (*labels, OUTSIDE), [np.append(s, whole[k]) for s, whole in zip(known, shares, strict=True)]


def _listed(
    names: tuple[str, ...], shares: list[np.ndarray], ordered: bool
) -> tuple[tuple[str, ...], list[np.ndarray]]:
    order = np.arange(len(names)) if ordered else np.argsort(-shares[0], kind="stable")
    if len(names) <= LABELS:
        return tuple(names[i] for i in order), [s[order] for s in shares]
    order = np.argsort(-shares[0], kind="stable")
    head, tail = order[: LABELS - 1], order[LABELS - 1 :]
    labels = (*(names[i] for i in head), f"{len(tail)} others")
    return labels, [np.append(s[head], s[tail].sum()) for s in shares]


def _share(counts: np.ndarray) -> np.ndarray:
    return counts / max(counts.sum(), 1)


def _edges(kept: list[np.ndarray], column: Column, fenced: bool = False) -> np.ndarray:
    """Equal bins over the middle 99 % of the first table's rows; whole numbers of steps for integers.

    `fenced` shortens an axis that a few far values would stretch, as noise puts them into synthetic tables.
    """
    kept = [v[np.isfinite(v)] for v in kept]
    base = next((v for v in kept if len(v)), np.array([0.0]))
    low, high = np.quantile(base.astype(np.float64), [_TAIL, 1 - _TAIL]).tolist()
    if fenced:
        low, high = _fence(base, low, high)
    if column.whole:
        step = max(1, int(np.ceil((high - low + 1) / BINS)))
        count = int((high - low) // step) + 1
        return np.floor(low) - 0.5 + step * np.arange(count + 1)
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _fence(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """No farther from the middle half than four times its width."""
    first, third = np.quantile(values.astype(np.float64), [0.25, 0.75]).tolist()
    reach = 4 * (third - first)
    return (max(low, first - reach), min(high, third + reach)) if reach > 0 else (low, high)


def _ends(edges: np.ndarray, column: Column) -> tuple[str, str]:
    half = 0.5 if column.whole else 0.0
    return axes.value(edges[0] + half, column), axes.value(edges[-1] - half, column)
