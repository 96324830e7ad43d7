"""Buying what is not declared: the kind of each column, bounds, categories, and the number of rows.

Three entries, planned from the column names alone: `rows` (the number of rows, first of all), `kinds` (which kinds of
value, and how many nulls) and `domain`: for each column either a histogram over a public grid of magnitudes or months,
or the texts with a large enough noisy count. Each is planned only if something is lacking. Everything they release is
public; the schema made from it carries the provenance `bought`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from nacre.errors import BudgetError, SchemaError
from nacre.privacy import accounting
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Bounds, Categories, Counts, Entry, Plan, Scope, gaussian_share
from nacre.table import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Schema, probe
from nacre.table.schema import MAX_COLUMNS, Purchase

ROWS = 0.01  # of μ² for the number of rows: one count, so even a small share is precise
SHARE = 0.15  # of μ² for a whole schema; a schema that lacks less pays in proportion
_KINDS = 0.15  # of that share for the kinds; the rest buys domains
_FAILURE = 0.1  # of δ for texts that nobody else has
ENTRIES = ("rows", "kinds", "domain")
FAINT_ROWS = 10_000  # at most so many rows where their noisy number does not stand out of the noise
OTHER = "other"
_EMPTY = "empty"  # stands for the kind of a column in which nothing but nulls stands out of the noise


def unknown(names: Sequence[str]) -> Schema:
    """A schema that knows only the column names: all to be bought."""
    if len(names) > MAX_COLUMNS:
        raise SchemaError(
            f"the table has {len(names):,} columns; at most {MAX_COLUMNS:,} can be modelled: leave columns out, or "
            "declare in a schema those that are only names as identifiers"
        )
    return Schema({name: Undeclared() for name in names})


@dataclasses.dataclass(frozen=True)
class Undeclared(Categorical):
    """A column of which not even the kind is known yet."""


def rows_are_public(schema: Schema, budget: Budget) -> bool:
    """Whether neighbours have the same number of rows: then it may be read. Persons may hold different numbers."""
    return budget.neighbours != "add_or_remove_one" and schema.unit is None


def rows_by_promise(schema: Schema, budget: Budget) -> Schema:
    """The schema as this promise allows: a number of rows that was counted under another one is `read` here."""
    if schema.provenance.get("rows") != "counted" or rows_are_public(schema, budget):
        return schema
    return schema.with_provenance({(None, "rows"): "read"})


def entries(schema: Schema, budget: Budget) -> tuple[Entry, ...]:
    """The doors that buy what `schema` lacks; nothing when it lacks nothing."""
    cap = schema.unit.cap if schema.unit else 1
    whole = gaussian_share(budget, Scope(budget.neighbours, cap))
    if schema.rows is not None or budget.epsilon is None or rows_are_public(schema, budget):
        return _domain_entries(schema, budget, cap, whole)
    rows = Counts("rows", sigmas=(1 / math.sqrt(ROWS * whole),), cliques=((),))
    return (rows, *_domain_entries(schema, budget, cap, whole))


def _domain_entries(schema: Schema, budget: Budget, cap: int, whole: float) -> tuple[Entry, ...]:
    lacking = [name for name in schema.modelled if schema.columns[name].missing]
    if not lacking:
        return ()
    if budget.epsilon is None:
        raise BudgetError("epsilon=None cannot buy a schema: declare it, or take domain from-data")
    mu2 = whole * SHARE * len(lacking) / len(schema.modelled)

    def noise(part: float) -> tuple[float, ...]:
        return (math.sqrt(len(lacking) / (mu2 * part)),) * len(lacking)

    sigmas = noise(1 - _KINDS)
    return (
        Bounds("kinds", sigmas=noise(_KINDS)),
        Categories("domain", sigmas=sigmas, threshold=_threshold(sigmas, budget, cap)),
    )


def _threshold(sigmas: Sequence[float], budget: Budget, cap: int) -> int:
    """The smallest threshold that a text of one unit alone passes with probability at most δ/10 in all columns."""
    from scipy.special import ndtri

    units = 2 if budget.neighbours == "replace_one" else 1
    each = _FAILURE * budget.delta / (units * cap * len(sigmas))
    return math.ceil(cap + 0.5 - max(sigmas) * ndtri(each))


def paid_for(schema: Schema, before: Schema, plan: Plan, seeded: bool) -> Schema:
    """The schema with what its newly bought facts have cost. Under seeded noise they are `read`: whoever knows the seed
    can take the noise off, so that a later run must not take them for bought."""
    facts = {where for where, source in schema.facts().items() if source == "bought"}
    facts -= {where for where, source in before.facts().items() if source == "bought"}
    if not facts:
        return schema
    if seeded:
        return schema.with_provenance(dict.fromkeys(facts, "read"))
    spent = [e for entry in plan.entries if entry.name in ENTRIES for e in entry.events(plan.scope)]
    delta = plan.budget.delta
    cost = Purchase(accounting.epsilon_at(spent, delta), delta, plan.budget.neighbours, plan.cap)
    return dataclasses.replace(schema, purchases=(*schema.purchases, cost))


def buy_rows(curator: Curator, plan: Plan, schema: Schema) -> Schema:
    """The schema with a noisy number of rows, at least 1, if the plan has an entry for it.

    It is also the default size of a sample; a number that is all noise is cut, by a public rule.
    """
    if "rows" not in [e.name for e in plan.entries]:
        return schema
    (noisy,) = curator.counts(plan["rows"], [()])
    rows = max(1, int(noisy))
    if rows < 3 * plan["rows"].sigmas[0]:  # the noise alone may have made it
        rows = min(rows, FAINT_ROWS)
    return dataclasses.replace(schema, rows=rows, provenance={**schema.provenance, "rows": "bought"})


def buy_domain(curator: Curator, plan: Plan, schema: Schema) -> Schema:
    """The schema with kinds, bounds and categories of the columns that lacked them; `schema.rows` is known by now."""
    lacking = [name for name in schema.modelled if schema.columns[name].missing]
    if not lacking:
        return schema
    votes = curator.bounds(plan["kinds"], dict.fromkeys(lacking, "kind"))
    sigma = plan["kinds"].sigmas[0]
    kinds = {name: _kind(schema.columns[name], votes[name], sigma, schema.rows or 1) for name in lacking}
    probes = {n: {"numeric": "magnitude", "datetime": "month"}[c.kind] for n, c in kinds.items() if c.ordered_values}
    found = curator.bounds(plan["domain"], probes)
    texts = curator.categories(plan["domain"], [n for n, c in kinds.items() if c.kind == "categorical"])
    columns = dict(schema.columns)
    for name in lacking:
        columns[name] = _column(kinds[name], found.get(name), texts.get(name), plan["domain"].sigmas[0])
    return dataclasses.replace(schema, columns=columns)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What the votes say of a column, and what its owner had declared."""

    kind: str
    integer: bool
    day: bool
    nullable: bool
    declared: Column

    @property
    def ordered_values(self) -> bool:
        return self.kind in ("numeric", "datetime")


def _kind(declared: Column, votes: np.ndarray, sigma: float, rows: int) -> _Kind:
    """The kind with most votes; numbers or dates need nearly all of them, or the column is text."""
    count = dict(zip(probe.KINDS, np.maximum(votes, 0).tolist()))
    least = max(3 * sigma, 0.002 * rows)  # fewer than this is noise, or too few to model
    numbers, moments = count["integer"] + count["decimal"], count["date"] + count["datetime"]
    options = {
        "numeric": numbers,
        "datetime": moments,
        "boolean": count["boolean"],
        "categorical": count["text"],
    }
    kind = max(options, key=lambda k: options[k])
    faint = max(3 * sigma * math.sqrt(2), least)  # numbers and moments are sums of two noisy counts
    if isinstance(declared, Undeclared) and options[kind] <= faint and count["null"] > faint:
        return _Kind(_EMPTY, False, False, True, declared)  # whichever kind had most votes, it had them from the noise
    # What is neither null nor of that kind, as a plain sum: clipping first would let pure noise add up.
    values = dict(zip(probe.KINDS, votes.tolist()))
    own = {"numeric": ("integer", "decimal"), "datetime": ("date", "datetime"), "boolean": ("boolean",)}.get(kind, ())
    strays = [values[k] for k in probe.KINDS if k not in ("null", *own)]
    if kind != "categorical" and sum(strays) > max(3 * sigma * math.sqrt(len(strays)), 0.05 * rows):
        kind = "categorical"
    nullable = declared.nullable or count["null"] > least
    if not isinstance(declared, Undeclared):
        integer = isinstance(declared, Numeric) and declared.integer
        return _Kind(declared.kind, integer, False, nullable, declared)
    return _Kind(kind, count["decimal"] <= least, count["datetime"] <= least, nullable, declared)


def _column(kind: _Kind, histogram: np.ndarray | None, texts: list[str] | None, sigma: float) -> Column:
    bought = {"kind": "bought", "nullable": "bought"} if isinstance(kind.declared, Undeclared) else {}
    if kind.kind == "numeric" and histogram is not None:
        bounds = probe.numeric_bounds(histogram, sigma, kind.integer)
        if isinstance(kind.declared, Numeric):
            return _completed(kind, bounds=bounds)
        return Numeric(
            bounds=bounds,
            integer=kind.integer,
            nullable=kind.nullable,
            provenance=bought | {"bounds": "bought"},
        )
    if kind.kind == "datetime" and histogram is not None:
        bounds = probe.month_bounds(histogram, sigma)
        if isinstance(kind.declared, Datetime):
            return _completed(kind, bounds=bounds)
        unit = "day" if kind.day else "s"
        return Datetime(bounds=bounds, unit=unit, nullable=kind.nullable, provenance=bought | {"bounds": "bought"})
    if kind.kind == _EMPTY:
        provenance = {**bought, "categories": "bought", "other": "public"}
        return Categorical(categories=(OTHER,), other=OTHER, nullable=True, provenance=provenance)
    if kind.kind == "boolean":
        return Boolean(nullable=kind.nullable, provenance=bought)
    return _text_column(kind, texts or [], bought)


def _text_column(kind: _Kind, texts: list[str], bought: Mapping[str, str]) -> Column:
    """The texts bought and `other` for the rest; a column without a frequent text is a name, made anew."""
    texts = [t for t in texts if "\0" not in t]  # bytes that are not text, and no schema can list
    if not isinstance(kind.declared, Undeclared):
        labels = tuple(texts) or (kind.declared.other or OTHER,)
        return _completed(kind, categories=labels, other=kind.declared.other or OTHER)
    if not texts:
        return Identifier(text=True, provenance={"kind": "bought"})
    provenance = {**bought, "categories": "bought", "other": "public"}
    return Categorical(categories=tuple(texts), other=OTHER, nullable=kind.nullable, provenance=provenance)


def _completed(kind: _Kind, **facts) -> Column:
    """The declared column with the bought facts filled in."""
    bought = {name: "bought" for name in facts if name != "other"}
    provenance = {**kind.declared.provenance, **bought}
    if kind.nullable and not kind.declared.nullable:
        provenance["nullable"] = "bought"
    return dataclasses.replace(kind.declared, nullable=kind.nullable, provenance=provenance, **facts)
