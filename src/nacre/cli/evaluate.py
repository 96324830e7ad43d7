"""`nacre evaluate`: a synthetic table beside the real one, for the owner of the data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nacre.cli import options as o
from nacre.cli.reading import for_schema, reads
from nacre.cli.shell import Interrupted, Shell
from nacre.cli.streams import table

REAL, WHAT = "The real table", "What is measured"


@reads
def evaluate(
    file: Annotated[str, typer.Argument(metavar="SYNTH", help="The synthetic table.")],
    train: Annotated[
        str, typer.Option(metavar="FILE", rich_help_panel=REAL, help="The private table that it was made from.")
    ],
    holdout: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=REAL, help="Real rows that were not used: models are tested there."
        ),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=REAL, help="Schema, as JSON. Default: a draft.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=WHAT, help="What models learn to predict.")
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT, help="default, quick, strong, ten, nine, fidelity, joint or a model; repeatable."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=WHAT, help="Most rows of each table; 0: all. Default: 100,000.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=WHAT, help="Models at a time. Default: as many as cores.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=WHAT, help="Of samples, queries and resamples.")] = 0,
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Certificate (.json) or release (.nacre) to show."),
    ] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="The report as a page.")
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", rich_help_panel=o.FILES, help="The report as JSON; '-' for stdout."),
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="The report as Markdown.")
    ] = None,
    engine: o.Engine = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    reading: o.Reading = None,
) -> None:
    """Say how useful a synthetic table is: distances, dependence, and models trained on it and tested on real rows.

    The report holds unprotected statistics of private rows. It is for the owner of the data and never travels with the
    synthetic table. How tables are written is said of the real ones; a synthetic CSV file is UTF-8 with commas.

    Examples:
      nacre evaluate fake.csv --train people.csv --holdout kept.csv --schema people.json --target income
      nacre evaluate fake.csv --train people.csv --html report.html --json report.json
      nacre evaluate fake.csv --train people.csv --holdout kept.csv --target income --suite ten --suite strong
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.progress import Bars

    to_stdout = json_file == "-"
    shell = Shell(to_stdout, quiet)
    outputs = {"--html": html, "--json": None if to_stdout else json_file, "--markdown": markdown}
    check_outputs(outputs, force, [f for f in (file, train, holdout, schema, certificate) if f is not None])
    try:
        with Bars(not quiet) as bars:
            report = _evaluate(
                table(file, reading),
                train=table(train, reading),
                holdout=table(holdout, reading),
                reading=for_schema(reading, schema),
                schema=schema,
                target=target,
                suites=suite or ["default"],
                seed=seed,
                n_jobs=jobs,
                rows=rows,
                certificate=certificate,
                progress=bars,
                engine=engine,
            )
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None
    _write(shell, report, outputs, force)
    if to_stdout:
        typer.echo(report.to_json(), nl=False)


def _evaluate(file: str, *, rows: int | None, certificate: str | None, **asked: Any) -> Any:
    from nacre.evaluation.evaluate import ROWS, evaluate

    kept = ROWS if rows is None else (rows or None)
    return evaluate(file, rows=kept, certificate=_certificate(certificate), **asked)


def _certificate(path: str | None) -> Any:
    if path is None:
        return None
    from nacre.certificates import load_certificate
    from nacre.release.release import load

    return load(path).certificate if path.endswith(".nacre") else load_certificate(path)


def _write(shell: Shell, report: Any, outputs: dict[str, str | None], force: bool) -> None:
    from nacre.cli.judging import summary_lines

    writers = {"--html": report.to_html, "--json": report.to_json, "--markdown": report.to_markdown}
    for line in summary_lines(report):
        shell.show(line)
    for option, path in outputs.items():
        if path is not None:
            writers[option](path, force)
            shell.show(f"{'report':13}{path}")
    shell.say("The report holds unprotected statistics of private rows: keep it as you keep the data.")
