"""From a table to a release: check, plan, spend, certify, in that order."""

from __future__ import annotations

import dataclasses
import functools
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from nacre.aiming import share_target, weighing_options, with_target, without_weights
from nacre.engines import Rows, finished, open_rows, storage_assumptions
from nacre.errors import DataError, DomainNotDeclared, NacreError, TooLittleData
from nacre.privacy import discovery
from nacre.privacy.budget import Budget, default_delta, warn_weak_delta
from nacre.privacy.certificate.rounding import up
from nacre.privacy.certificate.statement import certify
from nacre.privacy.curator import Curator, Record
from nacre.privacy.ledger.payment import Account, paid, stamped
from nacre.privacy.noise import NoiseSource
from nacre.privacy.passes.units import refuse_blurred_persons, refuse_repeated_persons
from nacre.privacy.plan import Plan
from nacre.privacy.transcript import Transcript
from nacre.release.release import Release
from nacre.synthesizers.base import Progress, Synthesizer, silent
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Schema
from nacre.table.sources import Options, storage
from nacre.targets import Target

DOMAINS = ("buy", "declared", "from-data")


@dataclass(frozen=True)
class Job:
    """Everything that is decided before a row is read: the method, what is known, and the plan of doors."""

    synthesizer: Synthesizer
    schema: Schema
    plan: Plan


def prepare(
    columns: list[str],
    schema: Schema | None,
    budget: Budget,
    method: str = "sketch",
    target: str | None = None,
    domain: str = "buy",
    options: dict[str, Any] | None = None,
    written: Collection[str] = (),
) -> Job:
    """Plan a run from public facts: column names, those that are stored as texts (`written`), schema, budget. Raises
    before anything is spent."""
    if domain not in DOMAINS:
        raise NacreError(f"domain={domain!r}: expected one of {', '.join(DOMAINS)}")
    schema = schema or discovery.unknown(columns)
    lacking = schema.undeclared()
    if lacking and domain == "declared":
        name, fact = lacking[0]
        fact = "kind" if isinstance(schema.columns[name], discovery.Undeclared) else fact
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise DomainNotDeclared(
            f"column {name!r}: {fact} not declared{more}; declare them in the schema, let a part of the budget buy "
            "them (domain buy), or read them from the data and lose the guarantee (domain from-data)"
        )
    schema = discovery.rows_by_promise(schema, budget)
    provenance, read = schema.weakest()
    if provenance == "read" and domain != "from-data" and budget.epsilon is not None:
        name, fact = read[0]
        raise DomainNotDeclared(
            f"{f'column {name!r}' if name else 'table'}: {fact} was read from the data ({len(read)} such facts); "
            "review and attest them (schema.attest, `nacre schema attest`), or accept a release without a guarantee "
            "with domain from-data"
        )
    synthesizer = make(method, {"target": target, **(options or {})})
    synthesizer.supports(schema)
    plan = synthesizer.plan(schema, schema.rows, budget, discovery.entries(schema, budget, written))
    return Job(synthesizer, schema, plan)


def fit(
    table: Any,
    *,
    epsilon: float | None,
    delta: float | None = None,
    schema: Schema | str | os.PathLike | None = None,
    target: str | None = None,
    method: str = "sketch",
    neighbours: str = "add_or_remove_one",
    domain: str = "buy",
    seed: int = 0,
    noise_seed: int | None = None,
    large: bool = False,
    options: dict[str, Any] | None = None,
    hide: Sequence[Any] | None = None,
    alpha: float | None = None,
    target_shares: Mapping[str, Mapping[Any, float]] | None = None,
    weights: Target | str | None = None,
    progress: Progress = silent,
    transcript: Transcript | None = None,
    tell_owner: Callable[[dict[str, int]], None] | None = None,
    tell_diagnostics: Callable[[dict[str, dict[str, Any]]], None] | None = None,
    ledger: Any = None,
    population: str | None = None,
    request: str | None = None,
    engine: Any = None,
    go_on: bool = False,
) -> Release:
    """Fit a private model of a table and return a release with its certificate.

    `table` is a pandas, polars or Arrow table, a path or list of paths, or `Rows`; `schema` a `Schema` or the path of
    one (docs/schema.md). What the schema does not declare is bought with part of the budget (`domain="buy"`), refused
    ("declared") or read from the data ("from-data", guarantee `none`). `epsilon=None` asks for a non-private run.
    `seed` fixes public randomness only; `noise_seed` makes the noise repeatable and the guarantee `none`. `tell_owner`
    gets, per column, how many values were outside the domain: exact counts of private rows, for the owner of the data
    alone; `tell_diagnostics` gets how Markov chains mixed and what weighted rows are worth (largest weight, effective
    rows, bias of truncation), by entry of the plan, for the owner alone too. `hide` names
    columns whose distribution the release must not show (method "ppem"), `alpha` the level of the test for that; it is
    not differential privacy. `target_shares` ({column: {value: share}}, public) says whom the rows shall stand for,
    where that is not whom the table holds: methods that read raw rows weigh them in their loss, all others buy tables
    by class of the column where they can and rebalance what they draw, by their noisy model and never by exact counts.
    `weights` states such a target in other ways, for methods without a promise ("weighted", "mmdgan"): the name of a
    column of weights, which is then not modelled, or `Shares`, `WeightColumn`, `Thinning` or `Labelled` of
    `nacre.targets`; rows worth fewer than 50 equal ones are refused. With a `ledger` (its URL) the plan is charged to
    the `population` there, durably, before a door opens; the same `request` is charged once (docs/decisions/ledger.md).
    `engine` has the workers of a Ray cluster read the files ("ray", "ray:4", "ray://HOST:PORT"; docs/engines.md): with
    the same noise the release is the same. A run stops (`UnreadableColumn`) where, by noisy counts, a column that is
    stored as text cannot be read as declared; with `go_on` nothing is spent on that question and such values are
    missing.
    """
    check_seed(seed)
    schema = None if schema is None else Schema.given(schema)
    options = hiding_options(method, options, hide, alpha)
    weighing = weighing_options(method, target_shares, weights)
    account = Account(ledger, population, request)
    account.check(reads=domain == "from-data" or epsilon is None, seeded=noise_seed is not None)
    budget = Budget(
        epsilon, default_delta(schema.rows if schema else None) if delta is None else delta, neighbours, large
    )
    rows = open_rows(table, options=Options().named(schema and schema.names), engine=engine)
    schema = schema and storage.texts_stay(schema, rows.arrow_schema)
    if domain == "from-data" or epsilon is None:
        schema = _read_missing(schema, rows)
    schema, beside = without_weights(_count_public_rows(schema, rows, budget), weighing.get("weights"))
    target = share_target(method, schema, target, target_shares)
    written = () if go_on else [f.name for f in rows.arrow_schema if storage.family(f.type) == "text"]
    job = prepare(rows.column_names, schema, budget, method, target, domain, {**options, **weighing}, written)
    check_columns(rows, job.schema, beside)
    warn_weak_delta(budget, job.schema.rows)
    _warn_if_little(job, job.schema.rows, "declared")
    noise = NoiseSource(noise_seed)
    unit = job.schema.unit.column if job.schema.unit else None
    with finished(rows), paid(account, job.plan, unit) as held:
        check_persons(rows, job.schema)
        reading = functools.partial(tell_rows, progress)
        curator = Curator(rows, job.plan, job.schema, noise, Record(transcript, held), reading)
        schema = _buy(curator, job, target)
        model = job.synthesizer.fit(curator, job.plan.for_rows(schema.rows), seed, progress)
        schema = discovery.paid_for(schema, job.schema, job.plan, noise.seeded)
        stated = assumptions(job.schema, rows, job.plan)
        certificate = certify(job.plan, schema, seeded=noise.seeded, noise=noise.description, assumptions=stated)
        certificate = stamped(certificate, held)
    if tell_owner is not None:
        tell_owner({name: n.outside for name, n in curator.outside.items() if n})
    if tell_diagnostics is not None:
        tell_diagnostics(diagnostics(curator))
    extras = {**certificate.extras, **job.synthesizer.public_facts(epsilon is not None)}
    certificate = dataclasses.replace(certificate, extras=extras)
    certificate = with_target(certificate, schema, target_shares, weights)
    return Release(method, schema, model, certificate, None if weighing else target_shares)


def check_seed(seed: Any) -> None:
    """Refuse here what a method would stumble over after it has opened doors."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) < 1 << 63:
        raise NacreError(f"seed={seed!r}: expected a whole number of at least 0, below 2^63")


def hiding_options(method: str, options: dict[str, Any] | None, hide: Any, alpha: float | None) -> dict[str, Any]:
    """The options with the hidden columns and the level among them; refused where a method cannot hide."""
    asked = {name: value for name, value in (("hide", hide), ("alpha", alpha)) if value is not None}
    if asked and method != "ppem":
        own = "alpha" in asked and method in METHODS and "alpha" in METHODS[method].load().options()
        more = f"; its own alpha is an option: options={{'alpha': {alpha}}}, --option alpha={alpha}" if own else ""
        raise NacreError(f"{', '.join(asked)}: method {method!r} hides no columns; use method 'ppem'{more}")
    if twice := [name for name in asked if name in (options or {})]:
        both = " and ".join(f"{name} (--{name})" for name in twice)
        raise NacreError(f"{both}: given by itself and among the options; leave one of the two out")
    return {**(options or {}), **asked}


def diagnostics(curator: Curator) -> dict[str, dict[str, Any]]:
    """What the owner is told of a run, by entry of the plan, and under "reading" of values that did not fit."""
    misfits = {name: n for name, n in curator.outside.items() if n}
    return {**curator.diagnostics, **({"reading": {"misfits": misfits}} if misfits else {})}


def tell_rows(progress: Progress, done: int) -> None:
    progress("reading rows", done, None)


def _buy(curator: Curator, job: Job, target: str | None) -> Schema:
    """The complete schema, with what was lacking bought: the number of rows first, then kinds and domains."""
    schema = discovery.buy_rows(curator, job.plan, job.schema)
    if schema.rows != job.schema.rows:
        warn_weak_delta(job.plan.budget, schema.rows)
        _warn_if_little(job, schema.rows, "bought")
    discovery.refuse_unreadable(curator, job.plan, schema)
    schema = discovery.buy_domain(curator, job.plan, schema)
    if target is not None and target not in schema.modelled:
        warnings.warn(
            f"target {target!r}: no frequent value stood out of the noise, so it came out as a mere name and "
            "plays no part; declare its categories in a schema to keep it",
            stacklevel=3,
        )
    if not schema.modelled:
        raise DataError(
            "nothing in this table stands out of the noise at this budget: every column came out as a mere name. "
            "Declare a schema, or raise epsilon; the budget for the schema is spent"
        )
    curator.adopt(schema)
    return schema


def _warn_if_little(job: Job, rows: int | None, source: str) -> None:
    """What `nacre plan` says, or would have said, had the number of rows been declared. The plan goes on."""
    from nacre.planning.forecast import forecast

    if rows is None or job.plan.budget.epsilon is None:
        return
    seen = forecast(job.plan, job.schema, rows, job.synthesizer)
    if seen.verdict in ("little", "too little"):
        noisy = f" (by the noisy count of about {rows:,} rows)" if source == "bought" else ""
        kind = TooLittleData if seen.verdict == "too little" else UserWarning
        warnings.warn(seen.advice + noisy, kind, stacklevel=4 if noisy else 3)


def _count_public_rows(schema: Schema | None, rows: Rows, budget: Budget) -> Schema:
    """The schema with the number of rows, where the promise is about tables that all have the same, or none is made."""
    schema = schema or discovery.unknown(rows.column_names)
    public = discovery.rows_are_public(schema, budget)
    if schema.rows is not None or not (public or budget.epsilon is None):
        return schema
    provenance = {**schema.provenance, "rows": "counted" if public else "read"}
    counted = sum(b.num_rows for b in rows.batches(rows.column_names[:1]))
    return dataclasses.replace(schema, rows=counted, provenance=provenance)


def _read_missing(schema: Schema | None, rows: Rows) -> Schema:
    """The schema with what it lacks read from the data, and marked so: the guarantee will be `none`."""
    if schema is None:
        return Schema.draft(rows)
    lacking = dict.fromkeys(name for name, _ in schema.undeclared())
    if not lacking:
        return schema
    drafted = Schema.draft(rows).columns
    columns = dict(schema.columns)
    for name in lacking:
        column, found = columns[name], drafted[name]
        if found.kind != column.kind:
            raise DataError(
                f"column {name!r} is declared {column.kind} but looks {found.kind}; declare its {column.missing[0]}"
            )
        facts = {fact: getattr(found, fact) for fact in column.missing}
        provenance = {**column.provenance, **dict.fromkeys(facts, "read")}
        columns[name] = dataclasses.replace(column, provenance=provenance, **facts)
    return dataclasses.replace(schema, columns=columns)


def check_columns(rows: Rows, schema: Schema, beside: tuple[str, ...] = ()) -> None:
    """Refuse a table whose columns are not those of the schema and the ones `beside` it: no row is read."""
    found, known = rows.column_names, (*schema.names, *beside)
    missing = [n for n in known if n not in found]
    extra = [n for n in found if n not in known]
    if missing or extra:
        raise DataError(
            f"the schema does not match the table: missing in the table {missing[:5]}, not in the schema {extra[:5]}; "
            "correct the names, or add the columns to the schema (as identifiers if they are not to be learnt)"
        )
    _refuse_unreadable_types(rows, schema)


def _refuse_unreadable_types(rows: Rows, schema: Schema) -> None:
    """How a column is stored is public: what no method could read is refused at no cost, not learnt as missing."""
    from nacre.table.values.labels import unreadable_type

    for name in schema.modelled:
        stored = rows.arrow_schema.field(name).type
        if schema.columns[name].kind != "tensor" and unreadable_type(stored):
            raise DataError(
                f"column {name!r} is stored as {stored}, which cannot be read as numbers, labels or dates; convert it "
                "(a length of time: to its number of seconds), or declare it as an identifier"
            )


def check_persons(rows: Rows, schema: Schema) -> None:
    """Refuse persons that repeat without a unit, or that cannot be told apart. It reads rows, so with a ledger it comes
    after the debit: a population that has nothing left is not read at all, and a refusal leaves its trace in the books,
    given back."""
    whole = getattr(rows, "whole", rows)  # a person may repeat across a holdout
    refuse_blurred_persons(whole, schema)
    refuse_repeated_persons(whole, schema)


def check_rows(rows: Rows, schema: Schema) -> None:
    """Both checks, where no budget is at stake."""
    check_columns(rows, schema)
    check_persons(rows, schema)


def assumptions(schema: Schema, rows: Rows, plan: Plan) -> tuple[str, ...]:
    """What the promise rests on besides the proofs."""
    attested = {fact for a in schema.attestations for fact in a.facts}
    stated = [f"the facts marked public in the schema{', those attested apart,' if attested else ''} were not taken "
              "from this table"]  # fmt: skip
    stated += [
        f"{len(a.facts)} facts were read from the data and declared public by {a.by}, because: {a.why}"
        for a in schema.attestations
    ]
    earlier = sum(source == "bought" for source in schema.facts().values())
    if earlier:
        stated.append(f"{earlier} facts of the schema were bought by an earlier run, {_price(schema, plan)}")
    stated.append(f"column names and how the table stores its columns are public ({storage.told(rows.arrow_schema)})")
    stated += storage_assumptions(rows)
    if schema.unit is None:
        stated.append("the promise is per row; declare a unit in the schema to protect persons with several rows")
    return tuple(stated)


def _price(schema: Schema, plan: Plan) -> str:
    """What facts bought earlier have cost, as far as the schema says it. A price under another promise is none here: a
    person with several rows, or whether a row is there at all, may not have been what it protects."""
    if not schema.purchases:
        return "at a cost that the schema does not state; if from these rows, it adds to this promise"
    paid = "; ".join(
        f"at ({up(p.epsilon)}, {up(p.delta)}), {p.neighbours}{f', {p.cap} rows of a unit' * (p.cap > 1)}"
        for p in schema.purchases
    )
    if any((p.neighbours, p.cap) != (plan.budget.neighbours, plan.cap) for p in schema.purchases):
        return f"{paid}: if from these rows, under a promise other than this one, which does not cover them"
    return f"{paid}: if from these rows, that cost adds to this promise"
