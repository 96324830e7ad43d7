"""Names: those that are not there and what the writer may have meant, those of many, those that libraries give."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence

INDEX = "Unnamed: 0"  # a first column without a name, as pandas calls it
_COMPARED, _LETTERS = 1_000, 40  # names, and letters of each: files hold many long ones, and comparing takes time
_PLAIN = re.compile(r"\w(?:[\w .()/%+-]*[\w)%])?")
QUOTED = re.compile(rf'"(?:[^"\\]|\\.)*"|{_PLAIN.pattern}')  # a name as `quoted` says it
_INDEX = re.compile(r"Unnamed: [0-9]+|__index_level_[0-9]+__|rownames")


def choices(name: object, names: Iterable[str], most: int = 12) -> str:
    """The names to choose among, for a message: those like the one asked for first, then the others in their order."""
    known = list(names)
    if not known:
        return "none"
    lower: dict[str, list[str]] = {}
    for one in known[:_COMPARED]:
        lower.setdefault(one[:_LETTERS].casefold(), []).append(one)
    like = difflib.get_close_matches(str(name)[:_LETTERS].casefold(), list(lower), n=3, cutoff=0.6)
    ordered = list(dict.fromkeys([*(one for key in like for one in lower[key]), *known]))
    more = f" … and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more


def some(labels: Sequence[str]) -> str:
    """The first of many labels, for a message."""
    shown = ", ".join(repr(label) for label in labels[:8])
    return shown if len(labels) <= 8 else f"{shown}, ... ({len(labels)} in all)"


def quoted(name: str) -> str:
    """A name among others in a sentence, so that one ends where the next begins."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def is_index(name: str) -> bool:
    """Whether a library gives this name to row numbers that it saves with a table."""
    return _INDEX.fullmatch(name) is not None
