"""Targets when fitting: which methods weigh rows in their loss, what the others buy, and what the certificate says."""

from __future__ import annotations

import dataclasses
from typing import Any

from nacre.errors import NacreError
from nacre.privacy.certificate.statement import Certificate
from nacre.synthesizers.registry import METHODS
from nacre.table import Schema
from nacre.table.checking import HIDDEN
from nacre.table.grid import Grid
from nacre.targets import Shares, Target, Thinning, WeightColumn, raking

FEW_CLASSES = 12  # labels of a column whose tables are bought by class because its shares were asked for


def weighing_options(method: str, shares: Any, weights: Any) -> dict[str, Any]:
    """{"weights": target} for a method that weighs rows in its loss; refused where one is asked for and cannot be."""
    if shares is not None and weights is not None:
        raise NacreError("target_shares and weights both state a target; give one of them")
    stated = Shares(shares) if shares is not None else WeightColumn(weights) if isinstance(weights, str) else weights
    weighs = method in METHODS and "weights" in METHODS[method].load().options()
    if weights is not None and not weighs:
        raise NacreError(
            f"weights: method {method!r} does not weigh rows in its loss; use method 'weighted' (without a promise), "
            "or state shares with target_shares, or rebalance the release when drawing"
        )
    if stated is not None and not isinstance(stated, Target):
        raise NacreError(f"weights={weights!r}: expected the name of a column, or a target of nacre.targets")
    return {"weights": stated} if weighs and stated is not None else {}


def without_weights(schema: Schema, weights: Any) -> tuple[Schema, tuple[str, ...]]:
    """The schema without a column that holds weights, and that column's name."""
    if not isinstance(weights, WeightColumn):
        return schema, ()
    if weights.name not in schema.columns:
        return schema, (weights.name,)
    columns = {n: c for n, c in schema.columns.items() if n != weights.name}
    return dataclasses.replace(schema, columns=columns), (weights.name,)


def share_target(method: str, schema: Schema, target: str | None, shares: Any) -> str | None:
    """The column whose relation to the others is bought by class: `target`, or, where none is named, the one whose
    shares are asked for, if it has few labels. Raises for shares that the schema cannot have, before spending."""
    if shares is None:
        return target
    asked = raking.checked(shares, schema, "target_shares")
    if bad := [v for own in asked.values() for v in own if isinstance(v, str) and HIDDEN.search(v)]:
        raise NacreError(f"target_shares: the value {bad[0]!r} would stand in the certificate, with a line break or a "
                         "control in it; rename it in table and schema")  # fmt: skip
    for name, own in asked.items():  # also where a value has no cell of its own
        for condition in own:
            condition.mask(Grid.of(schema.columns[name]))
    if target is not None or len(asked) != 1 or method not in METHODS:
        return target
    (name,) = asked
    few = schema.columns[name].kind in ("categorical", "boolean") and Grid.of(schema.columns[name]).cells <= FEW_CLASSES
    return name if few and name in schema.modelled else None


def with_target(certificate: Certificate, schema: Schema, shares: Any, weights: Any = None) -> Certificate:
    """The certificate with the target that was asked for, as shares or in words: whoever gets the rows must know."""
    if isinstance(weights, Shares):
        shares = weights.shares
    if shares is None and weights is None:
        return certificate
    if shares is None:
        stated: dict[str, Any] = {"target": _in_words(weights)}
    else:
        stated = {"target_shares": raking.to_json(raking.checked(shares, schema, "target_shares"))}
    return dataclasses.replace(certificate, extras={**certificate.extras, **stated})


def _in_words(weights: Any) -> str:
    """What completes "were asked for"; the weights themselves are the owner's."""
    if isinstance(weights, str | WeightColumn):
        return f"rows weighted by column {(weights if isinstance(weights, str) else weights.name)!r}"
    if isinstance(weights, Thinning):
        return "rows of the population before a stated thinning"
    return f"rows weighted by a target ({type(weights).__name__})"
