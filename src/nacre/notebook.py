"""What a notebook shows of an object: a headline, facts, and a table. Names and labels come from files: all of it is
escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

SHOWN = 20  # lines of a table


def panel(
    headline: str, facts: Mapping[str, str], columns: Sequence[str] = (), lines: Iterable[Sequence[str]] = ()
) -> str:
    """HTML without style or script of its own."""
    rows = [*lines]
    parts = [f"<p><strong>{escape(headline)}</strong></p>"]
    parts += [f"<p>{escape(name)}: {escape(value)}</p>" for name, value in facts.items()]
    if rows:
        parts += ["<table>", _row("th", columns), *(_row("td", row) for row in rows[:SHOWN]), "</table>"]
    if len(rows) > SHOWN:
        parts.append(f"<p>and {len(rows) - SHOWN:,} more</p>")
    return "<div>" + "".join(parts) + "</div>"


def _row(cell: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(t)}</{cell}>" for t in texts) + "</tr>"
