"""Seconds and memory: start, fit cold and warm, sample, evaluate, one pass over 20 million rows, noise.

Every figure comes from a process of its own, so that nothing is warm that a user would find cold.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.catalogue import Options
from benchmarks.child import answer
from benchmarks.data import SCHEMAS
from benchmarks.results import Results, Setting
from nacre.privacy.budget import default_delta

SIGMA = 35.6  # noise per cell of the 91 three-way tables of Adult at (1, 1e-5)
SHARD_ROWS = 1_000_000
TARGET = "income"


def child(task: str, **arguments: Any) -> tuple[dict[str, float], float]:
    """Figures of one task in a fresh process, and the wall time of that process from start to end."""
    start = time.perf_counter()
    found = answer("speed.everyday_child", task, arguments)
    return found, time.perf_counter() - start


def seconds_of(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def starts(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """`import nacre` over bare Python, and the command line's help. A first start fills the disk cache."""
    python = sys.executable
    commands = {
        "bare": (python, "-c", "pass"),
        "import": (python, "-c", "import nacre"),
        "help": (python, "-c", "from nacre.cli import main; main()", "--help"),
    }
    for command in commands.values():
        seconds_of(*command)
    took = {name: seconds_of(*command) for name, command in commands.items()}
    figures = {"import_s": max(0.0, took["import"] - took["bare"]), "help_s": took["help"]}
    return [(Setting("nacre", "start", guarantee=None), figures)]


def adult(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """Adult from its Parquet file to a saved release, cold and warm; then sampled rows written to Parquet."""
    rows = 20_000 if options.quick else 1_000_000
    file, release = folder / "adult.parquet", folder / "adult.nacre"
    data.adult().frame.to_parquet(file)
    where = {"file": str(file), "schema": str(SCHEMAS / "adult.json"), "target": TARGET}
    once, cold_s = child("cold", out=str(release), **where)
    twice, _ = child("fit", out=str(folder / "again.nacre"), **where)
    sampled, _ = child("sample", release=str(release), rows=rows, out=str(folder / "sampled.parquet"))
    fitted = {"fit_cold_s": cold_s, "fit_warm_s": twice["fit_warm_s"], "peak_mb": once["peak_mb"]}
    return [
        (Setting("sketch", "adult", 1.0, 1e-5, None), fitted),
        (Setting("sketch", f"adult, {rows:,} rows sampled", 1.0, 1e-5, None), sampled),
    ]


def characters(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """Adult from its Parquet file to a release of `pearl` and of the paper's configuration, each in a fresh process."""
    table, file = data.adult(), folder / "adult.parquet"
    (table.frame.head(2_000) if options.quick else table.frame).to_parquet(file)
    found = []
    for method in ("pearl", "pearl-paper"):
        figures, seconds = child("cold", file=str(file), schema=str(SCHEMAS / "adult.json"), target=TARGET,
                                 out=str(folder / f"{method}.nacre"), method=method)  # fmt: skip
        found.append((Setting(method, "adult", 1.0, 1e-5, None), {"fit_cold_s": seconds, **figures}))
    return found


def evaluation(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """The default suite on a split of Adult: synthetic rows, the private table and the holdout as Parquet files."""
    table, files = data.adult(), {what: str(folder / f"{what}.parquet") for what in ("private", "holdout", "synthetic")}
    private, holdout = table.split(0)
    private.to_parquet(files["private"])
    holdout.to_parquet(files["holdout"])
    schema, release = str(SCHEMAS / "adult.json"), str(folder / "adult.nacre")
    child("cold", file=files["private"], schema=schema, target=TARGET, out=release)
    child("sample", release=release, rows=len(private), out=files["synthetic"])
    figures, seconds = child("evaluate", **files, schema=schema, target=TARGET)
    return [(Setting("nacre", "adult, default suite", guarantee=None), {"evaluate_s": seconds, **figures})]


def pass_over_rows(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """Simulated people in Parquet shards, written once and deleted with the folder, sketched in one pass."""
    return [_people("sketch", "sketch", options, folder)]


def characters_of_rows(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    """The same rows through `nacre.sketch`: one pass that counts, one that sums the characters of `pearl`."""
    return [_people("pearl", "characters", options, folder)]


def _people(method: str, task: str, options: Options, folder: Path) -> tuple[Setting, dict[str, float]]:
    rows = 100_000 if options.quick else 20_000_000
    count = max(2, rows // SHARD_ROWS)
    schema = folder / "people.schema.json"
    (folder / "people").mkdir()
    child("shards", folder=str(folder / "people"), rows=rows, count=count, schema=str(schema))
    files = sorted(str(p) for p in (folder / "people").glob("*.parquet"))
    figures, _ = child(task, files=files, schema=str(schema), target=people_target(schema), rows=rows)
    delta = figures.pop("delta", default_delta(rows))  # as the certificate states it, where the task tells
    return Setting(method, f"people, {rows:,} rows", 1.0, delta, None), figures


def people_target(schema: Path) -> str:
    """The last column of the simulated table is the one to predict."""
    return list(json.loads(schema.read_text())["columns"])[-1]


def noise(options: Options, folder: Path) -> list[tuple[Setting, dict[str, float]]]:
    cells = 10_000 if options.quick else 1_000_000
    figures, _ = child("noise", cells=cells, sigma=SIGMA)
    return [(Setting("rounded Gaussian", f"{cells:,} cells", guarantee=None), figures)]


Measure = Callable[[Options, Path], list[tuple[Setting, dict[str, float]]]]
MEASURES: dict[str, Measure] = {
    "start": starts,
    "noise": noise,
    "adult": adult,
    "adult-pearl": characters,
    "evaluate": evaluation,
    "people": pass_over_rows,
    "people-pearl": characters_of_rows,
}
REPEATED = ("start", "noise", "adult", "evaluate")
ONLY = tuple(MEASURES)


def run(options: Options, results: Results) -> None:
    """The short measures are repeated `seeds` times; training by characters and passes over the big table are not."""
    for name, measure in MEASURES.items():
        if not options.wants(name):
            continue
        for seed in range(options.seeds if name in REPEATED else 1):
            if results.has(name, seed):
                continue
            with tempfile.TemporaryDirectory(prefix="nacre-speed-") as folder:
                for setting, figures in measure(options, Path(folder)):
                    results.add(setting, seed, figures, name)
                    print(setting.method, setting.dataset, figures, flush=True)
            results.write()
