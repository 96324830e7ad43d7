"""Two small drawings in SVG, coloured by the page's style sheet: a histogram with an outline, and paired bars."""

from __future__ import annotations

from html import escape

import numpy as np

WIDTH, HEIGHT = 320, 120
_ROW, _NAME = 22, 104  # height of a category and room for its name


def histogram(real: np.ndarray, synthetic: np.ndarray, ends: tuple[str, str], title: str) -> str:
    """Real shares as filled bars, synthetic ones as a line over them; `ends` label the axis."""
    top = max(float(real.max(initial=0)), float(synthetic.max(initial=0)), 1e-9)
    step = WIDTH / len(real)
    bars = "".join(
        f'<rect class="real" x="{i * step:.1f}" y="{_up(s, top):.1f}" width="{max(step - 0.6, 0.4):.1f}" '
        f'height="{HEIGHT - _up(s, top):.1f}"/>'
        for i, s in enumerate(real.tolist())
    )
    points = "".join(
        f"L{i * step:.1f} {_up(s, top):.1f}H{(i + 1) * step:.1f}" for i, s in enumerate(synthetic.tolist())
    )
    line = f'<path class="synthetic" d="M0 {HEIGHT}{points}V{HEIGHT}"/>'
    axis = (
        f'<text class="tick" x="0" y="{HEIGHT + 15}">{escape(ends[0])}</text>'
        f'<text class="tick" x="{WIDTH}" y="{HEIGHT + 15}" text-anchor="end">{escape(ends[1])}</text>'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>'
    )
    return _svg(bars + line + axis, HEIGHT + 20, title)


def _up(share: float, top: float) -> float:
    """Where a share ends, with room above the tallest bar."""
    return HEIGHT * (1 - 0.94 * share / top)


def paired_bars(labels: tuple[str, ...], real: np.ndarray, synthetic: np.ndarray, title: str) -> str:
    """For every label a bar for the real share and one for the synthetic share below it."""
    top = max(float(real.max(initial=0)), float(synthetic.max(initial=0)), 1e-9)
    room = WIDTH - _NAME - 44
    rows = []
    for i, (label, r, s) in enumerate(zip(labels, real.tolist(), synthetic.tolist())):
        y = i * _ROW
        rows.append(
            f'<text class="name" x="{_NAME - 8}" y="{y + 14}" text-anchor="end">{escape(_short(label))}'
            f"<title>{escape(label)}</title></text>"
            f'<rect class="real" x="{_NAME}" y="{y + 2}" width="{room * r / top:.1f}" height="8"/>'
            f'<rect class="made" x="{_NAME}" y="{y + 11}" width="{room * s / top:.1f}" height="8"/>'
            f'<text class="tick" x="{_NAME + room * max(r, s) / top + 5:.1f}" y="{y + 15}">{_percent(r)}</text>'
        )
    return _svg("".join(rows), max(len(labels), 1) * _ROW + 2, title)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def _short(label: str) -> str:
    return label if len(label) <= 15 else f"{label[:14]}…"


def _svg(body: str, height: int, title: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{body}</svg>'
