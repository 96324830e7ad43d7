"""The owner's report as one HTML file: what is weakest first, then the promise, the columns, dependence and models."""

from __future__ import annotations

from dataclasses import replace

from nacre.certificates import verified
from nacre.report.attacks import attacks_part
from nacre.report.cards import comparison_cards
from nacre.report.figures import Scores, downstream_tables, how_to_read, pair_table, whole_table
from nacre.report.heat import heat_maps
from nacre.report.hidden import hidden_part
from nacre.report.markup import bullets, document, facts_table, part, prose, text
from nacre.report.promise import chip, promise
from nacre.report.ranking import describe, weakest
from nacre.report.relations import relations_parts
from nacre.report.report import Report
from nacre.report.weaknesses import in_short, tiles, weaknesses

TITLE = "Evaluation of a synthetic table"
TITLE_OF_DATABASES = "Evaluation of a synthetic database"
BANNER = (
    "<strong>Contains unprotected statistics: not for release.</strong> Figures and drawings on this page were "
    "computed from private rows. Keep it as you keep the data. What may travel with the synthetic table is the "
    "release sheet."
)
Part = tuple[str, str, str]


def report_html(report: Report) -> str:
    """The whole page as text. It renders what the report holds and leaves out what it does not; nothing is computed
    from rows, nothing fetched, no script run. Raises KeyError for a score whose metric is not registered, and
    CertificateError for a certificate that contradicts itself."""
    report = replace(report, certificate=verified(report.certificate))
    scores = Scores(report.scores)
    made = (
        _weakest(report, scores),
        _promise(report),
        hidden_part(report.hidden),
        attacks_part(report.attacks),
        *relations_parts(report.relations, scores),
        _columns(report, scores),
        _dependence(report),
        _downstream(report, scores),
        _fidelity(report, scores),
        _reading(report, scores),
        _about(report, scores),
    )
    title = TITLE if report.relations is None else TITLE_OF_DATABASES
    return document(title, ("", BANNER), _top(report, scores), [p for p in made if p], _foot(report))


def _top(report: Report, scores: Scores) -> str:
    words = [f"{len(report.columns):,} columns compared"] if report.columns else []
    if report.target:
        words.append(f"target <strong><bdi>{text(report.target)}</bdi></strong>")
    elif not scores.downstream():
        words.append("no target was given, so no model was trained")
    words += [f"{text(k)}: {text(v)}" for k, v in list(report.facts.items())[:3]]
    label = chip(report.certificate) if report.certificate is not None else '<span class="chip">No certificate</span>'
    short = in_short(report, scores)
    return f'<p class="lead">{" · ".join(words)}</p><p>{label}</p>' + (
        f'<p class="short">{prose(short)}</p>' if short else ""
    )


def _weakest(report: Report, scores: Scores) -> Part | None:
    found = weaknesses(report, scores)
    if not found:
        return None
    lead = (
        "What stands out most from chance, the worst first: the share of rows that would have to move, or of what a "
        "model gains from real rows that is lost. Below it the worst of every kind."
    )
    ranked = [describe(s) for s in weakest(report)] or ["Nothing stands out from chance."]
    body = f'<ol class="ranked">{"".join(f"<li>{prose(line)}</li>" for line in ranked)}</ol>' if report.scores else ""
    return "weakest", "What is weakest", part("weakest", "What is weakest", lead, body + tiles(found))


def _promise(report: Report) -> Part:
    if report.certificate is None:
        body = (
            "<p>No certificate was given with this table. Read nothing on this page as a statement about privacy.</p>"
        )
        return "promise", "The promise", part("promise", "The promise of privacy", "", body)
    lead = "What is promised to the people in the private table, in words and in numbers."
    return "promise", "The promise", part("promise", "The promise of privacy", lead, promise(report.certificate))


def _columns(report: Report, scores: Scores) -> Part | None:
    if not report.columns:
        return None
    lead = (
        "Shares of all rows, real and synthetic. The distance is the share of rows that would have to move for the "
        "column to agree: 0 is equal, 1 has nothing in common. The farthest column comes first; the outermost bars of "
        "numbers and dates hold all that lies beyond the axis, and values that the schema does not list have a bar of "
        "their own."
    )
    by_column = scores.of_columns()
    if any(s.metric == "tvd1" for found in by_column.values() for s in found):
        lead += (
            " It is <code>tvd1</code>: over all categories, or over 20 equal parts of a number's public range. The "
            "bars are finer or coarser, for the eye."
        )
    body = comparison_cards(report.columns, by_column)
    return "columns", "Columns", part("columns", "Column by column", lead, body)


def _dependence(report: Report) -> Part | None:
    maps = "".join(heat_maps(m) for m in report.matrices if len(m.names) > 1)
    if not maps:
        return None
    lead = "How strongly columns move together. Blue is positive, orange negative; the third map shows what changed."
    return "dependence", "Dependence", part("dependence", "Dependence between columns", lead, maps)


def _downstream(report: Report, scores: Scores) -> Part | None:
    body = downstream_tables(scores)
    if not body:
        return None
    target = f"of <strong><bdi>{text(report.target)}</bdi></strong> " if report.target else ""
    lead = (
        f"Models {target}trained on the synthetic table and tested on real rows that no training saw. The ceiling is "
        "the same model trained on the real table; the gap is how much is lost against it (a negative gap: nothing)."
    )
    return "models", "Models", part("models", "What models learn from it", lead, body)


def _fidelity(report: Report, scores: Scores) -> Part | None:
    names = scores.whole_table()
    body = whole_table(scores, names, "Figures of the whole table") if names else ""
    body += pair_table(scores)
    if scores.costs():
        body += whole_table(scores, scores.costs(), "Time and memory")
    if not body:
        return None
    lead = (
        "Distances between the tables as a whole. Where it says <em>real rows redrawn</em>, private rows drawn with "
        "replacement stood in for the synthetic table: what remains between the private table and its own rows drawn "
        "again. Where it says <em>real</em>, the held-out real rows and the private table were compared with each "
        "other: what two real tables differ by."
    )
    if report.relations is not None:
        lead = (
            "Distances between the databases. Where it says <em>real rows redrawn</em>, private units drawn with "
            "replacement, with all their rows, stood in for the synthetic ones; where it says <em>real</em>, private "
            "units themselves."
        )
    return "fidelity", "Fidelity", part("fidelity", "How close the tables are", lead, body)


def _reading(report: Report, scores: Scores) -> Part:
    say = [
        "A distance near 0 says that a column or pair looks alike; it says nothing about single people.",
        "Intervals of models (and of telling the tables apart) come from drawing the test rows again: they say how far "
        "the figure of these trained models would move with other test rows, not with another run of the method.",
        "Intervals of distances show the spread of the figure over resampled rows. They need not hold the distance of "
        "the populations: distances of finite tables are above zero even for equal populations. Compare them with the "
        "real rows redrawn.",
        "A model's figure counts against two marks: the constant guess, which knows nothing, and the ceiling, which "
        "real rows reach.",
        "No figure here measures privacy. Good figures do not weaken the promise, and bad ones do not strengthen it.",
    ]
    body = bullets(say) + (how_to_read(scores) if scores.names else "")
    return "reading", "How to read", part("reading", "How to read the figures", "", body)


def _about(report: Report, scores: Scores) -> Part | None:
    body = f"<h3>What to know of the figures</h3>{bullets(report.notes)}" if report.notes else ""
    if report.facts:
        body += facts_table("How this page came about", report.facts.items())
    return ("about", "Facts", part("about", "Facts and notes", "", body)) if body else None


def _foot(report: Report) -> str:
    made = ""
    if report.certificate is not None:
        made = (
            " Release made with "
            + text(", ".join(f"{k} {v}" for k, v in report.certificate.versions.items()), 300)
            + "."
        )
    return f"Contains unprotected statistics: not for release. This page runs no scripts and fetches nothing.{made}"
