"""Heat maps of how columns depend on one another: the lower triangle, each pair once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nacre.metrics.score import Matrix
from nacre.report.markup import details, number, short, signed, table, text
from nacre.report.style import STEPS, shade
from nacre.report.svg import nice

MOST = 30  # columns in one map; more could not be told apart
PAIRS = 200  # rows in the table of pairs
KINDS = {
    "kendall": ("Kendall's rank correlation", "between -1 and 1; 0 is no monotone relation"),
    "pearson": ("Pearson's correlation", "between -1 and 1; 0 is no linear relation"),
    "cramers_v": ("Cramér's V", "between 0 and 1; 0 is independence, 1 is that one column decides the other"),
}
_SIZE, _LABEL, _LETTERS = 360, 98, 13  # of the drawing, room for names at the left, letters of a name


def heat_maps(matrix: Matrix) -> str:
    """Real, synthetic and their difference side by side, and the same figures as a table."""
    title, scale = KINDS.get(matrix.kind, (matrix.kind, ""))
    shown, note = _shown(matrix)
    gap = shown.synthetic - shown.real
    largest = float(np.nanmax(np.abs(gap))) if np.isfinite(gap).any() else 0.0
    end = max(nice(largest), 0.1)
    low = 0.0 if matrix.kind == "cramers_v" else -1.0
    maps = [
        _figure("Real", shown, shown.real, (low, 1.0), f"{title} in the real table"),
        _figure("Synthetic", shown, shown.synthetic, (low, 1.0), f"{title} in the synthetic table"),
        _figure("Synthetic minus real", shown, gap, (-end, end), f"Difference of {title}, synthetic minus real"),
    ]
    about = f"{title}: {scale}. " if scale else ""
    wide = f"The largest difference of any pair drawn is {number(largest)}." if largest else ""
    words = f'<h3>{text(title)}</h3><p class="soft">{text(about + wide + note, 600)}</p>'
    return f'{words}<div class="maps">{"".join(maps)}</div>{_pairs(matrix, title)}'


def _shown(matrix: Matrix) -> tuple[Matrix, str]:
    """All columns if they fit in a map, else those that differ most, in their own order."""
    if len(matrix.names) <= MOST:
        return matrix, ""
    gap = np.where(np.isfinite(matrix.synthetic - matrix.real), np.abs(matrix.synthetic - matrix.real), 0.0)
    gap = gap * (1 - np.eye(len(gap)))
    keep = np.sort(np.argsort(-gap.max(axis=1), kind="stable")[:MOST])
    names = tuple(matrix.names[i] for i in keep)
    note = f" Drawn are the {MOST} of {len(matrix.names)} columns with the largest differences."
    return Matrix(matrix.kind, names, matrix.real[np.ix_(keep, keep)], matrix.synthetic[np.ix_(keep, keep)]), note


def _figure(caption: str, matrix: Matrix, values: np.ndarray, ends: tuple[float, float], title: str) -> str:
    drawing = _triangle(
        matrix.names, values, ends, f"{title}, {len(matrix.names)} columns; the table below holds the figures"
    )
    return f'<figure class="card"><figcaption>{text(caption)}</figcaption>{drawing}</figure>'


def _triangle(names: Sequence[str], values: np.ndarray, ends: tuple[float, float], title: str) -> str:
    n = max(len(names) - 1, 1)
    size = min((_SIZE - _LABEL) / n, 42.0)
    font = max(min(11.0, size * 0.95), 6.5)
    cells = []
    for i in range(1, len(names)):
        for j in range(i):
            place = (_LABEL + j * size, (i - 1) * size, size)
            cells.append(_cell(place, float(values[i, j]), ends, names[i], names[j]))
    rows = "".join(
        f'<text class="name" style="font-size:{font:.1f}px" x="{_LABEL - 6}" y="{(i - 0.5) * size + font * 0.36:.1f}" '
        f'text-anchor="end">{short(name, _LETTERS)}</text>'
        for i, name in enumerate(names)
        if i
    )
    foot = n * size
    columns = "".join(
        f'<text class="name" style="font-size:{font:.1f}px" text-anchor="end" '
        f'transform="translate({_LABEL + (j + 0.62) * size:.1f} {foot + 10:.1f})rotate(-48)">'
        f"{short(name, _LETTERS)}</text>"
        for j, name in enumerate(names[:-1])
    )
    letters = min(_LETTERS, max((len(name) for name in names[:-1]), default=0))
    height = foot + 16 + 0.56 * letters * font  # letters 0.75 of the font wide, turned by 48 degrees
    body = "".join(cells) + rows + columns + _legend(ends, bool(np.isnan(_below(values)).any()))
    return f'<svg viewBox="0 0 {_SIZE} {max(height, 120):.0f}" role="img" aria-label="{text(title, 300)}">{body}</svg>'


def _below(values: np.ndarray) -> np.ndarray:
    return values[np.tril_indices(len(values), -1)]


def _cell(place: tuple[float, float, float], value: float, ends: tuple[float, float], a: str, b: str) -> str:
    x, y, size = place
    width = max(size - 1, 0.5)
    says = f"<title>{short(a, 30)}, {short(b, 30)}: {number(value, 2)}</title>"
    if math.isnan(value):
        cross = f"M{x:.1f} {y:.1f}h{width:.1f}v{width:.1f}h-{width:.1f}zl{width:.1f} {width:.1f}"
        return f'<path class="nan" d="{cross}">{says}</path>'
    share = value / max(abs(ends[0]), abs(ends[1]))
    where = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{width:.1f}"'
    return f'<rect class="cell {shade(share)}" {where}>{says}</rect>'


def _legend(ends: tuple[float, float], undefined: bool) -> str:
    """The scale, in the empty corner above the diagonal."""
    steps = range(0 if ends[0] == 0 else -STEPS, STEPS + 1)
    width = 112 / len(steps)
    left = _SIZE - 112 - 4
    boxes = "".join(
        f'<rect class="{shade(k / STEPS)}" x="{left + i * width:.1f}" y="4" width="{width:.2f}" height="9"/>'
        for i, k in enumerate(steps)
    )
    marks = [(left, ends[0], "start"), (left + 112, ends[1], "end")]
    if ends[0] < 0:
        marks.append((left + 56, 0.0, "middle"))
    words = "".join(
        f'<text class="tick" x="{x}" y="25" text-anchor="{anchor}">{f"{value:g}".replace("-", "−")}</text>'
        for x, value, anchor in marks
    )
    if undefined:
        words += (
            f'<path class="nan" d="M{left} 32h9v9h-9zl9 9"/>'
            f'<text class="tick" x="{left + 14}" y="40">not defined</text>'
        )
    return boxes + words


def ranked(matrix: Matrix) -> list[tuple[float, str, str, float, float]]:
    """Pairs with a difference, the largest first: (synthetic minus real, column, column, real, synthetic)."""
    i, j = np.tril_indices(len(matrix.names), -1)
    gap = (matrix.synthetic - matrix.real)[i, j]
    order = [k for k in np.argsort(-np.abs(gap), kind="stable").tolist() if math.isfinite(gap[k])]
    return [
        (
            float(gap[k]),
            matrix.names[j[k]],
            matrix.names[i[k]],
            float(matrix.real[i[k], j[k]]),
            float(matrix.synthetic[i[k], j[k]]),
        )
        for k in order
    ]


def _pairs(matrix: Matrix, title: str) -> str:
    found = ranked(matrix)
    count = len(matrix.names) * (len(matrix.names) - 1) // 2
    rows = [
        (f"<bdi>{short(a, 40)}</bdi>, <bdi>{short(b, 40)}</bdi>", number(real), number(made), signed(gap))
        for gap, a, b, real, made in found[:PAIRS]
    ]
    says = f"{title}: {len(rows)} of {count} pairs, the largest difference first"
    if count > len(found):
        says += f"; {count - len(found)} pairs have no value in one of the tables"
    body = table(says, ("Pair", "Real", "Synthetic", "Difference"), rows, " nnn")
    return details("The same figures as a table", body, long=len(rows) > 40)
