"""A certificate as HTML: plain words beside numbers, what was spent, where facts came from, what is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacre.report import words
from nacre.report.markup import bullets, details, facts_table, prose, table, text

SOURCES = {
    "public": "declared: known without this table",
    "bought": "learned from the table and paid for out of the budget",
    "read": "read from the table without protection",
}


def chip(certificate: Any) -> str:
    """The level of the guarantee as a label; colour repeats what the words say."""
    level = certificate.guarantee
    kind = "good" if level.startswith("proven") else "bad" if level == "none" else ""
    promise = (
        f" (epsilon {words.exact(certificate.epsilon)}, delta {words.exact(certificate.delta)})"
        if certificate.epsilon is not None
        else ""
    )
    return f'<span class="chip {kind}">Guarantee: {text(level)}{promise}</span>'


def promise(certificate: Any) -> str:
    """The body of the certificate's part."""
    said = words.plain(certificate)
    paragraphs = "".join(f"<p>{prose(p)}</p>" for p in said.paragraphs)
    missing = f"<h3>What is not promised</h3>{bullets(said.not_promised)}"
    assumed = (
        f"<h3>What is assumed</h3>{bullets(a[:1].upper() + a[1:] for a in certificate.assumptions)}"
        if certificate.assumptions
        else ""
    )
    left = f"<h3>In plain words</h3><p><strong>{prose(said.headline)}</strong></p>{paragraphs}{missing}{assumed}"
    figures = facts_table("In numbers", words.numbers(certificate)) + _attackers(certificate)
    more = _spent(certificate) + _curve(certificate) + _provenance(certificate)
    return f'<div class="two"><div>{left}</div><div>{figures}{more}</div></div>'


def _attackers(c: Any) -> str:
    """What the best test for the presence of a unit can detect."""
    if c.epsilon is None:
        return ""
    rows = [
        (f"{100 * a:g} %", words.at_most_percent(words.detection(c.epsilon, c.delta, a))) for a in words.FALSE_ALARMS
    ]
    caption = f"The most any attacker can detect of the presence of {words.whose(c.unit)}"
    heads = ("Wrongly accused, of those absent", "Rightly detected, of those present, at most")
    return table(caption, heads, rows, " n")


def _spent(c: Any) -> str:
    rows = [(text(e["name"]), f"<code>{text(e['door'])}</code>", text(_cost(e), 300)) for e in c.entries]
    if not rows:
        return ""
    title = "What was asked of the private rows"
    return details(title, table(title, ("Step", "Door", "Noise"), rows, "  t"))


def _cost(entry: Mapping[str, Any]) -> str:
    sigmas = entry.get("sigmas")
    if sigmas:
        low, high = min(sigmas), max(sigmas)
        spread = f"{low:.4g}" + (f" to {high:.4g}" if high > low else "")
        found = (
            f"{len(sigmas)} {'table' if len(sigmas) == 1 else 'tables'}, standard deviation {spread} counts per cell"
        )
        return found + (f", shown from {entry['threshold']:,} on" if entry.get("threshold") else "")
    if "picks" in entry:
        return f"{entry['picks']} choices, privacy-loss range {entry['epsilon']:.4g} each"
    if "sigma" in entry:
        return f"a sum of {entry['size']:,} numbers, standard deviation {entry['sigma']:.4g}"
    return "see the certificate" if set(entry) - {"door", "name"} else "none"


def _curve(c: Any) -> str:
    if not c.curve:
        return ""
    rows = [(f"{d:g}", words.at_most(e)) for d, e in c.curve]
    return details(
        "The same promise at other deltas", table("Epsilon for every delta", ("Delta", "Epsilon"), rows, " n")
    )


def _provenance(c: Any) -> str:
    found = c.schema.get("provenance", {})
    tally: dict[str, int] = {}
    for facts in found.values():
        for how in facts.values():
            tally[how] = tally.get(how, 0) + 1
    if not tally:
        return ""
    first = table(
        "Facts by their source",
        ("Source", "Facts", "Meaning"),
        [(text(how), f"{n:,}", text(SOURCES.get(how, ""))) for how, n in sorted(tally.items())],
        " nt",
    )
    rows = [
        (
            text(column) if column else "the whole table",
            text(", ".join(f"{fact}: {how}" for fact, how in facts.items()), 300),
        )
        for column, facts in found.items()
    ]
    return details(
        "Where the facts in the schema came from", first + table("Facts by column", ("Column", "Facts"), rows, " t")
    )
