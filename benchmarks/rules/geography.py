"""Places on California housing: longitude and latitude as two columns, as one, and as one in an outline of the state.

The outline is by hand, from where its borders run by law (42° N, 120° W to 39° N, a straight line to the Colorado at
35° N 114.63° W, that river, a line to the Pacific south of San Diego) and a coast drawn 10 to 30 km off shore.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pyarrow as pa

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from benchmarks.rules.keeping import broken
from benchmarks.rules.tables import Ruled, california
from nacre.evaluation.evaluate import evaluate
from nacre.privacy.budget import default_delta
from nacre.release.release import Release
from nacre.run import fit
from nacre.table import Schema
from nacre.table.rules import Geo

PAIR = ("latitude", "longitude")
OUTLINE = (
    (-124.7, 42.01), (-119.98, 42.01), (-119.98, 39.0), (-114.6, 35.0), (-114.1, 34.3), (-114.4, 32.7),
    (-117.2, 32.5), (-118.0, 33.0), (-118.9, 33.2), (-120.9, 34.3), (-121.3, 35.4), (-122.2, 36.3), (-122.8, 37.2),
    (-123.2, 37.8), (-124.0, 38.8), (-124.2, 39.8), (-124.7, 40.4),
)  # fmt: skip
MASK = {"type": "Polygon", "coordinates": [[*OUTLINE, OUTLINE[0]]]}
RULES = {"sketch": (), "sketch-geo": (Geo(PAIR),), "sketch-geo-mask": (Geo(PAIR, MASK),)}
ONLY = tuple(RULES)
EPSILONS = (0.1, 1.0, 10.0)


def run(options: Options, results: Results) -> None:
    table = california()
    for seed in range(options.seeds):
        for epsilon in EPSILONS[1:2] if options.quick else EPSILONS:
            for method in options.of(RULES):
                case = f"{method}/{epsilon:g}"
                if results.has(case, seed):
                    continue
                delta = default_delta(len(table.frame))
                for dataset, found in measured(table, method, epsilon, seed).items():
                    results.add(Setting(method, dataset, epsilon, delta, None), seed, found, case)
                    print(case, seed, dataset, {k: round(v, 4) for k, v in found.items()}, flush=True)
                results.write()


def measured(table: Ruled, method: str, epsilon: float, seed: int) -> dict[str, dict[str, float]]:
    """Figures of one fit: of the two columns alone, and of the table."""
    schema = dataclasses.replace(table.schema(), rules=(*table.rules, *RULES[method]))
    start = time.perf_counter()
    release: Release = fit(table.frame, schema=schema, epsilon=epsilon, seed=seed)
    seconds = time.perf_counter() - start
    rows = release.sample(len(table.frame), seed=seed)
    start = time.process_time()
    release.sample(100_000, seed=seed)
    spent = time.process_time() - start
    plain = table.schema(False)
    pair = Schema({name: plain.columns[name] for name in PAIR}, rows=plain.rows)
    masked = dataclasses.replace(pair, rules=RULES["sketch-geo-mask"])
    found = {"california-places": figures(rows[list(PAIR)], table.frame[list(PAIR)], pair)}
    found["california-places"] |= {"rules_broken": broken(pa.Table.from_pandas(rows[list(PAIR)]), masked)}
    found["california"] = figures(rows, table.frame, plain) | {"drawing_cpu_s": spent, "fit_s": seconds}
    return found


def figures(rows: Any, real: Any, schema: Schema) -> dict[str, float]:
    report = evaluate(rows, train=real, schema=schema, suites=("fidelity",), n_jobs=1)
    whole = {s.metric: s.value for s in report.scores if not s.columns and s.of == "synthetic"}
    return {name: whole[name] for name in ("tvd2", "c2st_auc")}
