"""`nacre schema`: draft, check, attest, show, import and export the public description of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacre.cli import interchange, streams
from nacre.cli import options as o
from nacre.cli.groups import Charge, Declared, Histories, Persons, Reading, Voice, grouped, names_of
from nacre.cli.holding import held_against
from nacre.cli.shell import Shell, help_text, plain, table
from nacre.owner import misfit_lines, missing_lines, rule_lines

if TYPE_CHECKING:
    from nacre.table import Schema
    from nacre.table.database import Database

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Draft, check, attest, show, import and export schemas: what is public about a table, and who says so.",
)
SchemaPath = Annotated[str, typer.Argument(metavar="SCHEMA", help="A schema file, as JSON.")]


@dataclass(frozen=True)
class Guessed:
    """What is known of a table, or a database, that is drafted."""

    identifiers: o.Identifiers = None
    unit: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Of a database: whose rows, with all they own, are to be protected."),
    ] = None
    public: Annotated[
        list[str] | None, typer.Option(metavar="TABLE", help="Of a database: a table that is public; repeatable.")
    ] = None


@grouped
def draft(
    file: o.TableFile,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = None,
    guessed: Guessed = Guessed(),  # noqa: B008 - it is frozen
    force: o.Force = False,
    *,
    voice: Voice,
    reading: Reading,
) -> None:
    """Guess a schema from the data. Every fact in it is marked `read`: a draft to review, not a promise.

    Replace what you know from elsewhere, then attest the rest; until then a run that uses it has no guarantee. Of a
    database (a SQLite or DuckDB file; a folder, with --unit) keys are proposed as the file declares them, or by names.

    Examples:
      nacre schema draft people.csv -o people.json
      nacre schema draft people.csv -o people.json --id patient_id
      nacre schema draft clinic.sqlite -o clinic.json --unit patients --public drugs
    """
    from nacre.cli import database_schemas
    from nacre.cli.inputs import WatchedRows, check_outputs, estimated_rows, schema_for
    from nacre.cli.progress import Bars
    from nacre.engines import holds_tables, open_rows
    from nacre.table import Schema

    shell, how, identifiers = voice.shell(), reading.options(), guessed.identifiers
    check_outputs({"--output": output}, force, [file])
    if guessed.unit is not None or guessed.public or holds_tables(file):
        return database_schemas.draft(shell, (file, output), guessed, how, force)
    source = streams.table(file, how)
    rows = open_rows(source, options=how)
    with Bars(not voice.quiet, {"reading rows": estimated_rows(source)}) as bars:
        guess = Schema.draft(WatchedRows(rows, bars))
    guess = schema_for(rows.column_names, Declared(persons=Histories(identifiers)), guess)
    if output in (None, streams.DASH):
        typer.echo(guess.to_json())
        return shell.tell_owner(["this draft was read from the data: it is as private as the table until reviewed"])
    guess.save(output, force)
    shell.show(schema_table(guess, f"Draft of {streams.name_of(file)}"))
    shell.say(
        f"{output} holds facts READ FROM THE DATA: it is as private as the table until you have reviewed it.\n"
        f"Correct it, then: nacre schema attest {output} --by 'your name' --why 'from the code book'"
    )
    shell.answer({"command": "schema draft", "output": output, "schema": json.loads(guess.to_json())})


@dataclass(frozen=True)
class Bought:
    """What a schema may cost, and who pays."""

    epsilon: o.Epsilon
    delta: o.Delta = None
    neighbours: o.Neighbours = "add_or_remove_one"
    noise_seed: o.NoiseSeed = None
    charge: Charge = field(default_factory=Charge)


@dataclass(frozen=True)
class Known:
    """What is known of the table beforehand."""

    schema: o.SchemaFile = None
    persons: Persons = field(default_factory=Persons)
    reading: Reading = field(default_factory=Reading)

    @property
    def declared(self) -> Declared:
        who = Histories(self.persons.identifiers, self.persons.unit, self.persons.cap)
        return Declared(self.schema, None, who, self.reading)


@dataclass(frozen=True)
class BoughtFiles:
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the schema.")]
    certificate: Annotated[
        str | None, typer.Option("--certificate", metavar="FILE", help="Certificate: .json, or text.")
    ] = None


@grouped
def buy(
    file: o.TableFile, files: BoughtFiles, bought: Bought, known: Known, force: o.Force = False, *, voice: Voice
) -> None:
    """Buy a schema with noise, to read and correct it before a fit. A release of its own, with its certificate.

    What it costs adds to what a later run on the same table costs; its certificate says so.

    Examples:
      nacre schema buy people.csv -e 0.1 -o people.schema.json
      nacre schema buy visits.csv -e 0.1 -o visits.schema.json --unit patient --cap 5
    """
    from nacre.cli.inputs import check_outputs, estimated_rows, parse_epsilon, schema_for
    from nacre.cli.progress import Bars
    from nacre.cli.writing import promise_lines, write_certificate
    from nacre.engines import open_rows
    from nacre.run import buying
    from nacre.run.terms import Access, Terms

    shell, output = voice.shell(), files.output
    check_outputs({"--output": output, "--certificate": files.certificate}, force,
                  [f for f in (file, known.schema) if f])  # fmt: skip
    declared = known.declared
    source = streams.table(file, declared.options)
    rows = open_rows(source, options=declared.options)
    schema = schema_for(rows.column_names, declared)
    terms = Terms(parse_epsilon(bought.epsilon), bought.delta, bought.neighbours, noise_seed=bought.noise_seed)
    with Bars(not voice.quiet, {"reading rows": estimated_rows(source)}) as bars:
        made = buying.bought(rows, schema, terms, Access(bought.charge.account(), progress=bars))
    made.schema.save(output, force)
    if files.certificate is not None:
        write_certificate(made.certificate, files.certificate, force)
    shell.show(schema_table(made.schema, f"Bought from {streams.name_of(file)}"))
    for line in promise_lines(made.certificate):
        shell.show(line)
    shell.say(f"Read and correct {output}, then: nacre synth {file} -o fake.csv -e 1 --schema {output}")
    shell.answer({"command": "schema buy", "output": output, "schema": json.loads(made.schema.to_json()),
                  "certificate": made.certificate.to_json()})  # fmt: skip


@grouped
def check(
    schema: SchemaPath,
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A table to hold against it.")] = None,
    *,
    voice: Voice,
    reading: Reading,
) -> None:
    """Check a schema, and a table against it. What it says of the table is for its owner only.

    Examples:
      nacre schema check people.json
      nacre schema check people.json people.csv
    """
    from nacre.cli import database_schemas
    from nacre.cli.inputs import estimated_rows
    from nacre.cli.progress import Bars
    from nacre.engines import open_rows
    from nacre.table import Schema

    shell, base = voice.shell(), described(schema)
    if not isinstance(base, Schema):
        return database_schemas.check(shell, base, (schema, file), reading.options())
    loaded = reading.described(base)
    lacking = [f"{name}.{fact}" for name, fact in loaded.undeclared()]
    found = {"command": "schema check", "columns": len(loaded.columns), "undeclared": lacking}
    shell.show(f"{schema}: {len(loaded.columns)} columns, {len(loaded.modelled)} modelled; {_sources(loaded)}")
    if lacking:
        shell.show(f"not declared, to be bought: {', '.join(lacking)}")
    if file is not None:
        how = reading.options(schema)
        source, file = streams.table(file, how), streams.name_of(file)
        with Bars(not voice.quiet, {"reading rows": loaded.rows or estimated_rows(source)}) as bars:
            rows, strange, lacking, broken = held_against(loaded, open_rows(source, options=how), bars)
        outside = {name: m.outside + lacking[name] for name, m in strange.items()}
        found |= {"file": file, "rows": rows, "outside": {k: v for k, v in outside.items() if v},
                  "unreadable": {k: m.unreadable for k, m in strange.items() if m.unreadable},
                  "rules": {k: m.outside for k, m in broken.items() if m}}  # fmt: skip
        shell.show(f"{file}: {rows:,} rows; the columns match (this and what follows is for the owner only)")
        lines = [line for part in misfit_lines(loaded, strange, would=True) for line in part]
        lines += missing_lines(lacking, rows) + rule_lines(broken, would=True)
        more = ", and every row keeps the rules" if broken else ""
        for line in lines or [f"every value lies in the declared domain{more}"]:
            shell.show(line)
    shell.answer(found)


@dataclass(frozen=True)
class Claim:
    """Which facts are public, and who says so."""

    by: Annotated[str, typer.Option(help="Who says so.")]
    why: Annotated[str, typer.Option(help="Why the facts are public, in words.")]
    columns: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these columns, a,b,c. Default: all, but for long lists.")
    ] = None
    fact: Annotated[str | None, typer.Option(help="Only this fact: bounds, categories, ...")] = None


@grouped
def attest(
    schema: SchemaPath,
    claim: Claim,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Default: the same file.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    force: o.Force = False,
    *,
    voice: Voice,
) -> None:
    """Take responsibility for facts that were read from the data or imported: they become public, with your name and
    reason.

    Every fact is shown first, and you are asked. Texts that fill more than a line are attested only in columns that you
    name: a list as long as that may hold texts of single persons.

    Examples:
      nacre schema attest people.json --by 'M. Curie' --why 'in the code book'
      nacre schema attest people.json --columns age,ward --by 'M. Curie' --why 'adults; the wards are on the website'
    """
    from nacre.cli import database_schemas
    from nacre.cli.attesting import ask, refuse_long_lists
    from nacre.cli.inputs import check_outputs
    from nacre.table import Schema

    shell = voice.shell()
    if output is not None:
        check_outputs({"--output": output}, force)
    if not isinstance(described(schema), Schema):
        return database_schemas.attest(shell, schema, claim, (output, yes, force))
    before = Schema.load(schema)
    named = None if claim.columns is None else names_of(claim.columns)
    attested = before.attest(named, claim.fact, by=claim.by, why=claim.why)
    facts = attested.attestations[-1].facts
    if claim.columns is None:
        refuse_long_lists(before, facts)
    ask(before, facts, yes, voice.quiet)
    attested.save(output or schema, force=output is None or force)
    shell.show(f"{output or schema}: {len(facts)} facts attested by {claim.by}; {_sources(attested)}")
    shell.answer({"command": "schema attest", "output": output or schema, "facts": [list(f) for f in facts]})


def show(
    schema: Annotated[str, typer.Argument(metavar="SCHEMA", help="A schema file, or a release.")],
    as_json: o.Json = False,
) -> None:
    """Show a schema, or the schema of a release, with the source of every fact.

    Examples:
      nacre schema show people.json
      nacre schema show people.nacre --json
    """
    import zipfile

    from nacre.cli import database_schemas
    from nacre.release.release import load
    from nacre.table import Schema

    shell = Shell(as_json)
    loaded = load(schema).schema if zipfile.is_zipfile(schema) else described(schema)
    if not isinstance(loaded, Schema):
        return database_schemas.show(shell, loaded)
    shell.show(schema_table(loaded, schema))
    shell.document(json.loads(loaded.to_json()))


def schema_table(schema: Schema, title: str, rows: str | None = None) -> Any:
    """Columns, kinds, domains and sources for people. `rows`: what its rows are, where that is not said by itself."""
    made = table("column", "kind", "domain", "null", "source", title=title)
    for name, column in schema.columns.items():
        sources = sorted(set(column.provenance.values()))
        made.add_row(
            plain(name),
            column.title,
            plain(column.domain_words()),
            "yes" if column.nullable else "",
            ", ".join(sources),
        )
    if rows is None:
        rows = f"{schema.rows:,} rows ({schema.provenance['rows']})" if schema.rows else "number of rows not declared"
    unit = f"; unit {schema.unit.column}, at most {schema.unit.cap} rows each" if schema.unit else ""
    made.caption = plain(rows + unit)  # type: ignore[assignment]
    made.caption_justify = "left"
    return made


def described(path: str) -> Schema | Database:
    """The schema, or the database, in a file."""
    from nacre.table import Schema
    from nacre.table.database import Database
    from nacre.table.database.documents import describes

    return Database.load(path) if describes(path) else Schema.load(path)


def _sources(schema: Schema) -> str:
    counts: dict[str, int] = {}
    for source in schema.facts().values():
        counts[source] = counts.get(source, 0) + 1
    return ", ".join(f"{n} facts {source}" for source, n in counts.items())


for _command in (draft, buy, check, attest, show, interchange.export):
    app.command(help=help_text(_command))(_command)
app.command("import", help=help_text(interchange.import_))(interchange.import_)
