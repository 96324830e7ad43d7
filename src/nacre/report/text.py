"""The owner's report as JSON, which reads back, and as Markdown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from nacre.errors import DataError
from nacre.metrics import METRICS
from nacre.metrics.score import Matrix, Score
from nacre.report.attacks import NOT_PROOF
from nacre.report.hidden import NOT_DP, of_words, verdict
from nacre.report.markup import chance
from nacre.report.ranking import describe, distance_of, weakest
from nacre.report.report import (
    Attack,
    Comparison,
    Extract,
    Hidden,
    Relation,
    Relations,
    Report,
    Timeline,
)
from nacre.table.documents import UNFIT
from nacre.typed import Json

WARNING = "Contains unprotected statistics of private rows: for the owner of the data, not for release."
VERSION = 1
_SHOWN = ("synthetic", "bootstrap", "real", "majority")


def to_json(report: Report) -> dict[str, Json]:
    """Plain lists, texts and numbers; what is not a number is null. `from_json` gives an equal report back."""
    certificate = report.certificate
    return {
        "nacre_report": VERSION,
        "warning": WARNING,
        "target": report.target,
        "facts": dict(report.facts),
        "notes": list(report.notes),
        "scores": [_plain(s) for s in report.scores],
        "columns": [_plain(c) for c in report.columns],
        "matrices": [_plain(m) for m in report.matrices],
        **({"hidden": [_plain(h) for h in report.hidden]} if report.hidden else {}),
        **({"relations": _plain(report.relations)} if report.relations is not None else {}),
        **({"attacks": [_plain(a) for a in report.attacks]} if report.attacks else {}),
        "certificate": None if certificate is None else certificate.to_json(),
    }


def from_json(data: Mapping[str, Any]) -> Report:
    """The report in a parsed JSON document. Raises DataError for anything else."""
    from nacre.certificates import verified
    from nacre.privacy.certificate.statement import Certificate

    if not isinstance(data, Mapping) or data.get("nacre_report") != VERSION:
        raise DataError(f"not a report of this version of nacre: expected a JSON object with nacre_report {VERSION}")
    try:
        certificate = data["certificate"]
        return Report(
            scores=tuple(_back(Score, s) for s in data["scores"]),
            columns=tuple(_back(Comparison, c) for c in data["columns"]),
            matrices=tuple(_back(Matrix, m) for m in data["matrices"]),
            target=data["target"],
            facts=dict(data["facts"]),
            notes=tuple(data["notes"]),
            hidden=tuple(_back(Hidden, h) for h in data.get("hidden", ())),
            attacks=tuple(_back(Attack, a) for a in data.get("attacks", ())),
            relations=_relations(data["relations"]) if "relations" in data else None,
            certificate=None if certificate is None else verified(Certificate.from_json(certificate)),
        )
    except UNFIT as error:
        raise DataError(f"the report does not hold what it should ({error}); write it anew") from None


def _plain(found: object) -> Any:
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {f.name: _plain(getattr(found, f.name)) for f in dataclasses.fields(found)}
    if isinstance(found, np.ndarray):
        return _plain(found.tolist())
    if isinstance(found, list | tuple):
        return [_plain(v) for v in found]
    if isinstance(found, np.generic):
        found = found.item()
    return None if isinstance(found, float) and not math.isfinite(found) else found


def _relations(data: Mapping[str, Any]) -> Relations:
    keys = []
    for one in data["keys"]:
        gap = None if one["gap"] is None else _back(Comparison, one["gap"])
        keys.append(Relation(**{**one, "counts": _back(Comparison, one["counts"]), "gap": gap}))
    timelines = tuple(_back(Timeline, t) for t in data["timelines"])
    return Relations(data["unit"], tuple(keys), timelines, tuple(_back(Extract, e) for e in data["history"]))


Part = TypeVar("Part", Score, Comparison, Matrix, Hidden, Attack, Timeline, Extract)
_ARRAYS = {"real", "synthetic"}


def _back(kind: type[Part], data: Mapping[str, Any]) -> Part:
    known = {f.name for f in dataclasses.fields(kind)}
    if set(data) - known:
        raise ValueError(f"{kind.__name__} has no {sorted(set(data) - known)[0]!r}")
    fields: dict[str, Any] = {n: np.array(v, dtype=np.float64) if n in _ARRAYS else _tuples(v) for n, v in data.items()}
    if "scores" in fields:
        fields["scores"] = tuple(_back(Score, s) for s in data["scores"])
    if kind is Score and fields["value"] is None:
        fields["value"] = float("nan")
    return kind(**fields)


def _tuples(value: object) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def to_markdown(report: Report) -> str:
    """The report as text for people: what is weakest, models, distances, columns, notes, the certificate."""
    parts = [
        f"# Evaluation of a synthetic {'table' if report.relations is None else 'database'}",
        f"**{WARNING}**",
        _table(("", ""), [*report.facts.items(), *([("target", report.target)] if report.target else [])]),
        "## What is weakest",
        _bullets([describe(s) for s in weakest(report)] or ["Nothing stands out from chance."]),
    ]
    whole = [s for s in report.scores if not s.columns]
    trained = [s for s in whole if "majority" in {t.of for t in whole if t.metric == s.metric}]
    others = [s for s in whole if s not in trained and METRICS[s.metric].gap_of is None]
    gaps = {base: s for s in whole if (base := METRICS[s.metric].gap_of)}
    if trained:
        parts += [f"## Models that predict {_cell(report.target or '')}", _figures(trained, gaps)]
    if others:
        parts += ["## How like the tables are", _figures(others, {})]
    if report.columns:
        parts += ["## Column by column", _columns(report)]
    if report.hidden:
        parts += [
            "## Hidden columns",
            NOT_DP,
            *(_listed(", ".join(map(_cell, h.columns)), verdict(h), h.scores, of_words) for h in report.hidden),
        ]
    if report.attacks:
        parts += [
            "## Attacks",
            NOT_PROOF,
            *(_listed(_cell(a.name), _cell(a.verdict), a.scores) for a in report.attacks),
        ]
    parts += ["## Notes", _bullets(report.notes)] if report.notes else []
    if report.certificate is not None:
        from nacre.certificates import verified

        parts += ["## Certificate", f"```\n{verified(report.certificate)}\n```"]
    return "\n\n".join(parts) + "\n"


def _listed(title: str, verdict: str, scores: Sequence[Score], of_words: Callable[[str], str] = str) -> str:
    """A test or an attack: its verdict and its figures one by one."""
    rows = [
        (s.metric, " ".join(s.columns), of_words(s.of), _value(s), f"{s.rows or ''}", METRICS[s.metric].text)
        for s in scores
    ]
    return f"**{title}**: {verdict}\n\n" + _table(("figure", "column", "of", "value", "rows", "what it is"), rows)


def _figures(scores: Sequence[Score], gaps: Mapping[str, Score]) -> str:
    by: dict[str, dict[str, Score]] = {}
    for s in scores:
        by.setdefault(s.metric, {})[s.of] = s
    kinds = [of for of in _SHOWN if any(of in found for found in by.values())]
    rows = []
    for name, found in by.items():
        gap = [_value(gaps.get(name))] if gaps else []
        rows.append((f"`{name}`", *(_value(found.get(of)) for of in kinds), *gap, METRICS[name].text.split(";")[0]))
    return _table(("figure", *kinds, *(["gap"] if gaps else []), "what it is"), rows)


def _columns(report: Report) -> str:
    names = [c.name for c in report.columns]
    by = {(s.metric, s.columns[0]): s for s in report.scores if len(s.columns) == 1 and s.of == "synthetic"}
    kinds = [m for m in METRICS if any((m, n) in by for n in names)]
    order = sorted(report.columns, key=lambda c: -distance_of(c, filter(None, [by.get(("tvd1", c.name))])))
    rows = [(c.name, c.kind, *(_value(by.get((m, c.name))) for m in kinds)) for c in order]
    return _table(("column", "kind", *kinds), rows)


def _value(s: Score | None) -> str:
    if s is None or math.isnan(s.value):
        return ""
    between = "" if s.low is None or s.high is None else f" ({_rounded(s.low)} to {_rounded(s.high)})"
    return f"{chance(s.value) if METRICS[s.metric].chance else f'{s.value:.4g}'}{between}"


def _rounded(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no minus before a zero


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(str(c)) for c in line) + " |" for line in lines)


def _cell(words: str) -> str:
    """Names come from files: nothing in them may end a cell or start markup."""
    return "".join(f"\\{c}" if c in "|<>*[]\\" else c for c in words.replace("\r", " ").replace("\n", " "))


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_cell(line)}" for line in lines)
