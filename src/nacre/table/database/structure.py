"""Who owns whom: what follows from the keys of a database, or the reason why it is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from nacre.errors import SchemaError
from nacre.table.columns import Categorical, Column, Identifier
from nacre.table.database.keys import Key
from nacre.table.naming import choices
from nacre.table.schema import Schema

MOST_DEPTH = 4


@dataclasses.dataclass(frozen=True)
class Structure:
    """The owned tables, and what each key is for."""

    owned: tuple[str, ...]  # the unit table first, then by depth, in the order in which tables are named
    paths: Mapping[str, tuple[str, ...]]  # from the unit table down to each
    owners: Mapping[str, Key]
    implied: Mapping[str, tuple[Key, ...]]
    references: Mapping[str, tuple[Key, ...]]
    ids: Mapping[str, str]  # of tables that keys lead to

    @classmethod
    def of(cls, tables: Mapping[str, Schema], keys: Sequence[Key], unit: str, public: Collection[str]) -> Structure:
        """SchemaError, with the reason, for keys by which not every row has one unit."""
        for key in keys:
            _check_names(key, tables)
        _refuse_twice(keys)
        ids = _ids(keys)
        owning: dict[str, list[Key]] = {name: [] for name in tables if name not in public}
        references: dict[str, list[Key]] = {name: [] for name in tables}
        for key in keys:
            if key.parent in public:
                _check_reference(key, tables)
                references[key.child].append(key)
            elif key.child in public:
                raise SchemaError(
                    f"key {key}: the public table {key.child!r} points to rows of {key.parent!r}, which are protected; "
                    f"take {key.child!r} out of public, or drop the key"
                )
            else:
                _check_owning(key, tables)
                owning[key.child].append(key)
        _refuse_above(unit, owning)
        _refuse_cycles(owning)
        paths = _paths(unit, owning)
        owners = {name: _owner(name, owning[name], paths) for name in paths if name != unit}
        for name, key in owners.items():
            _check_owner(key, tables[name])
        owned = tuple(sorted(paths, key=lambda name: (len(paths[name]), list(tables).index(name))))
        _refuse_shared_ids(keys, ids)
        implied = {name: tuple(k for k in owning[name] if k != owners.get(name)) for name in owned}
        return cls(owned, paths, owners, implied, {n: tuple(k) for n, k in references.items()}, ids)


# -- one key ----------------------------------------------------------------------------------------------------------


def _check_names(key: Key, tables: Mapping[str, Schema]) -> None:
    for table, column in ((key.child, key.column), (key.parent, key.parent_column)):
        if table not in tables:
            raise SchemaError(f"key {key}: there is no table {table!r}; choose among {choices(table, tables)}")
        if column not in tables[table].columns:
            names = choices(column, tables[table].names)
            raise SchemaError(f"key {key}: table {table!r} has no column {column!r}; choose among {names}")
    if key.child == key.parent:
        raise SchemaError(
            f"key {key}: rows of {key.child!r} would own one another, and one row could own any number of others; drop "
            "the key: the column stays an identifier, made anew"
        )
    found = tables[key.parent].columns[key.parent_column]
    if not isinstance(found, Identifier):
        raise SchemaError(
            f"key {key}: {key.parent_column!r} of {key.parent!r} is {found.kind}; ids are never learnt: declare it as "
            "an Identifier"
        )


def _check_alike(key: Key, child: Column, parent: Column) -> None:
    if child.text != parent.text:
        stored = {True: "texts", False: "numbers"}
        raise SchemaError(
            f"key {key}: {key.column!r} is an identifier of {stored[child.text]}, {key.parent_column!r} one of "
            f"{stored[parent.text]}; declare both alike"
        )


def _check_reference(key: Key, tables: Mapping[str, Schema]) -> None:
    child, parent = tables[key.child].columns[key.column], tables[key.parent].columns[key.parent_column]
    if not isinstance(child, Identifier | Categorical):
        raise SchemaError(
            f"key {key}: {key.column!r} is {child.kind}; a column that names rows of a public table is an Identifier "
            "or Categorical"
        )
    if isinstance(child, Identifier):
        _check_alike(key, child, parent)
    for what, value in (("cap", key.cap), ("order", key.order)):
        if value is not None:
            raise SchemaError(
                f"key {key}: {what} is {value!r}, but rows of the public table {key.parent!r} own nothing; leave it out"
            )


def _check_owning(key: Key, tables: Mapping[str, Schema]) -> None:
    child, parent = tables[key.child].columns[key.column], tables[key.parent].columns[key.parent_column]
    if not isinstance(child, Identifier):
        raise SchemaError(
            f"key {key}: {key.column!r} is {child.kind}, and what is learnt is no key; declare it as an Identifier"
        )
    _check_alike(key, child, parent)
    for table, name, column in ((key.child, key.column, child), (key.parent, key.parent_column, parent)):
        if column.null_words:
            raise SchemaError(
                f"key {key}: {name!r} of {table!r} has null words, which would be one id; declare them for the whole "
                "table (--null, Options.null_words), so that such rows have none"
            )


def _check_owner(key: Key, child: Schema) -> None:
    if key.cap is None:
        raise SchemaError(
            f"key {key} has no cap; write the most rows of {key.child!r} that count under one row of {key.parent!r}: "
            f"Key({str(key)!r}, cap=8)"
        )
    if key.order is None:
        return
    if key.order not in child.columns:
        names = choices(key.order, child.names)
        raise SchemaError(f"key {key}: order {key.order!r} is no column of {key.child!r}; choose among {names}")
    column = child.columns[key.order]
    if key.order == key.column:
        raise SchemaError(
            f"key {key}: order {key.order!r} is the key itself, the same in all rows under one parent row"
        )
    if not isinstance(column, Identifier) and not (column.measured and key.order in child.modelled):
        raise SchemaError(
            f"key {key}: order {key.order!r} is {column.kind if column.measured is False else 'a dependent column'}; "
            "order rows by numbers, dates or an Identifier"
        )


def check_order(schema: Schema, key: Key) -> None:
    """A learnt order column is modelled as it is: no rule may stand between."""
    if key.order is None or not schema.columns[key.order].learnt:
        return
    mapped = schema.inner.row_map
    present = () if mapped is None else [name for step in mapped.present for name in step.members]
    if key.order not in schema.inner.modelled or key.order in present:
        raise SchemaError(
            f"key {key}: order {key.order!r} follows from other columns by a rule of {key.child!r}; order rows by a "
            "column that stands for itself, or drop the rule"
        )
    for rule in schema.inner.never:
        if key.order in rule.columns:
            raise SchemaError(
                f"key {key}: {key.order!r} orders the rows and cannot be part of what is impossible ({rule}); drop one"
            )


# -- all keys together ------------------------------------------------------------------------------------------------


def _refuse_twice(keys: Sequence[Key]) -> None:
    seen: dict[tuple[str, str], Key] = {}
    for key in keys:
        other = seen.get((key.child, key.column))
        seen[key.child, key.column] = key
        if other is not None:
            same = (other.parent, other.parent_column) == (key.parent, key.parent_column)
            raise SchemaError(
                f"key {key} is there twice; keep one" if same else
                f"keys {other} and {key} are of one column; keep the one that it was made for"
            )  # fmt: skip


def _ids(keys: Sequence[Key]) -> dict[str, str]:
    ids: dict[str, str] = {}
    for key in keys:
        known = ids.setdefault(key.parent, key.parent_column)
        if known != key.parent_column:
            raise SchemaError(
                f"key {key}: other keys lead to {known!r} of {key.parent!r}; a table has one id: let all keys lead "
                "to it"
            )
    return ids


def _refuse_shared_ids(keys: Sequence[Key], ids: Mapping[str, str]) -> None:
    for key in keys:
        if ids.get(key.child) == key.column:
            raise SchemaError(
                f"key {key}: {key.column!r} is also the id of {key.child!r}, to which other keys lead; let them lead "
                f"to {key.parent}.{key.parent_column} instead"
            )


def _refuse_above(unit: str, owning: Mapping[str, Sequence[Key]]) -> None:
    for key in owning[unit]:
        raise SchemaError(
            f"key {key}: rows of the unit table {unit!r} would belong to rows of {key.parent!r}; make {key.parent!r} "
            "the unit or public, or drop the key"
        )


def _refuse_cycles(owning: Mapping[str, Sequence[Key]]) -> None:
    left = dict(owning)
    while left:
        free = [name for name, keys in left.items() if not any(key.parent in left for key in keys)]
        if not free:
            circle = [next(iter(left))]
            while circle.count(circle[-1]) == 1:
                circle.append(next(key.parent for key in left[circle[-1]] if key.parent in left))
            circle = circle[circle.index(circle[-1]) :]
            raise SchemaError(
                f"keys form a circle: {' -> '.join(map(repr, circle))}; rows would own themselves: drop one of the keys"
            )
        left = {name: keys for name, keys in left.items() if name not in free}


def _paths(unit: str, owning: Mapping[str, Sequence[Key]]) -> dict[str, tuple[str, ...]]:
    """From the unit table down to each table, by the deepest of its parents."""
    paths: dict[str, tuple[str, ...]] = {unit: (unit,)}
    left = {name: keys for name, keys in owning.items() if name != unit}
    while ready := [n for n, keys in left.items() if keys and not any(key.parent in left for key in keys)]:
        for name in ready:
            deepest = max((paths[key.parent] for key in left.pop(name)), key=len)
            paths[name] = (*deepest, name)
            if len(deepest) > MOST_DEPTH:
                raise SchemaError(
                    f"table {name!r} lies {len(deepest)} keys below the unit table {unit!r}; at most {MOST_DEPTH}: "
                    "join tables, or leave it out"
                )
    for name in left:
        lost = next((n for n in left if not owning[n]), name)
        raise SchemaError(
            f"table {lost!r} hangs on nothing: no key leads from it to the unit table {unit!r}; add the key, declare "
            "the table public, or leave it out"
        )
    return paths


def _owner(name: str, keys: Sequence[Key], paths: Mapping[str, tuple[str, ...]]) -> Key:
    """The key to the deepest parent, of which all others must be ancestors."""
    owner = max(keys, key=lambda key: len(paths[key.parent]))
    above = paths[owner.parent]
    for key in keys:
        if key == owner:
            continue
        if key.parent == owner.parent or key.parent not in above:
            raise SchemaError(
                f"table {name!r} is owned by two units or by two branches: {owner} and {key}; keep the key of the "
                "owner and drop the other: its column stays an identifier, made anew"
            )
        for what, value in (("cap", key.cap), ("order", key.order)):
            if value is not None:
                raise SchemaError(
                    f"key {key}: {what} is {value!r}, but rows of {name!r} are owned by {owner}, from which this key "
                    "follows; leave it out here"
                )
    return owner
