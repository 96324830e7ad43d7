"""Requests beyond a budget: hidden columns, and targets. Which methods can meet them, what the others buy for them, and
what the certificate says of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from nacre.errors import NacreError
from nacre.privacy.certificate.statement import Certificate
from nacre.run.terms import Terms
from nacre.synthesizers.registry import METHODS
from nacre.table import Schema
from nacre.table.checking import HIDDEN
from nacre.table.grid import Grid
from nacre.targets import Shares, Target, Thinning, WeightColumn, raking

FEW_CLASSES = 12  # labels of a column whose tables are bought by class because its shares were asked for


def takes(method: str, option: str) -> bool:
    """Whether a method has such an option."""
    return method in METHODS and option in METHODS[method].load().options()


def with_hiding(
    method: str, options: Mapping[str, Any] | None, hide: Sequence[Any] | None, alpha: float | None
) -> dict[str, Any]:
    """The options with the hidden columns and the level among them; refused where a method cannot hide."""
    asked = {name: value for name, value in (("hide", hide), ("alpha", alpha)) if value is not None}
    if asked and method != "ppem":
        own = "alpha" in asked and takes(method, "alpha")
        more = f"; its own alpha is an option: options={{'alpha': {alpha}}}, --option alpha={alpha}" if own else ""
        raise NacreError(f"{', '.join(asked)}: method {method!r} hides no columns; use method 'ppem'{more}")
    if twice := [name for name in asked if name in (options or {})]:
        both = " and ".join(f"{name} (--{name})" for name in twice)
        raise NacreError(f"{both}: given by itself and among the options; leave one of the two out")
    return {**(options or {}), **asked}


def in_the_loss(terms: Terms) -> dict[str, Target]:
    """{"weights": target} for a method that weighs rows in its loss; refused where one is asked for and cannot be."""
    method, shares, weights = terms.method, terms.target_shares, terms.weights
    if shares is not None and weights is not None:
        raise NacreError("target_shares and weights both state a target; give one of them")
    stated = Shares(shares) if shares is not None else WeightColumn(weights) if isinstance(weights, str) else weights
    weighs = takes(method, "weights")
    if weights is not None and not weighs:
        raise NacreError(
            f"weights: method {method!r} does not weigh rows in its loss; use method 'weighted' (without a promise), "
            "or state shares with target_shares, or rebalance the release when drawing"
        )
    if stated is not None and not isinstance(stated, Target):
        raise NacreError(f"weights={weights!r}: expected the name of a column, or a target of nacre.targets")
    return {"weights": stated} if weighs and stated is not None else {}


def without(schema: Schema, names: tuple[str, ...]) -> Schema:
    """The schema without these columns, which hold weights."""
    if not schema.columns.keys() & set(names):
        return schema
    return dataclasses.replace(schema, columns={n: c for n, c in schema.columns.items() if n not in names})


def share_target(terms: Terms, schema: Schema) -> str | None:
    """The column whose relation to the others is bought by class: `target`, or, where none is named, the one whose
    shares are asked for, if it has few labels. Raises for shares that the schema cannot have, before spending."""
    if terms.target_shares is None:
        return terms.target
    asked = raking.checked(terms.target_shares, schema, "target_shares")
    if bad := [v for own in asked.values() for v in own if isinstance(v, str) and HIDDEN.search(v)]:
        raise NacreError(f"target_shares: the value {bad[0]!r} would stand in the certificate, with a line break or a "
                         "control in it; rename it in table and schema")  # fmt: skip
    for name, own in asked.items():  # also where a value has no cell of its own
        for condition in own:
            condition.mask(Grid.of(schema.columns[name]))
    if terms.target is not None or len(asked) != 1:
        return terms.target
    (name,) = asked
    few = schema.columns[name].labelled and Grid.of(schema.columns[name]).cells <= FEW_CLASSES
    return name if few and name in schema.modelled else None


def stating(certificate: Certificate, schema: Schema, terms: Terms) -> Certificate:
    """The certificate with the target that was asked for, as shares or in words: whoever gets the rows must know."""
    weights = terms.weights
    shares = weights.shares if isinstance(weights, Shares) else terms.target_shares
    if shares is None and weights is None:
        return certificate
    if shares is None:
        stated: dict[str, Any] = {"target": _in_words(weights)}
    else:
        stated = {"target_shares": raking.to_json(raking.checked(shares, schema, "target_shares"))}
    return dataclasses.replace(certificate, extras={**certificate.extras, **stated})


def _in_words(weights: Target | str | None) -> str:
    """What completes "were asked for"; the weights themselves are the owner's."""
    if isinstance(weights, str | WeightColumn):
        return f"rows weighted by column {(weights if isinstance(weights, str) else weights.name)!r}"
    if isinstance(weights, Thinning):
        return "rows of the population before a stated thinning"
    return f"rows weighted by a target ({type(weights).__name__})"
