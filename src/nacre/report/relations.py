"""A database in a report: how many rows hang on each row, what lies between them, one synthetic unit whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nacre.metrics import metric
from nacre.metrics.score import Score
from nacre.report.cards import comparison_cards
from nacre.report.figures import Scores
from nacre.report.markup import details, number, part, signed, table, text
from nacre.report.report import Extract, Relations, Timeline
from nacre.report.svg import lanes

Part = tuple[str, str, str]


def relations_parts(found: Relations | None, scores: Scores) -> list[Part]:
    """The parts of the page: cardinalities, time, what is foreseen, one unit."""
    if found is None:
        return []
    each = scores.of_columns()
    counts = [k.counts for k in found.keys]
    gaps = [k.gap for k in found.keys if k.gap is not None]
    made = [_cardinalities(found, comparison_cards(counts, each, "k"))]
    if gaps or found.timelines:
        made.append(_time(found, comparison_cards(gaps, each, "g") if gaps else ""))
    events = [n for n in scores.names if metric(n).linked and "holdout" in metric(n).reads]
    if events:
        made.append(_events(scores, events))
    if found.history:
        made.append(_unit(found))
    return made


def _events(scores: Scores, names: Iterable[str]) -> Part:
    """A line for every event and figure: synthetic, real, and the gap between both."""
    behind = {metric(n).gap_of: n for n in scores.names if metric(n).gap_of}
    rows = []
    for s in (s for name in names for s in scores if s.metric == name and s.columns and s.of == "synthetic"):
        gap = scores.get(behind[s.metric], columns=s.columns) if s.metric in behind else None
        real = scores.get(s.metric, "real", s.columns)
        cells = (_cell(s, number), _cell(real, number), _cell(gap, signed))
        rows.append((f"<bdi>{text(s.columns[0])}</bdi>", f"<code>{text(s.metric)}</code>", *cells))
    lead = (
        "Models see a row and the rows above it, and say what the next row will be. Trained on synthetic units and on "
        "real ones, tested on real units that nothing was made from: the area under the ROC curve."
    )
    heads = ("Event", "Figure", "Synthetic,<br>95 % interval", "Real", "Gap,<br>95 % interval")
    body = table("What is foreseen of the next row", heads, rows, "  nnn")
    return "events", "Next rows", part("events", "What models foresee of the next row", lead, body)


def _cell(score: Score | None, words: Callable[[float], str]) -> str:
    if score is None:
        return '<span class="soft">n/a</span>'
    value = words(score.value)
    if score.low is None or score.high is None:
        return value
    return f'{value}<br><span class="soft small">{words(score.low)} to {words(score.high)}</span>'


def _cardinalities(found: Relations, cards: str) -> Part:
    rows = [
        (
            f"<bdi>{text(k.child)}</bdi> of <bdi>{text(k.parent)}</bdi>",
            f"{k.cap:,}",
            "" if k.order is None else f"<bdi>{text(k.order)}</bdi>",
        )
        for k in found.keys
    ]
    lead = (
        f"A unit is one row of <strong><bdi>{text(found.unit)}</bdi></strong> and all rows that it owns. Shares of the "
        "parent rows by how many rows they own; the distance is the share that would have to own another number."
    )
    body = table("Keys by which rows are owned", ("Key", "At most", "In the order of"), rows, " n ") + cards
    return "cardinalities", "Cardinalities", part("cardinalities", "How many rows hang on each row", lead, body)


def _time(found: Relations, cards: str) -> Part:
    drawn = "".join(_timeline(t) for t in found.timelines)
    lead = (
        "How far each row lies behind the one before it under the same parent, real and synthetic; below, rows of some "
        "synthetic units, one unit to a line. No real unit is drawn."
    )
    return "time", "Time", part("time", "Rows in order", lead, cards + drawn)


def _timeline(found: Timeline) -> str:
    title = f"{found.table} of {len(found.units)} synthetic units by {found.order}"
    drawing = lanes(found.units, found.ends, title)
    return f'<div class="maps"><figure class="card"><figcaption>{text(title)}</figcaption>{drawing}</figure></div>'


def _unit(found: Relations) -> Part:
    tables = "".join(_extract(e) for e in found.history)
    lead = "One synthetic unit with all that is its own, as it came out. It is nobody's history."
    return "unit", "One unit", part("unit", "The history of one synthetic unit", lead, tables)


def _extract(found: Extract) -> str:
    rows = [tuple(f"<bdi>{text(cell, 60)}</bdi>" for cell in row) for row in found.rows]
    shown = f"{len(rows):,} of {found.total:,} rows" if found.total > len(rows) else f"{found.total:,} rows"
    if found.total == 1:
        shown = "1 row"
    made = table(f"{found.table}: {shown}", [text(h, 60) for h in found.heads], rows, "k" * len(found.heads))
    return made if len(rows) <= 12 else details(f"{found.table}: {shown}", made, long=True)
