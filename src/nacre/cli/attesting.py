"""What somebody is shown and asked before facts that were read from a table are called public."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from nacre.cli.shell import plain
from nacre.errors import SchemaError

if TYPE_CHECKING:
    from nacre.privacy.certificate.owned import Owned
    from nacre.table import Schema

_LINE = 100  # characters of a list of texts from which on its column must be named


def refuse_long_lists(schema: Schema | Owned, facts: Sequence[tuple[str | None, str]]) -> None:
    """A list of texts that fills more than a line has hardly been looked at."""
    lists = {n: schema.columns[n] for n, fact in facts if n is not None and fact == "categories"}
    long = {n: c.labels for n, c in lists.items() if len(", ".join(c.labels)) > _LINE}
    if long:
        told = ", ".join(f"{n} ({len(texts):,} texts)" for n, texts in [*long.items()][:8]) + ", ..." * (len(long) > 8)
        raise SchemaError(
            f"attest: lists of texts that fill more than a line, which may name persons: {told}. Nothing was attested. "
            "Look at them (nacre schema show), then name all columns that you mean with --columns"
        )


def ask(schema: Schema | Owned, facts: Sequence[tuple[str | None, str]], yes: bool, quiet: bool) -> None:
    """Show on stderr what is to be attested, and go on only if that is meant."""
    of: dict[str | None, list[str]] = {}
    for name, fact in facts:
        of.setdefault(name, []).append(fact)
    for name, stated in of.items():
        shown = ""
        if name is not None and name in schema.columns:  # of a database, "table" has facts too
            shown = f" ({plain(schema.columns[name].domain_words(most=None))})"
        elif name is None and schema.rows is not None:
            shown = f" ({schema.rows:,})"
        if not (quiet and yes):
            typer.echo(f"  {plain(name or 'the table')}: {', '.join(stated)}{shown}", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise SchemaError("attest: nobody can be asked, for this is no terminal. Nothing was attested; --yes goes on")
    if not typer.confirm(f"Are these {len(facts)} facts public?", err=True):
        raise SchemaError("attest: not confirmed. Nothing was attested")
