"""`nacre schema` for databases: show, check and attest the description of several tables."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import typer

from nacre.cli.attesting import ask, refuse_long_lists
from nacre.cli.shell import Shell
from nacre.cli.streams import DASH
from nacre.errors import SchemaError
from nacre.privacy.certificate.owned import Owned
from nacre.privacy.certificate.wording import whose
from nacre.table.database import Database

if TYPE_CHECKING:
    from nacre.cli.schema import Claim, Guessed
    from nacre.table.sources import Options


def show(shell: Shell, database: Database) -> None:
    """Every table with its columns, and whose rows they are."""
    from nacre.cli.schema import schema_table

    for name, schema in database.tables.items():
        shell.show(schema_table(schema, name, rows_of(database, name)))
    shell.show(f"protected    {whose(Owned(database).protected)}")
    shell.document(json.loads(database.to_json()))


def draft(shell: Shell, places: tuple[str, str | None], guessed: Guessed, options: Options, force: bool) -> None:
    """`nacre schema draft`: tables, and the keys that a file declares or names suggest."""
    from nacre.engines import open_tables
    from nacre.table.database.draft import draft_source

    file, output = places
    if guessed.identifiers:
        raise SchemaError("--id: of single tables; columns of ids and keys of a database are identifiers already")
    source = open_tables(file, options=options) if os.path.isdir(file) else file
    made = draft_source(source, guessed.unit, guessed.public or ())
    if output in (None, DASH):
        typer.echo(made.database.to_json())
        return shell.tell_owner(["this draft was read from the data: it is as private as they are until reviewed"])
    made.database.save(output, force)
    show(shell, made.database)
    shell.tell_owner(made.notes)
    shell.say(
        f"{output} holds facts READ FROM THE DATA, keys and caps among them: it is as private as the data until you "
        f"have reviewed it.\nCorrect it, then: nacre schema attest {output} --by 'your name' --why 'from the code book'"
    )


def rows_of(database: Database, table: str) -> str:
    """What the rows of a table are to units."""
    if table not in database.owned:
        return "public: given as it is" if table in database.public else "left out"
    key = database.owner(table)
    if key is None:
        units = f"{database.units:,} of them" if database.units is not None else "their number not declared"
        return f"the units, {units}"
    order = "" if key.order is None else f", the first by {key.order}"
    return f"{key}: at most {key.cap:,} under one row{order}; at most {database.most(table):,} of one unit"


def check(shell: Shell, database: Database, places: tuple[str, str | None], options: Options) -> None:
    """`nacre schema check`: the description, and data beside it, for their owner."""
    from nacre.run.database_buying import lacking

    path, data = places
    missing = [f"{name}.{fact}" for name, fact in lacking(database)]
    modelled = {n: len(database.tables[n].modelled) for n in database.owned}
    shell.show(f"{path}: {len(database.tables)} tables, {sum(modelled.values())} modelled columns; protected is "
               f"{whose(Owned(database).protected)}")  # fmt: skip
    if missing:
        shell.show(f"not declared, to be bought: {', '.join(missing)}")
    found: dict[str, object] = {"command": "schema check", "tables": modelled, "undeclared": missing}
    if data is not None:
        found |= _held_against(shell, database, data, options)
    shell.answer(found)


def _held_against(shell: Shell, database: Database, data: str, options: Options) -> dict[str, object]:
    from nacre.owner import misfit_lines, rule_lines
    from nacre.run.databases import look

    seen = look(data, database, options)
    shell.show(f"{data}: the tables match (this and what follows is for the owner only)")
    for name, rows in seen.rows.items():
        shell.show(f"{name:12} {rows:,} rows")
    described = Owned(database)
    columns = {name: m for name, m in seen.misfits.items() if m and name in described.columns}
    rules = {name: m for name, m in seen.misfits.items() if m and name not in described.columns}
    lines = [line for part in misfit_lines(described, columns, would=True) for line in part]
    lines += [*seen.dropped, *rule_lines(rules, would=True)]
    for line in lines or ["every row hangs on its parent within the caps, and every value lies in the declared domain"]:
        shell.show(line)
    return {"file": data, "rows": seen.rows, "left_out": list(seen.dropped)}


def attest(shell: Shell, path: str, claim: Claim, how: tuple[str | None, bool, bool]) -> None:
    """`nacre schema attest`: of tables, or of columns named "table.column"."""
    from nacre.cli.groups import names_of

    output, yes, force = how
    before = Database.load(path)
    names = [None] if claim.columns is None else [*names_of(claim.columns)]
    made = before
    for name in names:
        table, column = _split(name, before)
        made = made.attest(table, column, claim.fact, by=claim.by, why=claim.why)
    was, now = Owned(before).facts(), Owned(made).facts()
    facts = [where for where, source in was.items() if now[where] != source]
    if claim.columns is None:
        refuse_long_lists(Owned(before), facts)
    ask(Owned(before), facts, yes, shell.quiet)
    made.save(output or path, force=output is None or force)
    shell.show(f"{output or path}: {len(facts)} facts attested by {claim.by}")
    shell.answer({"command": "schema attest", "output": output or path, "facts": [list(f) for f in facts]})


def _split(name: str | None, database: Database) -> tuple[str | None, str | None]:
    """(table, column) of "table" or "table.column": no table has a dot in its name."""
    if name is None or name in database.tables:
        return name, None
    table, dot, column = name.partition(".")
    if not dot or table not in database.tables:
        raise SchemaError(f"--columns {name!r}: write table.column, of the tables {', '.join(database.tables)}")
    return table, column
