"""The doors as the contract sees them, and adversarial neighbours to try on them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from tests.privacy_contract import checks, tables

from nacre.engines import MemoryRows
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Bounds, Categories, Counts, Plan, Total
from nacre.table import Unit

RELATIONS = ("add_or_remove_one", "zero_out", "replace_one")
TEXTS = ("bergen", "oslo", "tromsø", "Zürich", "a", "=1+1", "72", "NULL")
COUNT = ("city", "age")


def _counts(room: Curator, entry: Any) -> list[np.ndarray]:
    groups = {"age": np.arange(101) // 30, "income": np.arange(room.grids["income"].cells) % 3}
    return room.counts(entry, [("city", "age"), ("smoker", "income", "city"), ("joined",)], groups)


def _bounds(room: Curator, entry: Any) -> list[np.ndarray]:
    return list(room.bounds(entry, {"age": "magnitude", "joined": "month", "city": "kind", "income": "kind"}).values())


def features(records: Any, public: Any) -> np.ndarray:
    """Heavy-tailed, partly undefined: what the door has to cope with."""
    age, income = records["age"], records["income"]
    with np.errstate(all="ignore"):
        first = np.where(age.null, np.nan, 1e3 * age.values)
        second = np.where(income.null, np.inf, np.exp(income.values / 100.0))
        return np.stack([first, second, records["city"].values - 1.0], axis=1)


def _total(room: Curator, entry: Any) -> list[np.ndarray]:
    return [room.total(entry, features)]


def _total_parts(room: Curator, entry: Any) -> list[np.ndarray]:
    """The same vectors in sums of their own by city; a number that is no part, or NaN, enters nowhere."""

    def by_city(records: Any, public: Any) -> np.ndarray:
        part = np.where(records["age"].values > 99, np.nan, records["city"].values.astype(np.float64))
        return np.column_stack([part, features(records, public)])

    return [room.total(entry, by_city)]


def _text_counts(table: Any, schema: Any) -> list[np.ndarray]:
    """Exact counts behind the door `categories`, found by raising the threshold until a text no longer passes."""
    texts: dict[str, dict[str, int]] = {c: {} for c in COUNT}
    cap = schema.unit.cap if schema.unit else 1
    for threshold in range(1, 40):
        entry = Categories("texts", sigmas=CATEGORIES.entry.sigmas, threshold=threshold)
        room = Curator(MemoryRows(table), Plan("test", (entry,), checks.FREE, cap), schema, checks.ZeroNoise())
        answer = room.categories(entry, COUNT)
        for c in COUNT:
            for text in answer[c]:
                texts[c][text] = texts[c].get(text, 0) + 1
        if not any(answer.values()):
            break
    return [np.array([texts[c].get(t, 0) for t in dict.fromkeys((*TEXTS, *AGES))]) for c in COUNT]


AGES = tuple(str(a) for a in (0, 1, 7, 72, 100, -5, 2**40))
COUNTS = checks.Door("counts", Counts("tables", sigmas=(3.0, 4.5, 7.0)), _counts)
ROWS = checks.Door("counts", Counts("rows", sigmas=(2.0,)), lambda room, entry: room.counts(entry, [()]))
BOUNDS = checks.Door("bounds", Bounds("probes", sigmas=(3.0, 4.5, 7.0, 2.0)), _bounds)
TOTAL = checks.Door("total", Total("sum", size=3, bound=2.0, sigma=1.5), _total)
PARTS = checks.Door("total", Total("by city", size=3, bound=2.0, sigma=1.5, parts=3), _total_parts)
CATEGORIES = checks.Door(
    "categories", Categories("texts", sigmas=(2.5, 4.0), threshold=30), lambda r, e: [], _text_counts
)
DOORS = (COUNTS, ROWS, BOUNDS, TOTAL, PARTS, CATEGORIES)
# Inside the domain in every column, and different in every column: the two ends of the largest move.
HERE = {"person": 1, "age": 7, "income": 5e4, "city": "oslo", "joined": datetime.date(2001, 1, 1), "smoker": True}
THERE = {"person": 7, "age": 72, "income": 1.5, "city": "bergen", "joined": datetime.date(2004, 1, 1), "smoker": False}


def schema(cap: int | None) -> Any:
    return tables.schema(None if cap is None else Unit("person", cap))


def random_rows(rng: np.random.Generator, rows: int, persons: tuple = (1, 2, 3)) -> list[dict[str, Any]]:
    """Rows full of what breaks careless code: nulls, NaN, infinities, huge numbers, unknown texts, strange days."""
    pools = {
        "person": persons,
        "age": (0, 1, 7, 72, 100, -5, 2**40, None),
        "income": (0.0, 1e5, 5e4, float("nan"), float("inf"), float("-inf"), 1e300, -1.0, 5e-324, None),
        "city": (*TEXTS, "", None),
        "joined": (datetime.date(2000, 1, 1), datetime.date(2004, 12, 31), datetime.date(1700, 2, 3), None),
        "smoker": (True, False, None),
    }
    return [{name: pool[rng.integers(len(pool))] for name, pool in pools.items()} for _ in range(rows)]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    types = tables.people(1).schema
    return pa.Table.from_pylist(rows, schema=pa.schema([pa.field(f.name, f.type) for f in types]))


def pairs(relation: str, cap: int | None, seed: int, trials: int = 25) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Neighbouring tables: one row, or all rows of one person, left out or exchanged for somebody else's."""
    rng = np.random.default_rng(seed)
    anchor, copies = dict(HERE, person=99), 1 if cap is None else cap + 2
    rest = [anchor] if relation != "replace_one" else [THERE] * copies + [anchor]
    yield table_of([HERE] * copies + [anchor]), table_of(rest)
    for trial in range(trials):
        rows = random_rows(rng, int(rng.integers(3, 8)))
        if trial % 5 == 4:  # one row many times: the worst case of a cap
            rows += [dict(rows[0], person=1)] * 4
        anchor = dict(rows[-1], person=99)
        if cap is None:
            who = int(rng.integers(len(rows)))
            rest = rows[:who] + rows[who + 1 :]
            new = random_rows(rng, 1)
        else:
            rest = [r for r in rows if r["person"] != 1]
            new = random_rows(rng, int(rng.integers(1, 7)), persons=(7,))
            if trial % 5 == 4:
                new = [new[0]] * len(new)
        other = rest if relation != "replace_one" else new + rest if trial % 2 else rest + new
        yield table_of([*rows, anchor]), table_of([*other, anchor])


def nameless_pairs(seed: int, trials: int = 20) -> Iterator[tuple[pa.Table, pa.Table]]:
    """One row without an identifier present or absent, among others without one."""
    rng = np.random.default_rng(seed)
    here, there, anchor = dict(HERE, person=None), dict(THERE, person=None), dict(HERE, person=99)
    yield table_of([here, there, anchor]), table_of([there, anchor])
    for _ in range(trials):
        rows = random_rows(rng, 6, persons=(None, 1))
        rows[0]["person"] = None
        anchor = dict(rows[-1], person=99)
        yield table_of([*rows, anchor]), table_of([*rows[1:], anchor])
