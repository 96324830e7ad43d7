"""What `scale` measures, in a process of its own: `write` and `fit` are tasks."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.clock import seconds_inside

TARGET = "late_payment"


class Watch:
    """The highest memory of this process and of all that it has started, shared pages counted once, in MiB, and the
    processor time of all of them.

    Looked at twice a second; the own peak that the kernel keeps is exact and a lower bound.
    """

    def __init__(self) -> None:
        self.peak, self._stop = 0.0, threading.Event()
        self._ticks: dict[int, int] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, _status(os.getpid(), "VmHWM:") / 1024)

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            family = _family()
            self.peak = max(self.peak, sum(_proportional(p) for p in family) / 1024)
            self._ticks |= {p: max(self._ticks.get(p, 0), _ticks(p)) for p in family}

    @property
    def cpu_s(self) -> float:
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")


def _family() -> list[int]:
    """This process and its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parents[int(entry.name)] = _status(int(entry.name), "PPid:")
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def _status(process: int, label: str) -> int:
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(label):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _ticks(process: int) -> int:
    """Processor time of a process so far, in its own and in the system's code."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _proportional(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def write(folder: str, rows: int, files: int) -> dict[str, float]:
    """Simulated people as Parquet files."""
    import pyarrow.parquet as pq

    from nacre.table.simulate.people import people

    for i in range(files):
        pq.write_table(people(rows, seed=i), Path(folder) / f"part-{i:03d}.parquet")
    return {}


def fit(engine: str | None, files: list[str], rows: int) -> dict[str, float]:
    """One fit; what the planner says of it from the schema and the number of rows, and what it took."""
    import nacre
    from nacre.planning.costs import Place
    from nacre.privacy.curator import Curator
    from nacre.table.simulate.people import people_schema

    schema = people_schema(rows)
    workers = int(engine.partition(":")[2]) if engine else 0
    planned = nacre.plan(schema, epsilon=1.0, target=TARGET).forecast(Place("parquet", workers))
    inside = seconds_inside(Curator, "counts_together")
    start = time.perf_counter()
    with Watch() as watch:
        nacre.fit(files, schema=schema, target=TARGET, epsilon=1.0, engine=engine)
    seconds = time.perf_counter() - start
    print(f"planned {planned.seconds:.0f} s and {planned.memory_mb:.0f} MiB", file=sys.stderr)
    # A machine that others use as well stretches the clock, not the processor time of one process.
    shared = {} if engine else {"planned_cpu": planned.seconds / watch.cpu_s}
    return {
        "rows_per_s": rows / sum(inside), "sketch_s": sum(inside), "fit_s": seconds, "cpu_s": watch.cpu_s,
        "peak_mb": watch.peak, "planned_time": planned.seconds / seconds,
        "planned_memory": planned.memory_mb / watch.peak, **shared,
    }  # fmt: skip
