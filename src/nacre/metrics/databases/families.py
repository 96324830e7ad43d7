"""Which rows of a unit stand beside which: within a row, over one key and two, siblings, rows in a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from nacre.metrics.cells import Cells
from nacre.metrics.databases.joins import Join
from nacre.metrics.databases.linked import Level, Linked

PARTNERS = 4  # rows beside which a row is set, where there are many: drawn at random
NEXT, OTHER = "next {}", "other {}"  # the name of a table where a following row is meant, or another
COUNT, BESIDE = "{} count", "rows of one parent"


def within(tables: Linked) -> Iterator[Join]:
    """Columns of one row, in every table."""
    for level in tables.levels.values():
        rows = np.arange(len(level))
        pairs = list(combinations(level.domain.names, 2))
        yield _join(tables, (level, rows), (level, rows), pairs)


def single(tables: Linked) -> Iterator[Join]:
    """Every column alone, beside itself."""
    for level in tables.levels.values():
        rows = np.arange(len(level))
        yield _join(tables, (level, rows), (level, rows), [(c, c) for c in level.domain.names])


def parent_child(tables: Linked) -> Iterator[Join]:
    """A row and its parent."""
    for level in tables.children:
        above, places = tables.ancestors(level)[0]
        yield _join(tables, (above, places), (level, np.arange(len(level))))


def two_hops(tables: Linked) -> Iterator[Join]:
    """A row and what is farther above it than its parent."""
    for level in tables.children:
        for above, places in tables.ancestors(level)[1:]:
            yield _join(tables, (above, places), (level, np.arange(len(level))))


def parent_counts(tables: Linked) -> Iterator[Join]:
    """A row and how many rows it owns, by child table."""
    for level in tables.children:
        above = tables.above(level)
        count, rows = _counts(tables, level), np.arange(len(above))
        sets = list(product(above.domain.names, count.codes))
        names = (above.name, above.name)
        yield Join(above.cells, rows, count, rows, above.unit, tables.units, names, sets)


def child_counts(tables: Linked) -> Iterator[Join]:
    """A row and how many rows its parent has."""
    for level in tables.children:
        most = _most(level)
        count = Cells({BESIDE: np.minimum(level.per_parent, most)}, {BESIDE: most + 1}, len(level))
        rows = np.arange(len(level))
        sets = list(product(count.codes, level.domain.names))
        yield Join(count, rows, level.cells, rows, level.unit, tables.units, (level.name, level.name), sets)


def siblings(tables: Linked) -> Iterator[Join]:
    """Two rows of one parent. Every parent of two or more counts once, whatever rows it has."""
    for level in tables.children:
        i, j, weight = _partners(level)
        names = list(level.domain.names)
        sets = [(a, b) for k, a in enumerate(names) for b in names[k:]]  # either row may be the first
        join = _join(tables, (level, i), (level, j), sets, weight)
        yield replace(join, names=(level.name, OTHER.format(level.name)))


def cousins(tables: Linked) -> Iterator[Join]:
    """Rows of two child tables of one parent. Every parent that has both counts once."""
    for one, other in combinations(tables.children, 2):
        if tables.above(one).name == tables.above(other).name:
            i, j, weight = _across(tables, one, other)
            yield _join(tables, (one, i), (other, j), None, weight)


def consecutive(tables: Linked) -> Iterator[Join]:
    """A row and the next one of the same parent, where rows have an order."""
    for level in tables.children:
        if level.ordered:
            first = level.successive
            join = _join(tables, (level, first), (level, first + 1))
            yield replace(join, names=(level.name, NEXT.format(level.name)))


def referenced(tables: Linked) -> Iterator[Join]:
    """A row and the row of a public table that it refers to."""
    for level in tables.levels.values():
        for key in tables.database.references(level.name):
            place = level.points[key.column]
            rows = np.flatnonzero(place >= 0)
            sets = list(product(level.domain.names, tables.domains[key.parent].names))
            names = (level.name, f"{key.column} -> {key.parent}")
            public = tables.public[key.parent]
            yield Join(level.cells, rows, public, place[rows], level.unit[rows], tables.units, names, sets)


def cardinalities(tables: Linked) -> Iterator[Join]:
    """How many rows each row owns, by child table."""
    for level in tables.children:
        above, count = tables.above(level), _counts(tables, level)
        rows = np.arange(len(above))
        names = (above.name, above.name)
        yield Join(count, rows, count, rows, above.unit, tables.units, names, [(c, c) for c in count.codes])


Rows = tuple[Level, np.ndarray]


def _join(
    tables: Linked,
    left: Rows,
    right: Rows,
    sets: list[tuple[str, str]] | None = None,
    weight: np.ndarray | None = None,
) -> Join:
    """Rows beside rows; all pairs of columns unless told."""
    (a, i), (b, j) = left, right
    found = list(product(a.domain.names, b.domain.names)) if sets is None else sets
    return Join(a.cells, i, b.cells, j, b.unit[j], tables.units, (a.name, b.name), found, weight)


def _most(level: Level) -> int:
    """The cell of all numbers of rows beyond the cap."""
    return ((level.key.cap if level.key else None) or 0) + 1


def _counts(tables: Linked, level: Level) -> Cells:
    name, most = COUNT.format(level.name), _most(level)
    each = tables.owned_rows(level)
    return Cells({name: np.minimum(each, most)}, {name: most + 1}, len(each))


def _partners(level: Level) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row beside up to PARTNERS others of its parent, in a random circle: pairs and weights."""
    rng = np.random.default_rng([len(level), 6])
    shuffled = np.lexsort((rng.random(len(level)), level.parent))
    many = level.per_parent
    some = np.flatnonzero(many > 1)
    tries = np.minimum(many[some] - 1, PARTNERS)
    i = np.repeat(some, tries)
    step = 1 + np.arange(len(i)) - np.repeat(np.cumsum(tries) - tries, tries)
    start = i - level.place[i]
    j = start + (level.place[i] + step) % many[i]
    weight = 1.0 / (many[i] * np.repeat(tries, tries))
    return shuffled[i], shuffled[j], weight


def _across(tables: Linked, one: Level, other: Level) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row of `one` beside up to PARTNERS rows of `other` of the same parent, from a random one on."""
    rng = np.random.default_rng([len(one), len(other), 7])
    count = tables.owned_rows(other)
    start, there = np.cumsum(count) - count, count[one.parent]
    some = np.flatnonzero(there > 0)
    tries = np.minimum(there[some], PARTNERS)
    i = np.repeat(some, tries)
    step = np.arange(len(i)) - np.repeat(np.cumsum(tries) - tries, tries)
    offset = np.repeat(rng.integers(0, 2**31, len(some)), tries)
    j = start[one.parent[i]] + (offset + step) % there[i]
    return i, j, 1.0 / (one.per_parent[i] * np.repeat(tries, tries))
