"""Columns as cards: a drawing, the distance, what is missing. The same cards serve the report and the release sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nacre.metrics.score import Score
from nacre.report.markup import details, number, percent, table, text
from nacre.report.ranking import distance_of
from nacre.report.report import Comparison, Profile
from nacre.report.svg import bars, histogram

OPEN = 48  # cards on the page; further ones open on demand
DRAWN = 240  # columns with a drawing; the distances of further ones stand in the table of all columns
KEY = '<ul class="key"><li><i class="real"></i>real</li><li><i class="made"></i>synthetic</li></ul>'


def comparison_cards(columns: Sequence[Comparison], scores: Mapping[str, Sequence[Score]], anchor: str = "c") -> str:
    """The farthest column first. `scores` holds the figures of single columns by column name; `anchor` begins the
    names of places on the page."""
    scores = {column.name: scores.get(column.name, ()) for column in columns}
    far = [distance_of(column, scores.get(column.name, ())) for column in columns]
    ranked = sorted(enumerate(columns), key=lambda pair: -far[pair[0]])
    cards = [_compared(f"{anchor}{i}", column, far[i], scores.get(column.name, ())) for i, column in ranked[:DRAWN]]
    drawn = {i: f"{anchor}{i}" for i, _ in ranked[:DRAWN]}
    return KEY + _grid(cards, "less distant") + _index(ranked, far, scores, drawn)


def profile_cards(profiles: Sequence[Profile]) -> str:
    """The columns of one table, in their own order."""
    cards = [_alone(p) for p in profiles[:DRAWN]]
    left = len(profiles) - len(cards)
    note = f"<p>{left:,} further columns are not drawn.</p>" if left > 0 else ""
    return _grid(cards, "further") + note


def _grid(cards: Sequence[str], kind: str) -> str:
    first = f'<div class="grid">{"".join(cards[:OPEN])}</div>'
    rest = cards[OPEN:]
    if not rest:
        return first
    return first + details(f"{len(rest):,} {kind} columns", f'<div class="grid">{"".join(rest)}</div>', long=True)


def _compared(anchor: str, column: Comparison, far: float, scores: Sequence[Score]) -> str:
    title = f"{column.name}: shares of real and synthetic rows, distance {number(far)}"
    nulls = column.nulls
    real = (1 - (nulls[0] if nulls else 0.0)) * column.real
    made = (1 - (nulls[1] if nulls else 0.0)) * column.synthetic
    title += _farthest(column.labels or column.bins, real, made)
    if column.ends is None:
        drawing = _bars(column.labels, real, made, title, nulls)
    else:
        drawing = histogram(real, made, title, column.ticks or _ends(column.ends), column.bins, nulls)
    foot = [f"{s.metric} {number(s.value)}" for s in scores if s.of == "synthetic" and s.metric != "tvd1"]
    if nulls is not None and column.ends is not None:
        foot.append(f"missing: real {percent(nulls[0])}, synthetic {percent(nulls[1])}")
    return _card(anchor, column.name, f"{column.kind}, distance {number(far)}", drawing, foot)


def _alone(profile: Profile) -> str:
    title = f"{profile.name}: shares of synthetic rows"
    gone = profile.nulls or 0.0
    made = (1 - gone) * profile.shares
    nulls = None if profile.nulls is None else (profile.nulls,)
    title += _largest(profile.labels or profile.bins, made)
    if profile.ends is None:
        drawing = _bars(profile.labels, None, made, title, nulls)
    else:
        drawing = histogram(None, made, title, profile.ticks or _ends(profile.ends), profile.bins, nulls)
    foot = [f"missing: {percent(gone)}"] if nulls is not None and profile.ends is not None else []
    return _card("", profile.name, profile.kind, drawing, foot)


def _farthest(names: Sequence[str], real: np.ndarray, made: np.ndarray) -> str:
    """For those who hear a drawing: where the two differ most."""
    if len(names) != len(real) or not len(real):
        return ""
    i = int(np.argmax(np.abs(real - made)))
    return f"; farthest apart at {_named(names[i])}, real {percent(real[i])}, synthetic {percent(made[i])}"


def _largest(names: Sequence[str], made: np.ndarray) -> str:
    if len(names) != len(made) or not len(made):
        return ""
    i = int(np.argmax(made))
    return f"; most at {_named(names[i])}, {percent(made[i])}"


def _named(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _bars(
    labels: Sequence[str], real: np.ndarray | None, made: np.ndarray, title: str, nulls: tuple[float, ...] | None
) -> str:
    if nulls is not None:
        labels, made = (*labels, "(missing)"), np.append(made, nulls[-1])
        real = None if real is None else np.append(real, nulls[0])
    return bars(labels, real, made, title)


def _ends(ends: tuple[str, str]) -> tuple[tuple[float, str], ...]:
    return ((0.0, ends[0]), (1.0, ends[1]))


def _card(anchor: str, name: str, about: str, drawing: str, foot: Sequence[str]) -> str:
    under = f'<p class="foot">{text("; ".join(foot), 400)}</p>' if foot else ""
    mark = f' id="{anchor}"' if anchor else ""
    return (
        f'<article class="card"{mark}><div class="head"><h3><bdi>{text(name)}</bdi></h3>'
        f"<span>{text(about)}</span></div>{drawing}{under}</article>"
    )


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return ""
    return f'<br><span class="soft small">{number(score.low)} to {number(score.high)}</span>'


def _index(
    ranked: Sequence[tuple[int, Comparison]],
    far: Sequence[float],
    scores: Mapping[str, Sequence[Score]],
    drawn: Mapping[int, str],
) -> str:
    """All columns as a table: the way to a column by its name, and the figures for those who cannot see drawings."""
    kinds = list(dict.fromkeys(s.metric for found in scores.values() for s in found if s.of == "synthetic"))
    rows = []
    for i, column in ranked:
        name = f"<bdi>{text(column.name)}</bdi>"
        values = {
            s.metric: f"{number(s.value)}{_interval(s)}" for s in scores.get(column.name, ()) if s.of == "synthetic"
        }
        gone = ("n/a", "n/a") if column.nulls is None else tuple(percent(n) for n in column.nulls)
        figures = [values.get(k, "n/a") for k in kinds if k != "tvd1"]
        distance = values.get("tvd1", number(far[i]))
        link = f'<a href="#{drawn[i]}">{name}</a>' if i in drawn else name
        rows.append((link, text(column.kind), distance, *figures, *map(text, gone)))
    heads = (
        "Column",
        "Kind",
        "Distance<br><code>tvd1</code>" if "tvd1" in kinds else "Distance",
        *(f"<code>{text(k)}</code>" for k in kinds if k != "tvd1"),
        "Missing, real",
        "Missing, synthetic",
    )
    caption = f"{len(rows):,} columns, the farthest first"
    title = f"All {len(rows):,} columns as a table" if len(rows) > 1 else "The same as a table"
    if len(drawn) < len(rows):
        title += f"; the {len(drawn):,} farthest are drawn above"
    return details(title, table(caption, heads, rows, " t" + "n" * (len(heads) - 2)), long=len(rows) > OPEN)
