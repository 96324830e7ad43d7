"""`nacre schema import` and `nacre schema export`: schemas out of other formats, and into them."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Voice, grouped
from nacre.errors import DataError

if TYPE_CHECKING:
    from nacre.table import Schema
    from nacre.table.exports import Subject


@dataclass(frozen=True)
class Wanted:
    """Which part of a document, and in which format it is."""

    table: Annotated[str | None, typer.Option(metavar="NAME", help="Of several tables in it, this one.")] = None
    format: Annotated[
        str | None,
        typer.Option(
            help="sdv, frictionless, csvw, pandera, dbt, json-schema, sql or arrow. Default: what it looks like."
        ),
    ] = None


@grouped
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The document: .json, .yml, .sql, .parquet or .arrow.")],
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = None,
    force: o.Force = False,
    *,
    wanted: Wanted,
    voice: Voice,
) -> None:
    """Make a schema from one that you have in another format. Every fact in it is marked `unattested`.

    Nothing is promised to a run that uses it until somebody attests the facts: the document may have been made from the
    data. What it says and a schema cannot is listed.

    Examples:
      nacre schema import metadata.json -o people.json
      nacre schema import hospital.sql --table visits -o visits.json
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.schema import schema_table
    from nacre.table import imports

    shell = voice.shell()
    check_outputs({"--output": output}, force, [file])
    found = imports.read(file, wanted.table, wanted.format)
    left = [f"not expressed: {line}" for line in found.left_out]
    if output is None:
        typer.echo(found.schema.to_json())
        for line in left:
            shell.say(line)
        return
    found.schema.save(output, force)
    shell.show(schema_table(found.schema, f"{found.table} of {file} ({found.format})"))
    for line in left:
        shell.show(line)
    shell.say(
        f"No fact in {output} is attested. Correct it, then: "
        f"nacre schema attest {output} --by 'your name' --why 'from the code book'"
    )
    shell.answer({"command": "schema import", "output": output, "format": found.format, "table": found.table,
                  "left_out": list(found.left_out), "schema": json.loads(found.schema.to_json())})  # fmt: skip


@dataclass(frozen=True)
class Written:
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="frictionless, croissant, pandera or ddl.")]
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = None
    table: Annotated[str | None, typer.Option(metavar="NAME", help="What the table is called.")] = None
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The synthetic table that it describes (Croissant).")
    ] = None


@grouped
def export(
    schema: Annotated[str, typer.Argument(metavar="SCHEMA", help="A schema file, or a release.")],
    written: Written,
    force: o.Force = False,
    *,
    voice: Voice,
) -> None:
    """Write a schema in another format, for validation, a database or a catalogue. What that cannot say is listed.

    Examples:
      nacre schema export people.json --to pandera -o people.yaml
      nacre schema export people.nacre --to croissant --data fake.csv -o croissant.json
    """
    from nacre.cli.inputs import check_outputs
    from nacre.table import exports
    from nacre.table.writing import write_text

    shell = voice.shell()
    check_outputs({"--output": written.output}, force, [f for f in (schema, written.data) if f])
    loaded, subject = _subject(schema, written)
    made = exports.render(loaded, written.to, subject)
    if written.output is None:
        typer.echo(made.text)
    else:
        write_text(written.output, made.text.rstrip("\n") + "\n", force=force)
        shell.show(f"{written.output}: {len(loaded.columns):,} columns as {written.to}")
    for line in made.left_out:
        shell.say(f"not expressed: {line}")
    if read := loaded.facts_from("read"):
        shell.tell_owner([f"{len(read)} facts in it were read from the data: it is as private as the table"])
    if written.output is not None:
        shell.answer({"command": "schema export", "output": written.output, "format": written.to,
                      "left_out": list(made.left_out)})  # fmt: skip


def _subject(path: str, written: Written) -> tuple[Schema, Subject]:
    """The schema, and what is said of the table beside it: of a release also what it promises."""
    from nacre.release.release import load_table
    from nacre.table import Schema
    from nacre.table.exports import Subject

    name = written.table or Path(written.data or path).name.partition(".")[0]
    data = None if written.data is None else (Path(written.data).name, _digest(written.data))
    if not zipfile.is_zipfile(path):
        return Schema.load(path), Subject(name, data=data)
    release = load_table(path)
    promise = f"Made by nacre, method {release.method}. {release.certificate.headline}"
    return release.schema, Subject(name, promise, data)


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
