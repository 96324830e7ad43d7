"""What is weakest in a report, across kinds of figures: columns, pairs and what models lose."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.metrics import metric
from nacre.metrics.score import Score
from nacre.report.report import Comparison, Report


def weakest(report: Report, k: int = 5) -> list[Score]:
    """The `k` worst findings, the worst first; findings no worse than chance are left out: a gap whose interval
    holds 0, a distance whose spread reaches down to that of the bootstrap.

    Each is measured as a share of what could be lost, so that the kinds compare. A column: its `tvd1` over that of a
    bootstrap of the private table. A pair: what its `tvd2` over that of the bootstrap adds to the worse of its two
    columns. A model: the gap to the real table as a share of what the real table gains over a constant guess; of
    several measures of one model only the first counts, and means over models are left out.
    """
    found = {(s.metric, s.columns, s.of): s for s in report.scores}
    severity: dict[Score, float] = {}
    seen: set[str] = set()
    for s in report.scores:
        if s.of != "synthetic":
            continue
        if s.columns and (s.metric == "tvd1" or s.metric.endswith("tvd2")):
            severity[s] = _excess(s, found) if _stands_out(s, found) else 0.0
        known = metric(s.metric)
        if known.gap_of and known.model and known.model not in seen and not s.columns:
            seen.add(known.model)
            severity[s] = _lost(s, found) if _stands_out(s, found) else 0.0
    ranked = sorted((s for s, bad in severity.items() if bad > 0), key=lambda s: -severity[s])
    return ranked[:k]


def _stands_out(s: Score, found: dict) -> bool:
    """Whether even the low end of the interval, where there is one, is worse than chance."""
    again = found.get((s.metric, s.columns, "bootstrap"))
    return s.low is None or s.low > (again.value if again and s.columns else 0.0)


def _excess(s: Score, found: dict) -> float:
    """The distance beyond that of a bootstrap; of a pair, beyond that of its columns too."""
    again = found.get((s.metric, s.columns, "bootstrap"))
    over = s.value - (again.value if again else 0.0)
    if len(s.columns) == 1:
        return over
    columns = [found[key] for c in s.columns if (key := ("tvd1", (c,), "synthetic")) in found]
    return over - max((_excess(c, found) for c in columns), default=0.0)


def _lost(gap: Score, found: dict) -> float:
    name = metric(gap.metric).gap_of
    share = share_lost(gap.value, found.get((name, (), "real")), found.get((name, (), "majority")))
    return gap.value if share is None else share


def share_lost(gap: float, real: Score | None, guess: Score | None) -> float | None:
    """A gap as a share of what the real table gains over a constant guess; None where it gains nothing."""
    if real is None or guess is None or not (gain := abs(real.value - guess.value)) > 0:
        return None
    better = real.value > guess.value if metric(real.metric).direction != "lower" else real.value < guess.value
    return gap / gain if better else None


def distance_of(column: Comparison, scores: Iterable[Score]) -> float:
    """How far a column is, everywhere in a report: its `tvd1` among the scores, without one the distance of its bars.

    Bars are for the eye: rare categories are one bar, and the axis of a number leaves its ends out.
    """
    told = (s.value for s in scores if (s.metric, s.columns, s.of) == ("tvd1", (column.name,), "synthetic"))
    return next(told, column.distance)


def describe(s: Score) -> str:
    """One finding in words."""
    between = "" if s.low is None or s.high is None else f" (95 % interval {s.low:.3f} to {s.high:.3f})"
    if s.columns:
        kind = "column" if len(s.columns) == 1 else "pair"
        within = "" if s.low is None or s.high is None else f", 95 % interval {s.low:.3f} to {s.high:.3f}"
        moved = f"{100 * s.value:.1f} % of the rows would have to move for both tables to agree"
        return f"{kind} {', '.join(s.columns)}: {moved} ({s.metric} {s.value:.3f}{within})"
    known = metric(s.metric)
    return f"{metric(known.gap_of or known.name).text.split(';')[0]}: {s.value:.3f} below the real table{between}"
