"""Drawing the rows that units own: classes down the tree, then groups of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.nested.expected import Rows
from nacre.synthesizers.nested.shape import FIRST, LAST, MIDDLE, ONLY, Shape
from nacre.synthesizers.nested.tape import Node

CHUNK = 1 << 15  # rows whose classes are drawn at a time
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Laws:
    """The laws of the rows of one table below the root, as arrays: by class of the parent, of the row before, of the
    row itself."""

    starts: tuple[Floats, ...]  # of the four places
    bond: Floats | None  # of the class before with the class
    own: tuple[Floats, ...]  # of each column
    habit: tuple[Floats, ...]
    keep: Floats  # of each column

    @staticmethod
    def of(shape: Shape, over: Shape, logits: Mapping[str, NDArray[np.float32]]) -> Laws:
        rows = Rows(shape, over, {name: Node(value) for name, value in logits.items()})
        own, habit = _normal(rows.own.value), _normal(rows.habit.value)
        firsts = [spot.start for spot in shape.spots]
        return Laws(
            tuple(_normal(n.value) for n in rows.starts),
            _normal(rows.bond.value) if shape.ordered else None,
            tuple(own[:, spot] for spot in shape.spots),
            tuple(habit[:, spot] for spot in shape.spots),
            rows.keep.value.astype(np.float64)[firsts],
        )


@dataclass(frozen=True)
class Drawn:
    """Rows of one table in groups: whose they are, the class of each, and which columns keep a parent's value."""

    parent: Ints
    classes: Ints
    groups: list[NDArray[np.int32]]
    kept: list[NDArray[np.bool_]]


def draw(shape: Shape, laws: Laws, above: Ints, numbers: Ints, rng: np.random.Generator) -> Drawn:
    """The rows of parents of these classes (`above`) that have so many (`numbers`), those of a parent together and in
    order."""
    parent = np.repeat(np.arange(len(above)), numbers)
    first = np.cumsum(numbers) - numbers
    classes = np.zeros(len(parent), np.int64)
    for place in range(1, int(numbers.max(initial=0)) + 1):
        for kind in (ONLY, FIRST, MIDDLE, LAST):
            if (kind in (ONLY, FIRST)) != (place == 1):
                continue
            last = numbers == place
            here = np.flatnonzero(last if kind in (ONLY, LAST) else numbers > place)
            if len(here):
                at = first[here] + place - 1
                before = classes[at - 1] if place > 1 else None
                classes[at] = _classes(laws, kind, above[here], before, rng)
    groups, kept = [], []
    for j, (own, habit) in enumerate(zip(laws.own, laws.habit)):
        group = pick(own, classes, rng)
        if shape.gap is not None and shape.gap[0] == j:
            group[first[numbers > 0]] = shape.gap[1]
        keeps = rng.random(len(parent)) < laws.keep[j]
        if keeps.any():
            group = np.where(keeps, pick(habit, above, rng)[parent], group)
        groups.append(group.astype(np.int32))
        kept.append(keeps)
    return Drawn(parent, classes, groups, kept)


def _classes(laws: Laws, kind: int, above: Ints, before: Ints | None, rng: np.random.Generator) -> Ints:
    if before is None or laws.bond is None:
        return pick(laws.starts[kind], above, rng)
    found = np.empty(len(above), np.int64)
    for start in range(0, len(above), CHUNK):
        here = slice(start, start + CHUNK)
        upto = np.cumsum(laws.starts[kind][above[here]] * laws.bond[before[here]], axis=1)
        u = rng.random(len(upto)) * upto[:, -1]
        found[here] = np.minimum((upto <= u[:, None]).sum(1), upto.shape[1] - 1)
    return found


def pick(law: Floats, state: Ints, rng: np.random.Generator) -> Ints:
    """An outcome for each row, by the law of its state: evenly spread over the rows of a state."""
    states, cells = law.shape
    upto = np.cumsum(law, axis=1)
    upto /= upto[:, -1:]
    counts = np.bincount(state, minlength=states)
    start = np.repeat(np.cumsum(counts) - counts, counts)
    # Latin hypercube in each state: places in random order, a uniform inside each.
    mixed = np.argsort(state + rng.random(len(state)), kind="stable")
    u = np.empty(len(state))
    u[mixed] = (np.arange(len(state)) - start + rng.random(len(state))) / np.repeat(counts, counts)
    u = np.minimum(u, 1 - 1e-9)
    found = np.searchsorted((upto + np.arange(states)[:, None]).ravel(), state + u, side="right") - state * cells
    return np.minimum(found, cells - 1)


def _normal(law: NDArray[np.float32]) -> Floats:
    return law.astype(np.float64)
