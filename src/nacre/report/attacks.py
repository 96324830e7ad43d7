"""The block on attacks: what was tried on the release, beside controls that say what the figures mean."""

from __future__ import annotations

from nacre.report.figures import scores_table
from nacre.report.markup import part, prose, text
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
    verdict = f"<h3>{text(a.name, 200)}</h3><p><strong>{prose(a.verdict)}</strong></p>"
    return verdict + scores_table(a.name, a.scores)
