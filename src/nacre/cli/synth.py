"""`synth`, `fit` and `sample`: from a table to a synthetic one, in one step or in two."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Annotated, Any

import typer

from nacre.cli import options as o
from nacre.cli.reading import for_schema, reads
from nacre.cli.shell import NOT_HIDDEN, Interrupted, Shell
from nacre.cli.streams import Target, table
from nacre.errors import NacreError
from nacre.privacy.certificate.rounding import exact

RowsOut = Annotated[
    int | None,
    typer.Option(min=1, rich_help_panel=o.FILES, help="Rows to draw. Default: as many as declared or bought."),
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


@reads
def synth(
    file: o.TableFile,
    output: o.TableOut,
    epsilon: o.Epsilon,
    delta: o.Delta = None,
    schema: o.SchemaFile = None,
    target: o.Target = None,
    method: o.Method = "sketch",
    rows: o.Rows = None,
    sample_rows: RowsOut = None,
    neighbours: o.Neighbours = "add_or_remove_one",
    domain: o.Domain = "buy",
    identifiers: o.Identifiers = None,
    unit: o.Unit = None,
    cap: o.Cap = None,
    release: Release = None,
    certificate: CertificateFile = None,
    save_schema: SaveSchema = None,
    report: ReportFile = None,
    holdout: Holdout = None,
    sheet: Sheet = None,
    hide: o.Hide = None,
    alpha: o.Alpha = None,
    target_shares: o.TargetShares = None,
    weights: o.WeightsFrom = None,
    option: o.MethodOption = None,
    seed: o.Seed = 0,
    noise_seed: o.NoiseSeed = None,
    i_understand: o.Understand = False,
    ledger: o.LedgerUrl = None,
    population: o.Population = None,
    request: o.Request = None,
    engine: o.Engine = None,
    go_on: o.GoOn = False,
    output_format: o.OutputFormat = None,
    spreadsheet: o.Spreadsheet = False,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    reading: o.Reading = None,
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
      nacre synth personen.csv.gz -o fake.csv -e 1 --encoding cp1252 --delimiter ';' --decimal , --null k.A.
      zcat people.csv.gz | nacre synth - -o - -e 1 > fake.csv
    """
    from nacre.cli.inputs import check_outputs, check_table_name
    from nacre.cli.judging import Split, check_report, unit_of
    from nacre.engines.holdout import SHARE

    target_file = Target(output, output_format, as_json)
    shell = Shell(as_json, quiet, target_file.to_stdout)
    check_table_name(target_file.path)
    outputs = {"--output": output, "--release": release, "--certificate": certificate, "--save-schema": save_schema}
    pages = {"--report": report, "--sheet": sheet}
    check_outputs({**outputs, **pages}, force, [f for f in (file, schema) if f is not None])
    check_report("--report", report)
    if spreadsheet and (report or sheet):
        raise NacreError("--spreadsheet alters the table that --report and --sheet look at; keep the release and draw "
                         "the table for the spreadsheet with `nacre sample --spreadsheet`")  # fmt: skip
    if holdout is not None and report is None:
        raise NacreError("--holdout keeps rows to test a report on; add --report FILE, or leave it out")
    share = SHARE if holdout is None else holdout
    reading = for_schema(reading, schema)
    file = table(file, reading)
    split = Split(file, share, unit_of(schema, unit), engine, reading) if report is not None else None
    source = split.train if split else file
    asked = {"epsilon": epsilon, "delta": delta, "target": target, "method": method, "neighbours": neighbours,
             "domain": domain, "option": option, "hide": hide, "alpha": alpha, "shares": tuple(target_shares or ()),
             "weights": weights, "seed": seed, "noise_seed": noise_seed, "large": i_understand,
             "fitted": 1 - split.share if split else 1.0, "ledger": ledger,
             "population": population, "request": request, "engine": None if split else engine,
             "go_on": go_on}  # fmt: skip
    given = (source, schema, rows, identifiers, unit, cap, reading)
    told: list[str] = []
    made = _run(shell, *given, owner=told, **asked)
    written = _keep(made, outputs, force)
    try:
        from nacre.cli.running import draw

        drawn = draw(made, target_file.path, sample_rows, shell, force, engine=engine, spreadsheet=spreadsheet)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while drawing rows; {_what_is_left(made, written, target_file.name)}") from None
    target_file.send()
    written = {"--output": target_file.path, **written}
    control = None
    if report is not None and made.certificate.extras.get("hidden"):
        plain = {**asked, "option": [*(option or ()), "weight=0", "decoy=0", "effect=0"]}
        control = _control(shell, given, plain, told)
    found = _pages(shell, made, split, pages, written, drawn, (target, seed, control, told), force)
    _report(shell, made, {**written, "--output": target_file.name}, drawn, found)
    if found is not None and not all(h.told for h in found.hidden):
        raise typer.Exit(NOT_HIDDEN)


def _control(shell: Shell, given: tuple[Any, ...], asked: dict[str, Any], told: list[str]) -> Any:
    """The same model without hiding, for the owner's report alone. It never leaves, so no ledger is charged for it
    (docs/decisions/ledger.md); where one is mandatory no door opens unpaid, and the report goes without a control."""
    from nacre.privacy.ledger.payment import LEDGER

    if os.environ.get(LEDGER):
        told.append(f"no control was fitted: {LEDGER} lets no run open the table unpaid, and a control is no release")
        return None
    shell.say("fitting the control without penalty and decoy, for the report alone; it is not charged to a ledger")
    return _run(shell, *given, **{**asked, **dict.fromkeys(("ledger", "population", "request"))})


def _pages(shell: Shell, made: Any, split: Any, pages: dict[str, str | None], written: dict[str, str], drawn: int,
           how: tuple[str | None, int, Any, list[str]], force: bool) -> Any:  # fmt: skip
    """Write sheet and report, last: whatever goes wrong here, the table is there. Returns the report."""
    from nacre.cli.judging import judge, write_report, write_sheet

    report, done = None, written["--output"]
    try:
        if (path := pages["--sheet"]) is not None:
            write_sheet(made, done, drawn, path, force)
            written["--sheet"] = path
        if (path := pages["--report"]) is not None:
            report = judge(split, made, done, *how[:2], shell, how[2])
            report = replace(report, notes=(*report.notes, *how[3]))
            write_report(report, path, force)
            written["--report"] = path
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {done} was written, {path} was not") from None
    except NacreError as error:
        raise type(error)(f"{error} ({done} was written, {path} was not)") from None
    return report


@reads
def fit(
    output: o.ReleaseOut,
    file: o.MaybeTableFile = None,
    epsilon: o.MaybeEpsilon = None,
    from_sketch: o.FromSketch = None,
    delta: o.Delta = None,
    schema: o.SchemaFile = None,
    target: o.Target = None,
    method: o.Method = "sketch",
    rows: o.Rows = None,
    neighbours: o.Neighbours = "add_or_remove_one",
    domain: o.Domain = "buy",
    identifiers: o.Identifiers = None,
    unit: o.Unit = None,
    cap: o.Cap = None,
    certificate: CertificateFile = None,
    save_schema: SaveSchema = None,
    hide: o.Hide = None,
    alpha: o.Alpha = None,
    target_shares: o.TargetShares = None,
    weights: o.WeightsFrom = None,
    option: o.MethodOption = None,
    seed: o.Seed = 0,
    noise_seed: o.NoiseSeed = None,
    i_understand: o.Understand = False,
    ledger: o.LedgerUrl = None,
    population: o.Population = None,
    request: o.Request = None,
    engine: o.Engine = None,
    go_on: o.GoOn = False,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
    reading: o.Reading = None,
) -> None:
    """Fit a private model and keep it as a release file: public, with its certificate inside, to sample from at will.

    Examples:
      nacre fit people.csv -o people.nacre --epsilon 1 --schema people.json
      nacre fit 'parts/*.parquet' -o people.nacre --epsilon 0.5 --rows 1000000
      nacre fit --from-sketch all.sketch -o all.nacre
    """
    from nacre.cli.inputs import check_outputs

    target_file = Target(output, None, as_json, {"csv": ".nacre"})
    shell = Shell(as_json, quiet, target_file.to_stdout)
    outputs = {"--release": target_file.path, "--certificate": certificate, "--save-schema": save_schema}
    if (from_sketch is None) == (file is None) or (from_sketch is None) != (epsilon is not None):
        raise NacreError("name a table and --epsilon, or a sketch with --from-sketch: one of the two")
    inputs = [f for f in (file, from_sketch, schema) if f is not None]
    check_outputs({"--output": output, **{k: v for k, v in outputs.items() if k != "--release"}}, force, inputs)
    if from_sketch is not None:
        from nacre.cli.sketching import fit_sketch

        idle = {"--schema": schema, "--target": target, "--delta": delta, "--rows": rows, "--id": identifiers,
                "--unit": unit, "--cap": cap, "--noise-seed": noise_seed, "--hide": hide,
                "--alpha": alpha, "--target-shares": target_shares, "--weights": weights, "--ledger": ledger,
                "--population": population, "--request": request, "--engine": engine, "--seed": seed, "--go-on": go_on,
                "--i-understand": i_understand, "--method": method != "sketch", "--domain": domain != "buy",
                "--neighbours": neighbours != "add_or_remove_one"}  # fmt: skip
        if told := [name for name, value in idle.items() if value]:
            raise NacreError(f"{', '.join(told)}: the sketch has settled that already; leave it out with --from-sketch")
        made = fit_sketch(from_sketch, quiet, option or ())
        return _kept(shell, made, outputs, target_file, force)
    reading = for_schema(reading, schema)
    file = table(file, reading)
    made = _run(shell, file, schema, rows, identifiers, unit, cap, reading, epsilon=epsilon, delta=delta,
                target=target, method=method, neighbours=neighbours, domain=domain, option=option, hide=hide,
                alpha=alpha, shares=tuple(target_shares or ()), weights=weights, seed=seed,
                noise_seed=noise_seed, large=i_understand, ledger=ledger, population=population,
                request=request, engine=engine, go_on=go_on)  # fmt: skip
    _kept(shell, made, outputs, target_file, force)


def _kept(shell: Shell, made: Any, outputs: dict[str, str | None], target: Target, force: bool) -> None:
    """Write what a fit gives, and say so."""
    written = _keep(made, outputs, force)
    target.send()
    _report(shell, made, {**written, "--release": target.name}, None)


def sample(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release file, *.nacre.")],
    output: o.TableOut,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows to draw. Default: as many as the release says, declared or bought.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Only rows like these: 'age=30..40' (a range), 'sex=F|M' (one of these), 'plan=null'; repeatable.",
        ),
    ] = None,
    rebalance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARES",
            help="Draw a column in these shares, the rest given it: values, sets a|b, ranges low..high, each with its "
            "share; repeatable. 'none': as learnt.",
        ),
    ] = None,
    seed: o.SampleSeed = None,
    engine: o.Engine = None,
    output_format: o.OutputFormat = None,
    spreadsheet: o.Spreadsheet = False,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Draw rows from a release. No data is touched and no budget is spent.

    Examples:
      nacre sample people.nacre -o fake.parquet --rows 1000000
      nacre sample people.nacre -o some.csv --where 'age=30..40' --where 'sex=F|M'
      nacre sample people.nacre -o even.csv --rebalance 'income=>50K:0.5,<=50K:0.5'
    """
    from nacre.cli.conditions import parse_rebalance, parse_where
    from nacre.cli.inputs import check_outputs, check_table_name
    from nacre.cli.running import draw
    from nacre.release.release import load

    target_file = Target(output, output_format, as_json)
    shell = Shell(as_json, quiet, target_file.to_stdout)
    check_table_name(target_file.path)
    check_outputs({"--output": output}, force, [release])
    loaded = load(release)
    conditions = parse_where(where or [], loaded.schema)
    shares = None if rebalance is None else parse_rebalance(rebalance, loaded.schema)
    try:
        how = {"where": conditions, "rebalance": shares, "seed": seed, "engine": engine, "spreadsheet": spreadsheet}
        drawn = draw(loaded, target_file.path, rows, shell, force, **how)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {target_file.name} was not written") from None
    target_file.send()
    shell.show(f"wrote        {target_file.name} ({drawn:,} rows, {len(loaded.schema.columns)} columns)")
    shell.answer({"command": "sample", "release": release, "output": output, "rows": drawn})


def _run(shell: Shell, file: Any, schema: Any, rows: Any, identifiers: Any, unit: Any, cap: Any, reading: Any,
         owner: list[str] | None = None, **asked: Any) -> Any:  # fmt: skip
    from nacre.cli.inputs import Declared, parse_options
    from nacre.cli.running import Terms, run
    from nacre.run import hiding_options

    options = parse_options(asked.pop("option") or (), asked["method"])
    options = hiding_options(asked["method"], options, asked.pop("hide") or None, asked.pop("alpha"))
    declared = Declared(schema, rows, tuple(identifiers or ()), unit, cap, reading)
    return run(file, Terms(options=options, **asked), declared, shell, owner)


def _keep(made: Any, outputs: dict[str, str | None], force: bool) -> dict[str, str]:
    """Write release, certificate and schema where asked. The release comes first: it is what the budget bought."""
    from nacre.table.writing import write_text

    written = {}
    for option, path in outputs.items():
        if path is None or option == "--output":
            continue
        if option == "--release":
            made.save(path, force)
        elif option == "--save-schema":
            made.schema.save(path, force)
        else:
            as_json = path.lower().endswith(".json")
            text = json.dumps(made.certificate.to_json(), indent=1) if as_json else str(made.certificate)
            write_text(path, text + "\n", force)
        written[option] = path
    return written


def _what_is_left(made: Any, written: dict[str, str], output: str) -> str:
    if "--release" in written:
        return f"{output} was not written, but {written['--release']} was: draw from it with `nacre sample`"
    spent = "" if made.certificate.epsilon is None else f"; epsilon {exact(made.certificate.epsilon)} was spent"
    kept = ", ".join(written.values())
    return f"{output} was not written{spent}" + (f" ({kept} was written)" if kept else "")


def _report(shell: Shell, made: Any, written: dict[str, str], drawn: int | None, found: Any = None) -> None:
    from nacre.cli.judging import summary_lines
    from nacre.cli.running import promise_lines
    from nacre.cli.schema import schema_table

    if any(source != "public" for (column, _), source in made.schema.facts().items() if column is not None):
        shell.show(schema_table(made.schema, "The schema of the release, and where each fact comes from"))
        shell.say("What you know from elsewhere costs nothing and is better: write it in a schema (--save-schema).")
    for option, path in written.items():
        size = f" ({drawn:,} rows, {len(made.schema.columns)} columns)" if option == "--output" else ""
        shell.show(f"{_LABELS[option]:12} {path}{size}")
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


_LABELS = {"--output": "synthetic", "--release": "release", "--certificate": "certificate", "--save-schema": "schema",
           "--sheet": "sheet", "--report": "report"}  # fmt: skip
