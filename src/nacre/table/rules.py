"""What a schema says across columns: persons, dependencies, combinations that cannot occur; and
conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nacre.errors import SchemaError
from nacre.table.columns import Boolean, Categorical, Column, Datetime, Numeric
from nacre.table.instants import microseconds

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
class Between:
    """All values from `low` to `high`, both included; None leaves that side open."""

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise SchemaError("a range needs a low or a high end; both are missing")


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

    def __str__(self) -> str:
        return f"dependency of {self.dependent!r} on {self.determinant!r}"


def position(column: Column, value: Any, where: str) -> float | int:
    """Where `value` stands in the column's encoded values: a label's code, 0 or 1, a number, microseconds.

    Raises SchemaError, beginning with `where`, when the value is not in the declared domain.
    """
    if isinstance(column, Categorical):
        if column.missing:
            raise SchemaError(f"{where}: the column has no declared categories; declare them first")
        if not isinstance(value, str) or value not in column.code_of:
            raise SchemaError(f"{where}: {value!r} is not a category; it is one of {_some(column.labels)}")
        return column.code_of[value]
    if isinstance(column, Boolean):
        if isinstance(value, bool) or (hasattr(value, "item") and isinstance(value.item(), bool)):
            return int(value)
        raise SchemaError(f"{where}: {value!r} is not a truth value; write true or false")
    if isinstance(column, Datetime):
        return _inside(microseconds(value, where), column.ends, where, value, column.bounds)
    if isinstance(column, Numeric):
        try:
            number = column.number(value)
        except SchemaError as error:
            raise SchemaError(f"{where}: {str(error).removeprefix('column: ')}") from None
        return _inside(number, column.bounds, where, value, column.bounds)
    raise SchemaError(f"{where}: a {column.kind} column takes no conditions on its values")


def _inside(number: Any, ends: tuple | None, where: str, value: Any, shown: tuple | None) -> Any:
    if ends is not None and not ends[0] <= number <= ends[1]:
        raise SchemaError(f"{where}: {value!r} lies outside the bounds {list(shown or ())}; choose a value inside")
    return number


def _some(labels: tuple[str, ...]) -> str:
    shown = ", ".join(repr(label) for label in labels[:8])
    return shown if len(labels) <= 8 else f"{shown}, ... ({len(labels)} in all)"


def check_rule(rule: Any, columns: Mapping[str, Column], where: str) -> dict[str, tuple | Between]:
    """An impossible combination in its normal form: column -> tuple of values, or Between."""
    if not isinstance(rule, Mapping) or not rule:
        raise SchemaError(f"{where}: found {rule!r}; write column: value pairs")
    normal: dict[str, tuple | Between] = {}
    for name, condition in rule.items():
        if name not in columns:
            raise SchemaError(f"{where}: there is no column {name!r}; name a column of the schema")
        place = f"{where}, column {name!r}"
        if isinstance(condition, Between):
            for end in (condition.low, condition.high):
                if end is not None:
                    position(columns[name], end, place)
            if not columns[name].ordered:
                raise SchemaError(f"{place}: a range needs an ordered column; list the values instead")
        else:
            many = isinstance(condition, (list, tuple, set, frozenset))
            condition = tuple(condition) if many else (condition,)
            for value in condition:
                if value is not None:
                    position(columns[name], value, place)
            if not condition:
                raise SchemaError(f"{place}: the list of values is empty; name at least one")
        normal[name] = condition
    return normal


def check_dependency(rule: Dependency, columns: Mapping[str, Column]) -> None:
    """Raise SchemaError unless both columns exist, suit their roles, and the mapping covers the domain."""
    for name in (rule.determinant, rule.dependent):
        if name not in columns:
            raise SchemaError(f"{rule}: there is no column {name!r}; name a column of the schema")
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
        raise SchemaError(f"{rule}: the mapping has no entry for {_some(tuple(map(str, lacking)))}; add them")
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
