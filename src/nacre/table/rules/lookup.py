"""Rows of a public list, found by their values: the one that equals a row, or the nearest to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

_BLOCK = 1 << 20  # values that are looked up at once
Keys = tuple[np.ndarray, np.ndarray]  # (keys in order, the first row of the list that has each)


@dataclasses.dataclass(frozen=True, eq=False)
class Lookup:
    """A list of rows of whole numbers, `radix` above those of each column; -1 in a row that is looked for stands for
    what the list does not have. Every row is found by itself, in a time that does not grow with the list."""

    radix: tuple[int, ...]
    begun: tuple[np.ndarray, ...]  # by column: keys of what rows begin with, up to it
    ended: tuple[np.ndarray, ...]  # by column: keys of what rows end with, from it on
    beginnings: tuple[np.ndarray, ...]  # the first row that begins so
    but_one: tuple[Keys, ...]  # by column: rows without it

    @classmethod
    def of(cls, rows: np.ndarray) -> Lookup:
        radix = tuple(int(end) + 1 for end in rows.max(0))
        begun, starts = _tree(rows, radix, range(len(radix)))
        ended, ends = _tree(rows, radix, range(len(radix) - 1, -1, -1))
        beginnings = tuple(_first(place)[1] for place in starts[1:])
        pairs = zip(starts[:-1], ends[-2::-1])  # before each column, and after it
        but_one = tuple(_first(_pair(before, after, len(rows))) for before, after in pairs)
        return cls(radix, begun, ended, beginnings, but_one)

    def find(self, rows: np.ndarray) -> np.ndarray:
        """The place of each row in the list, -1 for none."""
        return self._in_blocks(self._found, rows)

    def nearest(self, rows: np.ndarray) -> np.ndarray:
        """The first of the list that differs from each row in one column, else the first with the longest common
        beginning, else the first."""
        return self._in_blocks(self._near, rows)

    def _in_blocks(self, of: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> np.ndarray:
        """In bounded memory, however many columns there are."""
        size = max(1, _BLOCK // len(self.radix))
        parts = [of(rows[at : at + size]) for at in range(0, len(rows), size)]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _found(self, rows: np.ndarray) -> np.ndarray:
        place = self._walk(rows, self.begun, range(len(self.radix)))[-1]
        return np.where(place < 0, -1, self.beginnings[-1][place])

    def _near(self, rows: np.ndarray) -> np.ndarray:
        width, listed = len(self.radix), len(self.beginnings[-1])
        starts = self._walk(rows, self.begun, range(width))
        ends = self._walk(rows, self.ended, range(width - 1, -1, -1))
        found = np.zeros(len(rows), np.int64)
        for place, first in zip(starts[1:], self.beginnings):
            found = np.where(place < 0, found, first[place])
        best = np.full(len(rows), listed)
        for before, after, (keys, first) in zip(starts[:-1], ends[-2::-1], self.but_one):
            place = _spot(keys, np.where((before < 0) | (after < 0), -1, _pair(before, after, listed)))
            best = np.where(place < 0, best, np.minimum(best, first[place]))
        return np.where(best < listed, best, found)

    def _walk(self, rows: np.ndarray, keys: tuple[np.ndarray, ...], order: range) -> list[np.ndarray]:
        """After none, one, two ... columns: the place among `keys` of what rows have there, -1 where they are lost."""
        found = [np.zeros(len(rows), np.int64)]
        for known, j in zip(keys, order):
            lost = (found[-1] < 0) | (rows[:, j] < 0)
            found.append(_spot(known, np.where(lost, -1, _pair(found[-1], rows[:, j], self.radix[j]))))
        return found


def _tree(rows: np.ndarray, radix: tuple[int, ...], order: range) -> tuple[tuple[np.ndarray, ...], list[np.ndarray]]:
    """(keys after each column, the places of the listed rows among them): places stay below the length of the list, so
    that no key is larger than 64 bits."""
    keys, places = [], [np.zeros(len(rows), np.int64)]
    for j in order:
        known, place = np.unique(_pair(places[-1], rows[:, j], radix[j]), return_inverse=True)
        keys.append(known)
        places.append(place)
    return tuple(keys), places


def _pair(high: np.ndarray, low: np.ndarray, radix: int) -> np.ndarray:
    return high * radix + low


def _first(keys: np.ndarray) -> Keys:
    return np.unique(keys, return_index=True)


def _spot(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each key is, -1 for none."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
