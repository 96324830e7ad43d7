"""Buying what is not declared: the kind of each column, bounds, categories, and the number of rows.

Three entries, planned from the column names alone: `rows` (the number of rows, first of all), `kinds` (how values are
written, and how many are missing) and `domain`: for each column either a histogram over a public grid of magnitudes or
months, or the texts with a large enough noisy count. Each is planned only if something is lacking. Everything they
release is public; the schema made from it carries the provenance `bought`.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from nacre.errors import BudgetError, SchemaError, TooLittleData, UnreadableColumn
from nacre.privacy import buying, learnt_rules
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Bounds, Categories, Counts, Entry, Plan, Scope, gaussian_share
from nacre.table import Categorical, Identifier, Numeric, Schema
from nacre.table.naming import is_index
from nacre.table.schema import MAX_COLUMNS, Purchase
from nacre.table.sources import storage
from nacre.table.votes import probe
from nacre.table.votes.cells import NULL
from nacre.table.votes.decision import decide

ROWS = 0.01  # of μ² for the number of rows: one count, so even a small share is precise
SHARE = 0.2  # of μ² for a whole schema; a schema that lacks less pays in proportion
_KINDS = 0.4  # of that share for the kinds, whose mistakes cost whole columns; the rest buys domains
_FAILURE = 0.1  # of δ for texts that nobody else has
READABLE = 0.01  # of μ² for how many values of declared columns cannot be read as they are declared
UNREAD = 0.05  # share of such values from which a run stops
ENTRIES = ("rows", "kinds", "domain", learnt_rules.ENTRY)
FEW = 4  # rows of a unit in one table of a database that its schema is bought from
FAINT_ROWS = 10_000  # at most so many rows where their noisy number does not stand out of the noise


def unknown(names: Sequence[str]) -> Schema:
    """A schema that knows only the column names: all to be bought, but for an index that a library has saved."""
    if len(names) > MAX_COLUMNS:
        raise SchemaError(
            f"the table has {len(names):,} columns; at most {MAX_COLUMNS:,} can be modelled: leave columns out, or "
            "declare in a schema those that are only names as identifiers"
        )
    return Schema({name: Identifier() if is_index(name) else Undeclared() for name in names})


@dataclasses.dataclass(frozen=True)
class Undeclared(Categorical):
    """A column of which not even the kind is known yet."""


@dataclasses.dataclass(frozen=True)
class Unmeasured(Numeric):
    """A column by which rows stand in order, of which it is not known yet whether it holds numbers or moments."""


def rows_are_public(schema: Schema, budget: Budget) -> bool:
    """Whether neighbours have the same number of rows: then it may be read. Persons may hold different numbers."""
    return budget.neighbours != "add_or_remove_one" and schema.unit is None


def rows_by_promise(schema: Schema, budget: Budget) -> Schema:
    """The schema as this promise allows: a number of rows that was counted under another one is `read` here."""
    if schema.provenance.get("rows") != "counted" or rows_are_public(schema, budget):
        return schema
    return schema.with_provenance({(None, "rows"): "read"})


def entries(schema: Schema, budget: Budget, written: Collection[str] = ()) -> tuple[Entry, ...]:
    """The doors of a fit that buy what `schema` lacks; nothing when it lacks nothing. `written`: columns stored as
    texts, of which the declared ones are looked at for values that cannot be read."""
    cap = schema.unit.cap if schema.unit else 1
    whole = gaussian_share(budget, Scope(budget.neighbours, cap))
    lacking = _lacking(schema)
    found = _domain_entries(lacking, budget, cap, whole * SHARE * len(lacking) / max(len(schema.modelled), 1))
    found += learnt_rules.entries(schema, budget, whole * learnt_rules.share_of(schema))
    if budget.epsilon is None:
        return found
    if asked := _to_be_read(schema, written):
        found = (Bounds("readable", sigmas=(math.sqrt(len(asked) / (READABLE * whole)),) * len(asked)), *found)
    return (*_rows_entry(schema, budget, ROWS * whole), *found)


def table_entries(
    lacking: Mapping[str, Schema], rows: Mapping[str, int], every: int, budget: Budget
) -> tuple[Entry, ...]:
    """The doors that buy what tables of a database lack: of each the columns that do, and the most rows of a unit.
    `every`: how many columns are modelled in all. A few rows of a unit tell as much as all of them: noise grows with
    their number as counts do."""
    found: list[Entry] = []
    shared = dataclasses.replace(budget, delta=budget.delta / max(len(lacking), 1))
    for table, schema in lacking.items():
        most, columns = min(rows[table], FEW), _lacking(schema)
        whole = gaussian_share(budget, Scope(budget.neighbours, most))
        made = _domain_entries(columns, shared, most, whole * SHARE * len(columns) / every)
        found += [dataclasses.replace(entry, name=f"{entry.name} of {table}", most=most) for entry in made]
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Bought:
    """The part of a plan that buys the schema of one table, by the names that its entries have in a plan of its own."""

    plan: Plan
    table: str | None = None

    @property
    def budget(self) -> Budget:
        return self.plan.budget

    def __getitem__(self, name: str) -> Any:
        return self.plan[name if self.table is None else f"{name} of {self.table}"]


def whole_entries(schema: Schema, budget: Budget) -> tuple[Entry, ...]:
    """The doors that buy what `schema` lacks with all of a budget."""
    cap = schema.unit.cap if schema.unit else 1
    lacking = _lacking(schema)
    noise = dataclasses.replace(budget, delta=budget.delta * (1 - _FAILURE)) if lacking else budget
    whole = gaussian_share(noise, Scope(budget.neighbours, cap))
    share = (learnt_rules.share_of(schema) if lacking else 1 - ROWS) if schema.open_rules else 0.0
    rules = learnt_rules.entries(schema, budget, share * whole)
    rows = _rows_entry(schema, budget, (ROWS / SHARE if lacking else ROWS if rules else 1) * whole)
    return (*rows, *_domain_entries(lacking, budget, cap, (1 - share - ROWS / SHARE * len(rows)) * whole), *rules)


def _rows_entry(schema: Schema, budget: Budget, mu2: float) -> tuple[Entry, ...]:
    if schema.rows is not None or rows_are_public(schema, budget):
        return ()
    return (Counts("rows", sigmas=(1 / math.sqrt(mu2),), cliques=((),)),)


def _to_be_read(schema: Schema, written: Collection[str]) -> list[str]:
    """Declared columns that texts are read into: a wrong writing would make all of their values missing."""
    columns = ((n, schema.columns[n]) for n in schema.modelled if n in written)
    return [n for n, column in columns if column.spelt and not column.missing]


def refuse_unreadable(curator: Curator, plan: Plan, schema: Schema) -> None:
    """UnreadableColumn where, by noisy counts, a declared column cannot be read; `schema.rows` is known by now."""
    if "readable" not in [e.name for e in plan.entries] or schema.rows is None:
        return
    entry = plan["readable"]
    asked = _to_be_read(schema, {f.name for f in curator.storage if storage.family(f.type) == "text"})
    counts = curator.bounds(entry, {n: probe.unreadable(schema.columns[n]) for n in asked})
    # In 4.5 standard errors, so that pure noise stops one run in 300,000 columns.
    level = UNREAD * schema.rows + 4.5 * entry.sigmas[0]
    bad = {n: min(1.0, float(c[0]) / schema.rows) for n, c in counts.items() if c[0] > level}
    if bad:
        told = "; ".join(f"{n!r} ({schema.columns[n].kind}): about {share:.0%}" for n, share in bad.items())[:500]
        raise UnreadableColumn(
            f"values that cannot be read as declared, by noisy counts, in column {told}. Correct how these columns are "
            "declared (their kind, format and null words), or go on with such values taken as missing (--go-on, "
            "go_on=True)"
        )


def _lacking(schema: Schema) -> list[str]:
    """The columns to be bought; SchemaError for one of a kind that has no probe, before anything is spent on it."""
    found = [name for name in schema.modelled if schema.columns[name].missing]
    for name in found:
        column = schema.columns[name]
        if column.probe is None and not column.labelled:
            raise SchemaError(
                f"column {name!r}: {column.missing[0]} not declared, and those of a {column.kind} column cannot be "
                "bought: declare them in the schema"
            )
    return found


def _domain_entries(lacking: Sequence[str], budget: Budget, cap: int, mu2: float) -> tuple[Entry, ...]:
    if not lacking:
        return ()
    if budget.epsilon is None:
        raise BudgetError("epsilon=None cannot buy a schema: declare it, or take domain from-data")

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
    if before.open_rules:  # beside those that were bought before
        facts |= {(None, fact) for fact in ("dependencies", "rules") if schema.provenance.get(fact) == "bought"}
    if not facts:
        return schema
    if seeded:
        return schema.with_provenance(dict.fromkeys(facts, "read"))
    return dataclasses.replace(schema, purchases=(*schema.purchases, paid(plan)))


def paid(plan: Plan) -> Purchase:
    """What a plan spends on facts of schemas."""
    buys = [entry for entry in plan.entries if entry.name.partition(" of ")[0] in ENTRIES]
    spent = [e for entry in buys for e in entry.events(plan.scope)]
    delta = plan.budget.delta
    return Purchase(accounting.epsilon_at(spent, delta), delta, plan.budget.neighbours, plan.cap)


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


def buy_domain(curator: Curator, plan: Plan | Bought, schema: Schema) -> Schema:
    """The schema with kind, writing and domain of the columns that lacked them; `schema.rows` is known by now, but for
    one table of a database."""
    lacking = _lacking(schema)
    if not lacking:
        return schema
    fields = {field.name: field for field in curator.storage}
    open_ = {name: storage.is_as_written(fields[name]) for name in lacking}
    votes = curator.bounds(plan["kinds"], {name: "writing" if open_[name] else "kind" for name in lacking})
    sigma = plan["kinds"].sigmas[0]
    found = {n: decide(votes[n], sigma, open_[n], storage.decimal_of(fields[n])) for n in lacking}
    columns = {name: schema.columns[name] for name in lacking}
    unknown = {n for n, c in columns.items() if isinstance(c, Undeclared | Unmeasured)}
    columns |= {n: found[n].sourced("bought") for n in unknown}
    probes = {n: probe.of_column(c) for n, c in columns.items() if c.probe is not None}
    histograms = curator.bounds(plan["domain"], probes)
    texts = curator.categories(plan["domain"], [n for n, c in columns.items() if c.labelled and c.missing])
    sigma = plan["domain"].sigmas[0]
    seen = {name: _texts(counts, votes[name], plan, schema) for name, counts in texts.items()}
    _warn_of_lost(seen, plan)
    for name, column in columns.items():
        if column.probe is not None:  # the last cell holds what could not be read
            columns[name] = column.bounded_by(histograms[name][:-1], sigma)
        elif isinstance(column, Categorical) and column.missing:
            columns[name] = buying.with_labels(column, seen[name], name in unknown)
        declared = schema.columns[name]
        if name not in unknown:
            columns[name] = buying.completed(declared, columns[name], found[name].nullable)
    return dataclasses.replace(schema, columns={**schema.columns, **columns})


_MANY = 3  # columns of texts that lose most of their values, from which a table may be too small


def _warn_of_lost(texts: Mapping[str, buying.Texts], plan: Plan | Bought) -> None:
    """Say so where most columns of texts keep less than half of their values: by what was bought, nothing else."""
    lost = [name for name, seen in texts.items() if seen.lost]
    if len(lost) < _MANY or 2 * len(lost) <= len(texts):
        return
    warnings.warn(
        f"too little data for epsilon {exact(plan.budget.epsilon or 0)}: {len(lost)} of {len(texts)} columns of texts "
        f"keep less than half of their values ({', '.join(lost[:8])}{', ...' * (len(lost) > 8)}), because few texts in "
        "them stand out of the noise. Raise epsilon, declare their categories, or declare what is only a name as an "
        "identifier (--id)",
        TooLittleData,
        stacklevel=2,
    )


def _texts(counts: Mapping[str, int], votes: np.ndarray, plan: Plan | Bought, schema: Schema) -> buying.Texts:
    """The texts bought of one column, and how many values there are by the noisy number of rows and of nulls."""
    nulls, each = plan["kinds"].sigmas[0], plan["domain"].sigmas[0]
    rows = plan["rows"].sigmas[0] if isinstance(plan, Plan) and "rows" in [e.name for e in plan.entries] else 0.0
    # A declared number of rows counts rows that a cap on the rows of a unit leaves out.
    known = schema.rows is not None and (schema.unit is None or rows > 0)
    missing = max(float(votes[NULL]), 0.0)
    values = schema.rows - missing if known and schema.rows is not None else None
    return buying.Texts(counts, values, rows**2 + nulls**2, each**2, missing)
