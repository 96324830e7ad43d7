"""Combinations that cannot occur."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import as_object, keyed
from nacre.table.conditions import Between, Condition
from nacre.table.naming import choices
from nacre.table.rules.base import Rule

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.encoding import Encoded


@dataclasses.dataclass(frozen=True)
class Impossible(Rule):
    """Conditions, each on a column, that never hold together."""

    terms: tuple[tuple[str, Condition], ...]

    @classmethod
    def of(cls, asked: Any, columns: Mapping[str, Column], where: str) -> Impossible:
        """The rule that was written so: {column: condition}, or one that was read before."""
        asked = dict(asked.terms) if isinstance(asked, Impossible) else asked
        if not isinstance(asked, Mapping) or not asked:
            raise SchemaError(f"{where}: found {asked!r}; write column: value pairs")
        for name in asked:
            if name not in columns:
                raise SchemaError(f"{where}: there is no column {name!r}; choose among {choices(name, columns)}")
        return cls(tuple((n, _condition(c, columns[n], f"{where}, column {n!r}")) for n, c in asked.items()))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def broken(self, encoded: Encoded) -> np.ndarray:
        return np.logical_and.reduce([condition.matches(encoded[name]) for name, condition in self.terms])

    def to_json(self) -> dict[str, Any]:
        return {name: condition.to_rule_json() for name, condition in self.terms}

    @classmethod
    def from_json(cls, raw: Any, where: str) -> dict[str, Any]:
        """{column: condition}, not read yet: that takes the columns."""
        rule: dict[str, Any] = {}
        for name, condition in as_object(raw, where).items():
            if isinstance(condition, Mapping):
                condition = Between(*keyed(condition, f"{where}, column {name!r}", ("low", "high")))
            rule[name] = condition
        return rule

    def __str__(self) -> str:
        return " and ".join(f"{name} = {condition}" for name, condition in self.terms)


def _condition(asked: Any, column: Column, place: str) -> Condition:
    """What lies beyond bounds that were bought cannot occur; beyond declared ones it is a mistake."""
    bought = column.provenance.get("bounds") == "bought"
    condition = Condition.of(asked, column, place, beyond=bought)
    if not bought:
        condition.refuse_beyond()
    return condition
