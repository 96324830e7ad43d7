"""Tables as they are, put together by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nacre.errors import SchemaError
from nacre.metrics.cells import coded
from nacre.metrics.databases.linked import Level, Linked
from nacre.metrics.domain import Domain
from nacre.table.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from nacre.table.database import Database, Key

NOWHERE = -1  # where a key leads to no row


def link(frames: Mapping[str, pd.DataFrame], database: Database) -> Linked:
    """From frames by the names of their tables; columns that no schema names are left out."""
    lacking = [name for name in database.tables if name not in frames]
    if lacking:
        raise SchemaError(f"there is no table {lacking[0]!r}; give all of {', '.join(database.tables)}")
    domains = {name: _domain(database, name, frames[name]) for name in database.tables}
    linking = _Linking(frames, database, domains)
    for name in database.owned:
        linking.add(name)
    public = {name: coded(frames[name], domains[name]) for name in database.public}
    return Linked(database, linking.levels, public, domains, linking.kept())


class _Linking:
    """Levels one below the other, and what keys do, added up over tables."""

    def __init__(self, frames: Mapping[str, pd.DataFrame], database: Database, domains: Mapping[str, Domain]):
        self.frames, self.database, self.domains = frames, database, domains
        self.levels: dict[str, Level] = {}
        self._placed: dict[str, np.ndarray] = {}  # the row of a level that each row of a frame became
        self._rows = self._good = self._parents = self._within = 0

    def add(self, name: str) -> None:
        frame, key = self.frames[name], self.database.owner(name)
        points = {
            k.column: places(series(frame, k.column), series(self.frames[k.parent], k.parent_column))
            for k in self.database.references(name)
        }
        if key is None:
            parent = unit = order = np.arange(len(frame))
        else:
            parent = self._parent(name, key)
            self._count(name, key, parent, points)
            hanging = np.flatnonzero(parent >= 0)
            order = hanging[np.lexsort((_ranks(frame, key, self.domains[name])[hanging], parent[hanging]))]
            parent = parent[order]
            unit = self.levels[key.parent].unit[parent]
        self._placed[name] = np.full(len(frame), NOWHERE)
        self._placed[name][order] = np.arange(len(order))
        points = {column: found[order] for column, found in points.items()}
        cells = coded(frame.iloc[order], self.domains[name])
        self.levels[name] = Level(name, key, frame.iloc[order], self.domains[name], cells, parent, unit, points)

    def kept(self) -> dict[str, float]:
        rows, parents = max(self._rows, 1), max(self._parents, 1)
        return {"integrity": self._good / rows, "caps_kept": self._within / parents} if self._rows else {}

    def _parent(self, name: str, key: Key) -> np.ndarray:
        """The parent of every row; NOWHERE too where keys to further ancestors lead elsewhere."""
        parent = self._to(name, key)
        for other in self.database.implied(name):
            level, place = self.levels[key.parent], parent
            while level.name != other.parent:
                assert level.key is not None
                place = np.where(place >= 0, level.parent[place], NOWHERE) if len(level) else place
                level = self.levels[level.key.parent]
            parent = np.where(place == self._to(name, other), parent, NOWHERE)
        return parent

    def _to(self, name: str, key: Key) -> np.ndarray:
        found = places(series(self.frames[name], key.column), series(self.frames[key.parent], key.parent_column))
        placed = self._placed[key.parent]
        return np.where(found >= 0, placed[found], NOWHERE) if len(placed) else found

    def _count(self, name: str, key: Key, parent: np.ndarray, points: Mapping[str, np.ndarray]) -> None:
        frame = self.frames[name]
        good = parent >= 0
        for column, found in points.items():
            good &= (found >= 0) | frame[column].isna().to_numpy()
        for own in {k.parent_column for k in self.database.keys if k.parent == name}:
            good &= ~(frame[own].duplicated() | frame[own].isna()).to_numpy()
        each = np.bincount(parent[parent >= 0], minlength=len(self.levels[key.parent]))
        self._rows, self._good = self._rows + len(frame), self._good + int(good.sum())
        self._parents += len(each)
        self._within += int((each <= (key.cap or len(frame))).sum())


def series(frame: pd.DataFrame, column: str) -> pd.Series:
    import pandas as pd

    found = frame[column]
    if not isinstance(found, pd.Series):
        raise SchemaError(f"there are two columns {column!r}; rename one of them")
    return found


def places(keys: pd.Series, names: pd.Series) -> np.ndarray:
    """The first row that each key names; NOWHERE for none. 7, 7.0 and "7" are one name."""
    import pandas as pd

    wanted, known = _plain(keys), _plain(names)
    if wanted.dtype != known.dtype:
        wanted, known = (s.astype(object).map(str, na_action="ignore") for s in (wanted, known))
    first = np.flatnonzero((known.notna() & ~known.duplicated()).to_numpy())
    found = pd.Index(known.iloc[first]).get_indexer(pd.Index(wanted))
    found[wanted.isna().to_numpy()] = NOWHERE
    return np.where(found >= 0, first[found], NOWHERE) if len(first) else found


def _plain(values: pd.Series) -> pd.Series:
    """Whole numbers, or texts."""
    import pandas as pd

    values = values.reset_index(drop=True)
    if pd.api.types.is_integer_dtype(values):
        return values.astype("Int64")
    if pd.api.types.is_float_dtype(values) and bool((values.dropna() % 1 == 0).all()):
        return values.astype("Int64")
    return values.astype(object).map(str, na_action="ignore")


def _ranks(frame: pd.DataFrame, key: Key, domain: Domain) -> np.ndarray:
    """What rows of one parent are sorted by; nulls last. Rows without an order stay as they came."""
    if key.order is None:
        return np.zeros(len(frame))
    if key.order in domain.names:
        return domain[key.order].raw(frame[key.order])
    values = _plain(series(frame, key.order))
    if str(values.dtype) != "Int64":
        words, ranks = np.unique(values.dropna().to_numpy(dtype=str), return_inverse=True)
        found = np.full(len(values), len(words))
        found[values.notna().to_numpy()] = ranks
        return found
    return np.where(values.isna(), np.iinfo(np.int64).max, values.fillna(0).to_numpy(np.int64))


def _domain(database: Database, name: str, frame: pd.DataFrame) -> Domain:
    """What is compared of a table: its columns but those that are keys."""
    keys = {k.column for k in database.references(name)}
    columns = {n: c for n, c in database.tables[name].columns.items() if n not in keys}
    domain = Domain.of(Schema(columns)) if columns else Domain(())
    needed = {*domain.names, *keys, *(k.column for k in database.keys if k.child == name)}
    needed |= {k.parent_column for k in database.keys if k.parent == name}
    needed |= {k.order for k in database.keys if k.child == name and k.order is not None}
    lacking = sorted(needed - set(frame.columns))
    if lacking:
        raise SchemaError(f"table {name!r} lacks the column(s) {', '.join(lacking[:8])}, which the database describes")
    return domain
