"""How a database is made from the private one: itself, a bootstrap of units, the sketch of databases, and two ways
without it, that any method should beat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from benchmarks.relational.tables import Frames, Relational
from nacre.metrics.databases.linked import Linked
from nacre.metrics.databases.linking import link
from nacre.run import fit
from nacre.table.columns import Identifier, Numeric
from nacre.table.database import Database
from nacre.table.rules import Unit
from nacre.table.schema import Schema

UNIT, COUNT, BESIDE = "unit of the row", "{} owned", "{} beside"  # columns that the ways without keys need


@dataclass(frozen=True)
class Task:
    data: Relational
    private: Frames
    epsilon: float | None
    delta: float
    seed: int

    @property
    def database(self) -> Database:
        return self.data.database

    @property
    def units(self) -> int:
        return len(self.private[self.database.unit])


@dataclass(frozen=True)
class Made:
    frames: Frames
    guarantee: str | None = "none"  # None: of parts that were certified, of the whole nothing was
    figures: Mapping[str, float] = field(default_factory=dict)


class NotMade(Exception):
    """A way that such a database does not allow, or that did not finish: a result, not an error."""


Maker = Callable[[Task], Made]


def real(task: Task) -> Made:
    """The private units themselves: the ceiling."""
    return Made(task.private)


def bootstrap(task: Task) -> Made:
    """As many units drawn with replacement, under new names."""
    return Made(as_frames(link(task.private, task.database).redrawn(task.seed), task.private))


def sketch(task: Task) -> Made:
    """The sketch of databases."""
    import nacre

    start = time.perf_counter()
    release = nacre.fit(
        task.private, schema=task.database, epsilon=task.epsilon, delta=task.delta, method="sketch", seed=task.seed
    )
    fitted = time.perf_counter()
    frames = release.sample(task.units, as_="pandas", seed=task.seed)
    cost = {"fit_s": fitted - start, "sample_s": time.perf_counter() - fitted}
    return Made(dict(frames), release.certificate.guarantee, cost)


def relinked(task: Task) -> Made:
    """A sketch of every table by itself, with equal parts of the budget and at most as many rows of a unit as caps
    allow. A row also tells how many rows it owns; so many rows of the table below, drawn by themselves, hang on it."""
    database, start = task.database, time.perf_counter()
    linked = link(task.private, database)
    share = len(database.owned)
    drawn: Frames = {}
    for name in database.owned:
        rows, schema = _with_counts(linked, name)
        count = task.units if name == database.unit else _asked(drawn, database, name)
        drawn[name] = _drawn(rows, schema, task, share, count)
    cost = {"fit_s": time.perf_counter() - start}
    return Made(_named(drawn, task), None, cost)


def flat(task: Task) -> Made:
    """One sketch of the rows of the deepest table, each with all columns of the rows above and how many rows are beside
    it, as if rows were people; rows that are alike above are then put together, as many as they say there are."""
    database, start = task.database, time.perf_counter()
    chain = database.path(database.owned[-1])
    if len(chain) < len(database.owned):
        raise NotMade("the tables are no chain")
    linked = link(task.private, database)
    rows, schema = _joined(linked, chain)
    table = _drawn(rows, schema, task, 1, len(rows))
    cost = {"fit_s": time.perf_counter() - start}
    return Made(_keyed(_cut(table, chain), database, task.private), None, cost)


METHODS: Mapping[str, Maker] = {
    "real": real,
    "bootstrap": bootstrap,
    "relinked": relinked,
    "flat": flat,
    "sketch": sketch,
}


# ---------------------------------------------------------------------------------------------------- tables and units


def as_frames(linked: Linked, like: Frames) -> Frames:
    """Rows of levels as tables, with 1, 2, 3, ... as names and keys that lead to them."""
    drawn = {}
    for name, level in linked.levels.items():
        drawn[name] = level.frame.reset_index(drop=True).assign(**{UNIT: level.parent})
    return _keyed(drawn, linked.database, like)


def _with_counts(linked: Linked, name: str) -> tuple[pd.DataFrame, Schema]:
    """A table with the numbers of rows that each row owns, and whose it is; what is a key is left out."""
    database, level = linked.database, linked.levels[name]
    columns = _modelled(database, name)
    frame = level.frame[list(columns)].reset_index(drop=True)
    for child in database.children(name):
        key = database.owner(child)
        assert key is not None and key.cap is not None
        frame[COUNT.format(child)] = np.minimum(linked.owned_rows(linked.levels[child]), key.cap)
        columns[COUNT.format(child)] = Numeric((0, key.cap), integer=True)
    return _owned_by(frame, columns, level.unit, database.most(name))


def _owned_by(frame: pd.DataFrame, columns: dict, unit: np.ndarray, most: int) -> tuple[pd.DataFrame, Schema]:
    if most == 1:
        return frame, Schema(columns)
    return frame.assign(**{UNIT: unit}), Schema({UNIT: Identifier(), **columns}, unit=Unit(UNIT, most))


def _modelled(database: Database, name: str) -> dict:
    schema = database.tables[name]
    references = {k.column for k in database.references(name)}
    return {n: schema.columns[n] for n in schema.modelled if n not in references}


def _drawn(rows: pd.DataFrame, schema: Schema, task: Task, share: int, count: int) -> pd.DataFrame:
    epsilon = None if task.epsilon is None else task.epsilon / share
    release = fit(rows, schema=schema, epsilon=epsilon, delta=task.delta / share, method="sketch", seed=task.seed)
    drawn = release.sample(max(count, 1), as_="pandas", seed=task.seed).head(count)
    return drawn.drop(columns=UNIT, errors="ignore")


def _asked(drawn: Frames, database: Database, name: str) -> int:
    key = database.owner(name)
    assert key is not None
    return int(drawn[key.parent][COUNT.format(name)].sum())


def _named(drawn: Frames, task: Task) -> Frames:
    """Rows hang on the rows above as those ask for, in the order in which they were drawn: at random."""
    for name in task.database.owned[1:]:
        key = task.database.owner(name)
        assert key is not None
        count = drawn[key.parent][COUNT.format(name)].to_numpy(np.int64)
        drawn[name] = drawn[name].assign(**{UNIT: np.repeat(np.arange(len(count)), count)})
    return _keyed(drawn, task.database, task.private)


def _keyed(drawn: Frames, database: Database, like: Frames) -> Frames:
    """Names and keys for rows whose parents stand in UNIT; references are drawn anew, uniformly, where there are none;
    public tables as they are."""
    rng = np.random.default_rng(5)
    made = {name: like[name] for name in database.public}
    above: dict[str, dict[str, np.ndarray]] = {}  # of every table, the row of each ancestor
    for name in database.owned:
        frame, key = drawn[name], database.owner(name)
        rows = np.arange(len(frame))
        above[name] = {name: rows}
        if key is not None:
            parent = frame[UNIT].to_numpy(np.int64)
            above[name] |= {n: places[parent] for n, places in above[key.parent].items()}
        columns = {}
        for column in like[name].columns:
            columns[column] = _column(column, name, frame, above[name], database, like, rng)
        made[name] = pd.DataFrame(columns)
    return made


def _column(
    column: str, name: str, frame: pd.DataFrame, above: dict[str, np.ndarray], database: Database, like: Frames,
    rng: np.random.Generator,
) -> object:  # fmt: skip
    key = next((k for k in database.keys if (k.child, k.column) == (name, column)), None)
    if key is not None and key.parent in above:
        return above[key.parent] + 1
    if key is not None:
        return frame[column] if column in frame else rng.choice(like[key.parent][key.parent_column], len(frame))
    return frame[column] if column in frame and not isinstance(
        database.tables[name].columns[column], Identifier
    ) else np.arange(1, len(frame) + 1)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- flat rows


def _joined(linked: Linked, chain: tuple[str, ...]) -> tuple[pd.DataFrame, Schema]:
    level = linked.levels[chain[-1]]
    parts, columns = {}, {}
    for above, places in [(level, np.arange(len(level))), *linked.ancestors(level)]:
        for name, column in _modelled(linked.database, above.name).items():
            parts[f"{above.name}.{name}"] = above.frame[name].iloc[places].reset_index(drop=True)
            columns[f"{above.name}.{name}"] = column
        if above.key is not None:
            cap = above.key.cap or 1
            parts[BESIDE.format(above.name)] = np.minimum(above.per_parent[places], cap)
            columns[BESIDE.format(above.name)] = Numeric((1, cap), integer=True)
    return _owned_by(pd.DataFrame(parts), columns, level.unit, linked.database.most(chain[-1]))


def _cut(table: pd.DataFrame, chain: tuple[str, ...]) -> Frames:
    """From the deepest table up: rows that say there are m of them, sorted by what stands above, m by m."""
    drawn: Frames = {}
    for depth in range(len(chain) - 1, 0, -1):
        name, beside = chain[depth], BESIDE.format(chain[depth])
        higher = [c for c in table.columns if c.startswith(tuple(f"{n}." for n in chain[:depth]))]
        higher += [BESIDE.format(n) for n in chain[1:depth]]
        order = table.sort_values([beside, *higher], kind="stable").reset_index(names=UNIT)
        if depth + 1 < len(chain):  # the rows below were cut before these were sorted
            place = np.argsort(order[UNIT].to_numpy())
            drawn[chain[depth + 1]][UNIT] = place[drawn[chain[depth + 1]][UNIT]]
        m = order[beside].to_numpy(np.int64)
        start = np.flatnonzero(np.r_[True, m[1:] != m[:-1]])
        within = np.arange(len(m)) - np.repeat(start, np.diff(np.r_[start, len(m)]))
        first = within % m == 0
        own = {c.split(".", 1)[1]: order[c] for c in table.columns if c.startswith(f"{name}.")}
        drawn[name] = pd.DataFrame({**own, UNIT: np.cumsum(first) - 1})
        table = order.loc[first, higher].reset_index(drop=True)
    drawn[chain[0]] = table.rename(columns=lambda c: c.removeprefix(f"{chain[0]}."))
    return drawn
