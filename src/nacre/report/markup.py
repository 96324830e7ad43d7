"""The few pieces of HTML every page is made of. Text that came from a table is escaped here and nowhere else.

A page is one file without scripts: its own policy forbids browsers to run or fetch anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from nacre.metrics import metric
from nacre.report.style import css
from nacre.table.checking import HIDDEN

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def text(value: object, most: int = 120) -> str:
    """`value` as text that cannot become markup; cut at `most` characters, with an ellipsis for the rest."""
    found = str(value).encode("utf-8", "replace").decode()
    found = HIDDEN.sub("\ufffd", found)  # shown as a box
    return escape(found if len(found) <= most else f"{found[: most - 1]}…")


def short(value: object, most: int) -> str:
    """`value` escaped, with the middle left out where it is too long: names that begin alike still differ."""
    found = str(value)
    if len(found) <= most:
        return text(found)
    head = most * 2 // 3
    return text(f"{found[:head].rstrip()}…{found[len(found) - (most - 1 - head) :].lstrip()}")


def prose(value: object) -> str:
    """A sentence, escaped; long ones are kept."""
    return text(value, 4_000)


def number(value: float | None, digits: int = 3) -> str:
    """A figure for people; NaN reads "not defined", None "n/a". Large figures get separators, tiny ones exponents."""
    if value is None:
        return "n/a"
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value < 0:
        return f"\u2212{number(-value, digits)}"
    if value >= 1e7 or 0 < value < 0.00995:
        return f"{value:.2g}"
    if abs(value) >= 100:
        return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.1f}"
    return f"{value:.{digits}f}"


def shown(name: str, value: float) -> str:
    """A figure as its metric is printed."""
    return chance(value) if metric(name).chance else number(value)


def chance(p: float) -> str:
    """A p-value: one too small to matter how small is not said to be 0."""
    return "below 0.001" if p < 0.001 else number(p)


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return number(value) if value is None or not math.isfinite(value) else f"{value:+.3f}".replace("-", "\u2212")


def percent(share: float) -> str:
    """A share as a percentage with a digit that matters."""
    if math.isnan(share):
        return "not defined"
    if share and share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], kinds: str = "") -> str:
    """A table of cells that are HTML already. `kinds` holds one letter for every column: t text, n number, b drawing, k
    a value that is kept on one line.

    The first column heads its row. It scrolls inside its own frame, which the keyboard reaches, when it is too wide.
    """
    names = {"n": ' class="n"', "b": ' class="bar"', "t": ' class="t"', "k": ' class="k"'}
    classes = [names.get(k, "") for k in kinds.ljust(len(heads))]
    top = "".join(
        f'<th scope="col"{c if "n" in k else ""}>{h}</th>' for h, c, k in zip(heads, classes, kinds.ljust(len(heads)))
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{c}>{cell}</td>" for cell, c in zip(row[1:], classes[1:]))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def details(summary: str, body: str, long: bool = False) -> str:
    """A part that opens on demand. On paper it is open, unless it is `long`."""
    kind = ' class="long"' if long else ""
    return f'<details{kind}><summary>{escape(summary)}</summary><div class="in">{body}</div></details>'


def part(anchor: str, title: str, lead: str, body: str) -> str:
    """One part of a page with its heading and a first sentence that says what it shows."""
    first = f'<p class="lead">{lead}</p>' if lead else ""
    return (
        f'<section class="part" id="{anchor}" aria-labelledby="h-{anchor}">'
        f'<h2 id="h-{anchor}">{escape(title)}</h2>{first}{body}</section>'
    )


def bullets(items: Iterable[str]) -> str:
    """A list of sentences, escaped."""
    return "<ul>" + "".join(f"<li>{prose(i)}</li>" for i in items) + "</ul>"


def facts_table(caption: str, facts: Iterable[tuple[str, object]]) -> str:
    return table(caption, ("Fact", "Value"), [(text(k), prose(v)) for k, v in facts], " t")


def document(title: str, banner: tuple[str, str], top: str, parts: Sequence[tuple[str, str, str]], foot: str) -> str:
    """A whole page: the banner (kind and text), what stands on top, then parts (anchor, name in the contents, HTML)."""
    kind, says = banner
    contents = "".join(f'<li><a href="#{anchor}">{escape(name)}</a></li>' for anchor, name, _ in parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{text(title)}</title><style>{css()}</style></head><body>"
        f'<a class="skip" href="#content">Skip to the content</a>'
        f'<div class="banner {kind}" role="note"><p>{says}</p></div>'
        f"<header><h1>{text(title)}</h1>{top}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
        f'<main id="content" tabindex="-1">{"".join(html for _, _, html in parts)}</main>'
        f"<footer><p>{foot}</p></footer></body></html>\n"
    )
