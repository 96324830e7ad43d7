"""Whether a table is the one that was described, and what its promise rests on besides the proofs."""

from __future__ import annotations

from nacre.engines import Rows, stored
from nacre.errors import DataError
from nacre.privacy.certificate import assumed
from nacre.privacy.passes.units import refuse_blurred_persons, refuse_repeated_persons
from nacre.privacy.plan import Plan
from nacre.table import Schema
from nacre.table.sources import storage


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
        if not schema.columns[name].shape and unreadable_type(stored):
            raise DataError(
                f"column {name!r} is stored as {stored}, which cannot be read as numbers, labels or dates; convert it "
                "(a length of time: to its number of seconds), or declare it as an identifier"
            )


def check_persons(rows: Rows, schema: Schema) -> None:
    """Refuse persons that repeat without a unit, or that cannot be told apart. It reads rows, so with a ledger it comes
    after the debit: a population that has nothing left is not read at all, and a refusal leaves its trace in the books,
    given back."""
    whole = stored(rows).whole  # a person may repeat across a holdout
    refuse_blurred_persons(whole, schema)
    refuse_repeated_persons(whole, schema)


def check_rows(rows: Rows, schema: Schema) -> None:
    """Both checks, where no budget is at stake."""
    check_columns(rows, schema)
    check_persons(rows, schema)


def assumptions(schema: Schema, rows: Rows, plan: Plan) -> tuple[str, ...]:
    """What the promise rests on besides the proofs."""
    return assumed.of_run(schema, storage.told(rows.arrow_schema), stored(rows).assumptions, plan)
