"""Groups of labels and groups of these: which label or group belongs to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_LEVELS = 12


def wrong_with(above: Mapping[str, str], labels: Sequence[str]) -> str:
    """What is wrong with a hierarchy of these labels, in words; nothing if nothing is."""
    for label in labels:
        seen, name = [label], label
        while name in above:
            name = above[name]
            if name in seen:
                return f"hierarchy goes in a circle: {' in '.join(map(repr, [*seen, name][:6]))}"
            seen.append(name)
            if len(seen) > MOST_LEVELS:
                return f"hierarchy has more than {MOST_LEVELS} levels above {label!r}"
    return ""


def ancestors(above: Mapping[str, str], label: str) -> list[str]:
    """The groups of a label, the nearest first."""
    found = []
    while label in above:
        label = above[label]
        found.append(label)
    return found
