"""From the answers of the door to the tables of a fit: all columns of a view side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nacre.privacy.doors.nested import Nested as Entry
from nacre.privacy.nested.views import View
from nacre.synthesizers.nested.fit import Seen
from nacre.synthesizers.nested.shape import Shape
from nacre.synthesizers.nested.tape import Array
from nacre.synthesizers.sketch.coarse import Coarse

Answers = Sequence[Sequence[NDArray[np.float64]]]
Groups = Mapping[str, Mapping[str, Coarse]]  # by table and column


class _Side:
    """Noisy counts and inverse variances of the tables of one kind, as shares of units."""

    def __init__(self, rows: int, columns: int, strata: int, units: float):
        self.found = [np.zeros((rows, columns), np.float32) for _ in range(strata)]
        self.weight = [np.zeros((rows, columns), np.float32) for _ in range(strata)]
        self.units = units

    def put(self, rows: slice, columns: slice, counts: NDArray, sigma: float) -> None:
        layers = counts if len(self.found) > 1 else counts[None]
        for found, weight, layer in zip(self.found, self.weight, layers):
            found[rows, columns] = layer / self.units
            weight[rows, columns] = (self.units / sigma) ** 2

    def seen(self, kind: str, view: View, caps: Mapping[str, int], other: str = "", fold: Array | None = None) -> Seen:
        above, own = weights_of(view, caps)
        return Seen(kind, view.table, tuple(self.found), tuple(self.weight), above, own, other, fold)


def weights_of(view: View, caps: Mapping[str, int]) -> tuple[tuple[Array, ...], Array]:
    """The weights of a view by the number of rows 0..cap: of each level above, and [strata, cap + 1] of its own."""
    above = tuple(np.array([0, *level], np.float32) / np.float32(view.of) for level in view.above)
    cap = caps.get(view.table, 1)
    own = np.array([[0, *(n if len(n) > 1 else n * cap)] for n in view.own], np.float32) / np.float32(view.of)
    return above, own


def singles(entry: Entry, answers: Answers, shapes: Mapping[str, Shape], coarse: Groups, units: float) -> list[Seen]:
    """The first round, in groups."""
    caps, found = {n: s.cap for n, s in shapes.items()}, []
    for view, counts, sigmas in zip(entry.views, answers, entry.sigmas):
        columns = coarse[view.table].values()
        share = [np.bincount(c.lut, own) / units for c, own in zip(columns, counts)]
        weight = [(units / s) ** 2 / np.bincount(c.lut) for c, s in zip(columns, sigmas)]
        above, own = weights_of(view, caps)
        arrays = (np.concatenate(share).astype(np.float32),), (np.concatenate(weight).astype(np.float32),)
        found.append(Seen("single", view.table, *arrays, above, own))
    return found


def pairs(entry: Entry, answers: Answers, shapes: Mapping[str, Shape], coarse: Groups, units: float) -> list[Seen]:
    """The second round."""
    caps, found = {n: s.cap for n, s in shapes.items()}, []
    for view, cliques, counts, sigmas in zip(entry.views, entry.cliques, answers, entry.sigmas):
        sides: dict[tuple[str, str], _Side] = {}
        own = shapes[view.table]
        for (left, right), table, sigma in zip(cliques, counts, sigmas):
            (over, a), (under, b) = _place(left, coarse), _place(right.removesuffix("+"), coarse)
            shape = shapes[over]
            counted = own.parent == over and view.kind == "rows" and a == shape.counts[view.table][0]
            kind = "counted" if counted else _kind(view, over)
            rows = slice(0, shape.sizes[a]) if counted else shape.spots[a]
            if (kind, over) not in sides:
                height = shape.sizes[a] if counted else shape.cells
                strata = 3 if view.strata else 1
                sides[kind, over] = _Side(height, shapes[under].cells, strata, units)
            sides[kind, over].put(rows, shapes[under].spots[b], table, sigma)
        for (kind, over), side in sides.items():
            fold = None
            if kind == "counted":
                column = list(coarse[over])[shapes[over].counts[view.table][0]]
                lut = coarse[over][column].lut
                fold = (lut == np.arange(lut.max() + 1)[:, None]).astype(np.float32)
            other = view.other or "" if kind == "beside" else over
            found.append(side.seen(kind, view, caps, other, fold))
    return found


def _kind(view: View, over: str) -> str:
    if view.kind == "next":
        return "consecutive"
    if view.kind == "pair":
        return "beside"
    if over != view.table:
        return "upward"
    return "unit" if view.plain else "within"


def _place(name: str, coarse: Groups) -> tuple[str, int]:
    """(table, number of the column) of a name of a view."""
    table = max((t for t in coarse if name.startswith(f"{t}.")), key=len)
    return table, list(coarse[table]).index(name[len(table) + 1 :])
