"""`nacre evaluate`: a synthetic table beside the real one, for the owner of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Reading, grouped
from nacre.cli.shell import Interrupted, Shell
from nacre.cli.streams import table

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate
    from nacre.report.report import Report

REAL, WHAT = "The real table", "What is measured"


@dataclass(frozen=True)
class Real:
    """The real table, and what is known of it."""

    train: Annotated[
        str, typer.Option(metavar="FILE", rich_help_panel=REAL, help="The private table that it was made from.")
    ]
    holdout: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=REAL, help="Real rows that were not used: models are tested there."
        ),
    ] = None
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=REAL, help="Schema, as JSON. Default: a draft.")
    ] = None


@dataclass(frozen=True)
class Measured:
    """What is measured, and on how much."""

    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=WHAT, help="What models learn to predict.")
    ] = None
    suite: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT, help="default, quick, strong, ten, nine, fidelity, joint or a model; repeatable."
        ),
    ] = None
    rows: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=WHAT, help="Most rows of each table; 0: all. Default: 100,000.")
    ] = None
    jobs: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=WHAT, help="Models at a time. Default: as many as cores.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=WHAT, help="Of samples, queries and resamples.")] = 0


@dataclass(frozen=True)
class EvaluationFiles:
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Certificate (.json) or release (.nacre) to show."),
    ] = None
    html: Annotated[str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="The report as a page.")] = (
        None
    )
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", rich_help_panel=o.FILES, help="The report as JSON; '-' for stdout."),
    ] = None
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="The report as Markdown.")
    ] = None
    engine: o.Engine = None
    force: o.Force = False
    quiet: o.Quiet = False

    @property
    def outputs(self) -> dict[str, str | None]:
        as_json = None if self.json_file == "-" else self.json_file
        return {"--html": self.html, "--json": as_json, "--markdown": self.markdown}


@grouped
def evaluate(
    file: Annotated[str, typer.Argument(metavar="SYNTH", help="The synthetic table.")],
    real: Real,
    measured: Measured,
    files: EvaluationFiles,
    reading: Reading,
) -> None:
    """Say how useful a synthetic table is: distances, dependence, and models trained on it and tested on real rows.

    Of a database (--schema says so) SYNTH and the real ones are folders, or SQLite or DuckDB files, and whole units are
    compared: cardinalities, rows with their parents, consecutive rows, and what models foresee of the next.

    The report holds unprotected statistics of private rows. It is for the owner of the data and never travels with the
    synthetic table. How tables are written is said of the real ones; a synthetic CSV file is UTF-8 with commas.

    Examples:
      nacre evaluate fake.csv --train people.csv --holdout kept.csv --schema people.json --target income
      nacre evaluate fake.csv --train people.csv --html report.html --json report.json
      nacre evaluate fake.csv --train people.csv --holdout kept.csv --target income --suite ten --suite strong
      nacre evaluate fake.sqlite --train clinic.sqlite --schema clinic.json --html report.html
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.progress import Bars
    from nacre.cli.schema import described
    from nacre.evaluation.evaluate import ROWS
    from nacre.evaluation.evaluate import evaluate as measure
    from nacre.table import Schema

    to_stdout = files.json_file == "-"
    shell, how = Shell(to_stdout, files.quiet), reading.options()
    inputs = (file, real.train, real.holdout, real.schema, files.certificate)
    check_outputs(files.outputs, files.force, [f for f in inputs if f is not None])
    known = None if real.schema is None else described(real.schema)
    try:
        with Bars(not files.quiet) as bars:
            report = measure(
                table(file, how),
                train=table(real.train, how),
                holdout=table(real.holdout, how),
                reading=reading.options(real.schema if isinstance(known, Schema) else None),
                schema=reading.described(known) if isinstance(known, Schema) else known,
                target=measured.target,
                suites=measured.suite or ["default"],
                seed=measured.seed,
                n_jobs=measured.jobs,
                rows=ROWS if measured.rows is None else (measured.rows or None),
                certificate=None if files.certificate is None else load_certificate_of(files.certificate),
                progress=bars,
                engine=files.engine,
            )
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None
    _write(shell, report, files.outputs, files.force)
    if to_stdout:
        typer.echo(report.to_json(), nl=False)


def load_certificate_of(path: str) -> Certificate:
    """The certificate in a file of its own, or in a release."""
    from nacre.certificates import load_certificate
    from nacre.release.release import load

    return load(path).certificate if path.endswith(".nacre") else load_certificate(path)


def _write(shell: Shell, report: Report, outputs: dict[str, str | None], force: bool) -> None:
    from nacre.cli.judging import summary_lines

    writers = {"--html": report.to_html, "--json": report.to_json, "--markdown": report.to_markdown}
    for line in summary_lines(report):
        shell.show(line)
    for option, path in outputs.items():
        if path is not None:
            writers[option](path, force)
            shell.show(f"{'report':13}{path}")
    shell.say("The report holds unprotected statistics of private rows: keep it as you keep the data.")
