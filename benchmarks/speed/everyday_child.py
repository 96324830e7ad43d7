"""What `speed` times, in a process of its own: every function is a task."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.speed.clock import seconds_inside

BUDGET = {"epsilon": 1.0, "delta": 1e-5, "method": "sketch"}


def peak_mb() -> float:
    """Highest resident memory of this process so far, in MiB, as the kernel counts it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM line: peak memory is measured on Linux only")


def fit(file: str, schema: str, target: str, out: str) -> dict[str, float]:
    """Parquet file to saved release, again in the same process: the second time everything is compiled."""
    import nacre

    def once(path: str) -> float:
        start = time.perf_counter()
        nacre.fit(file, schema=nacre.Schema.load(schema), target=target, **BUDGET).save(path)
        return time.perf_counter() - start

    once(out)
    cold_peak = peak_mb()
    return {"fit_warm_s": once(out + ".warm"), "peak_mb": cold_peak}


def cold(file: str, schema: str, target: str, out: str, method: str = "sketch") -> dict[str, float]:
    """One fit; the parent times the whole process, start and imports included."""
    import nacre

    nacre.fit(file, schema=nacre.Schema.load(schema), target=target, **BUDGET | {"method": method}).save(out)
    return {"peak_mb": peak_mb()}


def sample(release: str, rows: int, out: str) -> dict[str, float]:
    """Load a release, sample `rows` rows and write them to Parquet in chunks."""
    import nacre

    start = time.perf_counter()
    nacre.load(release).write(out, rows)
    seconds = time.perf_counter() - start
    return {"sample_write_s": seconds, "peak_mb": peak_mb()}


def evaluate(synthetic: str, private: str, holdout: str, schema: str, target: str) -> dict[str, float]:
    """The default suite of `nacre.evaluate` on all cores; the parent times the whole process."""
    import nacre

    nacre.evaluate(synthetic, train=private, holdout=holdout, schema=schema, target=target).to_html()
    return {"cpu_s": time.process_time(), "peak_mb": peak_mb()}


def sketch(files: list[str], schema: str, target: str, rows: int) -> dict[str, float]:
    """A whole fit from Parquet shards, timed inside the door that counts: its questions share a pass over the rows."""
    import nacre
    from nacre.privacy.curator import Curator

    spent = seconds_inside(Curator, "counts_together")
    budget = BUDGET | {"delta": None}  # the default for so many rows
    nacre.fit(files, schema=nacre.Schema.load(schema), target=target, **budget)
    print(f"{len(spent)} questions to the door that counts", file=sys.stderr)
    return {"sketch_s": sum(spent), "rows_per_s": rows / sum(spent), "peak_mb": peak_mb()}


def characters(files: list[str], schema: str, target: str, rows: int) -> dict[str, float]:
    """A sketch of `pearl` from Parquet shards, ready to be added to those of other sites."""
    import nacre

    start = time.perf_counter()
    made = nacre.sketch(files, schema=nacre.Schema.load(schema), target=target, epsilon=1.0, delta=None)
    seconds = time.perf_counter() - start
    speed = {"sketch_s": seconds, "rows_per_s": rows / seconds, "peak_mb": peak_mb()}
    return {**speed, "delta": made.certificate.delta or 0.0}


def noise(cells: int, sigma: float) -> dict[str, float]:
    """Rounded Gaussian noise from the operating system; the first, small draw loads the libraries."""
    from nacre.privacy.noise import NoiseSource, rounded_gaussian

    rounded_gaussian(sigma, 10, NoiseSource())
    start = time.perf_counter()
    rounded_gaussian(sigma, cells, NoiseSource())
    return {"noise_s": time.perf_counter() - start}


def shards(folder: str, rows: int, count: int, schema: str) -> dict[str, float]:
    """Simulated people as `count` Parquet shards, and their schema."""
    import pyarrow.parquet as pq

    from nacre.table.simulate.people import people, people_schema

    for i in range(count):
        pq.write_table(people(rows // count, seed=i), Path(folder) / f"part-{i:03d}.parquet")
    people_schema(rows).save(schema)  # the simulated size is public
    return {}
