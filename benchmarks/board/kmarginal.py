"""NIST's k-marginal score (k = 2 columns, by area), from its description: 1000 for equal tables, 0 for disjoint ones.

Numbers fall in 20 bins of equal counts of the real column, missing is a value of its own, and so is a code above all
numbers. For every pair of columns the tables are compared within every area, each weighted by its share of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

AREA = "PUMA"
NUMBERS: Mapping[str, float | None] = {"AGEP": None, "PINCP": None, "POVPIP": 501}  # and the code that is no number
ROUNDED = ("DENSITY",)  # compared to one decimal
BINS = 20


def kmarginal(real: pd.DataFrame, other: pd.DataFrame) -> float:
    """The score of `other`, both tables with the columns of `real`."""
    codes = {name: _codes(name, real[name], other[name]) for name in real.columns}
    area, sizes = codes.pop(AREA), {name: int(max(x.max(), y.max())) + 1 for name, (x, y) in codes.items()}
    gaps = [_gap(area, codes[a], codes[b], (sizes[a], sizes[b])) for a, b in combinations(codes, 2)]
    return float(1000 * (1 - np.mean(gaps) / 2))


Both = tuple[np.ndarray, np.ndarray]  # codes of the real and of the other table


def _gap(area: Both, a: Both, b: Both, sizes: tuple[int, int]) -> float:
    """L1 distance of the tables of area and two columns, as shares of all rows."""
    places = [(w * sizes[0] + x) * sizes[1] + y for w, x, y in zip(area, a, b)]
    most = max(int(p.max()) for p in places) + 1
    real, other = (np.bincount(p, minlength=most) / len(p) for p in places)
    return float(np.abs(real - other).sum())


def _codes(name: str, real: pd.Series, other: pd.Series) -> Both:
    if name in NUMBERS:
        return _binned(real, other, NUMBERS[name])
    texts = [(_numbers(s).round(1) if name in ROUNDED else s).astype(str) for s in (real, other)]
    found, _ = pd.factorize(pd.concat(texts))
    return found[: len(real)], found[len(real) :]


def _numbers(values: pd.Series) -> pd.Series:
    """Missing where a text is no number."""
    return pd.Series(pd.to_numeric(values, errors="coerce"))


def _binned(real: pd.Series, other: pd.Series, code: float | None) -> Both:
    """0 for a missing number, 1 to 20 for its bin, 21 for the code."""
    x, y = (_numbers(s).to_numpy(dtype=float, na_value=np.nan) for s in (real, other))
    edges = np.unique(np.quantile(x[~np.isnan(x) & (x != code)], np.linspace(0, 1, BINS + 1)))
    inside = [np.clip(np.searchsorted(edges, v, side="right"), 1, len(edges) - 1) for v in (x, y)]
    x, y = (np.select([np.isnan(v), v == code], [0, BINS + 1], place) for v, place in zip((x, y), inside))
    return x, y
