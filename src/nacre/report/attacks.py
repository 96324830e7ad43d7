"""The block on attacks: what was tried on the release, beside controls that say what the figures mean."""

from __future__ import annotations

from nacre.metrics import metric
from nacre.report.markup import number, part, prose, table, text
from nacre.report.report import Attack

NOT_PROOF = (
    "Attacks on the release, computed on private rows. They can show a leak and never its absence: one that finds "
    "nothing cannot rule out another. The controls say what a figure means: a copy of the table must be found out, "
    "fresh rows must not be."
)


def attacks_part(attacks: tuple[Attack, ...]) -> tuple[str, str, str] | None:
    """The part of the page, or None where nothing was tried."""
    if not attacks:
        return None
    return "attacks", "Attacks", part("attacks", "Attacks", prose(NOT_PROOF), "".join(_one(a) for a in attacks))


def _one(a: Attack) -> str:
    rows = [
        (
            f"<code>{text(s.metric)}</code>",
            text(", ".join(s.columns)),
            text(s.of),
            number(s.value) + ("" if s.low is None or s.high is None else f" ({number(s.low)} to {number(s.high)})"),
            f"{s.rows:,}" if s.rows else "",
            text(metric(s.metric).text, 200),
        )
        for s in a.scores
    ]
    heads = ("Figure", "Column", "Of", "Value", "Rows", "What it is")
    return f"<h3>{text(a.name, 200)}</h3><p><strong>{prose(a.verdict)}</strong></p>" + table(
        a.name, heads, rows, " ttnnt"
    )
