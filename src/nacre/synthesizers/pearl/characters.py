"""Low-order frequencies: characters of one, two or three columns, drawn from a public seed (specs/pearl.md 10.2).

A column of m groups has *atoms* e^{i h a_g}: unordered columns the lattice a_g = 2π g/m (the discrete Fourier
transform of the one-way table), ordered ones a_g = π u_g with u in [0, 1] the place of group g. A frequency is a
product of atoms of different columns, so that its expectation under independent columns is the product of theirs.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ORDER = 3  # most columns in one frequency
HARMONICS = 16  # most harmonics of an ordered column: the finer ones say little of a distribution
FEWEST = 4  # that an ordered column keeps where those of all columns do not fit into half of the frequencies


@dataclass(frozen=True)
class Characters:
    """k frequencies. `column`, `harmonic` [atoms] describe the atoms, `angle` holds the angles of each column's groups
    (or fine cells); `members` [k, ORDER] names the atoms of each frequency, padded with `one` (the constant 1);
    `amplitude` [k] is the weight of a frequency in the released vector, Σ amplitude² = 1 (specs/pearl.md 10.3)."""

    column: NDArray[np.int64]
    harmonic: NDArray[np.int64]
    angle: Sequence[NDArray[np.float64]]
    members: NDArray[np.int64]
    amplitude: NDArray[np.float64]

    @property
    def one(self) -> int:
        return len(self.column)

    @property
    def order(self) -> NDArray[np.int64]:
        """How many columns each frequency touches."""
        return (self.members < self.one).sum(axis=1)

    def tables(self, column: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """(atoms of the column, their cosines, their sines), the latter [groups, atoms]."""
        own = np.flatnonzero(self.column == column)
        phase = self.angle[column][:, None] * self.harmonic[own]
        return own, np.cos(phase), np.sin(phase)


def choose(
    angle: Sequence[NDArray[np.float64]],
    ordered: Sequence[bool],
    features: Sequence[int],
    k: int,
    rng: np.random.Generator,
    shares: tuple[float, float, float],
) -> Characters:
    """At most k frequencies on the columns `features`: all of order one first, then random ones of orders two and
    three, spread evenly over pairs and triples. `shares` is how Σ amplitude² is divided over the orders.

    The labels of an unordered column stand in no order, so that its low harmonics say no more than its high ones: it
    has all of them as long as those of order one fit into half of the frequencies (`cut` tells where they do not)."""
    room = k // 2 if any(shares[1:]) and len(features) > 1 else k
    atoms, singles = _atoms(angle, ordered, features, room)
    where = {atom: i for i, atom in enumerate(atoms)}
    needed = len(singles)
    if needed > k:  # the low harmonics of every column, not the columns that come first
        singles = sorted(singles, key=lambda atom: atom[1])[:k]
    found = [(where[a],) for a in singles]
    left = k - len(found)
    orders = [order for order in (2, 3) if shares[order - 1] > 0 and len(features) >= order]
    weights = np.array([shares[order - 1] for order in orders])
    for order, weight in zip(orders, weights):
        count = int(left * weight / weights.sum())
        found += _products(singles, where, [*features], order, count, rng)
    if orders and singles and not left:
        warnings.warn(
            f"pearl: {len(features)} columns take all frequencies={k} by themselves, so no two columns are kept "
            f"together; ask for about {2 * needed:,}, or use the method sketch",
            stacklevel=2,
        )
    members = np.full((len(found), ORDER), len(atoms), np.int64)
    for i, combination in enumerate(found):
        members[i, : len(combination)] = combination
    size = (members < len(atoms)).sum(axis=1)
    present = np.array([shares[o] * (size == o + 1).any() for o in range(ORDER)])
    count = np.array([max((size == o + 1).sum(), 1) for o in range(ORDER)])
    amplitude = np.sqrt((present / max(present.sum(), 1e-12) / count)[size - 1]) if len(found) else np.zeros(0)
    table = np.array(atoms, np.int64).reshape(-1, 2)
    return Characters(table[:, 0], table[:, 1], list(angle), members, amplitude)


Atom = tuple[int, int]  # column, harmonic


def cut(characters: Characters, ordered: Sequence[bool], features: Sequence[int]) -> list[tuple[int, int, int]]:
    """(column, harmonics that it has, harmonics that tell all its labels apart) of the unordered columns that have not
    all of theirs."""
    single = characters.members[characters.order == 1, 0]
    kept = np.bincount(characters.column[single], minlength=len(ordered))
    whole = [len(angle) // 2 for angle in characters.angle]
    return [(j, int(kept[j]), whole[j]) for j in features if not ordered[j] and kept[j] < whole[j]]


def _atoms(angle, ordered, features, room: int) -> tuple[list[Atom], list[Atom]]:
    """All atoms, and those of order one (positive harmonics).

    The opposite of a harmonic is another atom, except for half the groups of a lattice, which is its own opposite.
    """
    full = {c: len(angle[c]) - 1 if ordered[c] else len(angle[c]) // 2 for c in features}
    numbers, labels = [full[c] for c in features if ordered[c]], [full[c] for c in features if not ordered[c]]
    fine = _level(numbers, room - sum(min(m, HARMONICS) for m in labels), FEWEST, HARMONICS)
    whole = _level(labels, room - sum(min(m, fine) for m in numbers), HARMONICS, max(labels, default=HARMONICS))
    most = {c: min(full[c], fine if ordered[c] else whole) for c in features}
    singles = [(c, h) for c in features for h in range(1, most[c] + 1)]
    opposite = [(c, -h) for c, h in singles if ordered[c] or 2 * h != len(angle[c])]
    return [*singles, *opposite], singles


def _level(full: list[int], room: int, low: int, high: int) -> int:
    """The most harmonics of one column, between `low` and `high`, with which those of all columns fit into `room`."""
    while low < high:
        level = (low + high + 1) // 2
        fits = sum(min(m, level) for m in full) <= room
        low, high = (level, high) if fits else (low, level - 1)
    return low


def _products(singles, where, features, order: int, count: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """`count` different products of atoms of `order` columns, the low harmonics first.

    The sign of all but the first harmonic is free: e^{i(a+b)} and e^{i(a-b)} together hold all four products of
    cosines and sines.
    """
    own = {c: [h for column, h in singles if column == c] for c in features}
    sets = [s for s in itertools.combinations(features, order) if all(own[c] for c in s)]
    if not sets:
        return []
    rng.shuffle(sets)
    most = -(-count // len(sets)) + 8  # some sets have few combinations, others then give more
    waiting = [_combinations(s, own, where, rng, most) for s in sets]
    found: list[tuple[int, ...]] = []
    for depth in range(max(map(len, waiting))):
        for columns, options in zip(sets, waiting):
            if depth < len(options) and len(found) < count:
                found.append(tuple(where[c, h] for c, h in zip(columns, options[depth])))
    return found


def _combinations(columns, own, where, rng: np.random.Generator, most: int) -> list[tuple[int, ...]]:
    """Harmonics for these columns by increasing product, ties in random order; at most `most` of them."""
    few = max(2, round(most ** (1 / len(columns))) + 2)
    signs = [(1,), *[(1, -1)] * (len(columns) - 1)]
    ranges = [[s * h for h in own[c][:few] for s in both if (c, s * h) in where] for c, both in zip(columns, signs)]
    every = list(itertools.product(*ranges))
    size = [float(np.prod(np.abs(h))) + rng.random() / 2 for h in every]
    return [every[i] for i in np.argsort(size)[:most]]
