"""What is modelled of each owned table: its own columns, numbers of rows below, times as distances.

All of it follows from public facts. What stands in the place of what is said by small declared objects: nothing is read
out of names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.checking import named
from nacre.table.columns import Categorical, Column, Numeric
from nacre.table.database.clocks import Clock
from nacre.table.database.database import Database
from nacre.table.database.keys import Key
from nacre.table.database.structure import check_order
from nacre.table.naming import some
from nacre.table.schema import Schema
from nacre.table.values.stored import Values

PublicIds = Mapping[tuple[str, str], tuple[str, ...]]  # (public table, its id) -> labels


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """What is modelled of one table.

    `columns` are those of the table's inner schema, then references, then what is known of the rows below. In place of
    a learnt order column stands `clock.gap`. `references` says by which key a column is one, `count` and `clocks`, by
    the name of the child table, which columns are of its rows.
    """

    table: str
    columns: Mapping[str, Column]
    references: Mapping[str, Key]
    count: Mapping[str, str]
    clock: Clock | None  # of this table's own rows under one parent
    clocks: Mapping[str, Clock]  # of those child tables whose order is learnt
    schema: Schema

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that the inner schema of the table has as well."""
        made = {*self.references, *self.count.values(), *(clock.start for clock in self.clocks.values())}
        return tuple(n for n in self.columns if n not in made and (self.clock is None or n != self.clock.gap))

    def counts(self, child: str, parent: np.ndarray, rows: int) -> Values:
        """How many rows each of the `rows` rows has in a child table, from the positions of their parents."""
        found = np.bincount(parent, minlength=rows).astype(np.int64)
        top = int(self.columns[self.count[child]].limits[1])
        return Values.of(np.minimum(found, top))


def forms(database: Database, public_ids: PublicIds) -> dict[str, Form]:
    """The form of each owned table, by its name, in the order of `owned`. `public_ids`: the labels of the ids of public
    tables to which keys lead. DomainNotDeclared while bounds or categories are missing."""
    clocks = {name: clock for name in database.owned if (clock := _clock(database, name)) is not None}
    return {name: _form(database, name, clocks, public_ids) for name in database.owned}


def order_column(database: Database, table: str) -> Column | None:
    """The learnt column by which rows of a table stand in order under one parent row; None where there is none."""
    key = database.owner(table)
    column = None if key is None or key.order is None else database.tables[table].columns[key.order]
    return column if column is not None and column.learnt else None


def _clock(database: Database, table: str) -> Clock | None:
    column, key = order_column(database, table), database.owner(table)
    if column is None or key is None or key.order is None:
        return None
    check_order(database.tables[table], key)  # its rules may have waited for bounds
    _declared(column, table, key.order)
    above, parent = order_column(database, key.parent), database.owner(key.parent)
    if above is not None and parent is not None and parent.order is not None:
        _declared(above, key.parent, parent.order)
    if above is None or parent is None or above.moments != column.moments:
        return Clock(table, key.order, f"{key.order} gap", f"{table} first {key.order}", column)
    return Clock(table, key.order, f"{key.order} gap", f"{table} offset {key.order}", column, parent.order, above)


def _declared(column: Column, table: str, name: str) -> None:
    if column.missing:
        raise DomainNotDeclared(
            f"column {name!r} of {table!r} orders its rows, but its {column.missing[0]} are not declared; declare "
            "them, have them bought, or read them from the data"
        )


def _form(database: Database, table: str, clocks: Mapping[str, Clock], public_ids: PublicIds) -> Form:
    inner, clock = database.tables[table].inner, clocks.get(table)
    references = {key.column: key for key in database.references(table)}
    count = {child: f"{child} count" for child in database.children(table)}
    below = {child: clocks[child] for child in count if child in clocks}
    columns: list[tuple[str, Column]] = []
    for name in inner.modelled:
        if clock is not None and name == clock.order:
            columns.append((clock.gap, _made(clock, "gap")))
        elif name not in references:
            columns.append((name, inner.columns[name]))
    columns += [(name, _referring(key, database, public_ids)) for name, key in references.items()]
    for child, name in count.items():
        columns.append((name, Numeric((0, _cap(database, child)), integer=True)))
        if child in below:
            columns.append((below[child].start, _made(below[child], "start")))
    others = [(name, c) for name, c in inner.columns.items() if not c.learnt and name not in references]
    _check_names(table, [name for name, _ in (*columns, *others)])
    made = dict(columns)
    never = tuple(rule for rule in inner.never if set(rule.columns) <= set(made))
    schema = Schema({**dict(others), **made}, impossible=never)
    return Form(table, made, references, count, clock, below, schema)


def _cap(database: Database, child: str) -> int:
    key = database.owner(child)
    assert key is not None and key.cap is not None  # a database refuses keys without
    return key.cap


def _made(clock: Clock, which: str) -> Column:
    name = clock.gap if which == "gap" else clock.start
    try:
        return clock.gap_column if which == "gap" else clock.start_column
    except SchemaError as error:
        raise SchemaError(f"table {clock.child!r}: {named(error, name)}") from None


def _referring(key: Key, database: Database, public_ids: PublicIds) -> Column:
    """The labelled column of a key to a public table."""
    place = (key.parent, key.parent_column)
    if place not in public_ids:
        raise SchemaError(f"key {key}: the ids of the public table {key.parent!r} were not given; open that table too")
    column = database.tables[key.child].columns[key.column]
    if column.learnt and key.column not in database.tables[key.child].inner.modelled:
        raise SchemaError(f"key {key}: {key.column!r} is part of a rule, and no key can be; drop the rule")
    if not isinstance(column, Categorical) or column.missing:
        return Categorical(public_ids[place], nullable=column.nullable, null_words=column.null_words)
    known = set(public_ids[place])
    strange = [label for label in column.labels if label not in known]
    if strange:
        raise SchemaError(
            f"key {key}: {key.column!r} lists {some(strange)}, which no row of the public table {key.parent!r} is "
            "called; list ids alone, or leave the categories out"
        )
    return column


def _check_names(table: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"table {table!r} has a column {name!r}, a name that its keys need; rename the column")
        seen.add(name)
    for name in seen:
        if f"{name}+" in seen:
            raise SchemaError(
                f"table {table!r} has columns {name!r} and {name + '+'!r}, which stands for {name!r} of the next row; "
                "rename one of them"
            )
