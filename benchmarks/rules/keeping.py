"""Rules on real tables: how many drawn rows break one, with the rules in the schema and without, and what they cost.

Both sides have the same columns, rows, seed and noise source; what a drawn row breaks is counted by `RowRule.misses`
on the table as it comes out.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from benchmarks.rules.tables import TABLES, Ruled
from nacre.evaluation.evaluate import evaluate
from nacre.privacy.budget import default_delta
from nacre.release.release import Release
from nacre.run import fit
from nacre.table import Schema
from nacre.table.encoding import encode

ONLY = tuple(TABLES)
EPSILONS = (1.0,)
DRAWN = 100_000
TURNS = 5  # draws that are timed, of which the fastest counts
METHODS = {"sketch": False, "sketch-rules": True}


def run(options: Options, results: Results) -> None:
    for name in options.of(TABLES):
        ruled = TABLES[name]()
        for seed in range(options.seeds):
            for epsilon in EPSILONS[:1] if options.quick else EPSILONS:
                for method, rules in METHODS.items():
                    case = f"{name}/{method}/{epsilon:g}"
                    if results.has(case, seed):
                        continue
                    found = measured(ruled, rules, epsilon, seed, 2_000 if options.quick else DRAWN)
                    delta = default_delta(len(ruled.frame))
                    results.add(Setting(method, name, epsilon, delta, None), seed, found, case)
                    results.write()
                    print(case, seed, {k: round(v, 4) for k, v in found.items()}, flush=True)


def measured(ruled: Ruled, rules: bool, epsilon: float, seed: int, drawn: int) -> dict[str, float]:
    """Figures of one fit. Seconds of drawing are those of the processor: machines are shared."""
    start = time.perf_counter()
    release = fit(ruled.frame, schema=ruled.schema(rules), epsilon=epsilon, seed=seed)
    seconds = time.perf_counter() - start
    rows, spent = _timed(release, drawn)
    report = evaluate(rows, train=ruled.frame, schema=ruled.schema(False), suites=("fidelity",), n_jobs=1)
    whole = {s.metric: s.value for s in report.scores if not s.columns and s.of == "synthetic"}
    return {
        "rules_broken": broken(rows, ruled.schema()),
        "tvd1": whole["tvd1"],
        "tvd2": whole["tvd2"],
        "drawing_cpu_s": spent,
        "fit_s": seconds,
    }


def _timed(release: Release, rows: int) -> tuple[Any, float]:
    drawn, spent = None, []
    for turn in range(TURNS):
        start = time.process_time()
        drawn = release.sample(rows, seed=turn, as_="pyarrow")
        spent.append(time.process_time() - start)
    return drawn, min(spent)


def broken(rows: Any, schema: Schema) -> float:
    """The share of the rows that break a rule of the schema."""
    encoded = encode(rows, Schema(schema.columns))
    wrong = np.zeros(encoded.rows, bool)
    for rule in schema.rules:
        wrong |= rule.misses(encoded.columns, schema.columns)
    return float(wrong.mean())
