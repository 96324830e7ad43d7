"""`nacre audit`: attacks on a synthetic table for its owner, or an audit of a mechanism on made-up rows for anybody."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacre.cli import options as o
from nacre.cli.evaluate import load_certificate_of
from nacre.cli.groups import Reading, grouped
from nacre.cli.shell import Interrupted, Shell
from nacre.cli.streams import table
from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.audit.method import Effort, MethodAudit
    from nacre.privacy.certificate.statement import Certificate
    from nacre.release.release import Release
    from nacre.report.report import Report
    from nacre.run.job import Job

TABLES, MECHANISM = "Attacks on a table (owner only)", "Audit of a mechanism (public)"


@dataclass(frozen=True)
class Attacks:
    """Of a table: what is attacked with, and where the report goes."""

    holdout: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=TABLES, help="Real rows that were not used: the non-members."),
    ] = None
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=TABLES, help="A report of `nacre evaluate --json` to add to."),
    ] = None
    html: Annotated[str | None, typer.Option(metavar="FILE", rich_help_panel=TABLES, help="The report, a page.")] = None
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=TABLES, help="The report as Markdown.")
    ] = None

    @property
    def given(self) -> dict[str, object]:
        return {"--holdout": self.holdout, "--report": self.report, "--html": self.html, "--markdown": self.markdown}


@dataclass(frozen=True)
class Mechanism:
    """What is audited, how hard, and whose certificate is to say so."""

    method: Annotated[
        str | None, typer.Option(rich_help_panel=MECHANISM, help="The method to audit; see `nacre methods`.")
    ] = None
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", rich_help_panel=MECHANISM, help="Its claim.")
    ] = None
    delta: Annotated[float | None, typer.Option(rich_help_panel=MECHANISM, help="Its delta. Default: as in fit.")] = (
        None
    )
    target: Annotated[str | None, typer.Option(rich_help_panel=MECHANISM, help="The column to predict.")] = None
    neighbours: Annotated[
        str | None,
        typer.Option(rich_help_panel=MECHANISM, help="add_or_remove_one, zero_out or replace_one. Default: the first."),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", rich_help_panel=MECHANISM, help="A setting; repeatable."),
    ] = None
    runs: Annotated[
        int | None,
        typer.Option(min=0, rich_help_panel=MECHANISM, help="White-box runs per world; 0: none. Default: 1000."),
    ] = None
    releases: Annotated[
        int | None,
        typer.Option(
            min=0, rich_help_panel=MECHANISM, help="Whole fits per world for the black box; 0: none. Default: 0."
        ),
    ] = None
    canaries: Annotated[
        int | None,
        typer.Option(
            min=0,
            rich_help_panel=MECHANISM,
            help="Canaries of a one-run audit; 0: none. Default: 1000 where that many could refute the claim.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(rich_help_panel=MECHANISM, help="Of all bounds together, fixed beforehand. Default: 0.95."),
    ] = None
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=MECHANISM, help="A certificate (.json) or release (.nacre) ..."),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", rich_help_panel=MECHANISM, help="... to write with the audit in it."
        ),
    ] = None

    @property
    def given(self) -> dict[str, object]:
        return {"--epsilon": self.epsilon, "--delta": self.delta, "--target": self.target,
                "--neighbours": self.neighbours, "--option": self.option or None, "--runs": self.runs,
                "--releases": self.releases, "--canaries": self.canaries, "--confidence": self.confidence,
                "--certificate": self.certificate, "--output": self.output}  # fmt: skip

    @property
    def alpha(self) -> float:
        """The chance that any of the bounds is wrong."""
        return 0.05 if self.confidence is None else 1 - self.confidence


@dataclass(frozen=True)
class AuditFiles:
    schema: Annotated[str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Schema, as JSON.")] = None
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", rich_help_panel=o.FILES, help="The result as JSON; '-' for stdout."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=o.FILES, help="Of samples and canaries.")] = 0
    force: o.Force = False
    quiet: o.Quiet = False

    @property
    def to_stdout(self) -> bool:
        return self.json_file == "-"


@grouped
def audit(
    real: Annotated[str | None, typer.Argument(metavar="[REAL]", help="The private table.")] = None,
    synthetic: Annotated[str | None, typer.Argument(metavar="[SYNTH]", help="The synthetic table.")] = None,
    *,
    attacks: Attacks,
    mechanism: Mechanism,
    files: AuditFiles,
    reading: Reading,
) -> None:
    """Try to break a release, or a mechanism.

    With two or three files: presence, density ratio, attributes and marginal recovery, computed on private rows, for
    the owner's report. With --method: lower bounds on what a mechanism really spends, from made-up rows alone; they may
    be published and written into a certificate. Neither can show that anything is private, only that it is not.

    Examples:
      nacre audit people.csv fake.csv --holdout kept.csv --schema people.json --html attacks.html
      nacre audit --method sketch --epsilon 1 --schema people.json
      nacre audit --method sketch --epsilon 1 --schema people.json --certificate people.nacre -o audited.nacre
    """
    from nacre.cli.inputs import check_outputs

    shell = Shell(files.to_stdout, files.quiet)
    if (mechanism.method is None) == (real is None):
        raise NacreError("name two tables (REAL SYNTH) or a mechanism (--method, --epsilon, --schema): one of the two")
    if real is None:
        _refuse_unused("an audit of a mechanism", {"SYNTH": synthetic, **attacks.given})
    else:
        _refuse_unused("attacks on tables", mechanism.given)
    written = {"--html": attacks.html, "--markdown": attacks.markdown, "--output": mechanism.output,
               "--json": None if files.to_stdout else files.json_file}  # fmt: skip
    inputs = (real, synthetic, attacks.holdout, attacks.report, files.schema, mechanism.certificate)
    check_outputs(written, files.force, [f for f in inputs if f is not None])
    try:
        if real is not None:
            _tables(shell, real, synthetic, attacks, files, reading)
        else:
            _mechanism(shell, mechanism, files)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None


def _refuse_unused(what: str, given: dict[str, object]) -> None:
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise NacreError(f"{', '.join(unused)}: {what} cannot use that; leave it out")


# ----------------------------------------------------------------------------------------------------------- of a table


def _tables(
    shell: Shell, real: str, synthetic: str | None, attacks: Attacks, files: AuditFiles, reading: Reading
) -> None:
    from nacre.audit.owner import audit_report, audit_tables
    from nacre.engines import open_rows
    from nacre.table import Schema

    if synthetic is None:
        raise NacreError("name the synthetic table too: nacre audit REAL SYNTH")
    before = None if attacks.report is None else _report(attacks.report)
    plain, how, holdout = reading.options(), reading.options(files.schema), attacks.holdout
    opened = {f: open_rows(table(f, plain), options=how) for f in (real, holdout) if f is not None}
    held = None if holdout is None else opened[holdout]
    schema = None if files.schema is None else reading.described(Schema.load(files.schema))
    found = audit_tables(opened[real], table(synthetic, plain), held, schema, files.seed)
    facts = {"real table": real, "synthetic table": synthetic, "holdout": holdout or "none", "seed": str(files.seed)}
    made = audit_report(before, found, facts)
    if holdout is None:
        shell.say("nacre: without --holdout members cannot be told from the population: only recovery and distances")
    for attack in found:
        shell.show(f"{attack.name}\n  {attack.verdict}")
        for s in attack.scores:
            if s.of == "synthetic" and not s.columns:
                between = "" if s.low is None else f" ({s.low:.3f} to {s.high:.3f})"
                shell.show(f"  {s.metric:18}{s.value:.3f}{between}")
    for path, writer in (
        (attacks.html, made.to_html),
        (None if files.to_stdout else files.json_file, made.to_json),
        (attacks.markdown, made.to_markdown),
    ):
        if path is not None:
            writer(path, files.force)
            shell.show(f"{'report':13}{path}")
    if shell.as_json:
        typer.echo(made.to_json(), nl=False)
    shell.say("This holds unprotected statistics of private rows: keep it as you keep the data.")


def _report(path: str) -> Report:
    from pathlib import Path

    from nacre.errors import DataError
    from nacre.report.text import from_json
    from nacre.table.documents import read

    try:
        return from_json(read(Path(path), 1 << 28, 1 << 23))  # the owner's own: figures of millions of pairs
    except OSError as error:
        raise DataError(f"--report {path}: cannot be read ({error.strerror}); check the path") from None
    except ValueError:
        raise DataError(f"--report {path}: expected the JSON that `nacre evaluate --json` writes") from None


# ------------------------------------------------------------------------------------------------------- of a mechanism


def _mechanism(shell: Shell, asked: Mechanism, files: AuditFiles) -> None:
    from nacre.audit.method import audit_method
    from nacre.cli.progress import Bars
    from nacre.table.writing import write_text

    if asked.epsilon is None or files.schema is None:
        raise NacreError("an audit of a mechanism needs --epsilon and --schema")
    if not 0 < asked.alpha < 1:
        raise NacreError(f"--confidence {1 - asked.alpha:g}: expected a number between 0 and 1, such as 0.95")
    if (asked.certificate is None) != (asked.output is None):
        raise NacreError("--certificate and --output go together: the one is read, the other written")
    job = _job(asked, asked.epsilon, files.schema)
    kept = None if asked.certificate is None else _promised(asked.certificate, job)
    effort = _effort(shell, asked, job)
    with Bars(not shell.quiet) as bars:
        found = audit_method(job, effort, asked.alpha, files.seed, bars)
    shell.show(str(found))
    if files.json_file is not None and not files.to_stdout:
        write_text(files.json_file, json.dumps(found.to_json(), indent=1) + "\n", files.force)
    if kept is not None and asked.output is not None:
        _with_audit(kept, found, asked.output, files.force)
        shell.show(f"{'written':13}{asked.output}")
    shell.document(found.to_json())


def _effort(shell: Shell, asked: Mechanism, job: Job) -> Effort:
    from nacre.audit.method import Effort, default_canaries

    others = Effort(1000 if asked.runs is None else asked.runs, asked.releases or 0)
    if asked.canaries is not None:
        return dataclasses.replace(others, canaries=asked.canaries)
    canaries, why = default_canaries(job.plan, others, asked.alpha)
    if why:
        shell.say(f"nacre: no one-run audit of 1,000 canaries: {why}")
    return dataclasses.replace(others, canaries=canaries)


def _job(asked: Mechanism, epsilon: str, path: str) -> Job:
    from nacre.cli.inputs import check_target_column, parse_epsilon, parse_options
    from nacre.run.job import prepare
    from nacre.run.terms import Terms
    from nacre.table import Schema

    value, schema, method = parse_epsilon(epsilon, None), Schema.load(path), asked.method or ""
    check_target_column(asked.target, schema)
    neighbours = asked.neighbours or "add_or_remove_one"
    options = parse_options(asked.option or (), method)
    return prepare(schema.names, schema, Terms(value, asked.delta, neighbours, False, method, asked.target, "declared",
                                               options))  # fmt: skip


def _promised(path: str, job: Job) -> Release | Certificate:
    """The release or certificate, if the audit is about what it promises."""
    from nacre.release.release import load_table

    kept = load_table(path) if path.endswith(".nacre") else load_certificate_of(path)
    c = _certificate(kept)
    plan, budget = job.plan, job.plan.budget
    bought = any(e.name == "rows" and e.door == "counts" for e in plan.entries)  # their number is in no schema file
    pairs = {
        "method": (c.method, plan.method),
        "epsilon": (c.epsilon, budget.epsilon),
        "delta": (c.delta, budget.delta),
        "neighbours": (c.neighbours, budget.neighbours),
        "schema": ("",) * 2 if bought else (c.schema.get("digest"), job.schema.digest()),
        "what was spent": (_plain(c.entries), _plain([e.to_json() for e in plan.entries])),
    }
    for name, (promised, audited) in pairs.items():
        if promised != audited:
            short = "" if name == "what was spent" else f" ({promised} there, {audited} here)"
            raise NacreError(
                f"--certificate {path}: {name} differs from that of the audit{short}; audit what it promises, with "
                "the schema, target and options of the release"
            )
    return kept


def _certificate(kept: Release | Certificate) -> Certificate:
    from nacre.privacy.certificate.statement import Certificate

    return kept if isinstance(kept, Certificate) else kept.certificate


def _plain(entries: Any) -> Any:
    return json.loads(json.dumps(list(entries)))


def _with_audit(kept: Release | Certificate, found: MethodAudit, output: str, force: bool) -> None:
    from nacre.table.writing import write_text

    certificate = _certificate(kept)
    told = dataclasses.replace(certificate, extras={**certificate.extras, "audit": found.to_json()})
    if isinstance(kept, type(certificate)):
        write_text(output, json.dumps(told.to_json(), indent=1) + "\n", force)
    else:
        dataclasses.replace(kept, certificate=told).save(output, force=force)
