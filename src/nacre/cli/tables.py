"""`nacre tables`: counts that a release expects, with what the noise says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from nacre.cli.groups import Voice, grouped
from nacre.cli.shell import plain, table
from nacre.errors import NacreError


@grouped
def tables(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release file, *.nacre.")],
    columns: Annotated[str, typer.Argument(metavar="COLUMNS", help="One to three columns: 'age by region'.")],
    edges: Annotated[
        list[str] | None,
        typer.Option(metavar="EDGES", help="Where to cut a column of numbers: 'age=18,40,65'; repeatable."),
    ] = None,
    *,
    voice: Voice,
) -> None:
    """Print counts that a release expects, without drawing rows; intervals where the counts were bought.

    No data is touched and no budget is spent. Numbers stand in the groups that the model keeps together, or between
    --edges. Counts are the model's; an interval is that of the noisy count, 95 %, and rests on the law of its noise.

    Examples:
      nacre tables people.nacre age
      nacre tables people.nacre "age by region" --edges age=18,40,65
      nacre tables people.nacre "sex by income" --json
    """
    from nacre.release.release import load_table

    shell = voice.shell()
    loaded = load_table(release)
    cuts = dict(_cut(text, loaded.schema.names) for text in edges or ())
    typed = {
        name: [loaded.schema.columns[name].parsed(v, f"--edges {name}={','.join(cut)}") for v in cut]
        for name, cut in cuts.items()
    }
    found = loaded.expected(columns, edges=typed, as_="pyarrow")
    rows = found.to_pylist()
    names = found.column_names
    *parts, share, count, low, high, below = names
    made = table(*parts, "share", "count", "95 % interval", "", right=("share", "count", "95 % interval"))
    for row in rows:
        interval = "" if row[low] is None else f"{row[low]:,.0f} to {row[high]:,.0f}"
        words = [plain("null" if row[part] is None else row[part]) for part in parts]
        made.add_row(*words, f"{row[share]:.4f}", f"{row[count]:,.0f}", interval, "below the noise" * bool(row[below]))
    shell.show(made)
    if any(row[low] is None for row in rows):
        shell.say("No interval where cells were not counted by themselves: only the model tells of them.")
    shell.answer({"command": "tables", "release": release, "columns": parts, "cells": rows})


def _cut(text: str, names: Sequence[str]) -> tuple[str, list[str]]:
    name, equals, rest = text.rpartition("=")
    if not equals or name not in names or not rest:
        raise NacreError(f"--edges {text!r}: expected COLUMN=EDGES, such as age=18,40,65")
    return name, rest.split(",")
