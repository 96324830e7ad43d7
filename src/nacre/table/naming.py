"""Names that are not there: what the writer may have meant, and what there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def choices(name: object, names: Iterable[str], most: int = 12) -> str:
    """The names to choose among, for a message: those like the one asked for first, then the others in their order."""
    known = list(names)
    if not known:
        return "none"
    lower: dict[str, list[str]] = {}
    for one in known:
        lower.setdefault(one.casefold(), []).append(one)
    like = difflib.get_close_matches(str(name).casefold(), list(lower), n=3, cutoff=0.6)
    ordered = list(dict.fromkeys([*(one for key in like for one in lower[key]), *known]))
    more = f" … and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more
