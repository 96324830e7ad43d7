"""`nacre patients`: an event table of persons and codes as one row for each person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Reading, Voice, grouped
from nacre.errors import DataError, SchemaError

if TYPE_CHECKING:
    from nacre.table import Categorical


@dataclass(frozen=True)
class Events:
    """Which columns of the events count."""

    person: Annotated[str, typer.Option(metavar="COLUMN", help="Whose event it is.")]
    code: Annotated[str, typer.Option(metavar="COLUMN", help="What happened.")]


@dataclass(frozen=True)
class Codes:
    """Which codes there are, and how they become columns."""

    codes: Annotated[
        str, typer.Option(metavar="FILE", help="The public list of codes: one a line, or CODE,GROUP for a hierarchy.")
    ]
    icd9: Annotated[bool, typer.Option("--icd9", help="The codes are ICD-9-CM: categories and chapters above.")] = False
    level: Annotated[int, typer.Option(metavar="N", help="Steps to go up the hierarchy.")] = 0
    counts: Annotated[bool, typer.Option("--counts", help="How often, in place of whether.")] = False


@dataclass(frozen=True)
class Made:
    """What is written."""

    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The table of persons.")]
    schema: Annotated[str | None, typer.Option(metavar="FILE", help="Write the schema of the table, too.")] = None
    force: o.Force = False


@grouped
def patients(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The events: a row for each person and code.")],
    *,
    events: Events,
    listed: Codes,
    made: Made,
    reading: Reading,
    voice: Voice,
) -> None:
    """Make a table with a row for each person and a column for each code out of events. What it makes is as private
    as what it was made of.

    The codes are a public list, never those that the events happen to have. What is listed in no line is left out.

    Examples:
      nacre patients diagnoses.csv -o patients.parquet --person subject_id --code icd9_code --codes icd9.txt --icd9 \
--level 1 --schema patients.json
      nacre synth patients.parquet -o fake.parquet -e 1 --schema patients.json
    """
    import pyarrow as pa

    from nacre.cli.inputs import check_outputs
    from nacre.engines import open_rows
    from nacre.table.records import patients as made_of
    from nacre.table.records import patients_schema
    from nacre.table.writing import TableWriter

    shell = voice.shell()
    check_outputs({"--output": made.output, "--schema": made.schema}, made.force, [file])
    column, names = _column(listed), (events.person, events.code)
    rows = open_rows(file, options=reading.options())
    if lacking := [name for name in names if name not in rows.column_names]:
        raise DataError(f"{file}: no column {lacking[0]!r}; it has {', '.join(rows.column_names[:8])}")
    table = pa.Table.from_batches([*rows.batches(list(dict.fromkeys(names)))])
    found = made_of(table, *names, column, level=listed.level, counts=listed.counts)
    with TableWriter(made.output, found.schema, force=made.force) as out:
        out.write(found)
    if made.schema is not None:
        schema = patients_schema(events.person, column, level=listed.level, counts=listed.counts)
        schema.save(made.schema, made.force)
    persons, codes = found.num_rows, found.num_columns - 1
    shell.say(f"patients     {made.output} ({persons:,} persons, {codes:,} codes)")
    shell.answer({"command": "patients", "output": made.output, "rows": persons, "codes": codes})


def _column(listed: Codes) -> Categorical:
    """The column of codes with its hierarchy."""
    from nacre.table.columns import Categorical
    from nacre.table.records import icd9

    try:
        lines = Path(listed.codes).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--codes {listed.codes}: cannot be read ({error}); name a text file, one code a line"
        ) from None
    pairs = [line.strip().partition(",") for line in lines if line.strip()]
    if not pairs:
        raise DataError(f"--codes {listed.codes}: lists no code; write one a line")
    labels = tuple(dict.fromkeys(label.strip() for label, _, _ in pairs))
    above = {label.strip(): group.strip() for label, comma, group in pairs if comma}
    if above and listed.icd9:
        raise SchemaError(f"--icd9: {listed.codes} has a hierarchy of its own; leave one of the two out")
    return Categorical(labels, hierarchy=icd9(labels) if listed.icd9 else above or None)
