"""What the doors add up over the rows (see `folding`): tables, histograms, names of texts, sums of vectors.

Everything here is unprotected until a door has added its noise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nacre.privacy.passes.tables import Clique, TableCounter
from nacre.privacy.passes.tally import Tally, names_of
from nacre.table import Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.values.labels import names as texts_of
from nacre.table.values.labels import text_bytes
from nacre.table.values.misfits import Misfits
from nacre.table.votes import probe

Named = dict[str, dict[str, bytes]]  # by column: texts and their names
Outside = dict[str, Misfits]  # values outside the declared domain by column, for the owner only
NONE = Misfits()


@dataclass(frozen=True)
class Coder:
    """Rows as fine grid codes, in the smallest types that hold them."""

    schema: Schema

    @functools.cached_property
    def grids(self) -> dict[str, Grid]:
        """The grids of the columns whose domain is known."""
        columns = {n: self.schema.columns[n] for n in self.schema.modelled}
        return {n: Grid.of(c) for n, c in columns.items() if c.counted and not c.missing}

    def codes(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return {name: narrow(grid.codes(values[name]), grid.cells) for name, grid in self.grids.items()}

    def lut(self, name: str, groups: np.ndarray) -> np.ndarray:
        """`groups` for every code of the narrow type; the code of no cell, the last one, stays −1."""
        return lut_of(groups, self.grids[name].cells)


def code_type(cells: int) -> type:
    """The smallest integer type with a code to spare for `no cell`: its largest value (−1, for signed ones)."""
    return np.uint8 if cells <= 0xFF else np.uint16 if cells <= 0xFFFF else np.int32


def narrow(codes: np.ndarray, cells: int) -> np.ndarray:
    return codes.astype(code_type(cells))  # −1 wraps to the largest value of an unsigned type


def lut_of(groups: np.ndarray, cells: int) -> np.ndarray:
    """`groups` for every code of the narrow type of so many cells; the codes of no cell stay −1."""
    spare = 1 if cells > 0xFFFF else np.iinfo(code_type(cells)).max + 1 - cells
    return np.append(groups, np.full(spare, -1))


def counter_of(cliques: Sequence[Clique], groups: Mapping[str, np.ndarray]) -> TableCounter:
    return TableCounter(cliques, {c: int(g.max(initial=-1)) + 1 for c, g in groups.items()})


@dataclass(frozen=True)
class Rows:
    """How many rows there are; reads one column."""

    column: str
    any_order = True

    @property
    def columns(self) -> list[str]:
        return [self.column]

    def start(self) -> int:
        return 0

    def add(self, total: int, batch: Any) -> int:
        return total + batch.num_rows

    def merge(self, total: int, part: int) -> int:
        return total + part


@dataclass(frozen=True)
class Tables:
    """Contingency tables of grouped codes, and how many values were outside the domain."""

    schema: Schema
    cliques: Sequence[Clique]
    groups: Mapping[str, np.ndarray]  # by `Coder.lut`
    any_order = True

    @property
    def columns(self) -> list[str]:
        return list(self.schema.read)

    def start(self) -> tuple[TableCounter, Outside]:
        return counter_of(self.cliques, self.groups), dict.fromkeys(self.columns, NONE)

    @functools.cached_property
    def _coder(self) -> Coder:
        return Coder(self.schema)

    def add(self, total: tuple[TableCounter, Outside], batch: Any) -> tuple[TableCounter, Outside]:
        encoded = encode(batch, self.schema)
        codes = self._coder.codes(encoded.columns)
        total[0].add({c: lut[codes[c]] for c, lut in self.groups.items()}, batch.num_rows)
        return total[0], added(total[1], encoded.outside())

    def merge(self, total: tuple[TableCounter, Outside], part: Any) -> tuple[TableCounter, Outside]:
        total[0].merge(part[0])
        return total[0], added(total[1], part[1])


@dataclass(frozen=True)
class Histograms:
    """One histogram per column over a public grid (`nacre.table.votes.probe`)."""

    probes: Mapping[str, str]
    any_order = True

    @property
    def columns(self) -> list[str]:
        return list(self.probes)

    def start(self) -> TableCounter:
        return TableCounter([(c,) for c in self.probes], {c: probe.size(spec) for c, spec in self.probes.items()})

    def add(self, total: TableCounter, batch: Any) -> TableCounter:
        total.add({c: probe.codes(batch.column(c), kind) for c, kind in self.probes.items()}, batch.num_rows)
        return total

    def merge(self, total: TableCounter, part: TableCounter) -> TableCounter:
        total.merge(part)
        return total


@dataclass(frozen=True)
class TextCounts:
    """How often each text occurs in each column, by the names of the texts."""

    columns: list[str]
    key: bytes = field(repr=False)
    any_order = True

    def start(self) -> dict[str, Tally]:
        return {c: Tally() for c in self.columns}

    def add(self, total: dict[str, Tally], batch: Any) -> dict[str, Tally]:
        for c, tally in total.items():
            texts, counts = probe.text_counts(batch.column(c))
            tally.add(names_of(texts, self.key), counts)
        return total

    def merge(self, total: dict[str, Tally], part: dict[str, Tally]) -> dict[str, Tally]:
        for c, tally in total.items():
            tally.add(*part[c].pop_all())
        return total


@dataclass(frozen=True)
class Texts:
    """The texts behind the names that passed a threshold, with these names, by column."""

    passed: Mapping[str, np.ndarray]
    key: bytes = field(repr=False)
    any_order = True

    @property
    def columns(self) -> list[str]:
        return list(self.passed)

    def start(self) -> Named:
        return {c: {} for c in self.passed}

    @functools.cached_property
    def _whole(self) -> dict[str, set[bytes]]:
        return {c: {name.tobytes() for name in names} for c, names in self.passed.items()}

    def add(self, total: Named, batch: Any) -> Named:
        for c, names in self.passed.items():
            texts, _ = probe.text_counts(batch.column(c))
            here = names_of(texts, self.key)
            likely = np.flatnonzero(np.isin(here[:, 0], names[:, 0]))
            named = ((texts[i].decode("utf-8", "replace"), here[i].tobytes()) for i in likely)
            total[c].update((text, name) for text, name in named if name in self._whole[c])
        return total

    def merge(self, total: Named, part: Named) -> Named:
        return {c: total[c] | part[c] for c in total}


@dataclass(frozen=True)
class Sum:
    """Σ over batches of `function(encoded columns, rows)`, an int64 array of the given shape."""

    schema: Schema
    function: Callable[[Mapping[str, Any], int], np.ndarray]
    shape: tuple[int, ...]
    any_order = True

    @property
    def columns(self) -> list[str]:
        return list(self.schema.read)

    def start(self) -> tuple[np.ndarray, Outside]:
        return np.zeros(self.shape, dtype=np.int64), dict.fromkeys(self.columns, NONE)

    def add(self, total: tuple[np.ndarray, Outside], batch: Any) -> tuple[np.ndarray, Outside]:
        encoded = encode(batch, self.schema)
        return total[0] + self.function(encoded.columns, batch.num_rows), added(total[1], encoded.outside())

    def merge(self, total: tuple[np.ndarray, Outside], part: Any) -> tuple[np.ndarray, Outside]:
        return total[0] + part[0], added(total[1], part[1])


@dataclass(frozen=True)
class Arrays:
    """A tree of arrays of all rows, in the order of the table: `function(batches of encoded columns)` of a few rows."""

    schema: Schema
    function: Callable[[Iterator[tuple[Mapping[str, Any], int]]], Any]
    any_order = False

    @property
    def columns(self) -> list[str]:
        return list(self.schema.read)

    def start(self) -> tuple[list[Any], Outside]:
        return [], dict.fromkeys(self.columns, NONE)

    def add(self, total: tuple[list[Any], Outside], batch: Any) -> tuple[list[Any], Outside]:
        encoded = encode(batch, self.schema)
        made = self.function(iter([(encoded.columns, batch.num_rows)]))
        return [*total[0], made], added(total[1], encoded.outside())

    def merge(self, total: tuple[list[Any], Outside], part: Any) -> tuple[list[Any], Outside]:
        return [*total[0], *part[0]], added(total[1], part[1])


@dataclass(frozen=True)
class People:
    """The name of the person of every row, in the order of the table."""

    column: str
    key: bytes = field(repr=False)
    any_order = False

    @property
    def columns(self) -> list[str]:
        return [self.column]

    def start(self) -> list[np.ndarray]:
        return [np.empty((0, 2), np.uint64)]

    def add(self, total: list[np.ndarray], batch: Any) -> list[np.ndarray]:
        return [*total, names_of(text_bytes(texts_of(batch.column(self.column))), self.key)]

    def merge(self, total: list[np.ndarray], part: list[np.ndarray]) -> list[np.ndarray]:
        return [*total, *part]


def added(one: Outside, other: Outside) -> Outside:
    return {name: one.get(name, NONE) + other.get(name, NONE) for name in {**one, **other}}
