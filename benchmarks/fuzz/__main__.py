"""python -m benchmarks.fuzz [--cases N] [--seed S] [--models FOLDER] [NAME ...]

Hostile files by a seed: every loader ends well or with a typed error, within two seconds and 512 MB. Each loader runs
in a process of its own, whose peak memory is what the table shows."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz import loaders

SLOW, HANGS = 2.0, 30  # seconds: of the processor, more are counted; by the clock, the end of a case


class Hung(BaseException):
    """Nothing that a loader may catch."""


def _hung(*_: Any) -> None:
    raise Hung


def tried(loader: loaders.Loader, seed: int) -> tuple[str, float]:
    """("refused", "loaded" or what went wrong, seconds) for one case."""
    case = loader.make(np.random.default_rng([seed, 31]))
    signal.alarm(HANGS)
    start = time.process_time()
    try:
        loader.load(case)
        found = "loaded"
    except loader.errors:
        found = "refused"
    except Hung:
        found = f"hangs: seed {seed}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        found = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:60]} (seed {seed})"
    finally:
        signal.alarm(0)
    return found, time.process_time() - start


def run(loader: loaders.Loader, cases: int, first: int = 0) -> dict[str, Any]:
    """Figures of so many cases, in this process."""
    signal.signal(signal.SIGALRM, _hung)
    warnings.simplefilter("ignore")
    loader.load(loader.honest)  # what is imported first counts for nobody
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    slowest, slow = (0.0, -1), 0
    for seed in range(first, first + cases):
        found, seconds = tried(loader, seed)
        counts[found if found in ("loaded", "refused") else "untyped"] += 1
        if found not in ("loaded", "refused"):
            wrong.setdefault(found.split(" (seed")[0].split(": seed")[0][:90], found)
        slowest = max(slowest, (seconds, seed))
        slow += seconds > SLOW
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"loader": loader.name, "cases": cases, **{k: counts[k] for k in ("loaded", "refused", "untyped")},
            "slowest_s": round(slowest[0], 3), "slowest_seed": slowest[1], "over_2_s": slow, "peak_mb": round(peak),
            "wrong": list(wrong.values())[:20]}  # fmt: skip


def main() -> None:
    top = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    top.add_argument("names", nargs="*")
    top.add_argument("--cases", type=int, default=1_000)
    top.add_argument("--seed", type=int, default=0)
    top.add_argument("--models", type=Path, help="a folder of releases, one of every method")
    top.add_argument("--here", action="store_true", help="in this process: one loader")
    args = top.parse_args()
    known = {**loaders.loaders(), **{one.name: one for one in (loaders.models(args.models) if args.models else ())}}
    names = args.names or list(known)
    if args.here:
        print(json.dumps(run(known[names[0]], args.cases, args.seed)))
        return
    del known
    for name in names:
        command = [sys.executable, "-m", "benchmarks.fuzz", name, "--here", "--cases", str(args.cases), "--seed",
                   str(args.seed), *(["--models", str(args.models)] if args.models else [])]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        print(done.stdout.strip() or json.dumps({"loader": name, "died": done.returncode, "said": done.stderr[-800:]}),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
