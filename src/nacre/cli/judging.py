"""Reports from the command line: what they need before anything is spent, and writing them afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.cli.progress import Bars
from nacre.cli.shell import Shell
from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.release.release import Release
    from nacre.report.report import Report
    from nacre.run.terms import Terms
    from nacre.table.sources import Options

KINDS = {".html": "to_html", ".htm": "to_html", ".json": "to_json", ".md": "to_markdown"}
SHEET_ROWS = 200_000


def check_report(option: str, path: str | None) -> None:
    """Raise, before anything is spent, unless a report of this name can be made here."""
    if path is None:
        return
    if Path(path).suffix.lower() not in KINDS:
        raise NacreError(f"{option} {path}: the ending says the format; use one of {', '.join(KINDS)}")
    from nacre.evaluation.evaluate import need_libraries

    need_libraries()


def write_report(report: Report, path: str, force: bool) -> None:
    """Write the report in the format that the ending of the name says."""
    getattr(report, KINDS[Path(path).suffix.lower()])(path, force)


class Split:
    """The rows of one file, divided before anything is read: what is fitted, and what the report tests on."""

    def __init__(self, file: object, share: float, unit: str | None, engine: str | None, reading: Options):
        from nacre.engines import open_rows
        from nacre.engines.holdout import split

        self.share, self.engine = share, engine
        self.train, self.held = split(open_rows(file, options=reading, engine=engine), share, unit)


def unit_of(schema: str | None, unit: str | None) -> str | None:
    """The column of persons, as declared by option or in the schema file."""
    if unit is not None or schema is None:
        return unit
    from nacre.table import Schema

    declared = Schema.load(schema).unit
    return None if declared is None else declared.column


def judge(split: Split, made: Release, output: str, terms: Terms, shell: Shell, control: Release | None) -> Report:
    """The report of a run: the synthetic file beside the rows that were fitted, tested on those that were not."""
    from nacre.evaluation.evaluate import evaluate

    with Bars(not shell.quiet) as bars:
        report = evaluate(
            output,
            train=split.train,
            holdout=split.held,
            schema=made.schema,
            target=terms.target if terms.target in made.schema.modelled else None,
            seed=terms.seed,
            progress=bars,
            certificate=made.certificate,
            engine=split.engine,
        )
    if not made.certificate.extras.get("hidden"):
        return report
    how = made.model.hiding or {}
    facts = {"Hiding": ", ".join(f"{name} {value}" for name, value in how.items())} if how else {}
    return replace(report, hidden=_hidden(split, made, output, control, terms.seed), facts={**report.facts, **facts})


def _hidden(split: Split, made: Release, output: str, control: Release | None, seed: int) -> Any:
    """The block on hidden columns, with the control that was fitted beside."""
    from nacre.evaluation.hidden import READ, hidden_marginals

    asked = made.certificate.extras["hidden"]
    other = None if control is None else control.sample(min(READ, made.rows), as_="pyarrow", seed=seed)
    return hidden_marginals(output, train=split.train, schema=made.schema, hide=asked["sets"], alpha=asked["alpha"],
                            control=other, scores=made.model.scores, seed=seed)  # fmt: skip


def write_sheet(made: Release, output: str, drawn: int, path: str, force: bool) -> None:
    """The release sheet: the certificate in words, and plots of the synthetic rows alone."""
    import numpy as np

    from nacre.engines import open_rows
    from nacre.evaluation.columns import profile_columns
    from nacre.evaluation.tables import draw
    from nacre.report.sheet import sheet_html
    from nacre.table.writing import write_text

    table, _ = draw(open_rows(output), list(made.schema.names), SHEET_ROWS, np.random.default_rng(0))
    facts = {"Rows": f"{drawn:,}", "Columns": f"{len(made.schema.columns)}"}
    if table.num_rows < drawn:
        facts["Plots"] = f"{table.num_rows:,} of the rows, drawn at random"
    write_text(path, sheet_html(made.certificate, made.schema, profile_columns(table, made.schema), facts), force)


def summary_lines(report: Report) -> Sequence[str]:
    """The headline figures and what is weakest, for the end of a run."""
    from nacre.metrics import METRICS
    from nacre.report.hidden import verdict
    from nacre.report.ranking import describe, weakest

    found = {(s.metric, s.of): s for s in report.scores if not s.columns}
    lines = []
    wide = max([12, *(len(s.metric) for s in report.scores if METRICS[s.metric].headline and not s.columns)]) + 1
    headlines = sorted((m.headline, m.name) for m in METRICS.values() if m.headline is not None)
    for _, name in headlines:
        s, real = found.get((name, "synthetic")), found.get((name, "real")) or found.get((name, "bootstrap"))
        if s is not None:
            beside = (
                "" if real is None else f"   {'real' if real.of == 'real' else 'bootstrap of real'} {real.value:.3f}"
            )
            lines.append(f"{name:{wide}}{s.value:.3f}{beside}")
    lines += [f"{'weak':{wide}}{describe(s)}" for s in weakest(report, 3)]
    return [*lines, *(f"{'hidden':{wide}}{', '.join(h.columns)}: {verdict(h)}" for h in report.hidden)]
