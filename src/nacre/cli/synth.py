"""`synth`, `fit` and `sample`: from a table to a synthetic one, in one step or in two."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Declared, Model, Voice, Written, grouped
from nacre.cli.shell import NOT_HIDDEN, Interrupted, Shell
from nacre.cli.streams import Target, table
from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.cli.databases import Base
    from nacre.cli.judging import Split
    from nacre.cli.running import Request
    from nacre.release.release import Release as Made
    from nacre.report.report import Report

RowsOut = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=o.FILES, help="Rows (or units of a database) to draw. Default: as declared or bought."
    ),
]
Release = Annotated[str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Keep the release as well.")]
CertificateFile = Annotated[
    str | None,
    typer.Option("--certificate", metavar="FILE", rich_help_panel=o.FILES, help="Certificate: .json, or text."),
]
SaveSchema = Annotated[
    str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Keep the schema, with what was bought.")
]

ReportFile = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", rich_help_panel=o.FILES,
        help="For the owner: how useful the table is (.html, .json, .md). Holds rows out of the fit to test on.",
    ),
]  # fmt: skip
Holdout = Annotated[
    float | None,
    typer.Option(metavar="SHARE", rich_help_panel=o.FILES, help="Share of rows held out for --report. [default: 0.2]"),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Page with the promise in words, to go with the data."),
]


@dataclass(frozen=True)
class Asked:
    """What is asked for of a table."""

    epsilon: o.Epsilon
    model: Model


@dataclass(frozen=True)
class MaybeAsked:
    """The same, or a sketch in its place."""

    epsilon: o.MaybeEpsilon = None
    from_sketch: o.FromSketch = None
    model: Model = field(default_factory=Model)


@dataclass(frozen=True)
class SynthFiles:
    """What is written besides the synthetic table, and how that is drawn."""

    sample_rows: RowsOut = None
    release: Release = None
    certificate: CertificateFile = None
    save_schema: SaveSchema = None
    report: ReportFile = None
    holdout: Holdout = None
    sheet: Sheet = None
    written: Written = field(default_factory=Written)

    @property
    def kept(self) -> dict[str, str | None]:
        return {"--release": self.release, "--certificate": self.certificate, "--save-schema": self.save_schema}


@dataclass(frozen=True)
class FitFiles:
    certificate: CertificateFile = None
    save_schema: SaveSchema = None
    engine: o.Engine = None
    force: o.Force = False


@dataclass(frozen=True)
class Drawing:
    """Which rows of a release."""

    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows (or units) to draw. Default: as many as the release says, declared or bought."),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Only rows like these: 'age=30..40' (a range), 'sex=F|M' (one of these), 'plan=null'; repeatable.",
        ),
    ] = None
    rebalance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARES",
            help="Draw a column in these shares, the rest given it: values, sets a|b, ranges low..high, each with its "
            "share; repeatable. 'none': as learnt.",
        ),
    ] = None
    seed: o.SampleSeed = None


@grouped
def synth(
    file: o.TableFile, output: o.TableOut, asked: Asked, declared: Declared, files: SynthFiles, voice: Voice
) -> None:
    """Make a private synthetic table from a private one: the main job, in one line.

    What no schema declares (kinds, bounds, categories, the number of rows) is bought with part of the budget, and the
    schema that was bought is printed. Nothing is spent before the outputs are known to be writable. With --report a
    share of the rows is held out at random before fitting and never used to make the table.

    Examples:
      nacre synth people.csv -o fake.csv --epsilon 1
      nacre synth people.csv -o fake.csv -e 1 --schema people.json --target income
      nacre synth visits.csv -o fake.csv -e 1 --unit patient --cap 5 --id visit
      nacre synth people.csv -o fake.csv -e 1 --target income --report report.html --sheet sheet.html
      nacre synth people.csv -o fake.csv -e none --method ppem --hide income --report report.html
      nacre synth 'parts/*.parquet' -o fake.parquet -e 1 --schema people.json --engine ray
      nacre synth clinic.sqlite -o fake.sqlite -e 1 --schema clinic.json
      nacre synth visits.csv -o fake.csv -e 1 --person patient --order admitted --cap 8 --constant sex,born
      nacre synth personen.csv.gz -o fake.csv -e 1 --encoding cp1252 --delimiter ';' --decimal , --null k.A.
      zcat people.csv.gz | nacre synth - -o - -e 1 > fake.csv
    """
    from nacre.cli.judging import judge
    from nacre.cli.running import run
    from nacre.cli.writing import keep
    from nacre.owner import OwnerNotes

    if (base := _base(file, declared)) is not None:
        return base.synth(output, asked, files, voice)
    out = Target(output, files.written.output_format, voice.as_json)
    shell, force = voice.shell(out.to_stdout), files.written.force
    _check(out, output, [f for f in (file, declared.schema) if f is not None], files)
    source = table(file, declared.options)
    split = _split(source, declared, files)
    request = _request(asked.epsilon, asked.model, declared, None if split else files.written.engine)
    request = replace(request, fitted=1 - split.share) if split else request
    notes = OwnerNotes()
    made = run(split.train if split else source, request, shell, notes)
    written = keep(made, files.kept, force)
    drawn = _drawn(made, out, files, shell, written)
    out.send()
    written = {"--output": out.path, **written}
    told = notes.figures
    control = _control(split, request, shell, told) if split and made.certificate.extras.get("hidden") else None

    def report(held: Split) -> Report:
        found = judge(held, made, out.path, request.terms, shell, control)
        return replace(found, notes=(*found.notes, *told))

    found = _pages(made, files, written, drawn, split and (lambda: report(split)))
    _report(shell, made, {**written, "--output": out.name}, drawn, found)
    if found is not None and not all(h.told for h in found.hidden):
        raise typer.Exit(NOT_HIDDEN)


def _base(file: str, declared: Declared) -> Base | None:
    """The database that a command is about, if it is about one."""
    from nacre.engines import holds_tables

    if declared.schema is None and declared.persons.person is None and not holds_tables(file):
        return None
    from nacre.cli.databases import base_of

    return base_of(file, declared)


def _check(out: Target, output: str, inputs: list[str], files: SynthFiles) -> None:
    """Whatever can be refused before anything is read or spent."""
    from nacre.cli.inputs import check_outputs, check_table_name
    from nacre.cli.judging import check_report

    check_table_name(out.path)
    pages = {"--report": files.report, "--sheet": files.sheet}
    check_outputs({"--output": output, **files.kept, **pages}, files.written.force, inputs)
    check_report("--report", files.report)
    if files.written.spreadsheet and (files.report or files.sheet):
        raise NacreError("--spreadsheet alters the table that --report and --sheet look at; keep the release and draw "
                         "the table for the spreadsheet with `nacre sample --spreadsheet`")  # fmt: skip
    if files.holdout is not None and files.report is None:
        raise NacreError("--holdout keeps rows to test a report on; add --report FILE, or leave it out")


def _split(source: object, declared: Declared, files: SynthFiles) -> Split | None:
    """The rows in two parts, where a report is to test on one of them."""
    from nacre.cli.judging import Split, unit_of
    from nacre.engines.holdout import SHARE

    if files.report is None:
        return None
    share = SHARE if files.holdout is None else files.holdout
    unit = unit_of(declared.schema, declared.persons.unit)
    return Split(source, share, unit, files.written.engine, declared.options)


def _request(epsilon: str, model: Model, declared: Declared, engine: str | None) -> Request:
    from nacre.cli.running import Request

    terms, shares = model.terms(epsilon), tuple(model.target_shares or ())
    return Request(terms, declared, model.charge.account(), engine, shares)


def _control(split: Split, request: Request, shell: Shell, told: list[str]) -> Made | None:
    """The same model without hiding, for the owner's report alone. It never leaves, so no ledger is charged for it
    (docs/decisions/ledger.md); where one is mandatory no door opens unpaid, and the report goes without a control."""
    from nacre.cli.inputs import parse_options
    from nacre.cli.running import run
    from nacre.owner import OwnerNotes
    from nacre.privacy.ledger.payment import LEDGER

    if os.environ.get(LEDGER):
        told.append(f"no control was fitted: {LEDGER} lets no run open the table unpaid, and a control is no release")
        return None
    shell.say("fitting the control without penalty and decoy, for the report alone; it is not charged to a ledger")
    plain = parse_options(["weight=0", "decoy=0", "effect=0"], request.terms.method)
    return run(split.train, request.uncharged(**plain), shell, OwnerNotes())


def _drawn(made: Made, out: Target, files: SynthFiles, shell: Shell, written: dict[str, str]) -> int:
    """Write the synthetic rows; returns how many."""
    from nacre.cli.writing import draw, what_is_left

    try:
        drawing = files.written
        how = {"engine": drawing.engine, "spreadsheet": drawing.spreadsheet, "independent": drawing.independent}
        return draw(made, out.path, files.sample_rows, shell, files.written.force, **how)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while drawing rows; {what_is_left(made, written, out.name)}") from None


def _pages(
    made: Made, files: SynthFiles, written: dict[str, str], drawn: int, judged: Callable[[], Report] | None
) -> Report | None:
    """Write sheet and report, last: whatever goes wrong here, the table is there. Returns the report."""
    from nacre.cli.judging import write_report, write_sheet

    report, done, force = None, written["--output"], files.written.force
    try:
        if (path := files.sheet) is not None:
            write_sheet(made, done, drawn, path, force)
            written["--sheet"] = path
        if (path := files.report) is not None and judged is not None:
            report = judged()
            write_report(report, path, force)
            written["--report"] = path
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {done} was written, {path} was not") from None
    except NacreError as error:
        raise type(error)(f"{error} ({done} was written, {path} was not)") from None
    return report


@grouped
def fit(
    output: o.ReleaseOut,
    file: o.MaybeTableFile = None,
    *,
    asked: MaybeAsked,
    declared: Declared,
    files: FitFiles,
    voice: Voice,
) -> None:
    """Fit a private model and keep it as a release file: public, with its certificate inside, to sample from at will.

    Examples:
      nacre fit people.csv -o people.nacre --epsilon 1 --schema people.json
      nacre fit 'parts/*.parquet' -o people.nacre --epsilon 0.5 --rows 1000000
      nacre fit clinic.sqlite -o clinic.nacre --epsilon 1 --schema clinic.json
      nacre fit --from-sketch all.sketch -o all.nacre
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.running import run
    from nacre.cli.writing import keep
    from nacre.owner import OwnerNotes

    if file is not None and asked.from_sketch is None and (base := _base(file, declared)) is not None:
        return base.fit(output, Asked(asked.epsilon or "", asked.model), files, voice)
    out = Target(output, None, voice.as_json, {"csv": ".nacre"})
    shell, sketch = voice.shell(out.to_stdout), asked.from_sketch
    kept = {"--certificate": files.certificate, "--save-schema": files.save_schema}
    inputs = [f for f in (file, sketch, declared.schema) if f is not None]
    if (sketch is None) == (file is None) or (sketch is None) != (asked.epsilon is not None):
        raise NacreError("name a table and --epsilon, or a sketch with --from-sketch: one of the two")
    check_outputs({"--output": output, **kept}, files.force, inputs)
    if sketch is not None:
        made = _of_a_sketch(sketch, asked.model, declared, files, voice)
    else:
        source = table(file, declared.options)
        request = _request(asked.epsilon or "", asked.model, declared, files.engine)
        made = run(source, request, shell, OwnerNotes())
    written = keep(made, {"--release": out.path, **kept}, files.force)
    out.send()
    _report(shell, made, {**written, "--release": out.name}, None)


def _of_a_sketch(path: str, model: Model, declared: Declared, files: FitFiles, voice: Voice) -> Made:
    """The release of a sketch, which has settled most of what could be asked for."""
    from nacre.cli.sketching import fit_sketch

    who, charge = declared.persons, model.charge
    idle = {"--schema": declared.schema, "--target": model.target, "--delta": model.delta, "--rows": declared.rows,
            "--id": who.identifiers, "--unit": who.unit, "--cap": who.cap, "--noise-seed": model.noise_seed,
            "--hide": model.hide, "--alpha": model.alpha, "--target-shares": model.target_shares,
            "--weights": model.weights, "--ledger": charge.ledger, "--population": charge.population,
            "--request": charge.request, "--engine": files.engine, "--seed": model.seed, "--go-on": model.go_on,
            "--i-understand": model.i_understand, "--method": model.method != "sketch",
            "--domain": model.domain != "buy", "--neighbours": model.neighbours != "add_or_remove_one"}  # fmt: skip
    if told := [name for name, value in idle.items() if value]:
        raise NacreError(f"{', '.join(told)}: the sketch has settled that already; leave it out with --from-sketch")
    return fit_sketch(path, voice.quiet, model.option or ())


@grouped
def sample(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release file, *.nacre.")],
    output: o.TableOut,
    drawing: Drawing,
    how: Written,
    voice: Voice,
) -> None:
    """Draw rows from a release, or units of a database with all that is theirs. No data is touched and no budget is
    spent.

    Examples:
      nacre sample people.nacre -o fake.parquet --rows 1000000
      nacre sample people.nacre -o some.csv --where 'age=30..40' --where 'sex=F|M'
      nacre sample people.nacre -o even.csv --rebalance 'income=>50K:0.5,<=50K:0.5'
      nacre sample clinic.nacre -o some.duckdb --rows 500 --where 'sex=F'
    """
    from nacre.cli.conditions import parse_rebalance, parse_where
    from nacre.cli.inputs import check_outputs, check_table_name
    from nacre.cli.writing import draw
    from nacre.release.release import Release, load

    loaded = load(release)
    if not isinstance(loaded, Release):
        from nacre.cli import databases

        return databases.sample(loaded, (release, output), drawing, how, voice)
    out = Target(output, how.output_format, voice.as_json)
    shell = voice.shell(out.to_stdout)
    check_table_name(out.path)
    check_outputs({"--output": output}, how.force, [release])
    asked = {
        "where": parse_where(drawing.where or [], loaded.schema),
        "rebalance": None if drawing.rebalance is None else parse_rebalance(drawing.rebalance, loaded.schema),
        "seed": drawing.seed,
        "engine": how.engine,
        "spreadsheet": how.spreadsheet,
        "independent": how.independent,
    }
    try:
        drawn = draw(loaded, out.path, drawing.rows, shell, how.force, **asked)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {out.name} was not written") from None
    out.send()
    shell.show(f"wrote        {out.name} ({drawn:,} rows, {len(loaded.schema.columns)} columns)")
    shell.answer({"command": "sample", "release": release, "output": output, "rows": drawn})


def _report(shell: Shell, made: Made, written: dict[str, str], drawn: int | None, found: Report | None = None) -> None:
    from nacre.cli.judging import summary_lines
    from nacre.cli.schema import schema_table
    from nacre.cli.writing import LABELS, promise_lines

    if any(source != "public" for (column, _), source in made.schema.facts().items() if column is not None):
        shell.show(schema_table(made.schema, "The schema of the release, and where each fact comes from"))
        shell.say("What you know from elsewhere costs nothing and is better: write it in a schema (--save-schema).")
    for option, path in written.items():
        size = f" ({drawn:,} rows, {len(made.schema.columns)} columns)" if option == "--output" else ""
        shell.show(f"{LABELS[option]:12} {path}{size}")
    for line in promise_lines(made.certificate):
        shell.show(line)
    if found:
        shell.tell_owner(summary_lines(found))
        shell.say("The report holds unprotected statistics of private rows: keep it as you keep the data.")
    if "--release" in written and not shell.taken:
        shell.show(f"next         nacre sample {written['--release']} -o more.csv --rows 1000")
    shell.answer({
        "command": "fit" if drawn is None else "synth",
        "written": {option.removeprefix("--").replace("-", "_"): path for option, path in written.items()},
        "rows": drawn,
        "certificate": made.certificate.to_json(),
        "schema": json.loads(made.schema.to_json()),
    })  # fmt: skip
