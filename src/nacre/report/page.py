"""A page that compares a synthetic table with the real one: one file, no scripts, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from nacre.report.findings import Comparison
from nacre.report.svg import histogram, paired_bars

_STYLE = """
:root{--back:#fbfaf8;--card:#fff;--ink:#1d1f23;--soft:#62666e;--line:#e4e1da;--real:#b9c3cf;--made:#c2410c;
--warn:#7a3b00;--warn-back:#fff3e0;--warn-line:#f0b775}
@media(prefers-color-scheme:dark){:root{--back:#15171a;--card:#1e2125;--ink:#eceae6;--soft:#a0a5ad;--line:#33373d;
--real:#58626f;--made:#fb923c;--warn:#ffd9a8;--warn-back:#38270f;--warn-line:#7a5520}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:1.6rem;margin:.9rem 0 .2rem;line-height:1.2}h2{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.3rem 0;max-width:75ch}
.warn{background:var(--warn-back);color:var(--warn);border:1px solid var(--warn-line);border-radius:8px;
padding:10px 14px;max-width:none}
.soft,.tick,.name{color:var(--soft);fill:var(--soft)}
.key{display:flex;gap:18px;flex-wrap:wrap;margin:14px 0 10px;font-size:.9rem}
.key i{display:inline-block;width:18px;height:10px;border-radius:2px;margin-right:6px}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:14px;align-items:start}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px 10px}
.head{display:flex;justify-content:space-between;gap:10px;align-items:baseline;margin-bottom:8px}
.head span{font-size:.8rem;white-space:nowrap}
svg{display:block;width:100%;height:auto;font:11px system-ui,-apple-system,"Segoe UI",sans-serif}
.name{fill:var(--ink);font-size:12px}.real{fill:var(--real)}.made{fill:var(--made)}
.synthetic{fill:none;stroke:var(--made);stroke-width:1.6;stroke-linejoin:round}.axis{stroke:var(--line)}
.foot{font-size:.8rem;margin:6px 0 0}
table{border-collapse:collapse;font-size:.9rem;margin:12px 0 0}td{padding:2px 14px 2px 0;vertical-align:top}
td:first-child{color:var(--soft);white-space:nowrap}td{overflow-wrap:anywhere}
"""


def comparison_page(
    title: str, warning: str, facts: Sequence[tuple[str, str]], columns: Sequence[Comparison], certificate: Any
) -> str:
    """The whole page as HTML. `warning` stands on top; `facts` are pairs of name and text below the title."""
    mean = sum(c.distance for c in columns) / max(len(columns), 1)
    rows = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>" for k, v in [*facts, *_promise(certificate)])
    cards = "".join(_card(c) for c in sorted(columns, key=lambda c: -c.distance))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<p class="warn" role="note">{escape(warning)}</p><h1>{escape(title)}</h1><table>{rows}</table>'
        '<div class="key"><span><i style="background:var(--real)"></i>real</span>'
        '<span><i style="background:var(--made)"></i>synthetic</span>'
        f'<span class="soft">distance: half the sum of the differences of the shares, 0 is equal; {mean:.3f} on '
        "average. The farthest column comes first. The outermost bars of numbers and dates hold all that lies "
        "beyond.</span></div>"
        f'<div class="grid">{cards}</div></main></body></html>\n'
    )


def _promise(certificate: Any) -> list[tuple[str, str]]:
    if certificate.epsilon is None:
        return [("Guarantee", "none: " + "; ".join(certificate.reasons))]
    promise = f"{certificate.guarantee}: ({certificate.epsilon:g}, {certificate.delta:g})-differential privacy"
    return [("Guarantee", f"{promise}, {certificate.neighbours}")]


def _card(column: Comparison) -> str:
    title = f"{column.name}: real and synthetic shares, distance {column.distance:.3f}"
    if column.ends is None:
        drawing = paired_bars(column.labels, column.real, column.synthetic, title)
    else:
        drawing = histogram(column.real, column.synthetic, column.ends, title)
    foot = ""
    if column.nulls is not None:
        foot = f'<p class="foot soft">missing: real {column.nulls[0]:.1%}, synthetic {column.nulls[1]:.1%}</p>'
    about = f"{escape(column.kind)}, distance {column.distance:.3f}"
    head = f'<div class="head"><h2>{escape(column.name)}</h2><span class="soft">{about}</span></div>'
    return f'<section class="card">{head}{drawing}{foot}</section>'
