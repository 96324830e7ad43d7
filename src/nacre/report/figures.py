"""Scores as tables: what models learn, how far apart the tables are, how to read each figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from nacre.metrics import metric
from nacre.metrics.predictions import MEASURES
from nacre.metrics.score import Score
from nacre.report.markup import details, number, shown, signed, table, text
from nacre.report.svg import against_ceiling

_OF = {
    "synthetic": "Synthetic",
    "bootstrap": "Real rows redrawn",
    "real": "Real",
    "majority": "Constant guess",
}
LONG = 60  # rows of a table that stays closed on paper
KEY = (
    '<ul class="key"><li><i class="made"></i>synthetic, from the constant guess</li>'
    '<li><i class="whisker"></i>95 % interval</li><li><i class="tickmark"></i>ceiling: trained on the real table</li>'
    '<li><i class="base"></i>constant guess</li></ul>'
)


class Scores:
    """Scores by what they are about, in the order given; the first of several with one name counts."""

    def __init__(self, scores: Iterable[Score]):
        self._found: dict[tuple[str, tuple[str, ...], str], Score] = {}
        for s in scores:
            metric(s.metric)  # a figure nobody described has no place on a page
            self._found.setdefault((s.metric, s.columns, s.of), s)

    def get(self, name: str, of: str = "synthetic", columns: tuple[str, ...] = ()) -> Score | None:
        return self._found.get((name, columns, of))

    def __iter__(self):
        return iter(self._found.values())

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(s.metric for s in self))

    def of_columns(self) -> dict[str, list[Score]]:
        found: dict[str, list[Score]] = {}
        for s in self:
            if len(s.columns) == 1:
                found.setdefault(s.columns[0], []).append(s)
        return found

    def of_pairs(self) -> list[Score]:
        """Figures of pairs, the worst first within a metric."""
        pairs = [s for s in self if len(s.columns) == 2 and s.of == "synthetic"]
        return sorted(pairs, key=lambda s: (s.metric, -_badness(s)))

    def downstream(self) -> dict[str, list[Score]]:
        """Measure to the synthetic table's scores of whole tables, gaps aside."""
        found: dict[str, list[Score]] = {}
        for s in self:
            known = metric(s.metric)
            if known.group and known.gap_of is None and s.of == "synthetic" and not s.columns:
                found.setdefault(known.group, []).append(s)
        return {k: found[k] for k in MEASURES if k in found}

    def whole_table(self) -> list[str]:
        """Names of the other figures of whole tables, costs aside."""
        return [n for n in self._whole() if not metric(n).cost]

    def costs(self) -> list[str]:
        return [n for n in self._whole() if metric(n).cost]

    def _whole(self) -> list[str]:
        return list(dict.fromkeys(s.metric for s in self if not s.columns and not metric(s.metric).group))


def _badness(score: Score) -> float:
    value = -score.value if metric(score.metric).direction == "higher" else score.value
    return -math.inf if math.isnan(value) else value


def gap(scores: Scores, score: Score) -> float | None:
    """How much worse than the real table: the registered gap where it was computed, else ceiling minus figure."""
    told, ceiling = scores.get(f"{score.metric}_gap"), scores.get(score.metric, "real")
    if told:
        return told.value
    if ceiling is None:
        return None
    return score.value - ceiling.value if metric(score.metric).direction == "lower" else ceiling.value - score.value


def label(name: str) -> str:
    """What follows the measure in the registered text: the model or the mean."""
    words = metric(name).text.split(";")[0]
    return words.split(", ", 1)[1] if ", " in words else words


def downstream_tables(scores: Scores) -> str:
    """One table for every measure; the first stands open."""
    tables = [(kind, _downstream(scores, found, MEASURES[kind].title)) for kind, found in scores.downstream().items()]
    if not tables:
        return ""
    rest = "".join(details(MEASURES[kind].title, html) for kind, html in tables[1:])
    return KEY + tables[0][1] + rest


def _downstream(scores: Scores, found: Sequence[Score], caption: str) -> str:
    span = _span(scores, found)
    kinds = [of for of in ("real", "bootstrap", "majority") if any(scores.get(s.metric, of) for s in found)]
    rows = []
    for s in found:
        ceiling, base = (_value(scores.get(s.metric, of)) for of in ("real", "majority"))
        interval = (s.low, s.high) if s.low is not None and s.high is not None else None
        drawn = "" if math.isnan(s.value) else against_ceiling(s.value, span, ceiling, base, interval)
        others = [number(_value(scores.get(s.metric, of))) for of in kinds]
        rows.append((_named(s.metric, label(s.metric)), _with_interval(s), _gap_cell(scores, s), *others, drawn))
    names = {"real": "Real (ceiling)", "bootstrap": "Real rows redrawn", "majority": "Constant guess"}
    heads = ("Model", "Synthetic,<br>95 % interval", "Gap,<br>95 % interval", *(names[of] for of in kinds), "Drawn")
    return table(caption, heads, rows, " " + "n" * (len(heads) - 2) + "b")


def _gap_cell(scores: Scores, s: Score) -> str:
    """The gap and, where both models were tested on the same resamples, the interval of the difference."""
    told = scores.get(f"{s.metric}_gap")
    found = signed(gap(scores, s))
    if told is None or told.low is None or told.high is None:
        return found
    return f'{found}<br><span class="soft small">{signed(told.low)} to {signed(told.high)}</span>'


def _named(name: str, words: str) -> str:
    return f'{text(words, 300)}<br><code class="soft small">{text(name)}</code>'


def _value(score: Score | None) -> float | None:
    return None if score is None else score.value


def _span(scores: Scores, found: Sequence[Score]) -> tuple[float, float]:
    """The ends of the drawings of one table: all that is drawn in it."""
    values = [v for s in found for v in (s.value, s.low, s.high)]
    values += [_value(scores.get(s.metric, of)) for s in found for of in ("real", "majority")]
    known = [v for v in values if v is not None and math.isfinite(v)]
    return (min(known), max(known)) if known else (0.0, 1.0)


def whole_table(scores: Scores, names: Sequence[str], caption: str) -> str:
    """Figures of whole tables by name, one column for everything they were computed of."""
    kinds = [of for of in _OF if any(scores.get(n, of) for n in names)]
    rows = []
    for n in names:
        known = metric(n)
        values = [_with_interval(scores.get(n, of)) for of in kinds]
        rows.append((_named(n, known.text), *values, _direction(known.direction)))
    heads = ("Figure", *(_OF[k] for k in kinds), "Better")
    return table(caption, heads, rows, " " + "n" * len(kinds) + " ")


def _with_interval(score: Score | None) -> str:
    if score is None:
        return '<span class="soft">n/a</span>'
    unit = metric(score.metric).unit
    whole = unit != "1" and score.value.is_integer()
    value = f"<strong>{f'{score.value:,.0f}' if whole else shown(score.metric, score.value)}</strong>"
    value += f" {text(unit)}" if unit != "1" else ""
    if score.low is None or score.high is None:
        return value
    return f'{value}<br><span class="soft small">{number(score.low)} to {number(score.high)}</span>'


def scores_table(caption: str, scores: Iterable[Score], of_words: Callable[[str], str] = str) -> str:
    """Scores one by one: of tests and attacks."""
    rows = []
    for s in scores:
        between = "" if s.low is None or s.high is None else f" ({number(s.low)} to {number(s.high)})"
        rows.append((
            f"<code>{text(s.metric)}</code>",
            text(", ".join(s.columns)),
            text(of_words(s.of)),
            shown(s.metric, s.value) + between,
            f"{s.rows:,}" if s.rows else "",
            text(metric(s.metric).text, 200),
        ))  # fmt: skip
    return table(caption, ("Figure", "Column", "Of", "Value", "Rows", "What it is"), rows, " ttnnt")


def pair_table(scores: Scores, most: int = 250) -> str:
    """The pairs of columns that are farthest apart."""
    pairs = scores.of_pairs()
    if not pairs:
        return ""
    rows = [
        (
            f"<bdi>{text(s.columns[0], 40)}</bdi>, <bdi>{text(s.columns[1], 40)}</bdi>",
            f"<code>{text(s.metric)}</code>",
            number(s.value),
        )
        for s in pairs[:most]
    ]
    caption = f"{len(rows):,} of {len(pairs):,} figures of pairs, the worst first"
    found = table(caption, ("Pair", "Figure", "Value"), rows, "  n")
    return details("Pairs of columns", found, long=len(rows) > LONG)


def _direction(direction: str) -> str:
    return {"higher": "higher", "lower": "lower"}.get(direction, "a plain fact")


def how_to_read(scores: Scores) -> str:
    """Every figure on the page: what it is, which way is better, its range and what it was computed from."""
    rows = []
    for name in sorted(scores.names):
        known = metric(name)
        ends = " to ".join("unbounded" if math.isinf(e) else f"{e:g}" for e in known.range)
        rows.append(
            (
                f"<code>{text(name)}</code>",
                text(known.text, 300),
                _direction(known.direction),
                ends,
                text(", ".join(known.reads)),
            )
        )
    heads = ("Figure", "What it is", "Better", "Range", "Computed from")
    return details("Every figure by name", table("Figures on this page", heads, rows, " t  t"), long=len(rows) > LONG)
