"""Databases on the command line, and long tables of persons: `synth`, `fit`, `sample` and `plan` for them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.cli.groups import Declared
from nacre.cli.shell import Interrupted, Shell
from nacre.cli.streams import DASH, Target, table
from nacre.errors import DataError, NacreError, SchemaError
from nacre.table.database import Database
from nacre.table.database.long import LongTable

if TYPE_CHECKING:
    from nacre.cli.groups import Voice, Written
    from nacre.cli.synth import Asked, Drawing, FitFiles, SynthFiles
    from nacre.release.databases import DatabaseRelease
    from nacre.run.databases import DatabaseJob
    from nacre.run.terms import Terms


@dataclass(frozen=True)
class Base:
    """Where the rows are, and what is known of them: a database, or a long table."""

    file: str
    known: Database | LongTable
    declared: Declared

    def synth(self, output: str, asked: Asked, files: SynthFiles, voice: Voice) -> None:
        """`nacre synth`: fit and draw."""
        from nacre.cli.inputs import check_outputs
        from nacre.cli.writing import draw, keep, what_is_left

        pages = {"--report": files.report, "--sheet": files.sheet, "--holdout": files.holdout}
        if used := [option for option, value in pages.items() if value is not None]:
            raise NacreError(f"{', '.join(used)}: of single tables; compare a database with `nacre evaluate`")
        out, force = self._target(output, files.written, voice), files.written.force
        check_outputs(files.kept, force, self._inputs)
        shell = voice.shell(out.to_stdout)
        made = self._made(asked, files.written.engine, shell)
        written = keep(made, files.kept, force)
        form = _format(files.written, made.long is not None)
        drawn = _drawn(lambda: draw(made, out.path, files.sample_rows, shell, force, format=form),
                       lambda: what_is_left(made, written, out.name))  # fmt: skip
        out.send()
        _report(shell, made, {"--output": out.name, **written}, drawn)

    def fit(self, output: str, asked: Asked, files: FitFiles, voice: Voice) -> None:
        """`nacre fit`: the release alone."""
        from nacre.cli.inputs import check_outputs
        from nacre.cli.writing import keep

        out = Target(output, None, voice.as_json, {"csv": ".nacre"})
        shell = voice.shell(out.to_stdout)
        kept = {"--certificate": files.certificate, "--save-schema": files.save_schema}
        check_outputs({"--output": output, **kept}, files.force, self._inputs)
        made = self._made(asked, files.engine, shell)
        written = keep(made, {"--release": out.path, **kept}, files.force)
        out.send()
        _report(shell, made, {**written, "--release": out.name}, None)

    def _made(self, asked: Asked, engine: str | None, shell: Shell) -> DatabaseRelease:
        from nacre.cli.running import Request, carried
        from nacre.owner import OwnerNotes
        from nacre.run import databases

        terms, account = asked.model.of_databases().terms(asked.epsilon), asked.model.charge.account()
        if asked.model.target_shares:
            raise NacreError("--target-shares: not for databases; draw the unit's columns in other shares from the "
                             "release (nacre sample --rebalance)")  # fmt: skip
        account.check(reads=terms.reads, seeded=terms.noise_seed is not None)
        _ = terms.budget  # a mistake in it shows before anything is opened
        source = table(self.file, self.declared.options)
        request = Request(terms, self.declared, account, engine)
        return carried(
            request, None, (shell, OwnerNotes()),
            lambda access, _: databases.carry_out(
                source, self.known, terms, dataclasses.replace(access, engine=engine), self.declared.options
            ),
        )  # fmt: skip

    def _target(self, output: str, written: Written, voice: Voice) -> Target:
        base = self.known if isinstance(self.known, Database) else None
        return target_of(base, output, written, voice, self._inputs)

    @property
    def _inputs(self) -> list[str]:
        return [f for f in (self.file, self.declared.schema) if f is not None]


def base_of(file: str, declared: Declared) -> Base | None:
    """The database, or the long table, that a command is about; None where it is about a table of single rows."""
    from nacre.engines import holds_tables
    from nacre.run.described import described
    from nacre.table.database.documents import describes

    who = declared.persons
    if who.person is not None:
        if declared.schema is not None and describes(declared.schema):
            raise SchemaError(
                f"--person is for one long table, and {declared.schema} describes a database; leave one out"
            )
        return Base(file, long_table(file, declared), declared)
    if declared.schema is None or not describes(declared.schema):
        if holds_tables(file):
            described(declared.schema, file)  # says what is needed
        return None
    idle = {"--id": who.identifiers, "--unit": who.unit, "--cap": who.cap, "--rows": declared.rows}
    if used := [option for option, value in idle.items() if value]:
        raise NacreError(
            f"{', '.join(used)}: {declared.schema} describes a database, and says all that; write it there"
        )
    if file == DASH:
        raise NacreError("-: a database has several tables, and stdin holds one; name a folder or a file")
    return Base(file, Database.load(declared.schema), declared)


def long_table(file: str | None, declared: Declared) -> LongTable:
    """The long table that options and a schema file describe."""
    from nacre.cli.groups import Histories, names_of
    from nacre.cli.inputs import schema_for
    from nacre.engines import open_rows
    from nacre.privacy.discovery import Undeclared, Unmeasured
    from nacre.table import Identifier

    who = declared.persons
    assert who.person is not None and who.cap is not None  # `Histories` has seen to it
    columns = []
    if declared.schema is None and file is not None:
        source = table(file, declared.options)
        columns = list(open_rows(source, options=declared.options, look=False).column_names)
    plain = dataclasses.replace(declared, persons=Histories(who.identifiers))
    schema = schema_for(columns, plain)
    person = schema.columns.get(who.person)
    if person is not None and person.learnt:
        schema = dataclasses.replace(schema, columns={**schema.columns, who.person: Identifier()})
    if who.order is not None and isinstance(schema.columns.get(who.order), Undeclared):
        schema = dataclasses.replace(schema, columns={**schema.columns, who.order: Unmeasured()})
    constant = () if who.constant is None else names_of(who.constant, "--constant")
    return LongTable(schema, who.person, who.cap, who.order, constant)


def target_of(
    known: Database | None, output: str, written: Written, voice: Voice, inputs: Sequence[str]
) -> Target:  # fmt: skip
    """Where drawn rows go: of a database (None: a long table) a folder, or a file of several tables."""
    from nacre.cli.inputs import check_outputs, check_table_name

    if written.independent:
        raise NacreError("--independent: units are drawn each for itself, but for their own columns; leave it out")
    if known is None:
        out = Target(output, written.output_format, voice.as_json)
        check_table_name(out.path)
        check_outputs({"--output": output}, written.force, inputs)
        return out
    from nacre.table.database.writing import check_goal
    from nacre.table.sources import is_table
    from nacre.table.sources.banks import ENDINGS

    if output == DASH:
        raise NacreError("--output -: a database is several tables; name a folder, or a file *.sqlite or *.duckdb")
    if written.spreadsheet:
        raise NacreError("--spreadsheet is for one CSV file; leave it out")
    if is_table(output):
        raise DataError(f"--output {output}: a database is several tables; name a folder (with --output-format csv, if "
                        "not Parquet), or a file *.sqlite or *.duckdb")  # fmt: skip
    if Path(output).resolve() in {Path(name).resolve() for name in inputs}:
        raise DataError(f"--output {output}: this is also an input; name another place")
    check_goal(output, written.output_format or ENDINGS.get(Path(output).suffix.lower()), written.force)
    return Target(output, None, voice.as_json)


def sample(made: DatabaseRelease, places: tuple[str, str], drawing: Drawing, how: Written, voice: Voice) -> None:
    """`nacre sample` from a release of a database."""
    from nacre.cli.conditions import parse_rebalance, parse_where
    from nacre.cli.writing import draw

    release, output = places
    out = target_of(made.schema if made.long is None else None, output, how, voice, [release])
    unit, shell = made.schema.tables[made.schema.unit], voice.shell(out.to_stdout)
    asked = {
        "where": parse_where(drawing.where or [], unit),
        "rebalance": None if drawing.rebalance is None else parse_rebalance(drawing.rebalance, unit),
        "seed": drawing.seed,
        "format": _format(how, made.long is not None),
    }
    drawn = _drawn(lambda: draw(made, out.path, drawing.rows, shell, how.force, **asked),
                   lambda: f"{out.name} was not written")  # fmt: skip
    out.send()
    shell.show(f"wrote        {out.name} ({_size(made, drawn)})")
    shell.answer({"command": "sample", "release": release, "output": output, "units": drawn})


def plan(known: Database | LongTable, file: str | None, terms: Terms) -> DatabaseJob:
    """`nacre plan` for a database, or a long table."""
    from nacre.run import databases

    return databases.plan(file, known, terms)


def _format(written: Written, long: bool) -> str | None:
    """In which format tables are written, as `DatabaseRelease.write` takes it."""
    if written.engine is not None:
        raise NacreError("--engine: a database is read and drawn here; leave it out")
    return ("spreadsheet" if written.spreadsheet else None) if long else written.output_format


def _drawn(write: Callable[[], int], left: Callable[[], str]) -> int:
    """Write the synthetic units; returns how many. `left`: what is left where that is broken off."""
    try:
        return write()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while drawing rows; {left()}") from None


def _report(shell: Shell, made: DatabaseRelease, written: Mapping[str, str], drawn: int | None) -> None:
    from nacre.cli.writing import LABELS, promise_lines

    for option, path in written.items():
        size = f" ({_size(made, drawn)})" if option == "--output" and drawn is not None else ""
        shell.show(f"{LABELS[option]:12} {path}{size}")
    for line in promise_lines(made.certificate):
        shell.show(line)
    if "--release" in written and not shell.taken:
        more = "more.csv" if made.long is not None else "more.sqlite"
        shell.show(f"next         nacre sample {written['--release']} -o {more} --rows 1000")
    shell.answer({
        "command": "fit" if drawn is None else "synth",
        "written": {option.removeprefix("--").replace("-", "_"): path for option, path in written.items()},
        "units": drawn,
        "certificate": made.certificate.to_json(),
        "schema": json.loads(made.schema.to_json()),
    })  # fmt: skip


def _size(made: DatabaseRelease, units: int) -> str:
    """So many units, in words."""
    if made.long is not None:
        return f"rows of {units:,} persons, {len(made.long)} columns"
    return f"{units:,} rows of {made.schema.unit} and all that they own, {len(made.schema.tables)} tables"
