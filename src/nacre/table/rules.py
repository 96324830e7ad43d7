"""What a schema says across columns: persons, dependencies, combinations that cannot occur."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nacre.errors import SchemaError
from nacre.table.columns import Boolean, Categorical, Column, Numeric
from nacre.table.conditions import Condition, position, some
from nacre.table.naming import choices

MAX_DETERMINANT_VALUES = 1_000_000
MOST_CAP = 10**9


@dataclasses.dataclass(frozen=True)
class Unit:
    """Who is protected: the person named in `column`, with at most `cap` rows each."""

    column: str
    cap: int

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise SchemaError(f"unit: column is {self.column!r}; write the name of an identifier column")
        if not isinstance(self.cap, int) or isinstance(self.cap, bool) or not 1 <= self.cap <= MOST_CAP:
            raise SchemaError(
                f"unit: cap is {self.cap!r}; write a whole number of rows per person, at least 1 and at most 10^9"
            )


@dataclasses.dataclass(frozen=True)
class Dependency:
    """The `dependent` column is a function of the `determinant`: `mapping` says which, and it is not
    modelled.

    The mapping covers the whole domain of the determinant. A null determinant gives a null dependent unless
    the mapping has an entry for None.
    """

    determinant: str
    dependent: str
    mapping: Mapping[Any, Any] = dataclasses.field(hash=False)

    def __post_init__(self) -> None:
        where = f"dependency of {self.dependent!r} on {self.determinant!r}"
        if not isinstance(self.determinant, str) or not isinstance(self.dependent, str):
            raise SchemaError(f"{where}: the two columns are given by name")
        if self.determinant == self.dependent:
            raise SchemaError(f"{where}: a column cannot depend on itself; name two columns")
        if not isinstance(self.mapping, Mapping) or not self.mapping:
            raise SchemaError(f"{where}: mapping is {self.mapping!r}; write value: value pairs")
        object.__setattr__(self, "mapping", dict(self.mapping))

    def keys(self, condition: Condition, nullable: bool) -> list[Any]:
        """The values of a determinant, null among them if it is `nullable`, whose dependent meets the condition."""
        mapping = {None: None, **self.mapping} if nullable else {k: v for k, v in self.mapping.items() if k is not None}
        return [key for key, value in mapping.items() if condition.holds(value)]

    def __str__(self) -> str:
        return f"dependency of {self.dependent!r} on {self.determinant!r}"


def check_rule(rule: Any, columns: Mapping[str, Column], where: str) -> dict[str, Condition]:
    """An impossible combination, read: column -> condition."""
    if not isinstance(rule, Mapping) or not rule:
        raise SchemaError(f"{where}: found {rule!r}; write column: value pairs")
    for name in rule:
        if name not in columns:
            raise SchemaError(f"{where}: there is no column {name!r}; choose among {choices(name, columns)}")
    return {name: _rule_condition(c, columns[name], f"{where}, column {name!r}") for name, c in rule.items()}


def _rule_condition(asked: Any, column: Column, place: str) -> Condition:
    """What lies beyond bounds that were bought cannot occur; beyond declared ones it is a mistake."""
    bought = column.provenance.get("bounds") == "bought"
    condition = Condition.of(asked, column, place, beyond=bought)
    if condition.ranged and not condition.spans and not bought:
        for end in (condition.asked.low, condition.asked.high):
            if end is not None:
                position(column, end, place)
    return condition


def check_dependency(rule: Dependency, columns: Mapping[str, Column]) -> None:
    """Raise SchemaError unless both columns exist, suit their roles, and the mapping covers the domain."""
    for name in (rule.determinant, rule.dependent):
        if name not in columns:
            raise SchemaError(f"{rule}: there is no column {name!r}; choose among {choices(name, columns)}")
    source, target = columns[rule.determinant], columns[rule.dependent]
    if not (isinstance(source, (Categorical, Boolean)) or (isinstance(source, Numeric) and source.integer)):
        raise SchemaError(
            f"{rule}: the determinant is {source.kind}; it must be categorical, boolean or an integer numeric column"
        )
    for key, value in rule.mapping.items():
        if key is not None and not source.missing:
            position(source, key, f"{rule}, determinant")
        if value is not None and not target.missing:
            position(target, value, f"{rule}, dependent")
        if value is None and not target.nullable:
            raise SchemaError(f"{rule}: {key!r} maps to null but {rule.dependent!r} is not nullable; declare it so")
    lacking = [v for v in domain(source, str(rule)) if v not in rule.mapping]
    if lacking:
        raise SchemaError(f"{rule}: the mapping has no entry for {some(tuple(map(str, lacking)))}; add them")
    if source.nullable and None not in rule.mapping and not target.nullable:
        raise SchemaError(f"{rule}: the determinant may be null but the dependent may not; declare it nullable")


def domain(column: Column, where: str) -> list:
    """Every value of a finite column, in code order; empty while the domain is not declared."""
    if isinstance(column, Boolean):
        return [False, True]
    if isinstance(column, Categorical):
        return list(column.labels) if not column.missing else []
    if column.missing:
        return []
    low, high = column.bounds
    if high - low >= MAX_DETERMINANT_VALUES:
        raise SchemaError(f"{where}: the determinant has {high - low + 1:,} values; at most {MAX_DETERMINANT_VALUES:,}")
    return list(range(low, high + 1))
