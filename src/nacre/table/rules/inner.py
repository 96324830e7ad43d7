"""The columns that methods model where a schema has rules, and the map between them and those of the table.

The map is made of public facts alone and reads one row at a time, so that a row of the table is one row of what is
modelled, and no promise changes (docs/proofs/rules.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.columns import Column
from nacre.table.conditions import Condition
from nacre.table.encoding import Encoded
from nacre.table.rules.implied import Moved
from nacre.table.rules.impossible import Impossible
from nacre.table.rules.line import Line
from nacre.table.rules.merging import Merged
from nacre.table.rules.ordered import Gap
from nacre.table.rules.presence import Donors, Presence
from nacre.table.rules.steps import Edge, Split, Step
from nacre.table.rules.total import Computed, Total
from nacre.table.schema import Schema
from nacre.table.values.misfits import Misfits
from nacre.table.values.stored import Values

Derived = Gap | Computed


@dataclasses.dataclass(frozen=True, eq=False)
class RowMap:
    """The steps that turn the columns of `source` into modelled ones, in the kinds and the order in which they hold."""

    source: Schema
    moved: tuple[Moved, ...]
    merged: tuple[Merged, ...]
    split: tuple[Split, ...]
    derived: tuple[Derived, ...]  # each after those whose values it needs
    present: tuple[Presence, ...]  # each after the one that says whether its carrier is null

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.moved, *self.merged, *self.split, *self.derived, *self.present)

    @cached_property
    def taken(self) -> frozenset[str]:
        return frozenset(name for step in self.steps for name in step.takes)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The modelled columns: what is made stands where the first column that it replaces stood."""
        made = {step.takes[0]: step.makes for step in self.steps if step.takes}
        found: dict[str, Column] = {}
        for name in self.source.modelled:
            for new, column in made.get(name, {}).items():
                if new in self.source.columns:
                    raise SchemaError(f"rules: the table has a column {new!r}, a name that a rule needs; rename it")
                found[new] = column
            if name not in self.taken:
                found[name] = self.source.columns[name]
        return found

    def encode(self, encoded: Encoded) -> Encoded:
        """What is modelled of the rows of a table; for their owner, how many broke each rule."""
        values = dict(encoded.columns)
        broken = {f"rule {r}": _count(r.misses(values, self.source.columns), encoded.rows) for r in self.source.rules}
        for step in self.steps:
            step.encode(values)
        misfits = {**encoded.outside(), **{name: m for name, m in broken.items() if m}}
        return Encoded({name: values[name] for name in self.columns}, encoded.rows, misfits)

    def donors(self, draw: Callable[[int], Mapping[str, Values]]) -> Donors:
        """Further rows of the model, which draws so many."""
        return Donors(lambda rows: self._written(draw(rows)))

    def decode(self, encoded: Encoded, donors: Donors | None = None) -> Encoded:
        """Rows of the table from drawn ones, each of which keeps the rules."""
        values = self._written(encoded.columns)
        for step in self.merged:
            step.decode(values)
        for step in self.present:
            step.settle(values, donors)
        for step in (*self.split, *self.derived):
            step.decode(values)
        return Encoded({name: values[name] for name in self.source.modelled}, encoded.rows)

    def _written(self, drawn: Mapping[str, Values]) -> dict[str, Values]:
        """The values as they will be written: what is computed from them is computed from those."""
        found = dict(drawn)
        for name, column in self.columns.items():
            if column.decimals is not None and column.step is None:
                found[name] = Values.of(Line(column).nearest(found[name].values), found[name].null)
        return found

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], dict[str, Condition]]:
        """(conditions on modelled columns, conditions on columns of the table that do not follow from them: rows that
        break those are to be drawn again)."""
        found: dict[str, Condition] = {}
        left = set(where)
        for step in (*self.present, *self.merged, *self.split):
            needed, exact = step.asked(where)
            found |= {name: condition for name, condition in needed.items() if name in self.columns}
            left -= exact
        members = {name for step in self.present for name in step.members}
        direct = {name for name in left if name in self.columns and name not in members}
        found |= {name: where[name] for name in direct}
        return found, {name: where[name] for name in left - direct}

    def impossible(self) -> list[Impossible]:
        """What cannot hold together in modelled rows, as far as it is about modelled columns."""
        stated = [dict(rule.terms) for rule in self.source.never]
        stated += [one for step in self.steps for one in step.impossible()]
        return [Impossible(tuple(one.items())) for one in stated if set(one) <= set(self.columns)]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Inner(Schema):
    """The schema of what methods model: it reads, and writes, rows of the table that `mapped.source` describes."""

    mapped: RowMap | None = None

    @property
    def inner(self) -> Schema:  # type: ignore[override]
        return self

    @property
    def row_map(self) -> RowMap | None:
        return self.mapped


def inner_of(schema: Schema) -> Schema:
    """The schema of what methods model; SchemaError where rules cannot be mapped."""
    columns = _declared(schema)
    edges = [edge for rule in schema.rules for edge in rule.edges()]
    steps = [step for rule in schema.rules for step in rule.steps(columns)]
    steps += [Computed(rule, columns) for rule in schema.rules if isinstance(rule, Total)]
    merged = tuple(s for s in steps if isinstance(s, Merged))
    split = tuple(s for s in steps if isinstance(s, Split))
    _refuse_twice((*merged, *split))
    derived = _derived(columns, edges, [s for s in steps if isinstance(s, Computed)], (*merged, *split))
    moved = tuple(s for s in steps if isinstance(s, Moved))
    first = RowMap(schema, moved, merged, split, derived, ())
    present = _present([s for s in steps if isinstance(s, Presence)], first)
    found = dataclasses.replace(first, present=present)
    others = {name: c for name, c in schema.columns.items() if not c.learnt}
    return Inner({**others, **found.columns}, schema.rows, schema.unit, impossible=tuple(found.impossible()),
                 provenance=_facts(schema), mapped=found)  # fmt: skip


def _facts(schema: Schema) -> dict[str, str]:
    return {fact: source for fact, source in schema.provenance.items() if fact in ("rows", "unit")}


def _declared(schema: Schema) -> dict[str, Column]:
    """The modelled columns; DomainNotDeclared where a rule needs what is still to be bought."""
    columns = {name: schema.columns[name] for name in schema.modelled}
    for rule in schema.rules:
        for name in rule.names:
            if schema.columns[name].learnt and name not in columns:
                raise SchemaError(f"{rule}: {name!r} follows from another column; put the rule on that one")
            if name in columns and columns[name].missing:
                raise DomainNotDeclared(
                    f"{rule}: the {columns[name].missing[0]} of column {name!r} are not declared; a rule needs them "
                    "before anything is bought: declare them"
                )
    return columns


def _refuse_twice(merged: Sequence[Merged | Split]) -> None:
    seen: dict[str, Merged | Split] = {}
    for step in merged:
        for name in step.takes:
            if name in seen:
                raise SchemaError(f"{step.rule}: {name!r} is already in {seen[name].rule}; join the two into one list")
            seen[name] = step


def _derived(
    columns: Mapping[str, Column], edges: Sequence[Edge], sums: Sequence[Computed], merged: Sequence[Merged | Split]
) -> tuple[Derived, ...]:
    """A step for every column that lies above others or is computed, in an order in which they can be taken."""
    by_sum: dict[str, Derived] = {}
    for step in sums:
        if step.upper in by_sum:
            raise SchemaError(f"{step.rule}: {step.upper!r} is already a sum; keep one of the two rules")
        by_sum[step.upper] = step
    above: dict[str, list[Edge]] = {}
    for edge in edges:
        above.setdefault(edge.high, []).append(edge)
    gaps = {name: Gap(name, tuple(found), columns) for name, found in above.items() if name not in by_sum}
    made: dict[str, Derived] = {**gaps, **by_sum}
    for step in merged:
        for name in sorted(set(step.takes) & set(made)):
            raise SchemaError(f"{step.rule}: {name!r} follows from other columns by another rule; keep one of the two")
    needs = {name: _needed(step) for name, step in made.items()}
    order = _in_order(needs, "lies above itself, or is computed from itself")
    for step in made.values():
        step.check(edges) if isinstance(step, Computed) else step.check()
    return tuple(made[name] for name in order)


def _needed(step: Derived) -> set[str]:
    return set(step.rule.signs) if isinstance(step, Computed) else {edge.low for edge in step.edges}


def _in_order(needs: Mapping[str, set[str]], what: str) -> list[str]:
    """The names, each after those that it needs; SchemaError for a circle."""
    left, order = {name: set(own) & set(needs) for name, own in needs.items()}, []
    while left:
        free = [name for name, own in left.items() if not own]
        if not free:
            raise SchemaError(f"rules: each of {', '.join(map(repr, left))} {what} by a circle of rules; drop one")
        order += free
        left = {name: own - set(free) for name, own in left.items() if name not in free}
    return order


def _present(steps: Iterable[Presence], first: RowMap) -> tuple[Presence, ...]:
    """The steps on what carries each column's nulls."""
    stands = {step.upper: step.name for step in first.derived if isinstance(step, Gap)}
    stands |= {name: step.carrier for step in first.split for name in step.takes}
    found: dict[str, Presence] = {}
    for step in steps:
        carrier = stands.get(step.carrier, step.carrier)
        members = tuple(dict.fromkeys(own for name in step.members if (own := stands.get(name, name)) != carrier))
        if step.condition is not None and carrier != step.carrier:
            raise SchemaError(f"{step.rule}: {step.carrier!r} follows from others by a rule; name another column")
        for name in (step.carrier, *step.members):
            own = stands.get(name, name)
            if own not in first.columns:
                raise SchemaError(f"{step.rule}: {name!r} follows from others by a rule; put the rule on those")
            if own in found and own != carrier:
                raise SchemaError(f"{step.rule}: when {name!r} is null is said by {found[own].rule}; keep one rule")
        made = dataclasses.replace(step, carrier=carrier, members=members, columns=first.columns)
        found |= dict.fromkeys(members, made)
    order = _in_order({m: {step.carrier} for m, step in found.items()}, "is null where another is")
    return tuple(dict.fromkeys(found[name] for name in order))


def _count(broken: np.ndarray, rows: int) -> Misfits:
    return Misfits(int(broken.sum()), 0, rows)
