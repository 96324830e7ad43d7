"""How well rows keep the keys of a database: counts for their owner alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.database.database import Database
from nacre.table.database.keys import Key
from nacre.table.database.rows import Rows, as_rows, key_names


@dataclasses.dataclass(frozen=True)
class KeyCounts:
    """What is seen of the rows of one owned table. Orphans are those without an owner, for whatever reason."""

    rows: int
    repeated: int = 0  # rows whose id another row has as well
    unnamed: int = 0  # rows without a name in the key of their owner
    dangling: int = 0  # whose owner is not there, or is an orphan itself
    disagreeing: int = 0  # whose keys lead to different units
    most: int = 0  # rows under one parent row
    beyond: int = 0  # rows beyond the cap
    strange: int = 0  # names of rows of public tables that are not there

    @property
    def orphans(self) -> int:
        return self.unnamed + self.dangling + self.disagreeing


def count_keys(database: Database, tables: Mapping[str, object]) -> dict[str, KeyCounts]:
    """The counts of every owned table, from the unit table down. All ids are held in memory."""
    found: dict[str, KeyCounts] = {}
    above: dict[str, _Owned] = {}
    for name in database.owned:
        rows = as_rows(tables[name])
        columns = {c: key_names(rows, c) for c in _needed(database, name)}
        key, strange = database.owner(name), _strange(database, name, tables)
        if key is None:
            count = _count(rows, columns)
            above[name] = _Owned(columns, np.arange(count), {name: np.arange(count)})
            found[name] = KeyCounts(count, _repeated(database.id(name), columns), strange=strange)
            continue
        place, counts = _placed(database, key, columns, above)
        parents = above[key.parent]
        units = {t: _at(own, place) for t, own in parents.units.items()}
        above[name] = _Owned(columns, place, {**units, name: np.where(place < 0, -1, np.arange(len(place)))})
        own = np.bincount(place[place >= 0])
        found[name] = dataclasses.replace(
            counts,
            repeated=_repeated(database.id(name), columns),
            most=int(own.max(initial=0)),
            beyond=int(np.maximum(own - (key.cap or 0), 0).sum()),
            strange=strange,
        )
    return found


@dataclasses.dataclass(frozen=True)
class _Owned:
    """Names of the key columns of a table, the row of its parent for each row, and that of every table above; -1 for
    orphans."""

    columns: Mapping[str, pa.Array]
    place: np.ndarray
    units: Mapping[str, np.ndarray]


def _needed(database: Database, table: str) -> list[str]:
    owner, id = database.owner(table), database.id(table)
    keys = (*((owner,) if owner else ()), *database.implied(table))
    return list(dict.fromkeys([*(key.column for key in keys), *([id] if id else [])]))


def _count(rows: Rows, columns: Mapping[str, pa.Array]) -> int:
    return len(next(iter(columns.values()))) if columns else sum(batch.num_rows for batch in rows.batches())


def _at(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The values at these places, -1 where there is no place."""
    return np.where(place < 0, -1, values[place]) if len(values) else np.full(len(place), -1)


def _repeated(id: str | None, columns: Mapping[str, pa.Array]) -> int:
    if id is None:
        return 0
    named = columns[id].drop_null()
    return len(named) - pc.count_distinct(named).as_py()


def _strange(database: Database, table: str, tables: Mapping[str, object]) -> int:
    found = 0
    for key in database.references(table):
        ids = key_names(as_rows(tables[key.parent]), key.parent_column)
        named = key_names(as_rows(tables[table]), key.column).drop_null()
        found += pc.sum(pc.invert(pc.is_in(named, value_set=ids))).as_py() or 0
    return found


def _placed(
    database: Database, key: Key, columns: Mapping[str, pa.Array], above: Mapping[str, _Owned]
) -> tuple[np.ndarray, KeyCounts]:
    """The parent's row of each row, -1 for orphans, and how many of these there are."""
    place, unnamed = _lookup(key, columns, above)
    lost = (place < 0) | (_at(above[key.parent].place, place) < 0)
    place = np.where(lost, -1, place)
    disagreeing = np.zeros(len(place), bool)
    for other in database.implied(key.child):
        there, _ = _lookup(other, columns, above)
        mine = _at(above[key.parent].units[other.parent], place)
        disagreeing |= (place >= 0) & (there != mine)
    counts = KeyCounts(len(place), 0, int(unnamed.sum()), int((lost & ~unnamed).sum()), int(disagreeing.sum()))
    return np.where(disagreeing, -1, place), counts


def _lookup(key: Key, columns: Mapping[str, pa.Array], above: Mapping[str, _Owned]) -> tuple[np.ndarray, np.ndarray]:
    names = columns[key.column]
    missing = names.is_null().to_numpy(zero_copy_only=False)
    found = pc.index_in(names, value_set=above[key.parent].columns[key.parent_column])
    return np.where(missing, -1, pc.fill_null(found, -1).to_numpy(zero_copy_only=False)), missing


def key_lines(database: Database, counts: Mapping[str, KeyCounts]) -> list[str]:
    """What the owner of the rows is told of them, a line for each table that has something to tell."""
    lines = []
    for name, found in counts.items():
        key = database.owner(name)
        parts = [f"{found.repeated:,} rows whose {database.id(name)!r} another row has too"] if found.repeated else []
        if key is not None and found.orphans:
            reasons = (
                (found.unnamed, f"without {key.column!r}"),
                (found.dangling, f"whose {key.column!r} names no row of {key.parent!r} that belongs to a unit"),
                (found.disagreeing, "whose keys lead to different rows above"),
            )
            said = "; ".join(f"{n:,} {why}" for n, why in reasons if n)
            parts.append(f"{found.orphans:,} of {found.rows:,} rows belong to no unit and are left out ({said})")
        if key is not None and found.beyond:
            parts.append(
                f"{found.beyond:,} rows lie beyond the cap of {key.cap:,} under one row of {key.parent!r}, which has "
                f"up to {found.most:,}"
            )
        if found.strange:
            parts.append(f"{found.strange:,} values name no row of a public table, and are read as no label of theirs")
        lines += [f"{name}: {'; '.join(parts)}"] if parts else []
    return lines
