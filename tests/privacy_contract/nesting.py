"""A small database for the contract of the door `nested`, and its answers found row by row, without the door's code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from tests.privacy_contract import checks

from nacre.engines import MemoryRows
from nacre.privacy.doors.nested import Nested, caps_of
from nacre.privacy.nested.curator import NestedCurator
from nacre.privacy.nested.views import View, worst
from nacre.privacy.noise import NoiseSource
from nacre.privacy.opening import Record
from nacre.privacy.plan import Plan
from nacre.table import Boolean, Categorical, Identifier, Numeric, Schema
from nacre.table.database import Database, Key
from nacre.table.database.forms import forms

Tables = dict[str, list[dict[str, Any]]]
DRUGS = ("d1", "d2", "d3")
DATABASE = Database(
    tables={
        "patients": Schema({"id": Identifier(), "sex": Categorical(("f", "m")), "old": Boolean(nullable=True)}),
        "stays": Schema(
            {
                "id": Identifier(),
                "patient": Identifier(),
                "day": Numeric((0, 60), integer=True, nullable=True),
                "ward": Categorical(("a", "b", "c"), nullable=True),
            }
        ),
        "codes": Schema(
            {
                "stay": Identifier(),
                "patient": Identifier(),
                "code": Categorical(("x", "y")),
                "drug": Identifier(text=True),
            }
        ),
        "calls": Schema({"patient": Identifier(), "topic": Categorical(("p", "q")), "rank": Identifier()}),
        "tests": Schema({"stay": Identifier(), "level": Numeric((0, 9), integer=True)}),
        "drugs": Schema({"name": Identifier(text=True), "price": Numeric((0, 9))}),
    },
    keys=[
        Key("stays.patient -> patients.id", cap=3, order="day"),
        Key("codes.stay -> stays.id", cap=2),
        Key("codes.patient -> patients.id"),
        Key("codes.drug -> drugs.name"),
        Key("calls.patient -> patients.id", cap=4, order="rank"),
        Key("tests.stay -> stays.id", cap=3),
    ],
    unit="patients",
    public=["drugs"],
    caps={"codes": 5},
)
FORMS = forms(DATABASE, {("drugs", "name"): DRUGS})
TYPES = {
    "patients": {"id": pa.int64(), "sex": pa.string(), "old": pa.bool_()},
    "stays": {"id": pa.int64(), "patient": pa.int64(), "day": pa.int64(), "ward": pa.string()},
    "codes": {"stay": pa.int64(), "patient": pa.int64(), "code": pa.string(), "drug": pa.string()},
    "calls": {"patient": pa.int64(), "topic": pa.string(), "rank": pa.string()},
    "tests": {"stay": pa.int64(), "level": pa.int64()},
}
VIEWS = (
    View("units", "patients"),
    View("stays", "stays", own=((64,), (0, 45, 22), (45,)), of=64),
    View("next", "stays", kind="next", own=((0, 32, 16),), of=32),
    View("calls", "calls", kind="next", own=((0, 3, 2, 1),), of=3),
    View("codes", "codes", above=((16, 11, 9),), own=((16, 11),), of=16),
    View("pairs", "codes", kind="pair", other="tests", above=((8, 4, 2),), own=((8,),), of=8),
)
CLIQUES = (
    ((), ("patients.sex", "patients.stays count"), ("patients.calls count", "patients.old")),
    (("stays.ward", "patients.sex"), ("stays@place",), ("stays.day gap", "stays.codes count"), ()),
    (("stays.ward", "stays.ward+", "stays@place+"), ("stays.day gap+", "patients.old")),
    (("calls.topic", "calls.topic+", "calls@place"),),
    (("codes.code", "codes.drug", "stays.ward"), ("codes@place", "stays@place"), ("patients.sex", "codes.code")),
    (("codes.code", "tests.level"), (), ("stays.ward", "codes.drug", "patients.sex")),
)
SIGMAS = ((3.0, 4.0, 5.0), (2.5, 3.5, 4.5, 2.0), (3.0, 6.0), (2.0,), (3.0, 5.0, 4.0), (4.0, 3.0, 2.0))


def entry_of(views: Sequence[View], cliques: Any, sigmas: Any, mu: float | None = None, name: str = "tables") -> Nested:
    """With the bound that no unit can pass, unless another is given."""
    made = Nested(name, tuple(views), tuple(cliques), tuple(sigmas), 1.0)
    if mu is None:
        mu = float(np.sqrt(worst(made.views, made.precisions, caps_of(DATABASE))))
    return Nested(name, made.views, made.cliques, made.sigmas, mu)


ENTRY = entry_of(VIEWS, CLIQUES, SIGMAS)


def arrow(tables: Tables) -> dict[str, pa.Table]:
    fields = {t: pa.schema(list(columns.items())) for t, columns in TYPES.items()}
    return {t: pa.Table.from_pylist(tables[t], schema=fields[t]) for t in TYPES}


class Lines:
    """Rows that may be none at all."""

    def __init__(self, table: pa.Table, batch_rows: int = 3):
        self.table, self.batch_rows = table, batch_rows
        self.column_names, self.arrow_schema = table.schema.names, table.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        if len(self.table):
            yield from MemoryRows(self.table, self.batch_rows).batches(columns)


def curator(
    tables: Tables,
    entry: Nested = ENTRY,
    noise: NoiseSource | None = None,
    batch_rows: int = 3,
    record: Record | None = None,
) -> NestedCurator:
    sources = {t: Lines(found, batch_rows) for t, found in arrow(tables).items()}
    plan = Plan("test", (entry,), checks.FREE)
    return NestedCurator(sources, plan, DATABASE, FORMS, noise or checks.ZeroNoise(), record)


def answers(tables: Tables, entry: Nested = ENTRY, **more: Any) -> list[list[np.ndarray]]:
    """The exact answers: the noise is zero."""
    return curator(tables, entry, **more).nested(entry)


# ------------------------------------------------------------------------------------------------------------ made up


def unit(rng: np.random.Generator, who: int, stays: int, calls: int, below: tuple[int, int]) -> Tables:
    """A patient with so many stays and calls, and at most so many codes and tests under each stay."""
    found: Tables = {t: [] for t in TYPES}
    found["patients"].append({"id": who, "sex": rng.choice(["f", "m"]), "old": [True, False, None][rng.integers(3)]})
    days = rng.permutation(60)[:stays]
    for i in range(stays):
        stay = 1000 * who + i
        ward = [None, "a", "b", "c", "elsewhere"][rng.integers(5)]
        found["stays"].append({"id": stay, "patient": who, "day": int(days[i]), "ward": ward})
        for _ in range(rng.integers(below[0] + 1)):
            drug = [*DRUGS, "none such"][rng.integers(4)]
            found["codes"].append({"stay": stay, "patient": who, "code": rng.choice(["x", "y"]), "drug": drug})
        for _ in range(rng.integers(below[1] + 1)):
            found["tests"].append({"stay": stay, "level": int(rng.integers(10))})
    for _ in range(calls):
        found["calls"].append({"patient": who, "topic": rng.choice(["p", "q"]), "rank": str(rng.integers(50))})
    return found


def together(*units: Tables) -> Tables:
    return {t: [row for u in units for row in u[t]] for t in TYPES}


def shuffled(tables: Tables, rng: np.random.Generator) -> Tables:
    return {t: [rows[i] for i in rng.permutation(len(rows))] for t, rows in tables.items()}


def random_tables(rng: np.random.Generator, patients: int, first: int = 1) -> Tables:
    shapes = rng.integers(0, (6, 7), (patients, 2))
    units = [unit(rng, first + i, int(stays), int(calls), (4, 5)) for i, (stays, calls) in enumerate(shapes)]
    return shuffled(together(*units), rng)


# ------------------------------------------------------------------------------------------- row by row, from the specs


@dataclass(frozen=True)
class Row:
    """One kept row: its cells, where it stands, its ancestors with itself, and what hangs on it."""

    table: str
    cells: Mapping[str, int]
    m: int
    place: int
    line: tuple[Row, ...]
    below: Mapping[str, list[Row]]


def _cell(value: Any, labels: Sequence[Any]) -> int:
    """The last one is null."""
    return -1 if value not in labels else labels.index(value)


def _kept(rows: list[dict[str, Any]], cap: int, order: str | None) -> list[dict[str, Any]]:
    if order is not None:
        rows = sorted(rows, key=lambda r: (r[order] is None, 0 if r[order] is None else int(r[order])))
    return rows[:cap]


def reference(tables: Tables) -> list[Row]:
    """The units of clean tables: orders without ties, and no more rows than fit where there is no order."""
    units = []
    for p in tables["patients"]:
        calls = _kept([c for c in tables["calls"] if c["patient"] == p["id"]], 4, "rank")
        stays = _kept([s for s in tables["stays"] if s["patient"] == p["id"]], 3, "day")
        below: dict[str, list[Row]] = {"stays": [], "calls": []}
        cells = {"sex": _cell(p["sex"], ("f", "m")), "old": _cell(p["old"], (False, True, None))}
        cells |= {"stays count": len(stays), "calls count": len(calls)}
        top = Row("patients", cells, 1, 0, (), below)
        for i, s in enumerate(stays):
            own: dict[str, list[Row]] = {"codes": [], "tests": []}
            gap = None if i == 0 else s["day"] - stays[i - 1]["day"]
            lists = {t: [r for r in tables[t] if r["stay"] == s["id"]] for t in own}
            ward = _cell(s["ward"], ("a", "b", "c", None))
            cells = {"ward": ward, "day gap": gap, "codes count": len(lists["codes"])}
            row = Row("stays", cells, len(stays), i, (top,), own)
            for t, listed in lists.items():
                for k, r in enumerate(listed):
                    found = (
                        {"level": r["level"]}
                        if t == "tests"
                        else {"code": _cell(r["code"], ("x", "y")), "drug": _cell(r["drug"], DRUGS)}
                    )
                    own[t].append(Row(t, found, len(listed), k, (top, row), {}))
            below["stays"].append(row)
        for k, c in enumerate(calls):
            below["calls"].append(Row("calls", {"topic": _cell(c["topic"], ("p", "q"))}, len(calls), k, (top,), {}))
        units.append(top)
    return units


def rows_of(top: Row, table: str) -> list[list[Row]]:
    """The rows of a table in a unit, those of one parent together."""
    if table == "patients":
        return [[top]]
    if table in top.below:
        return [top.below[table]]
    return [stay.below[table] for stay in top.below["stays"]]


def weighted(top: Row, view: View) -> Iterator[tuple[dict[str, Row], int, int]]:
    """({table or table+: row}, numerator, stratum) of everything that a unit gives to a view whose weights go by the
    rows' numbers alone."""
    groups = rows_of(top, view.table)
    others = rows_of(top, view.other) if view.other else [None] * len(groups)
    for group, other in zip(groups, others):
        if not group:
            continue
        m = len(group)
        above = 1
        for row, numerators in zip(group[0].line[1:], view.above):
            above *= numerators[row.m - 1]
        listed = [(r,) for r in group]
        if view.kind == "next":
            listed = list(itertools.pairwise(group))
        if view.kind == "pair":
            listed = [(group[0], other[0])] if other else []
        for found in listed:
            row = found[0]
            stratum = 0 if not view.strata or m == 1 else 2 if row.place == m - 1 else 1
            numerators = view.own[stratum]
            at = {r.table: r for r in (*row.line, row)}
            if len(found) == 2:
                at[view.other or f"{view.table}+"] = found[1]
            yield at, above * (numerators[0] if len(numerators) == 1 else numerators[m - 1]), stratum


def code_of(column: str, at: Mapping[str, Row]) -> int:
    after = "+" if column.endswith("+") else ""
    table, _, name = column.removesuffix("+").partition(".")
    if "@place" in table:
        row = at[table.removesuffix("@place") + after]
        return 0 if row.m == 1 else 1 if row.place == 0 else 3 if row.place == row.m - 1 else 2
    row = at[table + after]
    found = row.cells[name]
    if name == "day gap":
        grid = FORMS["stays"].schema.columns["day gap"].grid()
        return grid.cells - 1 if found is None else int(np.searchsorted(grid.low, found, side="right") - 1)
    return found


def tables_of(tops: Sequence[Row], view: View, cliques: Any, like: list[np.ndarray]) -> list[np.ndarray]:
    """The tables of a view, added up row by row; shapes as in `like`."""
    found = [np.zeros(t.shape) for t in like]
    for top in tops:
        for at, weight, stratum in weighted(top, view):
            for clique, table in zip(cliques, found):
                codes = tuple(code_of(c, at) for c in clique)
                if min(codes, default=0) >= 0:
                    table[((stratum,) if view.strata else ()) + codes] += weight / view.scale
    return found
