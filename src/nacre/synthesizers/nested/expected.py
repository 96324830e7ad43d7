"""Expected tables of nested particles: products of matrices in their parameters (docs/methods/nested.md).

A unit has a type, which all its rows share, and a class z of that type. Given it, its columns are independent, the
numbers of its rows among them. A row has a class w, drawn given its parent's class x: the first by q(w | x), a later
one by q(w | x) b(v, w) over its sum, where v is the class of the row before. Given its class, its columns are
independent, but each keeps with chance κ a value that its parent drew for all its rows (a habit). A row's class is the
x of its own children, and so on down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacre.synthesizers.nested.shape import FIRST, LAST, MIDDLE, ONLY, Shape
from nacre.synthesizers.nested.tape import Node, diagonal, sigmoid, softmax

Above = tuple[NDArray[np.float32], ...]  # weights by number of rows, of each level between the root and a table
Logits = Mapping[str, Node]


class Part(NamedTuple):
    """Rows at some places: their stratum, whether they are the first of their parent, and the chance of each class
    given the parent's, times how many there are."""

    stratum: int
    first: bool
    law: Node


class Joint(NamedTuple):
    """Of a table's rows under weights: the measure of each class, and of each class with a column of an ancestor."""

    mass: Node
    columns: dict[str, Node]


@dataclass(frozen=True)
class Rows:
    """The laws of the rows of one table below the root, as nodes."""

    shape: Shape
    over: Shape
    logits: Logits

    @cached_property
    def own(self) -> Node:
        return softmax(_by_type(self.shape, self.logits["own"], self.logits["type"]), self.shape.spots)

    @cached_property
    def habit(self) -> Node:
        return softmax(_by_type(self.over, self.logits["habit"], self.logits["type"]), self.shape.spots)

    @cached_property
    def keep(self) -> Node:
        """κ of every group's column."""
        allowed = np.asarray(self.shape.lasting, np.float32)[self.shape.column_of]
        spread = np.eye(len(self.shape.sizes), dtype=np.float32)[self.shape.column_of]
        return spread @ sigmoid(self.logits["keep"]) * allowed

    @cached_property
    def kept(self) -> Node:
        return self.habit * self.keep

    @cached_property
    def drawn(self) -> Node:
        """What a row's class says of its columns, where no habit does."""
        return self.own * (1 - self.keep)

    @cached_property
    def drawn_first(self) -> Node:
        """The same for the first row of a parent, which has no gap to a row before it."""
        if self.shape.gap is None:
            return self.drawn
        column, null = self.shape.gap
        rest = np.ones(self.shape.cells, np.float32)
        rest[self.shape.spots[column]] = 0
        none = np.zeros(self.shape.cells, np.float32)
        none[self.shape.edges[column] + null] = 1
        return self.drawn * rest + none

    @cached_property
    def starts(self) -> list[Node]:
        """q of the four places: a row is of the type of its unit."""
        given = self.shape.every_type.T
        logits = _by_type(self.over, self.logits["start"], self.logits["start type"]) @ given
        logits = logits + np.float32(-1e9) * (1 - self.over.of_type @ self.shape.of_type.T)
        if not self.shape.ordered:
            return [softmax(logits, [slice(None)])] * 4
        return [softmax(logits + self.logits["place"].row(place) @ given, [slice(None)]) for place in range(4)]

    @cached_property
    def bond(self) -> Node:
        """b: how much likelier a class becomes by the class before it."""
        every = self.shape.every_type
        return softmax(every @ self.logits["bond"], [slice(None)]) @ every.T

    def carried(self, law: Node, place: int) -> Node:
        """Measures of (parent's class, class) over what normalises the law of the row after."""
        return law / self.totals[place - MIDDLE]

    @cached_property
    def totals(self) -> list[Node]:
        """What q b sums to, by parent's class and class before, for a middle and a last row."""
        return [self.starts[place] @ self.bond.T for place in (MIDDLE, LAST)]

    def step(self, law: Node, place: int) -> Node:
        """The law of the row after."""
        if not self.shape.ordered:
            return self.starts[place]
        return (self.carried(law, place) @ self.bond) * self.starts[place]

    @cached_property
    def chain(self) -> tuple[list[Node], list[Node]]:
        """Laws of the rows at places 1, 2, ... that are not the last, and of a last row at places 2, 3, ..."""
        walk = self.shape.walk
        middles = [self.starts[FIRST]]
        for _ in walk.middle:
            middles.append(self.step(middles[-1], MIDDLE))
        return middles, [self.step(middles[min(t, len(middles) - 1)], LAST) for t in range(len(walk.last))]

    def parts(self, numbers: Node, own: NDArray[np.float32]) -> list[Part]:
        """Rows by stratum and kind of place. `numbers`: chance of each number of rows by the parent's class; `own`
        [strata, cap + 1]: a row's weight by the number of rows of its parent."""
        walk, strata = self.shape.walk, len(own)
        single = np.zeros(self.shape.cap + 1, np.float32)
        single[1:2] = 1
        several = np.zeros_like(single)
        several[2:] = 1
        middles, lasts = self.chain

        def weighed(law: Node, often: NDArray[np.float32], stratum: int) -> Node:
            return (numbers @ (often * own[stratum])).as_column() * law

        found = [Part(0, True, weighed(self.starts[ONLY], single, 0))]
        if self.shape.cap > 1:
            later, end = min(1, strata - 1), min(2, strata - 1)
            found.append(Part(later, True, weighed(middles[0], several, later)))
            inner = [weighed(law, often, later) for law, often in zip(middles[1:], walk.middle)]
            if inner:
                found.append(Part(later, False, _total(inner)))
            found.append(Part(end, False, _total([weighed(law, o, end) for law, o in zip(lasts, walk.last)])))
        return found


class Nested:
    """All expected tables of one set of parameters; what several tables need is computed once."""

    def __init__(self, shapes: Mapping[str, Shape], logits: Mapping[str, Logits]):
        self.shapes = shapes
        self.root = next(s for s in shapes.values() if s.parent is None)
        self.rows = {n: Rows(s, shapes[s.parent], logits[n]) for n, s in shapes.items() if s.parent is not None}
        given = logits[self.root.name]
        self.share = softmax(given["share"], [slice(None)]).row(0)
        self.own = softmax(_by_type(self.root, given["own"], given["type"]), self.root.spots)
        self._joints: dict[tuple[str, bytes], Joint] = {}

    def numbers(self, child: str) -> Node:
        """The chance of each number of rows of a table, by the class of their parent."""
        parent = self.shapes[child].parent
        assert parent is not None
        column, member = self.shapes[parent].counts[child]
        law = self.own if parent == self.root.name else self.rows[parent].own
        return law.columns(self.shapes[parent].spots[column]) @ member

    def joint(self, table: str, above: Above) -> Joint:
        """Of the rows of a table; `above` are the weights of its own level and those over it."""
        key = (table, b"|".join(w.tobytes() for w in above))
        if key not in self._joints:
            self._joints[key] = self._joint(table, above)
        return self._joints[key]

    def _joint(self, table: str, above: Above) -> Joint:
        if table == self.root.name:
            return Joint(self.share, {table: self.share.as_column() * self.own})
        rows, parent = self.rows[table], self.shapes[table].parent
        assert parent is not None
        over = self.joint(parent, above[:-1])
        parts = rows.parts(self.numbers(table), above[-1][None])
        law = _total([p.law for p in parts])
        columns = {name: law.T @ column for name, column in over.columns.items()}
        held = _total([(over.mass.as_column() * p.law).T for p in parts]) @ rows.kept
        own = _total([(over.mass @ p.law).as_column() * self._drawn(rows, p) for p in parts])
        return Joint(over.mass @ law, columns | {table: held + own})

    def _drawn(self, rows: Rows, part: Part) -> Node:
        return rows.drawn_first if part.first else rows.drawn

    def _over(self, table: str, above: Above) -> tuple[Rows, Joint]:
        parent = self.shapes[table].parent
        assert parent is not None
        return self.rows[table], self.joint(parent, above)

    # -- tables of the views ----------------------------------------------------------------------------------

    def unit(self) -> Node:
        return (self.share.as_column() * self.own).T @ self.own

    def single(self, table: str, above: Above, own: NDArray[np.float32]) -> Node:
        """Columns of a row, each by itself."""
        if table == self.root.name:
            return self.share @ self.own
        _, over = self._over(table, above)
        return over.mass @ self.given_parent(table, own)

    def within(self, table: str, above: Above, own: NDArray[np.float32]) -> list[Node]:
        """Pairs of columns of a row, by stratum."""
        rows, over = self._over(table, above)
        found: dict[int, list[Node]] = {}
        for part in rows.parts(self.numbers(table), own):
            law = over.mass.as_column() * part.law
            drawn = self._drawn(rows, part)
            mixed = rows.kept.T @ (law @ drawn)
            pair = (law.sum(1).as_column() * rows.kept).T @ rows.kept + mixed + mixed.T
            found.setdefault(part.stratum, []).append(pair + (law.sum(0).as_column() * drawn).T @ drawn)
        return [_total(found[s]) for s in sorted(found)]

    def given_parent(self, table: str, own: NDArray[np.float32]) -> Node:
        """The columns of all rows of a parent together, by the parent's class."""
        rows = self.rows[table]
        parts = rows.parts(self.numbers(table), own)
        return _total([p.law.sum(1).as_column() * rows.kept + p.law @ self._drawn(rows, p) for p in parts])

    def upward(self, table: str, ancestor: str, above: Above, own: NDArray[np.float32]) -> Node:
        """Columns of an ancestor with those of a row."""
        _, over = self._over(table, above)
        return over.columns[ancestor].T @ self.given_parent(table, own)

    def counted(self, table: str, above: Above, own: NDArray[np.float32], fold: NDArray[np.float32]) -> list[Node]:
        """The number of rows of the parent, in groups [groups, cap + 1], with the columns of a row, by stratum."""
        rows, over = self._over(table, above)
        walk, numbers, strata = rows.shape.walk, self.numbers(table), len(own)
        middles, lasts = rows.chain
        m = np.arange(rows.shape.cap + 1)
        places = [(0, True, rows.starts[ONLY], (m == 1))]
        if rows.shape.cap > 1:
            places.append((min(1, strata - 1), True, middles[0], (m > 1)))
            places += [(min(1, strata - 1), False, law, often) for law, often in zip(middles[1:], walk.middle)]
            places += [(min(2, strata - 1), False, law, often) for law, often in zip(lasts, walk.last)]
        found: dict[int, list[Node]] = {}
        for stratum, first, law, often in places:
            measure = fold @ (over.mass.as_column() * numbers * (often * own[stratum]).astype(np.float32)).T
            drawn = rows.drawn_first if first else rows.drawn
            found.setdefault(stratum, []).append(measure @ rows.kept + (measure @ law) @ drawn)
        return [_total(found[s]) for s in sorted(found)]

    def consecutive(self, table: str, above: Above, own: NDArray[np.float32]) -> Node:
        """Columns of a row with those of the row after it."""
        rows, over = self._over(table, above)
        walk, numbers = rows.shape.walk, self.numbers(table)
        middles, _ = rows.chain
        ends: dict[bool, list[Node]] = {}
        for first in (True, False):
            laws = middles[:1] if first else middles[1:]
            some = slice(0, 1) if first else slice(1, None)
            for place, often in ((MIDDLE, walk.to_middle[some]), (LAST, walk.to_last[some])):
                pairs = [
                    (over.mass * (numbers @ (o * own[0]))).as_column() * law for law, o in zip(laws, often) if o.any()
                ]
                if pairs:
                    ends.setdefault(first, []).append(self._pairs(rows, _total(pairs), place, first))
        return _total([one for several in ends.values() for one in several])

    def _pairs(self, rows: Rows, before: Node, place: int, first: bool) -> Node:
        """Of rows with this measure of (parent's class, class): their columns with those of the row after."""
        drawn = rows.drawn_first if first else rows.drawn
        mass = before.sum(1)
        if rows.shape.ordered:
            carried = rows.carried(before, place)
            classes = (carried.T @ rows.starts[place]) * rows.bond
            after = (carried @ rows.bond) * rows.starts[place]
        else:
            classes = before.T @ rows.starts[place]
            after = mass.as_column() * rows.starts[place]
        same = (rows.shape.column_of[:, None] == rows.shape.column_of[None]).astype(np.float32)
        both = diagonal((mass @ rows.habit) * rows.keep * rows.keep) * same
        both = both + ((mass.as_column() * rows.kept).T @ rows.kept) * (1 - same)
        left = rows.kept.T @ (after @ rows.drawn)
        right = (before @ drawn).T @ rows.kept
        return both + left + right + drawn.T @ (classes @ rows.drawn)

    def beside(self, table: str, other: str, above: Above) -> Node:
        """Columns of a random row of each of two tables of one parent."""
        _, over = self._over(table, above)
        laws = []
        for name in (table, other):
            m = np.arange(self.shapes[name].cap + 1, dtype=np.float32)
            laws.append(self.given_parent(name, np.divide(1, m, out=np.zeros_like(m), where=m > 0)[None]))
        return (over.mass.as_column() * laws[0]).T @ laws[1]


def _by_type(shape: Shape, own: Node, types: Node) -> Node:
    """Logits of the classes in every type of units: what a type adds is the same for all."""
    return shape.every_type @ own + shape.of_type @ types


def _total(nodes: list[Node]) -> Node:
    found = nodes[0]
    for node in nodes[1:]:
        found = found + node
    return found
