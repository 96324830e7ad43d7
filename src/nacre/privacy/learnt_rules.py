"""Rules that are bought: what follows from what (`Dependency` without a mapping), and which combinations there are
(`Combinations` without values).

One entry, `rules`, planned from the schema: a noisy table of the columns of each. What is made of it is
post-processing, public, and holds in every drawn row.
"""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np

from nacre.errors import BudgetError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan
from nacre.table import Schema

ENTRY = "rules"
_EACH, _MOST = 0.02, 0.1  # of μ² for each rule, and for all of them
_UNLIKE = 0.5  # share of the rows that keep a rule, below which it is doubted


def share_of(schema: Schema) -> float:
    """Of μ², for the rules of a schema that are to be bought beside a fit."""
    return min(_EACH * len(schema.open_rules), _MOST)


def entries(schema: Schema, budget: Budget, mu2: float) -> tuple[Entry, ...]:
    """The door that buys them with this part of μ²; nothing where none is to be bought."""
    if not (found := schema.open_rules):
        return ()
    if budget.epsilon is None:
        raise BudgetError(f"epsilon=None cannot buy a rule ({found[0]}): declare it")
    sigma = math.sqrt(len(found) / mu2)
    return (Counts(ENTRY, sigmas=(sigma,) * len(found), cliques=tuple(rule.clique for rule in found)),)


def buy(curator: Curator, plan: Plan, schema: Schema) -> Schema:
    """The schema with the rules that were lacking, as noisy counts have them. All domains are known by now."""
    wanted = schema.open_rules
    if not wanted:
        return schema
    entry = plan[ENTRY]
    curator.adopt(Schema(schema.columns, schema.rows, schema.unit))  # counts dependents, too
    made = {}
    for rule, counts, sigma in zip(wanted, curator.counts(entry, [r.clique for r in wanted]), entry.sigmas):
        made[id(rule)], kept = rule.learnt(counts.astype(np.float64), sigma, schema.columns)
        if kept < _UNLIKE:
            warnings.warn(
                f"{rule}: by noisy counts only about {kept:.0%} of the rows keep what was bought; every drawn row will "
                "keep it. If that is not meant, leave the rule out",
                stacklevel=5,
            )
    dependencies = tuple(made.get(id(rule), rule) for rule in schema.dependencies)
    rules = tuple(made.get(id(rule), rule) for rule in schema.rules)
    changed = {"dependencies": dependencies != schema.dependencies, "rules": rules != schema.rules}
    provenance = {**schema.provenance, **{fact: "bought" for fact, new in changed.items() if new}}
    return dataclasses.replace(schema, dependencies=dependencies, rules=rules, provenance=provenance)
