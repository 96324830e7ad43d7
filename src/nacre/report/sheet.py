"""The release sheet: the certificate in plain words and the synthetic table alone. It may travel with the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nacre.certificates import verified
from nacre.report.cards import profile_cards
from nacre.report.markup import bullets, document, facts_table, part, table, text
from nacre.report.promise import chip, promise
from nacre.report.report import Profile
from nacre.table import Schema
from nacre.table.columns.base import Column

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate

TITLE = "About this synthetic table"
_MAY = (
    "plain",
    "<strong>May travel with the data.</strong> Everything on this sheet was made from synthetic rows, public facts, "
    "facts that were bought within the budget, and the certificate: it tells no more than the promise covers.",
)
_MUST_NOT = (
    "bad",
    "<strong>No privacy promise.</strong> The synthetic table this sheet describes is not protected: keep both as you "
    "keep the private data.",
)
USE = (
    "Shares, averages and models are meant to come out close to those of the real table, not equal to them. How close "
    "they are can only be measured against private rows, by the owner of the data.",
    "Small groups are the least reliable: a group of a few rows may be the work of noise.",
    "Numbers and dates at the ends of their range are less reliable than those in the middle.",
)
_PROTECTED_USE = (
    "The rows are drawn from a noisy model. A row that looks like a certain person is not a record of that person.",
    "Drawing more rows from the same release costs no further privacy.",
)


def sheet_html(certificate: Certificate, schema: Schema, columns: Sequence[Profile], facts: Mapping[str, str]) -> str:
    """The whole sheet as text. CertificateError where the certificate contradicts itself or the schema.

    `columns` come from `profile_columns`; a `Comparison`, which holds shares of private rows, is refused with
    TypeError. `facts` are printed as they are: give public ones only.
    """
    for c in columns:
        if not isinstance(c, Profile):
            raise TypeError(
                f"the sheet takes profiles of synthetic columns, found {type(c).__name__}: use profile_columns"
            )
    certificate = verified(certificate, schema)
    use = USE if certificate.epsilon is None else (*_PROTECTED_USE, *USE)
    lead = "What is promised to the people in the private table, in words and in numbers."
    parts = [
        ("promise", "The promise", part("promise", "The promise of privacy", lead, promise(certificate))),
        ("use", "How to use it", part("use", "How to use the table", "", bullets(use))),
        ("columns", "Columns", part("columns", "Column by column", _LEAD, profile_cards(columns) + _described(schema))),
    ]
    if facts:
        parts.append(
            ("about", "Facts", part("about", "Facts", "", facts_table("Facts about this release", facts.items())))
        )
    foot = "This sheet runs no scripts and fetches nothing. Made with " + text(
        ", ".join(f"{k} {v}" for k, v in certificate.versions.items()), 300
    )
    top = f'<p class="lead">{len(columns):,} columns, method {text(certificate.method)}</p><p>{chip(certificate)}</p>'
    return document(TITLE, _MUST_NOT if certificate.epsilon is None else _MAY, top, parts, f"{foot}.")


_LEAD = "Shares of the synthetic rows alone. The outermost bars of numbers and dates hold all that lies beyond."


def _described(schema: Schema) -> str:
    """The columns as the schema of the release has them: kind, limits or categories, whether a value may be missing."""
    rows = [
        (f"<bdi>{text(name)}</bdi>", text(column.kind), text(_limits(column), 200), "yes" if column.nullable else "no")
        for name, column in schema.columns.items()
    ]
    return table(
        "Columns as the schema has them, declared or bought",
        ("Column", "Kind", "Values", "May be missing"),
        rows,
        "  t ",
    )


def _limits(column: Column) -> str:
    if words := column.words:
        shown = ", ".join(words[:8])
        return shown if len(words) <= 8 else f"{shown} and {len(words) - 8:,} more"
    ends = column.stated_ends
    return f"{_end(ends[0])} to {_end(ends[1])}" if ends else "any"


def _end(value: float | str) -> str:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return f"{value:,.0f}" if whole else str(value)
