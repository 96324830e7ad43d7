"""The ledger under races and deaths: 64 processes at once, kill -9 at random moments; what a release pays for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.catalogue import Options
from benchmarks.ledger import postgresql_server
from benchmarks.ledger.load import apart
from benchmarks.results import Results, Setting

# Every repeat has a population of its own. A child needs longer to reach its first commit where it must connect first.
LONGEST = {"sqlite": 0.15, "postgresql": 0.6}
Measure = Callable[[str, str, Path, int, bool], tuple[str, dict[str, float]]]


def storm(method: str, url: str, folder: Path, seed: int, quick: bool) -> tuple[str, dict[str, float]]:
    processes, requests, count = (8, 200, 100) if quick else (64, 10_000, 1000)
    told = apart("storm", folder / "state", url=url, count=count, processes=processes, requests=requests,
                 population=f"storm {seed}")  # fmt: skip
    if told["failed"] or told["granted"] != told["reserved"]:
        raise RuntimeError(f"{method}: a request got no answer, or another than the books hold: {told}")
    print(method, told, flush=True)
    return f"{processes} processes, {requests:,} requests", {"spent_over_cap": told["spent"] / told["cap"]}


def kills(method: str, url: str, folder: Path, seed: int, quick: bool) -> tuple[str, dict[str, float]]:
    number = 10 if quick else 100
    traces = folder / f"traces-{seed}"
    traces.mkdir()
    told = apart("kills", folder / "state", url=url, count=50_000, number=number, longest=LONGEST[method],
                 folder=str(traces), population=f"kills {seed}", seed=seed)  # fmt: skip
    print(method, told, flush=True)
    return f"{number} kills at random moments", {"kills_survived": told["survived"] / told["kills"]}


def overhead(method: str, url: str, folder: Path, seed: int, quick: bool) -> tuple[str, dict[str, float]]:
    told = apart("overhead", folder / "state", url=url, number=10 if quick else 50, population=f"release {seed}")
    figure = median(told["ms"])
    print(method, f"{figure:.1f} ms", flush=True)
    return "one release", {"overhead_ms": figure}


def sampled(method: str, url: str, folder: Path, seed: int, quick: bool) -> tuple[str, dict[str, float]]:
    """Before any lock, once per plan and process: the accounting of steps on samples."""
    told = apart("overhead", folder / "state", url=url, number=1, population=f"steps {seed}", steps=True)
    print(method, f"{told['ms'][0]:.1f} ms, sampled steps", flush=True)
    return "one release of 1,000 sampled steps", {"overhead_ms": told["ms"][0]}


MEASURES: dict[str, Measure] = {"storm": storm, "kills": kills, "overhead": overhead, "sampled": sampled}
DATABASES = ("sqlite", "postgresql")
ONLY = (*DATABASES, *MEASURES)


def run(options: Options, results: Results) -> None:
    """`seeds` repeats of each; ten are 10 storms and 1,000 kills. `--only` takes databases, measures, or both."""
    databases = options.of(DATABASES)
    with tempfile.TemporaryDirectory(prefix="nacre-ledger-") as folder:
        if "sqlite" in databases:
            _measure("sqlite", str(Path(folder) / "books.sqlite"), Path(folder), options, results)
    if "postgresql" not in databases:
        return
    binaries = postgresql_server.find()
    if binaries is None:
        results.note(postgresql_server.MISSING)
    else:
        with tempfile.TemporaryDirectory(prefix="nacre-ledger-") as folder, postgresql_server.running(binaries) as url:
            _measure("postgresql", url, Path(folder), options, results)


def _measure(method: str, url: str, folder: Path, options: Options, results: Results) -> None:
    wanted = options.of(MEASURES)
    for name, measure in MEASURES.items():
        if name not in wanted:
            continue
        for seed in range(options.seeds):
            case = f"{method} {name}"
            if results.has(case, seed):
                continue
            dataset, figures = measure(method, url, folder, seed, options.quick)
            results.add(Setting(method, dataset, guarantee=None), seed, figures, case)
            results.write()
