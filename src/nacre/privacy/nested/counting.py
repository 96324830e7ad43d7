"""Exact weighted tables of views over units, and what each unit costs: private until noise is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nacre.privacy.nested.units import Owned, Units, pick
from nacre.privacy.nested.views import STRATA, View
from nacre.privacy.passes.tables import TableCounter

PLACE = "@place"  # of a row under its parent: the only one, the first, in the middle, the last
PLACES = 4
STRATUM = ""  # in front of the columns of views with strata; no column has this name
_CHUNK = 1 << 17
_UP = 1 + 1e-12  # more than the rounding of a unit's cost


@dataclass(frozen=True)
class Cell:
    """One column of a view: of the rows of `table`, or of those that come after; `name` None is the place."""

    table: str
    name: str | None
    after: bool = False


@dataclass(frozen=True)
class Look:
    """A view as it is counted: the tables from the unit table down to its own, its columns, and which tables."""

    view: View
    path: tuple[str, ...]
    columns: Mapping[str, Cell]
    luts: Mapping[str, np.ndarray]  # from codes to groups, by column
    cliques: Sequence[tuple[str, ...]]

    def counter(self) -> TableCounter:
        sizes = {c: int(lut.max(initial=-1)) + 1 for c, lut in self.luts.items()}
        if not self.view.strata:
            return TableCounter(self.cliques, sizes)
        return TableCounter([(STRATUM, *c) for c in self.cliques], {STRATUM: STRATA, **sizes})


@dataclass(frozen=True)
class _Chunk:
    """Rows of a view: of each table, the positions of those that stand there, with weights and strata."""

    at: Mapping[str, np.ndarray]
    after: np.ndarray | None
    weight: np.ndarray
    stratum: np.ndarray
    unit: np.ndarray


def costs(looks: Sequence[Look], precisions: Sequence[float], units: Units) -> np.ndarray:
    """Of each unit: the square of what it moves all tables by, in noise deviations, all its rows being in one cell."""
    root = looks[0].path[0]
    total = np.zeros(len(units.tables[root]))
    for look, precision in zip(looks, precisions):
        strata = STRATA if look.view.strata else 1
        sums = np.zeros(len(total) * strata)
        for chunk in _chunks(look, units):
            if not len(chunk.unit):
                continue
            first = int(chunk.unit[0])  # rows stand by unit
            found = np.bincount((chunk.unit - first) * strata + chunk.stratum, chunk.weight)
            sums[first * strata : first * strata + len(found)] += found
        total += precision / look.view.scale**2 * np.square(sums).reshape(-1, strata).sum(axis=1)
    return total


def within(looks: Sequence[Look], precisions: Sequence[float], mu: float, units: Units) -> np.ndarray:
    """Which units move all tables together by at most `mu`; the others are left out."""
    return costs(looks, precisions, units) * _UP <= mu * mu


def count(look: Look, counter: TableCounter, units: Units, allowed: np.ndarray) -> None:
    """Add the rows of these units, each by its weight."""
    everybody = bool(allowed.all())
    for chunk in _chunks(look, units):
        rows = chunk.weight > 0 if everybody else (chunk.weight > 0) & allowed[chunk.unit]
        codes = {c: lut[_codes(look.columns[c], chunk, units)] for c, lut in look.luts.items()}
        if look.view.strata:
            codes[STRATUM] = chunk.stratum
        counter.add(codes, len(rows), chunk.weight * rows)


def _codes(cell: Cell, chunk: _Chunk, units: Units) -> np.ndarray:
    own = units.tables[cell.table]
    at = chunk.after if cell.after and chunk.after is not None else chunk.at[cell.table]
    if cell.name is not None:
        return own.codes[cell.name][at]
    beside, place = own.beside[at], own.place[at]
    return np.where(beside == 1, 0, np.where(place == 0, 1, np.where(place == beside - 1, 3, 2))).astype(np.uint8)


def _chunks(look: Look, units: Units) -> Iterator[_Chunk]:
    """The rows of a view, some at a time."""
    own, view = units.tables[look.view.table], look.view
    picked = None
    if view.kind == "pair" and view.other is not None:
        parents = len(units.tables[look.path[-2]])
        first, second = pick(own, parents), pick(units.tables[view.other], parents)
        both = (first >= 0) & (second >= 0)
        picked = first[both], second[both]
    for start in range(0, len(own) if picked is None else len(picked[0]), _CHUNK):
        here = slice(start, start + _CHUNK)
        rows = np.arange(start, min(start + _CHUNK, len(own))) if picked is None else picked[0][here]
        after = None
        if view.kind == "next":
            rows = rows[own.place[rows] < own.beside[rows] - 1]
            after = rows + 1
        at = _ancestors(look, units, rows)
        if picked is not None and view.other is not None:
            at[view.other] = picked[1][here]
        stratum = _stratum(own, rows) if view.strata else np.zeros(len(rows), np.int64)
        yield _Chunk(at, after, _weights(look, units, at, stratum), stratum, own.unit[rows].astype(np.int64))


def _ancestors(look: Look, units: Units, rows: np.ndarray) -> dict[str, np.ndarray]:
    at = {look.path[-1]: rows}
    for table, above in zip(look.path[:0:-1], look.path[-2::-1]):
        at[above] = units.tables[table].parent[at[table]]
    return at


def _stratum(own: Owned, rows: np.ndarray) -> np.ndarray:
    beside = own.beside[rows]
    return np.where(beside == 1, 0, np.where(own.place[rows] == beside - 1, 2, 1))


def _weights(look: Look, units: Units, at: Mapping[str, np.ndarray], stratum: np.ndarray) -> np.ndarray:
    """Products of numerators: functions of how many rows of the same unit stand beside a row and its ancestors."""
    view, own = look.view, look.path[-1]
    beside = units.tables[own].beside[at[own]]
    most = max(int(beside.max(initial=1)), *(len(n) for n in view.own))
    listed = np.array([n * most if len(n) == 1 else n + (0,) * (most - len(n)) for n in view.own], dtype=np.int64)
    found = listed[stratum, beside - 1]
    for table, numerators in zip(look.path[1:-1], view.above):
        found *= np.array(numerators, dtype=np.int64)[units.tables[table].beside[at[table]] - 1]
    return found
