"""What drawn rows must meet: conditions on columns that others determine, and rules."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.errors import SchemaError
from nacre.table import Condition, Schema
from nacre.table.rules import Impossible, Rule


def breakable(schema: Schema) -> list[Rule]:
    """What drawn rows can break, with conditions on dependent columns turned to what determines them."""
    found: list[Rule] = list(schema.rules)
    for rule in schema.never:
        try:
            terms = (pair for c, v in rule.terms for pair in on_determinants(schema, {c: v}).items())
            found.append(Impossible(tuple(terms)))
        except SchemaError:  # no value of the determinant gives it: it cannot occur anyway
            continue
    return found


def on_determinants(schema: Schema, where: Mapping[str, Condition]) -> dict[str, Condition]:
    """Conditions on dependent columns as conditions on the columns that determine them."""
    rules = {rule.dependent: rule for rule in schema.dependencies}
    found: dict[str, Condition] = {}
    for name, condition in where.items():
        if name not in rules:
            found[name] = condition
            continue
        rule = rules[name]
        if rule.determinant in where:
            raise SchemaError(f"where: {name!r} follows from {rule.determinant!r}; put a condition on one of them")
        source, so_far = schema.columns[rule.determinant], found.get(rule.determinant)
        keys = [k for k in rule.keys(condition, source.nullable) if so_far is None or so_far.holds(k)]
        if not keys:
            raise SchemaError(f"where: no value of {rule.determinant!r} gives {name!r} = {condition}")
        found[rule.determinant] = Condition.of(keys, source, condition.place)
    return found
