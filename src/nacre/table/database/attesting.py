"""Facts of a database that somebody says are public."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from nacre.errors import SchemaError
from nacre.table.naming import choices
from nacre.table.schema import Attestation, check_words

if TYPE_CHECKING:
    from nacre.table.database.database import Database, Fact
    from nacre.table.schema import Schema


def attested(database: Database, asked: tuple[str | None, str | None, str | None], by: str, why: str) -> Database:
    """The database with the facts that match (table, column, fact) public, None matching all."""
    check_words(by, why)
    table, column, fact = asked
    if table is not None and table not in database.tables:
        raise SchemaError(f"attest: there is no table {table!r}; choose among {choices(table, database.tables)}")
    if column is not None and table is None:
        raise SchemaError(f"attest: column {column!r} of which table? Name it too")
    if table is not None and column is not None and column not in database.tables[table].columns:
        known = choices(column, database.tables[table].names)
        raise SchemaError(f"attest: table {table!r} has no column {column!r}; choose among {known}")
    found = [one for one in database.unprotected if all(a in (None, b) for a, b in zip(asked, one))]
    if not found:
        raise SchemaError(
            f"attest: nothing to attest for table={table!r}, column={column!r}, fact={fact!r}: no such fact was read "
            "from the data or from another document"
        )
    made = dict.fromkeys((f for t, _, f in found if t is None), "public")
    record = [Attestation(by, why, tuple((None, f) for f in made))] if made else []
    return dataclasses.replace(
        database,
        tables={name: _of_table(database, name, found, by, why) for name in database.tables},
        provenance={**database.provenance, **made},
        attestations=[*database.attestations, *record],
    )


def _of_table(database: Database, name: str, found: list[Fact], by: str, why: str) -> Schema:
    schema = database.tables[name]
    facts = tuple((c, f) for t, c, f in found if t == name)
    if not facts:
        return schema
    record = Attestation(by, why, facts)
    public = schema.with_provenance(dict.fromkeys(facts, "public"))
    return dataclasses.replace(public, attestations=(*schema.attestations, record))
