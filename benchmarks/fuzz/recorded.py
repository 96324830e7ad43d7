"""A hundred thousand hostile files for every loader and seed: how they ended, the slowest, the memory it took."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from benchmarks.catalogue import Options
from benchmarks.fuzz import loaders
from benchmarks.results import Results, Setting

CASES, FEW = 100_000, 200
ONLY = tuple(loaders.loaders())
FIGURES = ("cases", "loaded", "refused", "untyped", "over_2_s", "slowest_s", "peak_mb")


def run(options: Options, results: Results) -> None:
    """One loader and seed is one process; another seed goes on with other files."""
    cases = FEW if options.quick else CASES
    asked = [(n, s) for n in options.of(ONLY) for s in range(options.seeds) if not results.has(n, s)]
    with ThreadPoolExecutor(options.jobs) as pool:
        ended = {pool.submit(tried, name, cases, seed * cases): (name, seed) for name, seed in asked}
        for one in as_completed(ended):
            name, seed = ended[one]
            found = one.result()
            print(found, flush=True)
            setting = Setting(name, f"{cases:,} changed files", guarantee=None)
            results.add(setting, seed, {figure: found[figure] for figure in FIGURES}, name)
            results.write()


def tried(name: str, cases: int, first: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.fuzz", name, "--here", "--cases", str(cases), "--seed", str(first)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: the process died with {done.returncode}: {done.stderr[-800:]}")
    return json.loads(done.stdout)
