"""Marks on the axis of a number or date, and the words for what lies in each bar."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from nacre.table.columns.base import Column

MARKS = 5
_DAY = 86_400_000_000  # microseconds
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


def ticks(edges: np.ndarray, column: Column) -> tuple[tuple[float, str], ...]:
    """At most about `MARKS` round values between the ends, as places in [0, 1] and texts."""
    low, high = float(edges[0]), float(edges[-1])
    if column.moments:
        found = _dates(low, high)
    else:
        found = [(v, number(v)) for v in _round_values(low, high, column.whole)]
    return tuple(((v - low) / (high - low), words) for v, words in found)


def bins(edges: np.ndarray, column: Column) -> tuple[str, ...]:
    """What each bar holds. The outermost ones hold all that lies beyond."""
    if column.whole:
        lows, highs = edges[:-1] + 0.5, edges[1:] - 0.5
        words = [number(a) if a == b else f"{number(a)} to {number(b)}" for a, b in zip(lows.tolist(), highs.tolist())]
    else:
        names = [value(e, column) for e in edges.tolist()]
        words = [f"{a} to {b}" for a, b in pairwise(names)]
    if len(words) > 1:
        words[0], words[-1] = f"{words[0]} and below", f"{words[-1]} and above"
    return tuple(words)


def value(place: float, column: Column) -> str:
    """A place on the axis of a column, for people."""
    if column.moments:
        return str(np.datetime64(int(place), "us").astype("datetime64[D]"))
    return number(place)


def number(value: float) -> str:
    """Three digits that matter, with separators from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def _round_values(low: float, high: float, whole: bool) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in [low, high]."""
    raw = (high - low) / MARKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _dates(low: float, high: float) -> list[tuple[float, str]]:
    """First days of round months or years; single days where the axis is shorter than two months."""
    days = (high - low) / _DAY
    if days < 62:
        starts = [low + (high - low) * k / 3 for k in range(4)]
        return [(s, str(np.datetime64(int(s), "us").astype("datetime64[D]"))) for s in starts[::3]]
    step = next((m for m in _MONTHS if days / 30.44 / m <= MARKS), _MONTHS[-1])
    first, last = (int(np.datetime64(int(e), "us").astype("datetime64[M]").astype(int)) for e in (low, high))
    # Months are counted from 1970, and years divisible by their step look rounder than 1970 plus multiples.
    months = [m for m in range(first, last + 1) if (m + 1970 * 12) % step == 0]
    stamps = [np.datetime64(m, "M") for m in months]
    places = [float(s.astype("datetime64[us]").astype(np.int64)) for s in stamps]
    return [(p, str(s)[: 4 if step >= 12 else 7]) for p, s in zip(places, stamps) if low <= p <= high]
