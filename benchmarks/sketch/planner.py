"""What the planner expects of every column and pair, beside what a fit gives: Adult, Covertype, card payments.

The plan sees the schema and the declared number of rows. The fit is measured on the groups of its own release: the
distance between the real rows and 400,000 synthetic ones, for every column and every pair of columns but the target.
`--only tuning` runs the tables that the laws of `nacre.planning.expected` were fitted on, and prints the laws.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.places import WORK
from benchmarks.results import Results, Setting
from nacre.privacy.budget import default_delta
from nacre.run import fit, plan
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.sources.frames import to_arrow

DRAWN = 400_000
EPSILONS = (0.5, 1.0)
_KEPT_COLUMNS = 15
ONE_VALUE = 0.95  # the share of rows from which on a column counts as of one value


@dataclasses.dataclass(frozen=True)
class Table:
    rows: Any
    schema: Any
    target: str | None


def _of(dataset: data.Dataset, rows: int, seed: int) -> Table:
    """At most so many random rows and the first columns of a dataset, with its schema."""
    frame = dataset.frame.sample(min(rows, len(dataset.frame)), random_state=seed)
    features = [n for n in dataset.schema.modelled if n != dataset.target]
    names = [*features[: _KEPT_COLUMNS - 1], dataset.target]
    columns = {n: dataset.schema.columns[n] for n in names}
    kept = {"dependencies": (), "impossible": ()}
    schema = dataclasses.replace(dataset.schema, columns=columns, rows=len(frame), **kept)
    return Table(to_arrow(frame[names].reset_index(drop=True)), schema, dataset.target)


def _people(rows: int, seed: int) -> Table:
    from nacre.table.simulate.people import people, people_schema

    return Table(people(rows, seed=seed), people_schema(rows), "late_payment")


def _credit(rows: int, seed: int) -> Table:
    from nacre.table import Schema

    frame = data.credit()
    schema = Schema.load(data.SCHEMAS / "credit.json")
    return _of(data.Dataset("credit", frame, schema, "Class"), rows, seed)


def _drafted(frame: Any, target: str, rows: int, seed: int) -> Table:
    """A table whose domain is read from its rows: good enough for tables that no figure is reported for."""
    from nacre.engines import MemoryRows
    from nacre.table import Schema

    table = to_arrow(frame.sample(min(rows, len(frame)), random_state=seed).reset_index(drop=True))
    schema = Schema.draft(MemoryRows(table)).attest(by="benchmark", why="public table")
    return Table(table, dataclasses.replace(schema, rows=table.num_rows), target)


REPORTED: dict[str, Callable[[int], Table]] = {
    "adult": lambda seed: _of(data.adult(), 48_842, seed),
    "covertype": lambda seed: _of(data.covertype(), 50_000, seed),
    "credit": lambda seed: _credit(25_000, seed),
}
TUNING: dict[str, Callable[[int], Table]] = {
    "people-3k": lambda seed: _people(3_000, 30 + seed),
    "people-30k": lambda seed: _people(30_000, 30 + seed),
    "census": lambda seed: _of(data.census(), 40_000, seed),
    "intrusion": lambda seed: _of(data.intrusion(), 40_000, seed),
    "housing": lambda seed: _drafted(data.housing(), "ocean_proximity", 20_640, seed),
    "diabetes": lambda seed: _drafted(data.diabetes130(), "readmitted", 40_000, seed),
}
ONLY = ("tuning", *REPORTED)


def run(options: Options, results: Results) -> None:
    """One seed per table and budget; the spread is over columns and pairs."""
    tuning = "tuning" in options.only
    for name, load in (TUNING if tuning else REPORTED).items():
        if not tuning and not options.wants(name):
            continue
        for epsilon in EPSILONS[1:] if options.quick else EPSILONS:
            case = f"{name}/{epsilon:g}"
            if results.has(case, 0):
                continue
            table = load(0)
            found = measure(_few(table) if options.quick else table, epsilon)
            _keep(results.name, case, found)
            delta = default_delta(table.schema.rows)
            if not tuning:
                results.add(Setting("sketch", name, epsilon, delta, None), 0, figures(found), case)
                results.write()
            print(case, figures(found), flush=True)
    if tuning:
        print(json.dumps(laws(WORK / f"{results.name}-pairs.jsonl", set(TUNING))))


def _few(table: Table) -> Table:
    return dataclasses.replace(
        table, rows=table.rows.slice(0, 2_000), schema=dataclasses.replace(table.schema, rows=2_000)
    )


def measure(table: Table, epsilon: float) -> list[dict[str, Any]]:
    """For every column and pair: raw and expected distance of the plan, and the distance found."""
    schema, target = table.schema, table.target
    job = plan(schema, epsilon=epsilon, target=target)
    seen = job.forecast()
    release = fit(table.rows, schema=schema, epsilon=epsilon, target=target)
    compared = _Compared.of(table, release)
    said = [((c.name,), c) for c in seen.columns] + [(p.columns, p) for p in seen.each_pair]
    return [
        {"of": "column" if len(names) == 1 else "pair", "columns": names, "raw": one.tvd, "groups": one.groups,
         "fine": getattr(one, "fine", 0), **dataclasses.asdict(one.expected), "found": compared.distance(*names),
         "commonest": max(compared.commonest(n) for n in names)}
        for names, one in said
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Compared:
    """Real and synthetic rows by the groups of a release."""

    sizes: dict[str, int]
    real: dict[str, np.ndarray]
    made: dict[str, np.ndarray]

    @staticmethod
    def of(table: Table, release: Any) -> _Compared:
        schema = release.schema
        luts = dict(zip(schema.modelled, release.model.particles.luts))
        grids = {name: Grid.of(schema.columns[name]) for name in schema.modelled}

        def codes(rows: Any) -> dict[str, np.ndarray]:
            encoded = encode(rows, schema)
            return {name: luts[name][grid.codes(encoded[name])] for name, grid in grids.items()}

        sizes = {name: int(lut.max()) + 1 for name, lut in luts.items()}
        return _Compared(sizes, codes(table.rows), codes(release.sample(DRAWN, as_="pyarrow", seed=0)))

    def distance(self, *names: str) -> float:
        real, made = self._shares(self.real, names), self._shares(self.made, names)
        return float(0.5 * np.abs(real - made).sum())

    def commonest(self, name: str) -> float:
        """The share of the real rows in the largest group of a column."""
        return float(self._shares(self.real, (name,)).max())

    def _shares(self, rows: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
        sizes = [self.sizes[n] for n in names]
        index = np.ravel_multi_index([rows[n] for n in names], sizes)
        return np.bincount(index, minlength=int(np.prod(sizes))) / len(index)


def figures(found: list[dict[str, Any]]) -> dict[str, float]:
    """Median of expected over found, and the share that lies in its range."""
    told = {}
    for of, number in (("column", 1), ("pair", 2)):
        some = [f for f in found if f["of"] == of]
        if not some:
            continue
        told[f"planned_tvd{number}"] = float(np.median([f["value"] / max(f["found"], 1e-6) for f in some]))
        told[f"inside_tvd{number}"] = float(np.mean([f["low"] <= f["found"] <= f["high"] for f in some]))
    return told


def laws(path: Path, names: set[str]) -> dict[str, list[float]]:
    """log a, b, log c and the spread of found = a·raw^b·c^fine, every table and budget with the same weight.

    Least absolute deviations, so that a few columns do not draw the line; columns of practically one value have no
    error to speak of and are left out. The spread is that of a normal law with eight tenths of the residuals inside.
    """
    records = {r["case"]: r["found"] for r in map(json.loads, path.read_text().splitlines())}
    fitted = {}
    for of in ("column", "pair"):
        x, y, w = [], [], []
        for case, found in records.items():
            if case.split("/")[0] in names:
                some = [f for f in found if f["of"] == of and _telling(f)]
                x += [(1.0, np.log(f["raw"]), f["fine"])[: 2 if of == "column" else 3] for f in some]
                y += [np.log(max(f["found"], 1e-6)) for f in some]
                w += [1 / len(some)] * len(some)
        *law, spread = _least_absolute(np.array(x), np.array(y), np.array(w))
        fitted[of] = [*law, *[0.0] * (3 - len(law)), spread]
    return fitted


def _telling(found: dict[str, Any]) -> bool:
    return found["groups"] > 1 and found["raw"] < 1 and found["commonest"] < ONE_VALUE


def _least_absolute(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> list[float]:
    """Coefficients and spread, by least squares with weights 1/|residual| until they settle."""
    own = weight
    for _ in range(200):
        root = np.sqrt(own)
        law = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
        rest = np.abs(y - x @ law)
        own = weight / np.maximum(rest, 1e-3)
    order = np.argsort(rest)
    inside = rest[order][np.searchsorted(np.cumsum(weight[order]), 0.8 * weight.sum())]
    return [*map(float, law), float(inside / 1.2816)]


def _keep(name: str, case: str, found: list[dict[str, Any]]) -> None:
    """Every pair, for fitting the laws; not committed."""
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / f"{name}-pairs.jsonl").open("a") as out:
        out.write(json.dumps({"case": case, "found": found}) + "\n")
