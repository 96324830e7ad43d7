"""The law of reading, searched for a break: how far does a row, or all rows of a person, move what the doors add up?

Two tables that differ in one unit are made into the same kind of source and read as a curator reads them. What every
door sees is compared as a multiset: encoded records (tables, sums, scores, gradients), cells of the public grids and
labels (what is bought). `moved_over_declared` is the largest difference over what the promise declares, 1 row or the
cap of a person: above 1, some other row was read in another way.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.reading import pools
from benchmarks.reading.pools import SOURCES, Table
from benchmarks.results import Results, Setting
from nacre.engines import open_rows
from nacre.errors import NacreError
from nacre.privacy.passes.units import UnitCap
from nacre.run import check_rows
from nacre.table import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Schema, Tensor, Unit
from nacre.table.encoding import encode
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat
from nacre.table.votes import probe

ONLY = tuple(SOURCES)
PAIRS = 5_000  # for each source
EACH = 6  # neighbours of one table
_KEY = b"k" * 16
_COLUMNS: tuple[Column, ...] = (
    Numeric((0.0, 100.0), nullable=True),
    Numeric((0, 100), integer=True),
    Numeric((-(2**62), 2**62), integer=True, nullable=True),
    Categorical(("a", "b", "1", "2", "other", "true", "9007199254740993", "2020-01-31 00:00:00"), other="other"),
    Categorical(("1.0", "2.50", "01", "a"), nullable=True),
    Boolean(nullable=True),
    Datetime(("1900-01-01", "2100-01-01"), unit="s", nullable=True),
    Datetime(("2000-01-01", "2030-01-01"), unit="day"),
    Datetime(("1900-01-01", "2100-01-01"), tz="Europe/Oslo", nullable=True),
    Numeric((0.0, 100.0), decimals=2),
    Numeric((-100.0, 5000.0), format=NumberFormat(thousands=",", prefix="$", decimals=2), null_words=("-", "?")),
    Numeric((0.0, 100.0), format=NumberFormat(decimal=",", suffix="%")),
    Numeric((0, 100), integer=True, format=NumberFormat(width=2)),
    Boolean(format=TruthFormat("Yes", "NO"), null_words=("NA",), nullable=True),
    Datetime(("2000-01-01", "2030-01-01"), format=DateFormat("%d.%m.%Y"), unit="day", nullable=True),
    Datetime(("2000-01-01", "2030-01-01"), format=DateFormat("%m/%d/%Y %I:%M %p"), unit="minute"),
    Tensor((2,), bounds=(0.0, 5.0)),
)


@dataclass(frozen=True)
class Neighbours:
    """A table and some that have one unit more, the schema they are read by, and how many records the promise lets two
    neighbours differ in."""

    small: Table
    larger: tuple[Table, ...]
    kinds: tuple[Any, ...]
    schema: Schema
    declared: int


def search(source: str, pairs: int, seed: int) -> dict[str, float]:
    """The largest movement over `pairs` pairs that are read; a pair of which one table is refused does not count."""
    warnings.simplefilter("ignore")  # of rows that cannot be read
    make, types = SOURCES[source]
    rng = random.Random(f"{source}/{seed}")
    worst, read, refused, unmade, slowest = 0.0, 0, 0, 0, 0.0

    def view(table: Table, where: str) -> dict[str, Counter] | None:
        """What the doors see of the table; None where it is refused, or no library makes it."""
        nonlocal unmade, refused, slowest
        rng.setstate(state)
        try:
            made = make(table, case.kinds, Path(where), rng)
        except Exception:
            unmade += 1
            return None
        start = time.perf_counter()
        try:
            return seen(made, case.schema)
        except NacreError:
            refused += 1
            return None
        finally:
            slowest = max(slowest, time.perf_counter() - start)

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        while read < pairs and refused + unmade < 50 * pairs and worst <= 1:  # one break is enough
            case = make_neighbours(types, rng)
            state = rng.getstate()
            small = view(case.small, one)
            for table in case.larger[: pairs - read] if small is not None else ():
                if (large := view(table, other)) is not None:
                    assert small is not None
                    worst, read = max(worst, movement(small, large) / case.declared), read + 1
    return {"moved_over_declared": worst, "pairs_read": read, "tables_refused": refused, "longest_s": slowest}


def make_neighbours(types: str, rng: random.Random) -> Neighbours:
    """Rows of one to three columns, with a column of persons or without."""
    persons = rng.random() < 0.5
    width = rng.randint(1, 3)
    chosen = [_pool(types, rng) for _ in range(width)]
    ids, id_kind = _ids(types, rng)
    names = ("who",) * persons + tuple(f"c{i}" for i in range(width))
    kinds = (id_kind,) * persons + tuple(kind for kind, _ in chosen)

    def row(person: Any) -> tuple[Any, ...]:
        return (person,) * persons + tuple(_value(pool, rng) for _, pool in chosen)

    own, others = ids[0], [*ids[1:], None]
    rows = [row(rng.choice(others)) for _ in range(rng.randint(1, 6))]
    first = rows[0]  # parts begin with the same row, so that none is empty

    def larger() -> Table:
        found = list(rows)
        for _ in range(rng.randint(1, 5) if persons else 1):
            found.insert(rng.randrange(len(found) + 1), row(own))
        return Table(names, (first, *found))

    cap = rng.randint(1, 3)
    columns: dict[str, Column] = {"who": Identifier(person=True)} if persons else {}
    columns |= {f"c{i}": rng.choice(_COLUMNS) for i in range(width)}
    schema = Schema(columns, unit=Unit("who", cap) if persons else None)
    more = tuple(larger() for _ in range(EACH))
    return Neighbours(Table(names, (first, *rows)), more, kinds, schema, cap if persons else 1)


def _pool(types: str, rng: random.Random) -> tuple[Any, tuple[Any, ...]]:
    if types == "typed":
        return rng.choice(pools.TYPES)
    if types == "sorts":
        return rng.choice(pools.SORTS)
    if types == "codes":
        return None, rng.choice((pools.TEXTS, pools.CODES))
    return None, pools.TEXTS if types == "text" else rng.choice(pools.MIXTURES)


def _ids(types: str, rng: random.Random) -> tuple[list[Any], Any]:
    """Persons, the first one the unit that is added, who differ in truth whatever stores them."""
    import pyarrow as pa

    if types == "typed":
        kinds: tuple[tuple[Any, tuple[Any, ...]], ...] = (
            (pa.int64(), (1, 2, 3, 10)), (pa.string(), ("1", "2", "01", "a\0b", "1.10", "1.1")),
            (pa.binary(), (b"\xff", b"\xfe", b"\xfd", b"\0ff", b"a\0b")),
            (pa.decimal128(9, 2), pools.DECIMALS[:1] + pools.DECIMALS[2:5]),
            (pa.timestamp("ms"), pools.MOMENTS[:1] + pools.MOMENTS[3:4]), (pa.float64(), (1.0, 2.5, 2.0, 1e-7)),
        )  # fmt: skip
        kind, pool = rng.choice(kinds)
        return rng.sample(pool, 2), kind
    if types == "sorts":
        kind, pool = rng.choice(
            ((int, (1, 2, 2**53, 2**53 + 1)), (str, ("1", "2", "01", "a\0b")), (float, (1.0, 2.5, 3.0)))
        )
        return rng.sample(pool, 2), kind
    if types in ("text", "codes"):
        return rng.sample(rng.choice(((1, 2, 3, 10), ("a", "b", "1.10", "1.1", "01", "1"))), 2), None
    return rng.sample(rng.choice(((1, 2, 3), ("a", "1", "2", "01"), (1.5, 2, 3), (2**40, 2**40 + 1, 5))), 2), None


def _value(pool: tuple[Any, ...], rng: random.Random) -> Any:
    return None if not pool or rng.random() < 0.15 else rng.choice(pool)


def movement(small: dict[str, Counter], large: dict[str, Counter]) -> int:
    """In how many records, cells or labels two tables differ, at most over all that doors look at."""
    return max(((small[what] - large[what]) + (large[what] - small[what])).total() for what in small | large)


def seen(source: Any, schema: Schema) -> dict[str, Counter]:
    """What the doors see of a source: every record as it is encoded, and per column its cells and labels."""
    rows = open_rows(source)
    check_rows(rows, schema)
    unit = UnitCap(schema.unit.column if schema.unit else None, schema.unit.cap if schema.unit else 1, _KEY)
    found: dict[str, Counter] = {"records": Counter()}
    for batch in rows.batches():
        kept = unit.keep(batch)
        found["records"].update(_records(kept, schema))
        for name in schema.modelled:
            array = kept.column(name)
            for grid in _grids(schema.columns[name]):
                found.setdefault(f"{name}.{grid}", Counter()).update(probe.codes(array, grid).tolist())
            found.setdefault(f"{name}.labels", Counter()).update(_labels(array))
    return found


def _grids(column: Column) -> list[str]:
    """The public grids of `bounds`: for a column that nobody has declared, and as this one is written."""
    found = [grid for grid in probe.CELLS if grid != "unreadable"]
    if isinstance(column, (Numeric, Datetime, Boolean)):
        found.append(probe.unreadable(column))
    if isinstance(column, (Numeric, Datetime)):
        found.append(probe.of_column(column))
    return list(dict.fromkeys(found))


def _records(batch: Any, schema: Schema) -> Iterator[tuple]:
    values = [encode(batch, schema)[name] for name in schema.modelled]
    parts = [zip(v.values.tolist(), v.null.tolist()) for v in values]
    for record in zip(*parts):
        yield tuple("null" if null else repr(value) for value, null in record)


def _labels(array: Any) -> dict[bytes, int]:
    texts, counts = probe.text_counts(array)
    return dict(zip(texts, counts.tolist()))


def run(options: Options, results: Results) -> None:
    """One row for each source, searched in a process of its own: one that dies ends the run. `--quick` searches a
    fiftieth of the pairs."""
    pairs = PAIRS // 50 if options.quick else PAIRS
    asked = [(s, seed) for s in options.of(ONLY) for seed in range(options.seeds) if not results.has(s, seed)]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        found = {pool.submit(search, source, pairs, seed): (source, seed) for source, seed in asked}
        for done in as_completed(found):
            source, seed = found[done]
            results.add(Setting("reading", source), seed, done.result(), source)
            results.write()
            print(f"{source}: {done.result()}", flush=True)
