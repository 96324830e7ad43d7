"""What `nested-scale` measures, in a process of its own: `write` and `count` are tasks."""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed.scale_child import Watch

if TYPE_CHECKING:
    from nacre.privacy.doors.nested import Nested
    from nacre.table.database import Database
    from nacre.table.database.forms import Form

CAP, DAYS, GROUPS, PARTS_OF_ONE = 16, 3650, 16, 5040
LABELS = (2, 3, 4, 5, 8, 12, 20, 40, 2, 3)  # of ten columns of labels; five more hold whole numbers
WIDTHS = (10, 50, 100, 300, 1000)


def database() -> Database:
    """People, and events of fifteen columns and a day, at most sixteen of each."""
    from nacre.table import Categorical, Identifier, Numeric, Schema
    from nacre.table.database import Database, Key

    labels = {f"label{i}": Categorical(tuple(map(str, range(n)))) for i, n in enumerate(LABELS)}
    numbers = {f"number{i}": Numeric((0, n - 1), integer=True) for i, n in enumerate(WIDTHS)}
    people = {"id": Identifier(), "sex": Categorical(("f", "m")), "age": Numeric((0, 99), integer=True)}
    events = {"person": Identifier(), "day": Numeric((0, DAYS), integer=True), **labels, **numbers}
    tables = {"people": Schema(people), "events": Schema(events)}
    return Database(tables, [Key("events.person -> people.id", cap=CAP, order="day")], "people")


def write(folder: str, rows: int, files: int) -> dict[str, float]:
    """Ten events a person in the mean, in no order: those of one person are in many files."""
    rng = np.random.default_rng(5)
    units = rows * files // 10
    ids = rng.permutation(units) * 7 + 1
    people = {"id": ids, "sex": np.array(["f", "m"])[rng.integers(2, size=units)], "age": rng.integers(100, size=units)}
    pq.write_table(pa.table(people), Path(folder) / "people.parquet")
    for i in range(files):
        kind = rng.integers(4, size=rows)  # what the columns have in common
        events: dict[str, Any] = {"person": ids[rng.integers(units, size=rows)], "day": rng.integers(DAYS, size=rows)}
        for name, n in enumerate(LABELS):
            codes = (rng.integers(n, size=rows) + kind) % n
            events[f"label{name}"] = pa.array(list(map(str, range(n)))).take(pa.array(codes))
        for name, n in enumerate(WIDTHS):
            events[f"number{name}"] = (rng.integers(n, size=rows) + kind * n // 4) % n
        pq.write_table(pa.table(events), Path(folder) / f"events-{i:03d}.parquet")
    return {}


def entry(database: Database, forms: dict[str, Form]) -> Nested:
    """All pairs within a row, pairs of a row and its person, and of a column with itself in the next row."""
    from nacre.privacy.doors.nested import Nested, caps_of
    from nacre.privacy.nested.views import View, worst

    top, own = ([f"{t}.{c}" for c in forms[t].columns] for t in ("people", "events"))
    each = [*range(1, CAP + 1)]
    half = PARTS_OF_ONE / math.sqrt(2)
    strata = ((PARTS_OF_ONE,), tuple(int(half / max(m - 1, 1)) for m in each), (int(half),))
    share = (tuple(PARTS_OF_ONE // m for m in each),)
    after = (tuple(PARTS_OF_ONE // max(m - 1, 1) for m in each),)
    views = (
        View("people", "people"),
        View("events", "events", own=strata, of=PARTS_OF_ONE),
        View("upward", "events", own=share, of=PARTS_OF_ONE),
        View("next", "events", kind="next", own=after, of=PARTS_OF_ONE),
    )
    cliques = (
        tuple(itertools.combinations(top, 2)),
        tuple(itertools.combinations(own, 2)),
        tuple(itertools.product(top, own)),
        tuple((c, f"{c}+") for c in own),
    )
    sigmas = tuple((50.0,) * len(some) for some in cliques)
    made = Nested("tables", views, cliques, sigmas, 1.0)
    cost = worst(views, made.precisions, caps_of(database))
    return Nested("tables", views, cliques, sigmas, math.sqrt(cost))


def count(files: dict[str, list[str]], rows: int, how: str) -> dict[str, Any]:
    """One opening with seeded noise: seconds, the highest memory, and a digest of the answers. `how`: the tables are in
    memory before, or read from the files, all units at once or in parts, or by a cluster."""
    from nacre.engines import MemoryRows, finished, open_rows
    from nacre.privacy.budget import Budget
    from nacre.privacy.nested.curator import NestedCurator
    from nacre.privacy.noise import NoiseSource
    from nacre.privacy.plan import Plan
    from nacre.table.database.forms import forms

    data = database()
    known = forms(data, {})
    asked = entry(data, known)
    cells = {f"{t}.{c}": column.grid().cells for t, form in known.items() for c, column in form.columns.items()}
    groups = {name: np.arange(n) * min(n, GROUPS) // n for name, n in cells.items()}
    if how == "memory":
        sources: Any = {t: MemoryRows(pa.concat_tables(map(pq.read_table, names))) for t, names in files.items()}
    else:
        engine = how.replace("-", ":") if how.startswith("ray") else None
        sources = {t: open_rows(names, engine=engine) for t, names in files.items()}
    if how == "parts":
        NestedCurator.room = max(1 << 16, rows * 15)
    curator = NestedCurator(sources, Plan("scale", (asked,), Budget(None)), data, known, NoiseSource(3))
    start, cpu = time.perf_counter(), time.process_time()
    with Watch() as watch, finished(sources["events"]), finished(sources["people"]):
        answers = curator.nested(asked, groups)
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for own in answers:
        for table in own:
            digest.update(table.tobytes())
    left = curator.dropped.rows["events"]
    return {
        "digest": digest.hexdigest(),
        "figures": {
            "sketch_s": seconds,
            "cpu_s": time.process_time() - cpu,
            "rows_per_s": rows / seconds,
            "peak_mb": watch.peak,
        },
        "tables": sum(map(len, asked.cliques)),
        "left": {"cap": left.cap, "orphans": left.orphans, "rows": left.rows},
    }
