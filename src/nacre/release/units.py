"""Units of a database with all rows that they own, drawn so that every row keeps what its schema says."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from nacre.release.conditions import breakable
from nacre.release.drawing import ROUNDS, asked, not_possible, wrong
from nacre.release.rebalance import Draw
from nacre.table import Condition, Schema
from nacre.table.database import Database
from nacre.table.encoding import Encoded
from nacre.table.values.decoding import decode
from nacre.table.values.stored import Values

_TRIES = 16  # units drawn for each that breaks a rule, while they are few
_MOST = 20_000  # units of one redraw
_DONORS = 2_048  # units whose rows are drawn beside, for values that a rule asks for


class Rows(Protocol):
    """The rows of one table as a model draws them: modelled columns, on which row of the parent each hangs, and, by
    their labels, the rows of public tables that they name."""

    @property
    def columns(self) -> Mapping[str, Values]: ...

    @property
    def parent(self) -> np.ndarray | None: ...

    @property
    def references(self) -> Mapping[str, Values]: ...


class UnitModel(Protocol):
    """What a release of a database holds: public numbers from which units are drawn."""

    @property
    def units(self) -> int:
        """How many units the database has, as far as the release knows."""
        ...

    def draw(
        self, units: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> Mapping[str, Rows]:
        """So many units whose own columns satisfy `where`, with all their rows; rows of one parent stand together."""
        ...

    def parts(self) -> tuple[Mapping[str, object], dict[str, np.ndarray]]: ...


@dataclass(frozen=True)
class Units:
    """Drawn units. `parents`: for each row of a table, its parent's place in the parent table, never falling."""

    tables: Mapping[str, Encoded]
    parents: Mapping[str, np.ndarray]
    above: Mapping[str, str]  # child table -> parent table, parents first

    @property
    def size(self) -> int:
        return next(iter(self.tables.values())).rows

    def owners(self, table: str) -> np.ndarray:
        """The unit of each row of a table."""
        return self.ancestors(table, next(iter(self.tables)))

    def ancestors(self, table: str, ancestor: str) -> np.ndarray:
        """The place of each row's ancestor in that table."""
        places = np.arange(self.tables[table].rows)
        while table != ancestor:
            places, table = self.parents[table][places], self.above[table]
        return places

    def taken(self, order: np.ndarray) -> Units:
        """The units at these places with all their rows; one that is named twice comes twice."""
        root, *below = self.tables
        tables, parents = {root: _rows(self.tables[root], order)}, {}
        kept = {root: order}  # places in the old table, of every row of the new one
        for name in below:
            above = kept[self.above[name]]
            starts = np.searchsorted(self.parents[name], np.arange(self.tables[self.above[name]].rows + 1))
            counts = (starts[1:] - starts[:-1])[above]
            ends = np.cumsum(counts)
            kept[name] = np.repeat(starts[:-1][above] - (ends - counts), counts) + np.arange(counts.sum())
            tables[name] = _rows(self.tables[name], kept[name])
            parents[name] = np.repeat(np.arange(len(above)), counts)
        return Units(tables, parents, self.above)

    @staticmethod
    def joined(parts: Sequence[Units]) -> Units:
        """The units of all parts, one after the other."""
        first = parts[0]
        if len(parts) == 1:
            return first
        tables, parents = {}, {}
        for name in first.tables:
            own = [part.tables[name] for part in parts]
            columns = {c: Values.joined([o[c] for o in own]) for c in own[0].columns}
            tables[name] = Encoded(columns, sum(o.rows for o in own))
            if name in first.above:
                sizes = np.cumsum([0, *(part.tables[first.above[name]].rows for part in parts)])
                parents[name] = np.concatenate([part.parents[name] + n for part, n in zip(parts, sizes)])
        return Units(tables, parents, first.above)


@dataclass(frozen=True)
class UnitSource:
    """The units of a database, as a model draws them. `owning`: a table of which every unit has a row."""

    database: Database
    model: UnitModel
    owning: str | None = None

    @property
    def schema(self) -> Schema:
        """Of the unit table, whose columns may be asked for."""
        return self.database.tables[self.database.unit]

    def possible(self, size: int, rng: np.random.Generator, where: Mapping[str, Condition]) -> Units:
        """Units none of whose rows breaks a rule, and that meet the conditions: the others are drawn again, whole."""
        direct, left = asked(self.schema, where)
        found = self._drawn(size, rng, direct)
        broken = np.flatnonzero(self._wrong(found, left))
        for _ in range(ROUNDS):
            if not len(broken):
                return found
            times = max(1, min(_TRIES, _MOST // len(broken)))
            again = self._drawn(times * len(broken), rng, direct)
            good = np.flatnonzero(~self._wrong(again, left))[: len(broken)]
            order = np.arange(size)
            order[broken[: len(good)]] = size + np.arange(len(good))
            found = Units.joined([found, again.taken(good)]).taken(order)
            broken = broken[len(good) :]
        raise not_possible(len(broken), f"{size} units", left)

    def tilted(self, asked: list, where: Mapping[str, Condition]) -> Draw[Units] | None:
        """Units are drawn and weighed."""
        return None

    def taken(self, parts: Sequence[Units], order: np.ndarray) -> Units:
        return Units.joined(parts).taken(order)

    def table(self, drawn: Units, rng: np.random.Generator) -> pa.Table:
        """The rows of the unit table."""
        return decode(drawn.tables[self.database.unit], self.schema, rng=rng)

    @functools.cached_property
    def _above(self) -> dict[str, str]:
        owners = {name: self.database.owner(name) for name in self.database.owned}
        return {name: key.parent for name, key in owners.items() if key is not None}

    @functools.cached_property
    def _rules(self) -> dict[str, list]:
        return {name: breakable(self.database.tables[name]) for name in self.database.owned}

    def _drawn(self, units: int, rng: np.random.Generator, where: Mapping[str, Condition]) -> Units:
        """Rows of the tables from rows of what is modelled of them."""
        drawn = self.model.draw(units, rng, where)
        donors = functools.cache(lambda: self.model.draw(_DONORS, rng, {}))
        tables, parents = {}, {}
        for name in self.database.owned:
            inner, rows = self.database.tables[name].inner, drawn[name]
            if rows.parent is not None and name in self._above:
                parents[name] = np.asarray(rows.parent, np.int64)
            encoded = Encoded(rows.columns, len(parents[name]) if name in parents else units)
            if (row_map := inner.row_map) is not None:
                beside = row_map.donors(lambda _, name=name: donors()[name].columns)
                encoded = row_map.decode(encoded, beside)
            tables[name] = Encoded({**encoded.columns, **rows.references}, encoded.rows)
        return Units(tables, parents, self._above)

    def _wrong(self, drawn: Units, left: Mapping[str, Condition]) -> np.ndarray:
        """Which units have a row that breaks a rule, do not meet a condition, or lack a row."""
        found = np.zeros(drawn.size, bool)
        for name, encoded in drawn.tables.items():
            own = left if name == self.database.unit else {}
            if self._rules[name] or own:
                found[drawn.owners(name)[wrong(encoded, self._rules[name], own)]] = True
        if self.owning is not None:
            found |= np.bincount(drawn.owners(self.owning), minlength=drawn.size) == 0
        return found


def _rows(encoded: Encoded, order: np.ndarray) -> Encoded:
    return Encoded({name: values.take(order) for name, values in encoded.columns.items()}, len(order))
