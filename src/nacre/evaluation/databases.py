"""`nacre.evaluate` for databases: tables put together by their keys, compared by whole units."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from nacre.engines.interface import Rows
from nacre.engines.tables import open_tables
from nacre.errors import DataError, NacreError, SchemaError
from nacre.evaluation import relations
from nacre.evaluation.columns import compare_columns
from nacre.evaluation.comparison import gathered
from nacre.evaluation.parallel import run_jobs
from nacre.evaluation.tables import frame_of
from nacre.metrics import METRICS, Metric, Score
from nacre.metrics.databases.events import asked, score
from nacre.metrics.databases.linked import Linked, LinkedPair
from nacre.metrics.databases.linking import link
from nacre.metrics.metric import LinkedComputation
from nacre.metrics.score import Measured
from nacre.progress import Progress, silent
from nacre.report.report import Comparison, Report
from nacre.table import Schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from nacre.metrics.databases.events import Event
    from nacre.table.database import Database
    from nacre.table.sources import Options

SHOWN = 20  # pairs of columns of every metric that keep their figure, the farthest of the synthetic database
Found = Mapping[tuple[LinkedComputation, str], Measured]


@dataclass(frozen=True)
class Ask:
    """What is asked of an evaluation. `units`: the most of each database to use; None: all. `events`: what models
    foresee, in place of what follows from the target."""

    target: str | None = None
    seed: int = 0
    n_jobs: int | None = None
    units: int | None = 100_000
    events: tuple[Event, ...] | None = None
    progress: Progress = silent
    reading: Options | None = None  # how files of real rows are written


@dataclass(frozen=True)
class LinkedSides:
    """The databases of one evaluation. `bootstrap`: units of the private one drawn with replacement."""

    synthetic: Linked
    private: Linked
    holdout: Linked | None
    seed: int = 0
    events: tuple[Event, ...] = ()

    def pair(self, m: Metric, of: str, bootstrap: Linked) -> LinkedPair | None:
        """What `m` compares for the figure of that name; None where a database is not there."""
        tested = m.against == "holdout" and "holdout" in m.reads
        real = self.holdout if tested else self.private
        instead = self.holdout if m.against == "private" else self.private
        ours = {"synthetic": self.synthetic, "bootstrap": bootstrap, "real": instead}[of]
        if ours is None or real is None or (tested and not self.events):
            return None
        return LinkedPair(ours, real, self.seed, asked=self.events)


def scores_of(sides: LinkedSides, ask: Ask, names: frozenset[str] | None = None) -> Measured:
    """Every figure of two databases that is registered, or those named, of the synthetic database and of what stands
    beside it; notes."""
    bootstrap = sides.private.redrawn(sides.seed)
    found = run_jobs(_jobs(sides, bootstrap, names), ask.n_jobs, ask.progress, "evaluating")
    measured = gathered(found)
    scores = [*measured.scores, *_gaps(found)]
    place = {name: i for i, name in enumerate(METRICS)}
    scores.sort(key=lambda s: (bool(s.columns), place[s.metric]))
    return Measured(tuple(scores), measured.notes)


def _jobs(
    sides: LinkedSides, bootstrap: Linked, names: frozenset[str] | None
) -> dict[tuple[LinkedComputation, str], Callable[[], Measured]]:
    """What takes longest comes first: models."""
    found: dict[tuple[LinkedComputation, str], Callable[[], Measured]] = {}
    known = [m for m in METRICS.values() if m.linked is not None and (names is None or m.name in names)]
    for m in sorted(known, key=lambda m: (m.against == "private", not m.whole_rows)):
        assert m.linked is not None
        for of in ("synthetic", m.beside):
            pair = sides.pair(m, of, bootstrap)
            if pair is not None:
                found.setdefault((m.linked, of), _job(m.linked, pair))
    return found


def _job(computation: LinkedComputation, pair: LinkedPair) -> Callable[[], Measured]:
    return lambda: computation(pair)


def _gaps(found: Found) -> list[Score]:
    """How far the synthetic database falls behind the real one, on the same resamples of test units."""
    gaps = []
    for m in METRICS.values():
        base = METRICS[m.gap_of] if m.gap_of else None
        if base is None or base.linked is None or (base.linked, "synthetic") not in found:
            continue
        ours, real = (found[base.linked, of] for of in ("synthetic", "real"))
        rows = {s.rows for s in ours.scores}
        for (name, columns), figures in ours.resampled.items():
            if name == base.name and (name, columns) in real.resampled:
                gap = real.resampled[name, columns] - figures
                gaps.append(score(m.name, columns, gap, max(r or 0 for r in rows)))
    return gaps


def evaluate_database(synthetic: object, train: object, holdout: object, database: Database, ask: Ask) -> Report:
    """The report of a synthetic database beside the private one. A source is {table: anything that is a
    table}, a folder of tables, a SQLite or DuckDB file."""
    start = time.monotonic()
    if ask.units is not None and (type(ask.units) is not int or ask.units < 10):
        raise NacreError(f"rows={ask.units!r}: expected the most units to use, at least 10, or None for all")
    if train is holdout:
        raise NacreError("the holdout is the private database itself: give real units that were not used, or none")
    sources = {"synthetic": synthetic, "train": train, "holdout": holdout}
    readings = {"synthetic": None, "train": ask.reading, "holdout": ask.reading}
    tables = {w: read_tables(s, database, w, readings[w]) for w, s in sources.items() if s is not None}
    notes: list[str] = []
    seeds = np.random.SeedSequence(ask.seed).generate_state(3).tolist()
    linked = {}
    for (what, read), seed in zip(tables.items(), seeds):
        linked[what], note = _sampled(_linked(read, database), what, ask.units, seed)
        notes += note
    real = linked["train"]
    if holdout is None:
        notes.append("There are no held-out units: no model was trained to foresee the next row.")
    events = asked(database, real, ask.target) if ask.events is None else ask.events
    sides = LinkedSides(linked["synthetic"], real, linked.get("holdout"), ask.seed, events)
    measured = scores_of(sides, ask)
    return Report(
        scores=tuple(_shown(measured.scores)),
        columns=tuple(_columns(tables["train"], tables["synthetic"], database)),
        target=ask.target,
        facts=_facts(linked, ask, start),
        notes=(*notes, *_beyond(real), *measured.notes),
        relations=relations.drawn(linked["synthetic"], real),
    )


def read_tables(source: object, database: Database, what: str, reading: Options | None) -> dict[str, pa.Table]:
    """The columns that are compared or are keys, of every table."""
    try:
        opened = open_tables(source, list(database.tables), options=reading)
    except DataError as error:
        raise DataError(f"the {what} database: {error}") from None
    found = {}
    for name, rows in opened.items():
        absent = [c for c in _needed(database, name) if c not in rows.column_names]
        if absent:
            raise SchemaError(f"table {name!r} of the {what} database lacks the column(s) {', '.join(absent[:8])}, "
                              "which its schema describes")  # fmt: skip
        found[name] = _whole(rows, _needed(database, name))
    return found


def _whole(rows: Rows, columns: list[str]) -> pa.Table:
    import pyarrow as pa

    parts = [pa.Table.from_batches([batch]) for batch in rows.batches(columns)]
    empty = pa.schema([rows.arrow_schema.field(c) for c in columns]).empty_table()
    return pa.concat_tables(parts, promote_options="permissive") if parts else empty


def _needed(database: Database, name: str) -> list[str]:
    """Columns to read: keys, ids, orders and what is learnt."""
    schema = database.tables[name]
    keys = {k.column for k in database.keys if k.child == name}
    keys |= {k.parent_column for k in database.keys if k.parent == name}
    keys |= {k.order for k in database.keys if k.child == name and k.order is not None}
    return [n for n, c in schema.columns.items() if n in keys or c.labelled or c.measured]


def _linked(tables: Mapping[str, pa.Table], database: Database) -> Linked:
    return link({name: frame(table, database, name) for name, table in tables.items()}, database)


def frame(table: pa.Table, database: Database, name: str) -> pd.DataFrame:
    """The table with the types of its schema; names of rows as they are."""
    import pandas as pd
    import pyarrow as pa

    references = {k.column for k in database.references(name)}
    schema = database.tables[name]
    learnt = [c for c in table.column_names if c not in references and _described(schema, c)]
    found = frame_of(table.select(learnt), schema) if learnt else pd.DataFrame(index=range(table.num_rows))
    for column in (c for c in table.column_names if c not in learnt):
        found[column] = table.column(column).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return found


def _described(schema: Schema, name: str) -> bool:
    column = schema.columns[name]
    return column.labelled or column.measured


def _sampled(tables: Linked, what: str, most: int | None, seed: int) -> tuple[Linked, list[str]]:
    if tables.units == 0:
        raise SchemaError(f"the {what} database has no units: its table {tables.root.name!r} has no rows")
    if most is None or tables.units <= most:
        return tables, []
    units = np.sort(np.random.default_rng(seed).choice(tables.units, most, replace=False))
    note = f"The {what} database has {tables.units:,} units; figures rest on {most:,} of them drawn at random."
    return tables.taken(units), [note]


def _columns(real: Mapping[str, pa.Table], synthetic: Mapping[str, pa.Table], database: Database) -> list[Comparison]:
    found = []
    for name in database.owned:
        references = {k.column for k in database.references(name)}
        columns = {c: column for c, column in database.tables[name].columns.items() if c not in references}
        plain = {c: column for c, column in columns.items() if column.labelled or column.measured}
        if plain and real[name].num_rows and synthetic[name].num_rows:
            each = compare_columns(real[name], synthetic[name], Schema(plain))
            found += [replace(c, name=f"{name}.{c.name}") for c in each]
    return found


def _shown(scores: tuple[Score, ...]) -> list[Score]:
    """All but the nearer pairs, and what stands beside those kept."""
    kept: set[tuple[str, tuple[str, ...]]] = set()
    for name in dict.fromkeys(s.metric for s in scores):
        pairs = [s for s in scores if s.metric == name and len(s.columns) == 2 and s.of == "synthetic"]
        kept |= {(name, s.columns) for s in sorted(pairs, key=lambda s: -s.value)[:SHOWN]}
    return [s for s in scores if len(s.columns) != 2 or (s.metric, s.columns) in kept]


def _beyond(real: Linked) -> list[str]:
    """What caps leave out, which no synthetic database made under them can have."""
    told = []
    for level in real.children:
        cap = level.key.cap if level.key else None
        beyond = float((level.place >= cap).mean()) if cap is not None and len(level) else 0.0
        if beyond:
            told.append(f"Of the real rows of {level.name}, {100 * beyond:.1f} % lie beyond the cap of {cap:,} rows.")
    return told


def _facts(linked: Mapping[str, Linked], ask: Ask, start: float) -> dict[str, str]:
    from nacre.evaluation.evaluate import versions

    facts = {f"{what} units": f"{tables.units:,}" for what, tables in linked.items()}
    for what, tables in linked.items():
        rows = ", ".join(f"{level.name} {len(level):,}" for level in tables.children)
        facts[f"{what} rows"] = rows
    facts |= {"seed": str(ask.seed), "versions": versions()}
    facts["made"] = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    facts["seconds"] = f"{time.monotonic() - start:.1f}"
    return facts
