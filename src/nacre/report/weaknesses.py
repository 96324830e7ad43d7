"""What is weakest, for the top of the report: one tile for every kind of figure, each with its worst case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.metrics import metric
from nacre.metrics.predictions import MEASURES
from nacre.metrics.score import Matrix, Score
from nacre.report.figures import Scores, gap, label
from nacre.report.heat import KINDS, ranked
from nacre.report.markup import chance, number, percent, prose, short, signed, text
from nacre.report.ranking import distance_of, share_lost
from nacre.report.report import Report

NEXT = 4  # runners-up named below the worst


@dataclass(frozen=True)
class Weakness:
    """One tile: `big` is the figure, `who` what it is about, `then` the runners-up as pairs of name and figure."""

    title: str
    big: str
    who: str
    says: str
    then: tuple[tuple[str, str], ...] = ()
    bad: bool = False


def weaknesses(report: Report, scores: Scores) -> list[Weakness]:
    """A missing promise first, then columns, pairs, models, telling apart, and figures that could not be computed."""
    found = [_no_promise(report), _column(report, scores), *(_pair(m) for m in report.matrices), _model(scores)]
    return [w for w in (*found, _told_apart(scores), _undefined(scores)) if w is not None]


def in_short(report: Report, scores: Scores) -> str:
    """The report in at most three sentences, for readers who stop there."""
    said = []
    one, two = scores.get("tvd1"), scores.get("tvd2")
    if one and not math.isnan(one.value):
        pairs = f", pairs of columns by {number(two.value)}" if two and not math.isnan(two.value) else ""
        said.append(f"Single columns differ from the real ones by {number(one.value)} on average{pairs} (0 is equal).")
    for kind, found in scores.downstream().items():
        both = [(s, scores.get(s.metric, "real")) for s in found]
        known = [(s, real) for s, real in both if real and math.isfinite(real.value) and math.isfinite(s.value)]
        if known:
            best = min if metric(found[0].metric).direction == "lower" else max
            s, real = best(known, key=lambda pair: pair[1].value)
            said.append(
                f"The best model of the real table, {label(s.metric)}, reaches {number(real.value)} there and "
                f"{number(s.value)} when trained on the synthetic table ({_within(_short(kind))})."
            )
            break
    if report.certificate is not None and report.certificate.epsilon is None:
        said.append("No privacy promise is made.")
    return " ".join(said)


def tiles(found: Sequence[Weakness]) -> str:
    return f'<div class="tiles">{"".join(_tile(w) for w in found)}</div>'


def _tile(w: Weakness) -> str:
    rest = "".join(f"<li><bdi>{short(name, 60)}</bdi><span>{text(value)}</span></li>" for name, value in w.then)
    more = f'<ol aria-label="next">{rest}</ol>' if rest else ""
    kind = " bad" if w.bad else ""
    return (
        f'<article class="tile{kind}"><h3>{text(w.title)}</h3><p class="big">{text(w.big)}</p>'
        f'<p class="who">{text(w.who, 90)}</p><p class="soft">{prose(w.says)}</p>{more}</article>'
    )


def _no_promise(report: Report) -> Weakness | None:
    c = report.certificate
    if c is None:
        says = "This page was made without a certificate, so nothing is known here about what was promised."
        return Weakness("Privacy", "No certificate", "the promise is unknown", says, bad=True)
    if c.epsilon is None:
        why = "; ".join(c.reasons)
        return Weakness("Privacy", "No promise", f"guarantee {c.guarantee}", f"{why[:1].upper()}{why[1:]}.", bad=True)
    return None


def _column(report: Report, scores: Scores) -> Weakness | None:
    by = scores.of_columns()
    order = sorted(((distance_of(c, by.get(c.name, ())), c.name) for c in report.columns), key=lambda pair: -pair[0])
    if not order:
        return None
    return Weakness(
        "Farthest column",
        number(order[0][0]),
        order[0][1],
        "Share of rows that would have to move for the column to agree: 0 is equal, 1 has nothing in common.",
        tuple((name, number(far)) for far, name in order[1 : 1 + NEXT]),
    )


def _pair(matrix: Matrix) -> Weakness | None:
    pairs = ranked(matrix)
    if not pairs:
        return None
    change, a, b, real, made = pairs[0]
    title = KINDS.get(matrix.kind, (matrix.kind, ""))[0]
    return Weakness(
        f"Pair that changed most, {title}",
        signed(change),
        f"{_clip(a)}, {_clip(b)}",
        f"{title}: {number(real)} in the real table, {number(made)} in the synthetic one.",
        tuple((f"{_clip(p[1])}, {_clip(p[2])}", signed(p[0])) for p in pairs[1 : 1 + NEXT]),
    )


def _clip(name: str) -> str:
    """Room for two names in a line."""
    return name if len(name) <= 28 else f"{name[:16]}…{name[-11:]}"


def _model(scores: Scores) -> Weakness | None:
    for kind, found in scores.downstream().items():
        gaps = [(gap(scores, s), s) for s in found]
        known = [(g, _share(scores, g, s), s) for g, s in gaps if g is not None and math.isfinite(g)]
        known.sort(key=lambda p: -(p[0] if p[1] is None else p[1]))  # as the list above is ranked
        if known:
            lost, share, worst = known[0]
            ceiling = scores.get(worst.metric, "real")
            real = f" and {number(ceiling.value)} on the real one" if ceiling else ""
            if share is not None and share > 0:
                real += f": {percent(share)} of what real rows gain over a constant guess is lost"
            return Weakness(
                "Model that loses most",
                signed(lost),
                label(worst.metric),
                f"{_short(kind)}: {number(worst.value)} when trained on the synthetic table{real}.",
                tuple((label(s.metric), signed(g)) for g, _, s in known[1 : 1 + NEXT]),
            )
    return None


def _share(scores: Scores, lost: float, s: Score) -> float | None:
    return share_lost(lost, scores.get(s.metric, "real"), scores.get(s.metric, "majority"))


def _short(kind: str) -> str:
    return MEASURES[kind].title.split(":")[0].split(" (")[0]


def _within(words: str) -> str:
    """A name inside a sentence: no capital, unless it is one of an abbreviation."""
    return words[0].lower() + words[1:] if words[1:2].islower() else words


def _told_apart(scores: Scores) -> Weakness | None:
    s = scores.get("c2st_auc")
    if s is None or math.isnan(s.value):
        return None
    says = "ROC area of a model that tells synthetic rows from real ones: 0.5 or below is chance, 1 is always right."
    p, held = scores.get("c2st_p"), scores.get("c2st_auc", "real")
    says += f" p-value {chance(p.value)}." if p is not None else ""
    says += f" Held-out real rows in their place: {number(held.value)}." if held is not None else ""
    return Weakness("Telling the tables apart", number(s.value), "classifier two-sample test", says)


def _undefined(scores: Scores) -> Weakness | None:
    lost = list(dict.fromkeys(s.metric for s in scores if math.isnan(s.value)))
    if not lost:
        return None
    says = "These figures have no value, for example because a column is constant. They are marked where they stand."
    names = tuple((name, metric(name).unit if metric(name).unit != "1" else "") for name in lost[: 1 + NEXT])
    extra = ((f"and {len(lost) - len(names)} more", ""),) if len(lost) > len(names) else ()
    return Weakness("Figures that could not be computed", f"{len(lost):,}", "not defined", says, (*names, *extra))
