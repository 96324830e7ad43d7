"""Drawings of one column, coloured by the page's style sheet: a histogram, bars by category, and a bar with a ceiling.

Shares are shares of all rows, so that a missing value is a bar like any other. With `real` None the synthetic table
is drawn alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nacre.report.markup import number, percent, short, text

WIDTH, HEIGHT = 340, 132
_LEFT, _FOOT, _GONE = 38, 20, 46  # room for the shares, the axis, and the bar of missing values
_ROW, _NAME, _VALUES = 25, 116, 84  # height of a category, room for its name and for its two shares


def histogram(
    real: np.ndarray | None,
    synthetic: np.ndarray,
    title: str,
    ticks: Sequence[tuple[float, str]],
    bins: Sequence[str] = (),
    nulls: tuple[float, ...] | None = None,
) -> str:
    """Real shares as bars with the synthetic ones as a line over them; `ticks` are places in [0, 1] and texts."""
    series = [s for s in (real, synthetic) if s is not None]
    top = max([float(s.max(initial=0)) for s in series] + list(nulls or ()) + [1e-9])
    right = WIDTH - (_GONE if nulls is not None else 0)
    step = (right - _LEFT) / max(len(synthetic), 1)
    parts = [_shares_axis(top, right), _bars(series[0], "real" if real is not None else "made", step, top)]
    if real is not None:
        steps = "".join(
            f"L{_LEFT + i * step:.1f} {_up(s, top):.1f}H{_LEFT + (i + 1) * step:.1f}"
            for i, s in enumerate(synthetic.tolist())
        )
        parts.append(f'<path class="line" d="M{_LEFT} {HEIGHT}{steps}V{HEIGHT}"/>')
    parts += [_places_axis(ticks, right), _hits(real, synthetic, bins, step)]
    if nulls is not None:
        parts.append(_missing(nulls, top))
    return _svg("".join(parts), HEIGHT + _FOOT, title)


def _up(share: float, top: float) -> float:
    """Where a share ends, with room above the tallest bar."""
    return HEIGHT * (1 - 0.93 * share / top)


def _bars(shares: np.ndarray, kind: str, step: float, top: float) -> str:
    width = max(step - 0.7, 0.5)
    path = "".join(
        f"M{_LEFT + i * step:.1f} {HEIGHT}V{_up(s, top):.1f}h{width:.1f}V{HEIGHT}z"
        for i, s in enumerate(shares.tolist())
        if s > 0
    )
    return f'<path class="{kind}" d="{path}"/>'


def _shares_axis(top: float, right: float) -> str:
    """Lines at round shares, at most four."""
    step = nice(top / 4)
    marks = []
    for k in range(1, int(top / step) + 1):
        y = _up(k * step, top)
        marks.append(
            f'<line class="rule" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{100 * k * step:g}%</text>'
        )
    return "".join(marks)


def _places_axis(ticks: Sequence[tuple[float, str]], right: float) -> str:
    """The line below the bars with its marks; a text that would run into the one before it is left out."""
    marks = [f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{HEIGHT}" y2="{HEIGHT}"/>']
    used = 0.0
    for place, words in ticks:
        x = _LEFT + place * (right - _LEFT)
        half = 3.1 * len(words)
        anchor = "start" if x - half < _LEFT else "end" if x + half > right else "middle"
        marks.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT}" y2="{HEIGHT + 4}"/>')
        left = {"start": x, "middle": x - half, "end": x - 2 * half}[anchor]
        if left >= used:
            marks.append(
                f'<text class="tick" x="{x:.1f}" y="{HEIGHT + 16}" text-anchor="{anchor}">{text(words, 24)}</text>'
            )
            used = left + 2 * half + 6
    return "".join(marks)


def _hits(real: np.ndarray | None, synthetic: np.ndarray, bins: Sequence[str], step: float) -> str:
    """Invisible columns that name their bin and its shares under the pointer."""
    found = []
    for i, words in enumerate(bins):
        says = f"synthetic {percent(float(synthetic[i]))}"
        if real is not None:
            says = f"real {percent(float(real[i]))}, {says}"
        found.append(
            f'<rect class="hit" x="{_LEFT + i * step:.1f}" y="0" width="{step:.1f}" height="{HEIGHT}">'
            f"<title>{text(words, 60)}: {text(says)}</title></rect>"
        )
    return "".join(found)


def _missing(nulls: tuple[float, ...], top: float) -> str:
    kinds = ("real", "made") if len(nulls) == 2 else ("made",)
    names = ("real", "synthetic") if len(nulls) == 2 else ("synthetic",)
    width, x = 11, WIDTH - _GONE + 12
    bars = "".join(
        f'<rect class="{k}" x="{x + i * (width + 1)}" y="{_up(s, top):.1f}" width="{width}" '
        f'height="{HEIGHT - _up(s, top):.1f}"><title>missing, {n}: {text(percent(s))}</title></rect>'
        for i, (k, n, s) in enumerate(zip(kinds, names, nulls))
    )
    return (
        f'{bars}<line class="axis" x1="{x - 3}" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>'
        f'<text class="tick" x="{WIDTH}" y="{HEIGHT + 16}" text-anchor="end">missing</text>'
    )


def bars(labels: Sequence[str], real: np.ndarray | None, synthetic: np.ndarray, title: str) -> str:
    """For every label a bar for the real share, one for the synthetic share below it, and both in figures."""
    series = [("real", real), ("made", synthetic)] if real is not None else [("made", synthetic)]
    top = max([float(s.max(initial=0)) for _, s in series if s is not None] + [1e-9])
    room = WIDTH - _NAME - _VALUES
    rows = []
    for i, label in enumerate(labels):
        y = i * _ROW
        shares = [(kind, float(s[i])) for kind, s in series if s is not None]
        thick = 9 if len(shares) == 2 else 15
        drawn = "".join(
            f'<rect class="{kind}" x="{_NAME}" y="{y + 3 + j * (thick + 1)}" '
            f'width="{room * s / top:.1f}" height="{thick}"/>'
            for j, (kind, s) in enumerate(shares)
        )
        figures = " | ".join(percent(s) for _, s in shares)
        rows.append(
            f'<text class="name" x="{_NAME - 8}" y="{y + 17}" text-anchor="end">{short(label, 15)}'
            f"<title>{text(label, 80)}</title></text>{drawn}"
            f'<text class="num" x="{WIDTH}" y="{y + 16}" text-anchor="end">{text(figures)}</text>'
        )
    return _svg("".join(rows), max(len(labels), 1) * _ROW + 2, title)


def lanes(units: Sequence[Sequence[float]], ends: tuple[str, str], title: str) -> str:
    """A line for every unit with a mark at each of its places in [0, 1]; `ends` name both ends of the axis."""
    left, height, row = 8, max(len(units), 1) * 15 + 4, 15
    parts = []
    for i, places in enumerate(units):
        y = i * row + 9
        xs = [left + (WIDTH - 2 * left) * place for place in places]
        if xs:
            parts.append(f'<line class="rule" x1="{min(xs):.1f}" x2="{max(xs):.1f}" y1="{y}" y2="{y}"/>')
        parts += [f'<circle class="made" cx="{x:.1f}" cy="{y}" r="3.6"/>' for x in xs]
    parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - left}" y1="{height}" y2="{height}"/>')
    for x, words, anchor in ((left, ends[0], "start"), (WIDTH - left, ends[1], "end")):
        parts.append(f'<text class="tick" x="{x}" y="{height + 15}" text-anchor="{anchor}">{text(words, 24)}</text>')
    return _svg("".join(parts), height + _FOOT, title)


def against_ceiling(
    value: float,
    span: tuple[float, float],
    ceiling: float | None,
    base: float | None,
    interval: tuple[float, float] | None,
) -> str:
    """A bar from the constant guess (or the low end) to `value`, its 95 % interval, a mark where real rows reach."""
    width, height = 190, 22

    def x(v: float) -> float:
        share = (v - span[0]) / ((span[1] - span[0]) or 1.0)
        return 3 + (width - 6) * max(0.0, min(1.0, share))

    known = base is not None and math.isfinite(base)
    zero = x(base) if known and base is not None else x(span[0])
    left, right = sorted((zero, x(value)))
    parts = [f'<rect class="made" x="{left:.1f}" y="6" width="{max(right - left, 1):.1f}" height="10"/>']
    if known:
        parts.append(f'<line class="base" x1="{zero:.1f}" x2="{zero:.1f}" y1="1" y2="21"/>')
    if interval:
        a, b = x(interval[0]), x(interval[1])
        parts.append(f'<path class="whisker" d="M{a:.1f} 8v6M{a:.1f} 11H{b:.1f}M{b:.1f} 8v6"/>')
    says = f"synthetic {number(value)}"
    if ceiling is not None and math.isfinite(ceiling):
        parts.append(f'<line class="mark" x1="{x(ceiling):.1f}" x2="{x(ceiling):.1f}" y1="2" y2="20"/>')
        says += f", real {number(ceiling)}"
    if known:
        says += f", constant guess {number(base)}"
    return (
        f'<svg class="mini" viewBox="0 0 {width} {height}" role="img" aria-label="{text(says)}">{"".join(parts)}</svg>'
    )


def nice(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `value`."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-9))


def _svg(body: str, height: int, title: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(title, 300)}">{body}</svg>'
