"""Groups of the labels of a column with a public hierarchy: rare labels join those of their own family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nacre.table.columns.hierarchy import ancestors

_RISE = 1.3  # of the floor, until the groups are few enough
_ALL = ""  # the family of families; no label is called so


def group(
    counts: NDArray[np.float64],
    labels: Sequence[str],
    above: Mapping[str, str],
    limit: int,
    floor: float,
    null: int | None = None,
) -> NDArray[np.int32]:
    """Lookup table fine cell -> group by noisy counts of the labels (and of null, the last cell, if there is one).

    A label with at least `floor` stands alone. The others of the smallest family that reaches it together are one
    group, and so on up; what is left joins the smallest group. The floor rises until there are at most `limit` groups.
    """
    paths = [(*ancestors(above, label), _ALL) for label in labels]
    depth: dict[str, int] = {}
    for path in paths:
        depth |= {name: len(path) - i for i, name in enumerate(path)}
    room = max(limit - (null is not None), 1)
    while len(found := _families(counts, paths, depth, floor)) > room:
        floor = max(floor, 1.0) * _RISE
    lut = np.zeros(len(labels) + (null is not None), np.int32)
    for number, members in enumerate(sorted(found)):
        lut[members] = number
    if null is not None:
        mass = np.bincount(lut[: len(labels)], counts[: len(labels)])
        lut[null] = len(mass) if counts[null] >= floor else int(np.argmax(mass))
    return lut


def _families(
    counts: NDArray[np.float64], paths: Sequence[tuple[str, ...]], depth: Mapping[str, int], floor: float
) -> list[list[int]]:
    """The members of every group."""
    settled = [[i] for i in range(len(paths)) if counts[i] >= floor]
    waiting: dict[str, tuple[list[int], tuple[str, ...]]] = {}
    for i, path in enumerate(paths):
        if counts[i] < floor:
            waiting.setdefault(path[0], ([], path))[0].append(i)
    for family in sorted(depth, key=lambda name: -depth[name]):
        if family not in waiting:
            continue
        members, path = waiting.pop(family)
        if family == _ALL or counts[members].sum() >= floor:
            settled.append(members)
            continue
        over = path[path.index(family) + 1 :]
        waiting.setdefault(over[0], ([], over))[0].extend(members)
    if len(settled) > 1 and counts[settled[-1]].sum() < floor:
        rest = settled.pop()
        min(settled, key=lambda own: counts[own].sum()).extend(rest)
    return [sorted(own) for own in settled]
