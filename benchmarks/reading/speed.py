"""One pass over a table, encoded by its schema: this version and an earlier one by turns, each in a process of its own.

    python -m benchmarks run speed-reading --seeds 5 --only adult.csv,adult.parquet,million.csv

The earlier version is a checkout whose `src` NACRE_EARLIER names; without it only this version is measured. Processor
time of one thread is taken, not the wall's, so that other work on the machine counts for little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.catalogue import Options
from benchmarks.data import path
from benchmarks.places import ROOT
from benchmarks.results import Results, Setting

ONLY = ("adult.csv", "adult.parquet", "million.csv")
SCHEMA = ROOT / "benchmarks" / "schemas" / "adult.json"
_TURNS = 7  # of which the fastest counts
# Both versions have these names; the schema is one that both read.
_CHILD = """
import sys, time
from nacre.engines import open_rows
from nacre.table import Schema
from nacre.table.encoding import encode
path, schema, turns = sys.argv[1], Schema.load(sys.argv[2]), int(sys.argv[3])
for _ in range(turns):
    begin = time.process_time()
    for batch in open_rows(path).batches():
        encode(batch, schema)
    print(time.process_time() - begin, flush=True)
"""


def make(folder: Path, quick: bool) -> dict[str, Path]:
    """Adult in two formats, and its rows again and again up to a million."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    adult = pq.read_table(path("adult"))
    rows = 50_000 if quick else 1_000_000
    many = pa.concat_tables([adult] * (rows // len(adult) + 1)).slice(0, rows)
    paths = {name: folder / name for name in ONLY}
    pacsv.write_csv(adult, paths["adult.csv"])
    pq.write_table(adult, paths["adult.parquet"])
    pacsv.write_csv(many, paths["million.csv"])
    return paths


def fastest(source: Path, path: Path, turns: int) -> float:
    """The fastest pass of a process that runs the code in `source`."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _CHILD, str(path), str(SCHEMA), str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return min(map(float, done.stdout.split()))


def run(options: Options, results: Results) -> None:
    here, earlier = ROOT / "src", os.environ.get("NACRE_EARLIER")
    with tempfile.TemporaryDirectory() as folder:
        paths = make(Path(folder), options.quick)
        for name in options.of(ONLY):
            turns = 3 if name == "million.csv" else _TURNS
            for seed in range(options.seeds):
                if results.has(name, seed):
                    continue
                figures = {"read_s": fastest(here, paths[name], turns)}
                if earlier:
                    figures["over_earlier"] = figures["read_s"] / fastest(Path(earlier), paths[name], turns)
                results.add(Setting("reading", name), seed, figures, name)
                results.write()
                print(name, figures, flush=True)
