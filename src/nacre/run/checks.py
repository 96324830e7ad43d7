"""Whether a table is the one that was described, and what its promise rests on besides the proofs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from nacre.engines import Rows, stored
from nacre.errors import DataError, DomainNotDeclared
from nacre.privacy.certificate import assumed
from nacre.privacy.certificate.statement import Described
from nacre.privacy.passes.units import refuse_blurred_persons, refuse_repeated_persons
from nacre.privacy.plan import Plan
from nacre.run.terms import Terms
from nacre.table import Schema
from nacre.table.columns import UNPROTECTED
from nacre.table.database import Database
from nacre.table.sources import storage


def check_columns(rows: Rows, schema: Schema, beside: tuple[str, ...] = (), table: str = "") -> None:
    """Refuse a table whose columns are not those of the schema and the ones `beside` it: no row is read. `table`: its
    name, where there are several."""
    of = f" {table!r}" if table else ""
    found, known = rows.column_names, (*schema.names, *beside)
    missing = [n for n in known if n not in found]
    extra = [n for n in found if n not in known]
    if missing or extra:
        raise DataError(
            f"the schema does not match the table{of}: missing in the table {missing[:5]}, not in the schema "
            f"{extra[:5]}; "
            "correct the names, or add the columns to the schema (as identifiers if they are not to be learnt)"
        )
    _refuse_unreadable_types(rows, schema, f" of table{of}" if table else "")


def _refuse_unreadable_types(rows: Rows, schema: Schema, of: str) -> None:
    """How a column is stored is public: what no method could read is refused at no cost, not learnt as missing."""
    from nacre.table.values.labels import unreadable_type

    for name in schema.modelled:
        stored = rows.arrow_schema.field(name).type
        if not schema.columns[name].shape and unreadable_type(stored):
            raise DataError(
                f"column {name!r}{of} is stored as {stored}, which cannot be read as numbers, labels or dates; convert "
                "it (a length of time: to its number of seconds), or declare it as an identifier"
            )


def check_persons(rows: Rows, schema: Schema) -> None:
    """Refuse persons that repeat without a unit, or that cannot be told apart. It reads rows, so with a ledger it comes
    after the debit: a population that has nothing left is not read at all, and a refusal leaves its trace in the books,
    given back."""
    whole = stored(rows).whole  # a person may repeat across a holdout
    refuse_blurred_persons(whole, schema)
    refuse_repeated_persons(whole, schema)


def check_keys(sources: Mapping[str, Rows], database: Database) -> None:
    """Refuse keys that are stored as another kind of value than what they name: none would name a row."""
    for key in database.keys:
        places = ((key.child, key.column), (key.parent, key.parent_column))
        fields = [sources[table].arrow_schema.field(column) for table, column in places if table in sources]
        if len(fields) < 2 or any(storage.is_as_written(field) for field in fields):
            continue
        child, parent = (storage.family(field.type) for field in fields)
        if None not in (child, parent) and child != parent:
            raise DataError(
                f"key {key}: {key.column!r} of {key.child!r} is stored as {child}, {key.parent_column!r} of "
                f"{key.parent!r} as {parent}; no row would find its parent: store both in one way"
            )


def refuse_undeclared(lacking: Sequence[tuple[str, str]], terms: Terms) -> None:
    """Refuse (column, fact) pairs that no schema states, where they are not to be bought or read."""
    if lacking and terms.domain == "declared":
        name, fact = lacking[0]
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise DomainNotDeclared(
            f"column {name!r}: {fact} not declared{more}; declare them in the schema, let a part of the budget buy "
            "them (domain buy), or read them from the data and lose the guarantee (domain from-data)"
        )


def refuse_read(schema: Described, terms: Terms) -> None:
    """Refuse facts that nobody has attested, where a guarantee is asked for."""
    facts = schema.facts()
    found = [where for where, source in facts.items() if source in UNPROTECTED]
    if found and not terms.reads:
        name, fact = found[0]
        source = {"read": "the data"}.get(facts[found[0]], "another document")
        raise DomainNotDeclared(
            f"{f'column {name!r}' if name else 'table'}: {fact} was read from {source} ({len(found)} such facts); "
            "review and attest them (schema.attest, `nacre schema attest`), or accept a release without a guarantee "
            "with domain from-data"
        )


def read_missing(schema: Schema | None, rows: Rows) -> Schema:
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


def check_rows(rows: Rows, schema: Schema) -> None:
    """Both checks, where no budget is at stake."""
    check_columns(rows, schema)
    check_persons(rows, schema)


def assumptions(schema: Schema, rows: Rows, plan: Plan) -> tuple[str, ...]:
    """What the promise rests on besides the proofs."""
    return assumed.of_run(schema, storage.told(rows.arrow_schema), stored(rows).assumptions, plan)
