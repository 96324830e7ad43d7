"""A certificate as HTML: plain words beside numbers, what was spent, where facts came from, what is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.privacy.certificate.rounding import exact, up
from nacre.privacy.certificate.wording import STORAGE, entry_words, facts_of
from nacre.report import plain_words as words
from nacre.report.markup import bullets, details, facts_table, prose, table, text

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate

SOURCES = {
    "public": "not protected",
    "bought": "learned from the table and paid for out of the budget",
    "unattested": "from another document; nobody has attested that they are public",
    "read": "read from the table without protection",
}


def chip(certificate: Certificate) -> str:
    """The level of the guarantee as a label; colour repeats what the words say."""
    level = certificate.guarantee
    kind = "good" if level.startswith("proven") else "bad" if level == "none" else ""
    promise = (
        f" (epsilon {exact(certificate.epsilon)}, delta {exact(certificate.delta)})"
        if certificate.epsilon is not None and certificate.delta is not None
        else ""
    )
    return f'<span class="chip {kind}">Guarantee: {text(level)}{promise}</span>'


def promise(certificate: Certificate) -> str:
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


def _attackers(c: Certificate) -> str:
    """What the best test for the presence of a unit can detect."""
    if c.epsilon is None or c.delta is None:
        return ""
    rows = [
        (f"{100 * a:g} %", words.at_most_percent(words.detection(c.epsilon, c.delta, a))) for a in words.FALSE_ALARMS
    ]
    caption = f"The most any attacker can detect of the presence of {words.whose(c.unit)}"
    heads = ("Wrongly accused, of those absent", "Rightly detected, of those present, at most")
    return table(caption, heads, rows, " n")


def _spent(c: Certificate) -> str:
    rows = [(text(e["name"]), f"<code>{text(e['door'])}</code>", text(_cost(e), 4_000)) for e in c.entries]
    if not rows:
        return ""
    title = "What was asked of the private rows"
    return details(title, table(title, ("Step", "Door", "Noise"), rows, "  t"))


def _cost(entry: Mapping[str, Any]) -> str:
    return entry_words(entry) if set(entry) - {"door", "name"} else "none"


def _curve(c: Certificate) -> str:
    if not c.curve:
        return ""
    rows = [(exact(d), up(e)) for d, e in c.curve]
    return details(
        "The same promise at other deltas", table("Epsilon for every delta", ("Delta", "Epsilon"), rows, " n")
    )


def _provenance(c: Certificate) -> str:
    """Every fact of the schema by its source: complete, columns with the same facts together."""
    found = c.schema.get("provenance", {})
    rows = [
        (text(how), text(SOURCES.get(how, "")), text(facts), ", ".join(f"<bdi>{text(n, 1_000)}</bdi>" for n in columns))
        for how in SOURCES
        for facts, columns in ([(STORAGE, ())] if how == "public" else []) + facts_of(found, how)
    ]
    title = "Where the facts in the schema came from"
    return details(title, table("Facts by their source", ("Source", "Meaning", "Facts", "Columns"), rows, " ttt"))
