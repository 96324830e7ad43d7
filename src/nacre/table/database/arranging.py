"""Keys that were found in a document or in data, arranged into a database: what cannot be kept is dropped and told."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from nacre.errors import SchemaError
from nacre.table.columns import Column, Identifier
from nacre.table.database.keys import Key
from nacre.table.imports.base import Relation
from nacre.table.naming import choices
from nacre.table.schema import Schema

_PERSONS = ("patient", "person", "people", "customer", "client", "user", "member", "household", "subject", "account")


@dataclasses.dataclass(frozen=True)
class Arranged:
    """Tables with alike ids, keys without caps, the unit and public tables, and what was dropped."""

    tables: dict[str, Schema]
    keys: tuple[Key, ...]
    unit: str
    public: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def owning(self) -> tuple[Key, ...]:
        """The keys by which rows are owned: those that need a cap. Keys to ancestors follow from them."""
        depth = {self.unit: 0}
        found: dict[str, Key] = {}
        left = [k for k in self.keys if k.parent not in self.public]
        while ready := [k for k in left if k.parent in depth and not any(o.child == k.parent for o in left)]:
            for key in ready:
                left.remove(key)
                if key.child not in found or depth[key.parent] > depth[found[key.child].parent]:
                    found[key.child] = key
            for key in ready:
                if not any(k.child == key.child for k in left):
                    depth[key.child] = depth[found[key.child].parent] + 1
        return tuple(k for k in self.keys if found.get(k.child) == k)


def arranged(
    tables: Mapping[str, Schema], relations: Iterable[Relation], unit: str | None = None, public: Collection[str] = ()
) -> Arranged:
    """Which relations are keys, which table is the unit where none is named, which are public.

    Tables to which owned ones lead, and which do not lead to the unit, are taken for public; so are those that `public`
    names. SchemaError where nothing can be the unit.
    """
    notes: list[str] = []
    for name in (*public, *(() if unit is None else (unit,))):
        if name not in tables:
            raise SchemaError(f"there is no table {name!r}; choose among {choices(name, tables)}")
    keys = _acyclic(_rerouted(_single(relations, tables, notes)), notes)
    unit = _guessed(tables, keys, public) if unit is None else unit
    owned = _below(unit, [k for k in keys if not {k.child, k.parent} & {*public}])
    given = _above(owned, keys)
    for name in tables:
        if name not in owned and name not in given and name not in public:
            notes.append(f"table {name!r}: no key leads from it to {unit!r}; left out")
    kept = {name: schema for name, schema in tables.items() if name in owned or name in given or name in public}
    outside = tuple(name for name in kept if name not in owned)
    found = []
    for key in keys:
        if key.child in kept and key.parent in kept:
            if key.child in outside and key.parent in owned:
                notes.append(f"key {key}: {key.child!r} is public, and its rows cannot name protected ones; dropped")
            else:
                found.append(key)
    found = _one_branch(found, unit, outside, notes)
    return Arranged(_alike(kept, found), tuple(found), unit, outside, tuple(notes))


def _told(notes: list[str], what: str) -> bool:
    notes.append(f"{what}; dropped")
    return False


def _single(relations: Iterable[Relation], tables: Mapping[str, Schema], notes: list[str]) -> list[Key]:
    """Keys of one column between tables and columns that are there; of one column one, to one id of each table."""
    found: dict[tuple[str, str], Key] = {}
    ids: dict[str, str] = {}
    for relation in relations:
        if len(relation.columns) != 1 or len(relation.parent_columns) != 1:
            _told(notes, f"{relation}: a key of several columns")
            continue
        key = Key.of((relation.child, relation.columns[0]), (relation.parent, relation.parent_columns[0]))
        there = all(t in tables and c in tables[t].columns for t, c in
                    ((key.child, key.column), (key.parent, key.parent_column)))  # fmt: skip
        if not there:
            _told(notes, f"key {key}: not all of its tables and columns are there")
        elif key.child == key.parent:
            _told(notes, f"key {key}: rows of one table would own one another")
        elif ids.setdefault(key.parent, key.parent_column) != key.parent_column:
            _told(notes, f"key {key}: other keys lead to {ids[key.parent]!r}")
        elif found.setdefault((key.child, key.column), key) != key:
            _told(notes, f"key {key}: its column is that of {found[key.child, key.column]}")
    return list(found.values())


def _rerouted(keys: Sequence[Key]) -> list[Key]:
    """A key to an id that is itself a key leads to where that one leads."""
    above = {(k.child, k.column): k for k in keys}
    found = []
    for key in keys:
        seen = {key.child}
        while (up := above.get((key.parent, key.parent_column))) is not None and key.parent not in seen:
            seen.add(key.parent)
            key = Key.of((key.child, key.column), (up.parent, up.parent_column))
        if key.child != key.parent:
            found.append(key)
    return found


def _acyclic(keys: Sequence[Key], notes: list[str]) -> list[Key]:
    """Each key but those that close a circle with keys before them."""
    found: list[Key] = []
    for key in keys:
        if key.parent in _below(key.child, found):
            _told(notes, f"key {key}: closes a circle of keys")
        else:
            found.append(key)
    return found


def _below(table: str, keys: Sequence[Key]) -> set[str]:
    """The table and all from which keys lead to it."""
    found, grown = {table}, True
    while grown:
        more = {k.child for k in keys if k.parent in found} - found
        found, grown = found | more, bool(more)
    return found


def _above(owned: set[str], keys: Sequence[Key]) -> set[str]:
    """Tables to which keys of owned ones lead, or of those."""
    found, grown = set[str](), True
    while grown:
        more = {k.parent for k in keys if k.child in owned | found} - owned - found
        found, grown = found | more, bool(more)
    return found


def _guessed(tables: Mapping[str, Schema], keys: Sequence[Key], public: Collection[str]) -> str:
    """A table that owns others and is called as people are, or the one that owns most; of several, the largest."""
    children = {k.child for k in keys if k.parent not in public}
    roots = [name for name in tables if name not in children and name not in public]
    if not roots:
        raise SchemaError("no table is left to be the unit; name it, and only others as public")

    size = {name: len(_below(name, keys)) for name in roots}
    largest = [name for name in roots if size[name] == max(size.values())]
    people = [name for name in (*largest, *roots) if size[name] > 1 and any(p in name.casefold() for p in _PERSONS)]
    return (*people, *largest)[0]


def _one_branch(keys: Sequence[Key], unit: str, public: Collection[str], notes: list[str]) -> list[Key]:
    """Of keys to owned tables, those to the deepest parent and to its ancestors."""
    paths: dict[str, tuple[str, ...]] = {unit: (unit,)}
    dropped: list[Key] = []
    left = {k.child for k in keys if k.parent not in public}
    while left:
        for name in sorted(left):
            own = [k for k in keys if k.child == name and k.parent not in public]
            if any(k.parent in left for k in own):
                continue
            left.remove(name)
            owner = max(own, key=lambda k: len(paths[k.parent]))
            above = paths[owner.parent]
            paths[name] = (*above, name)
            for key in own:
                if key != owner and (key.parent == owner.parent or key.parent not in above):
                    _told(notes, f"key {key}: rows of {name!r} are owned by {owner}")
                    dropped.append(key)
            break
    return [k for k in keys if k not in dropped]


def _alike(tables: Mapping[str, Schema], keys: Sequence[Key]) -> dict[str, Schema]:
    """The tables with identifiers in the place of all columns of keys, of texts where one of both is."""
    columns = {name: dict(schema.columns) for name, schema in tables.items()}
    text = {name: any(_is_text(columns[t][c]) for t, c in
                      ((name, k.parent_column), *((o.child, o.column) for o in keys if o.parent == name)))
            for k in keys for name in (k.parent,)}  # fmt: skip
    for key in keys:
        for table, column in ((key.child, key.column), (key.parent, key.parent_column)):
            columns[table][column] = _identifier(columns[table][column], text[key.parent])
    return {name: dataclasses.replace(schema, columns=columns[name], rows=None) for name, schema in tables.items()}


def _is_text(column: Column) -> bool:
    return column.text if isinstance(column, Identifier) else not column.whole


def _identifier(column: Column, text: bool) -> Identifier:
    source = column.provenance.get("kind", "public")
    return Identifier(nullable=column.nullable, text=text).sourced(source)
