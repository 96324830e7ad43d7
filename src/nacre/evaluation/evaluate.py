"""`nacre.evaluate`: is the synthetic table useful? One call, one report, for the owner of the data."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from nacre.certificates import verified
from nacre.errors import NacreError, SchemaError
from nacre.evaluation import outside, usefulness
from nacre.evaluation.columns import compare_columns
from nacre.evaluation.comparison import Sides, gathered, jobs
from nacre.evaluation.databases import Ask, evaluate_database
from nacre.evaluation.parallel import run_jobs
from nacre.evaluation.tables import Sample, read
from nacre.metrics.domain import Domain
from nacre.metrics.models import models_of
from nacre.metrics.pair import Side
from nacre.progress import Progress, silent
from nacre.report.report import Report
from nacre.table import Schema
from nacre.table.database import Database
from nacre.table.naming import choices
from nacre.table.sources import Options

ROWS = 100_000  # of each table, unless asked for more: marginals then have a standard error below 0.002

SchemaGiven = Schema | Database | str | os.PathLike | None


@dataclass(frozen=True)
class Tables:
    """What is compared, read and reduced to at most the asked number of rows."""

    synthetic: Sample
    train: Sample
    holdout: Sample | None
    domain: Domain
    schema: Schema
    target: str | None
    seed: int

    def sides(self) -> Sides:
        private = Side.of(self.train.frame, self.domain)
        held = None if self.holdout is None else Side.of(self.holdout.frame, self.domain)
        synthetic = Side.of(self.synthetic.frame, self.domain)
        return Sides(synthetic, private, held, private.redrawn(self.seed), self.domain, self.seed)


def evaluate(
    synthetic: object,
    *,
    train: object,
    holdout: object = None,
    schema: SchemaGiven = None,
    target: str | None = None,
    suites: Sequence[str] = ("default",),
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    certificate: Any = None,
    rows: int | None = ROWS,
    engine: object = None,
    reading: Options | None = None,
) -> Report:
    """Compare a synthetic table with the private one it was made from, and with real rows that were held out.

    Tables are pandas, polars or Arrow tables, `Rows`, or paths. `train` is the table that was synthesised, `holdout`
    real rows that were not. `schema` is a `Schema` or the path of one; without it one is drafted from `train`, which
    only an owner's document may do. With a `target` and a holdout, the models of `suites` are trained on the
    synthetic table, on `train` (the ceiling) and on a bootstrap of it, and tested on the holdout: "default", "quick",
    "strong", "ten", "nine", "fidelity" (none), or single models;
    "joint" adds `kl_knn` of the numeric columns. A table of more than `rows` rows is sampled, and
    `Report.notes` says what that costs (None: never). Equal arguments give equal scores, whatever `n_jobs` (None: all
    cores); `engine` ("ray", see docs/engines.md) has the workers of a cluster do the work. `reading` (`Options` of
    `nacre.table.sources`) says how files of real rows are written.

    With a `Database` as `schema`, or its file, all three are {table: any of these}, folders, SQLite or DuckDB files,
    and whole units are compared: `rows` is then the most units to use, and `target` a "table.column" of which models
    foresee the next value (docs/relational.md).

    The report holds unprotected statistics of private rows: it never travels with the synthetic table.
    """
    start = time.monotonic()
    certificate = verified(certificate)
    progress = progress or silent
    if is_database(schema):
        schema = Database.load(schema)
    if isinstance(schema, Database):
        need_libraries()
        ask = Ask(target, seed, n_jobs, rows, None, progress, reading)
        return replace(evaluate_database(synthetic, train, holdout, schema, ask), certificate=certificate)
    if isinstance(suites, str):
        suites = (suites,)
    files = _files(synthetic=synthetic, train=train, holdout=holdout)
    if _same(train, holdout):
        raise NacreError("the holdout is the private table itself: give real rows that were not used, or no holdout")
    train, holdout = _real(train, reading), _real(holdout, reading)
    sources = {"synthetic": synthetic, "train": train, "holdout": holdout}
    tables, notes = _open(sources, schema, target, rows, seed, progress)
    models = _models(tables, suites, notes)
    compared = jobs(tables.sides(), suites)
    trial = usefulness.Trial.of(tables, models) if models else None
    notes += trial.notes if trial else []
    trained = trial.jobs() if trial else {}  # the slowest first
    found = run_jobs({**trained, **compared}, n_jobs, progress, "evaluating", engine)
    measured = gathered({key: found[key] for key in compared})
    scores = [*measured.scores, *(trial.scores(found) if trial else [])]
    notes += [*outside.notes(tables), *measured.notes]
    plain = Schema({name: tables.schema.columns[name] for name in tables.domain.names})  # what was read
    return Report(
        scores=tuple(scores),
        columns=tuple(compare_columns(tables.train.table, tables.synthetic.table, plain)),
        matrices=measured.matrices,
        target=target,
        facts=_facts(tables, files, suites, start),
        notes=tuple(notes),
        certificate=certificate,
    )


def _open(
    sources: dict[str, object], schema: SchemaGiven, target: str | None, rows: int | None, seed: int, progress: Progress
) -> tuple[Tables, list[str]]:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 10):
        raise NacreError(f"rows={rows!r}: expected the most rows of a table to use, at least 10, or None for all")
    need_libraries()
    notes = []
    if schema is None:
        from nacre.engines import open_rows

        progress("reading the real table", 0, None)
        sources["train"] = open_rows(sources["train"])
        schema = Schema.draft(sources["train"])
        notes.append("No schema was given: ranges and categories were read from the real table.")
    else:
        schema = Schema.given(schema)
    domain = Domain.of(schema)
    if target is not None and target not in domain.names:
        raise SchemaError(f"target {target!r}: no such column to predict; choose among {choices(target, domain.names)}")
    seeds = np.random.SeedSequence(seed).generate_state(3).tolist()
    read_in = {}
    for (what, source), own in zip(sources.items(), seeds, strict=True):
        if source is not None:
            progress(f"reading the {what} table", 0, None)
            read_in[what] = read(source, schema, domain.names, what, rows, own)
            notes += [note] if (note := read_in[what].note) else []
    tables = Tables(read_in["synthetic"], read_in["train"], read_in.get("holdout"), domain, schema, target, seed)
    return tables, notes


def _real(source: object, reading: Options | None) -> object:
    """A file of real rows, opened as it is said to be written; any other table as it is."""
    from nacre.engines import open_rows

    return open_rows(source, options=reading) if isinstance(source, str | os.PathLike) else source


def is_database(schema: SchemaGiven) -> TypeGuard[str | os.PathLike]:
    """Does a file describe several tables? What is wrong with it is said by who loads it."""
    if not isinstance(schema, str | os.PathLike):
        return False
    try:
        found = json.loads(Path(schema).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, Mapping) and "tables" in found


def _same(train: object, holdout: object) -> bool:
    """Testing on the rows that were synthesised would flatter every figure: refused where it can be seen."""
    if isinstance(train, str | os.PathLike) and isinstance(holdout, str | os.PathLike):
        return os.path.realpath(train) == os.path.realpath(holdout)
    return holdout is not None and train is holdout


def need_libraries() -> None:
    """Raise unless the libraries of an evaluation are installed: they are an extra."""
    try:
        import pandas  # noqa: F401
        import scipy  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise NacreError(
            f"evaluation needs {error.name}, which is not installed; install it with: pip install 'nacre[evaluate]'"
        ) from None


def _models(tables: Tables, suites: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """The models to train; none, with a note that says why, when there is nothing to predict or to test on."""
    numeric = tables.target is not None and tables.domain[tables.target].numeric
    models = models_of(suites, numeric)
    if models and tables.target is None:
        notes.append("No target was named: no model was trained.")
    elif models and tables.holdout is None:
        notes.append("There are no held-out rows: no model was trained, because testing on rows that were used to "
                     "make the synthetic table would flatter it.")  # fmt: skip
    else:
        return models
    return ()


def _files(**sources: object) -> str:
    """Which files were compared, by name alone; empty for tables that came from memory."""
    named = {what: os.path.basename(s) for what, s in sources.items() if isinstance(s, str | os.PathLike)}
    return ", ".join(f"{what} {name}" for what, name in named.items())


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("nacre", "scikit-learn", "numpy", "scipy"):
        with contextlib.suppress(PackageNotFoundError):  # a checkout that was not installed
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def _facts(tables: Tables, files: str, suites: Sequence[str], start: float) -> dict[str, str]:
    facts = {}
    for sample in (tables.synthetic, tables.train, tables.holdout):
        if sample is not None:
            used = "" if sample.rows == sample.total else f", of which {sample.rows:,} were used"
            facts[f"{sample.what} rows"] = f"{sample.total:,}{used}"
    facts |= {"files": files} if files else {}
    facts |= {"columns": f"{len(tables.domain.names)}", "suites": ", ".join(suites), "seed": str(tables.seed)}
    facts["versions"] = versions()
    facts["made"] = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    facts["seconds"] = f"{time.monotonic() - start:.1f}"
    return facts
