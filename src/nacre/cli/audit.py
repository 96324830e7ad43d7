"""`nacre audit`: attacks on a synthetic table for its owner, or an audit of a mechanism on made-up rows for anybody."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nacre.cli import options as o
from nacre.cli.reading import for_schema, reads
from nacre.cli.shell import Interrupted, Shell
from nacre.cli.streams import table

TABLES, MECHANISM = "Attacks on a table (owner only)", "Audit of a mechanism (public)"


@reads
def audit(
    real: Annotated[str | None, typer.Argument(metavar="[REAL]", help="The private table.")] = None,
    synthetic: Annotated[str | None, typer.Argument(metavar="[SYNTH]", help="The synthetic table.")] = None,
    holdout: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=TABLES, help="Real rows that were not used: the non-members."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=TABLES, help="A report of `nacre evaluate --json` to add to."),
    ] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=TABLES, help="The report, a page.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=TABLES, help="The report as Markdown.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(rich_help_panel=MECHANISM, help="The method to audit; see `nacre methods`.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", rich_help_panel=MECHANISM, help="Its claim.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(rich_help_panel=MECHANISM, help="Its delta. Default: as in fit.")
    ] = None,
    target: Annotated[str | None, typer.Option(rich_help_panel=MECHANISM, help="The column to predict.")] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(rich_help_panel=MECHANISM, help="add_or_remove_one, zero_out or replace_one. Default: the first."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", rich_help_panel=MECHANISM, help="A setting; repeatable."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=0, rich_help_panel=MECHANISM, help="White-box runs per world; 0: none. Default: 1000."),
    ] = None,
    releases: Annotated[
        int | None,
        typer.Option(
            min=0, rich_help_panel=MECHANISM, help="Whole fits per world for the black box; 0: none. Default: 0."
        ),
    ] = None,
    canaries: Annotated[
        int | None,
        typer.Option(
            min=0,
            rich_help_panel=MECHANISM,
            help="Canaries of a one-run audit; 0: none. Default: 1000 where that many could refute the claim.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(rich_help_panel=MECHANISM, help="Of all bounds together, fixed beforehand. Default: 0.95."),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=MECHANISM, help="A certificate (.json) or release (.nacre) ..."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", rich_help_panel=MECHANISM, help="... to write with the audit in it."
        ),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=o.FILES, help="Schema, as JSON.")
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", rich_help_panel=o.FILES, help="The result as JSON; '-' for stdout."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=o.FILES, help="Of samples and canaries.")] = 0,
    force: o.Force = False,
    quiet: o.Quiet = False,
    reading: o.Reading = None,
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
    from nacre.errors import NacreError

    shell = Shell(json_file == "-", quiet)
    if (method is None) == (real is None):
        raise NacreError("name two tables (REAL SYNTH) or a mechanism (--method, --epsilon, --schema): one of the two")
    _refuse_unused(
        "an audit of a mechanism" if real is None else "attacks on tables",
        {"SYNTH": synthetic, "--holdout": holdout, "--report": report, "--html": html, "--markdown": markdown}
        if real is None
        else {"--epsilon": epsilon, "--delta": delta, "--target": target, "--neighbours": neighbours,
              "--option": option or None, "--runs": runs, "--releases": releases, "--canaries": canaries,
              "--confidence": confidence, "--certificate": certificate, "--output": output},
    )  # fmt: skip
    written = {"--html": html, "--markdown": markdown, "--output": output}
    written["--json"] = None if json_file == "-" else json_file
    inputs = [f for f in (real, synthetic, holdout, report, schema, certificate) if f is not None]
    check_outputs(written, force, inputs)
    try:
        if method is None:
            _tables(shell, real, synthetic, holdout, schema, report, seed, written, force, reading)
        else:
            asked = {"method": method, "epsilon": epsilon, "delta": delta, "target": target,
                     "neighbours": neighbours or "add_or_remove_one", "options": option, "schema": schema}  # fmt: skip
            effort = {"runs": 1000 if runs is None else runs, "releases": releases or 0, "canaries": canaries}
            alpha = 0.05 if confidence is None else 1 - confidence
            _mechanism(shell, asked, effort, alpha, certificate, seed, written, force)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was written") from None


def _refuse_unused(what: str, given: Any) -> None:
    from nacre.errors import NacreError

    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise NacreError(f"{', '.join(unused)}: {what} cannot use that; leave it out")


# ----------------------------------------------------------------------------------------------------------- of a table


def _tables(
    shell: Shell,
    real: Any,
    synthetic: Any,
    holdout: Any,
    schema: Any,
    report: Any,
    seed: int,
    written: Any,
    force: bool,
    reading: Any,
) -> None:
    from nacre.audit.owner import audit_report, audit_tables
    from nacre.engines import open_rows
    from nacre.errors import NacreError

    if synthetic is None:
        raise NacreError("name the synthetic table too: nacre audit REAL SYNTH")
    before = None if report is None else _report(report)
    how = for_schema(reading, schema)
    opened = {f: open_rows(table(f, reading), options=how) for f in (real, holdout) if f is not None}
    attacks = audit_tables(opened[real], table(synthetic, reading), opened.get(holdout), schema, seed)
    facts = {"real table": str(real), "synthetic table": str(synthetic), "holdout": str(holdout or "none"),
             "seed": str(seed)}  # fmt: skip
    made = audit_report(before, attacks, facts)
    if holdout is None:
        shell.say("nacre: without --holdout members cannot be told from the population: only recovery and distances")
    for attack in attacks:
        shell.show(f"{attack.name}\n  {attack.verdict}")
        for s in attack.scores:
            if s.of == "synthetic" and not s.columns:
                between = "" if s.low is None else f" ({s.low:.3f} to {s.high:.3f})"
                shell.show(f"  {s.metric:18}{s.value:.3f}{between}")
    for name, writer in (("--html", made.to_html), ("--json", made.to_json), ("--markdown", made.to_markdown)):
        if written[name] is not None:
            writer(written[name], force)
            shell.show(f"{'report':13}{written[name]}")
    if shell.as_json:
        typer.echo(made.to_json(), nl=False)
    shell.say("This holds unprotected statistics of private rows: keep it as you keep the data.")


def _report(path: str) -> Any:
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


def _mechanism(
    shell: Shell, asked: Any, effort: Any, alpha: float, certificate: Any, seed: int, written: Any, force: bool
) -> None:
    import json

    from nacre.audit.method import Effort, audit_method, default_canaries
    from nacre.cli.progress import Bars
    from nacre.errors import NacreError
    from nacre.table.writing import write_text

    if asked["epsilon"] is None or asked["schema"] is None:
        raise NacreError("an audit of a mechanism needs --epsilon and --schema")
    if not 0 < alpha < 1:
        raise NacreError(f"--confidence {1 - alpha:g}: expected a number between 0 and 1, such as 0.95")
    if (certificate is None) != (written["--output"] is None):
        raise NacreError("--certificate and --output go together: the one is read, the other written")
    job = _job(asked)
    kept = None if certificate is None else _release(certificate, job)
    if effort["canaries"] is None:
        others = Effort(effort["runs"], effort["releases"])
        effort["canaries"], why = default_canaries(job.plan, others, alpha)
        if why:
            shell.say(f"nacre: no one-run audit of 1,000 canaries: {why}")
    with Bars(not shell.quiet) as bars:
        found = audit_method(job, Effort(**effort), alpha, seed, bars)
    shell.show(str(found))
    if written["--json"] is not None:
        write_text(written["--json"], json.dumps(found.to_json(), indent=1) + "\n", force)
    if kept is not None:
        _with_audit(kept, found, written["--output"], force)
        shell.show(f"{'written':13}{written['--output']}")
    shell.document(found.to_json())


def _job(asked: Any) -> Any:
    from nacre.cli.inputs import check_target_column, parse_epsilon, parse_options
    from nacre.cli.running import Terms
    from nacre.run import prepare
    from nacre.table import Schema

    parse_epsilon(asked["epsilon"], None)
    schema = Schema.load(asked["schema"])
    check_target_column(asked["target"], schema)
    options = parse_options(asked["options"] or (), asked["method"])
    budget = Terms(asked["epsilon"], asked["delta"], asked["neighbours"]).budget(schema.rows)
    return prepare(list(schema.names), schema, budget, asked["method"], asked["target"], "declared", options)


def _release(path: str, job: Any) -> Any:
    """The release or certificate, if the audit is about what it promises."""
    from nacre.cli.evaluate import _certificate
    from nacre.errors import NacreError
    from nacre.release.release import load

    kept = load(path) if path.endswith(".nacre") else _certificate(path)
    c = getattr(kept, "certificate", kept)
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


def _plain(entries: Any) -> Any:
    import json

    return json.loads(json.dumps(list(entries)))


def _with_audit(kept: Any, found: Any, output: str, force: bool) -> None:
    import dataclasses
    import json

    from nacre.table.writing import write_text

    certificate = getattr(kept, "certificate", kept)
    told = dataclasses.replace(certificate, extras={**certificate.extras, "audit": found.to_json()})
    if kept is certificate:
        write_text(output, json.dumps(told.to_json(), indent=1) + "\n", force)
    else:
        dataclasses.replace(kept, certificate=told).save(output, force=force)
