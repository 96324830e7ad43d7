"""The parts of `nacre plan` that look beyond the plan itself: pairs, other plans, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nacre.cli.shell import plain, table

WORST = 5


def spread(expected: Any) -> str:
    return f"{expected.low:.3f} to {expected.high:.3f}"


def pair_parts(seen: Any) -> list[Any]:
    """The pairs in a line, and those of the largest error in a table."""
    if not seen.each_pair:
        return [
            f"pairs          {seen.pairs} tables, chosen by a noisy selection; total variation distance on average at "
            f"most about {seen.pair_tvd:.2f}"
        ]
    mean = sum(p.expected.value for p in seen.each_pair) / len(seen.each_pair)
    line = (
        f"pairs          {seen.pairs} tables; total variation distance expected {mean:.3f} on average (the raw noisy "
        f"tables: {seen.pair_tvd:.3f})"
    )
    worst = sorted(seen.each_pair, key=lambda p: -p.expected.value)[:WORST]
    title = f"The {len(worst)} pairs of the largest expected error, of {len(seen.each_pair)} (--json has them all)"
    made = table("pair", "groups", "distance", "range", title=title, right=("groups", "distance", "range"))
    for p in worst:
        name = plain(" and ".join(p.columns))
        made.add_row(name, f"{p.groups:,}", f"{p.expected.value:.3f}", spread(p.expected))
    return [line, made]


def comparison_tables(others: Sequence[Any], helping: Sequence[Any]) -> list[Any]:
    """Other methods and budgets, and what would help; nothing where there is nothing to compare."""
    parts = []
    for title, lines in (("Other methods and budgets", others), ("What would help", helping)):
        if lines:
            parts.append(_lines(title, lines))
    return parts


def _lines(title: str, lines: Sequence[Any]) -> Any:
    numbers = ("groups", "per column", "per pair", "time")
    made = table("plan", *numbers, "verdict", title=f"{title} (expected distances, on average)", right=numbers)
    for x in lines:
        pair = "not kept" if not x.pairs and x.column is not None else "" if x.pair is None else f"{x.pair:.3f}"
        column = "" if x.column is None else f"{x.column:.3f}"
        groups = "" if x.groups is None else f"{x.groups:.0f}"
        made.add_row(x.what, groups, column, pair, f"{x.seconds:.0f} s", x.verdict)
    return made
