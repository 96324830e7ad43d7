"""One and ten million rows that a million people own: seconds, memory, and the same answers however they are read.

Events of fifteen columns and a day in Parquet files of a million rows, the events of one person scattered over all of
them; 206 tables over four views. A case is one opening of the door `nested` in a process of its own: `memory` has both
tables in memory before the clock starts, `stream` reads the files, `parts` does so with so little room that the units
are read in several parts, and `ray-2` has two workers of a local Ray cluster read them (left out without Ray). With
noise from one seed all answers have to be the same bytes: `faults` is 1 where they are not.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.child import answer
from benchmarks.results import Results, Setting

SIZES = {"1m": 1_000_000, "10m": 10_000_000}
METHODS = ("memory", "stream", "parts", "ray-2")
FILES = 10
QUICK_ROWS = 20_000
ONLY = (*SIZES, *METHODS)


def run(options: Options, results: Results) -> None:
    """`--only` takes methods, sizes, or both; the answers of all methods of one size are held against the first's."""
    for size, rows in SIZES.items():
        methods = [m for m in options.of(METHODS) if not results.has(f"{size}/{m}", 0)]
        if size not in options.of(SIZES) or not methods:
            continue
        rows = QUICK_ROWS if options.quick else rows
        with tempfile.TemporaryDirectory(prefix="nacre-nested-") as folder:
            _python("write", folder=folder, rows=rows // FILES, files=FILES)
            files = {t: sorted(map(str, Path(folder).glob(f"{t}*.parquet"))) for t in ("people", "events")}
            expected = _python("count", files=files, rows=rows, how="stream")["digest"]
            for method in methods:
                if method.startswith("ray") and importlib.util.find_spec("ray") is None:
                    print(f"{method}: left out, Ray is not installed (nacre[distributed])")
                    continue
                found = _python("count", files=files, rows=rows, how=method)
                figures = {**found["figures"], "faults": float(found["digest"] != expected)}
                results.add(Setting(method, size, None, None, None), 0, figures, f"{size}/{method}")
                print(size, method, found["tables"], "tables", found["left"], figures, flush=True)
                results.write()


def _python(task: str, **arguments: Any) -> dict[str, Any]:
    environment = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    return answer("nested.scale_child", task, arguments, environment=environment)
