"""What every adapter shares: the job it is given, the clock, and the two files it leaves.

Adapters run in the environment of a peer: this file may import pandas and the standard library, never nacre.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Job:
    """The private rows and everything public: the columns of a nacre schema, bins, the target, the budget.

    `epsilon` is None for a method without privacy.
    """

    method: str
    rows: pd.DataFrame
    columns: Mapping[str, Mapping[str, Any]]
    bins: Mapping[str, list[float]]
    target: str
    epsilon: float | None
    delta: float | None
    seed: int
    schema: Path

    @property
    def numeric(self) -> list[str]:
        return [name for name, column in self.columns.items() if column["kind"] == "numeric"]


@dataclass(frozen=True)
class Fitted:
    """A fitted model: how it samples, and what it says about its own budget, if it says anything."""

    sample: Callable[[int], pd.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)


def read(path: Path) -> tuple[Job, dict[str, Any]]:
    given = json.loads(path.read_text())
    schema = Path(given["schema"])
    described = json.loads(schema.read_text())["columns"]
    rows = pd.read_parquet(given["rows"])
    keys = ("method", "target", "epsilon", "delta", "seed")
    job = Job(rows=rows, columns=described, bins=given["bins"], schema=schema, **{k: given[k] for k in keys})
    return job, given


def main(package: str, fit: Callable[[Job], Fitted]) -> None:
    """Run `python ADAPTER JOB.json`. The clock of the fit starts before the package is imported: `fit` does that."""
    job, given = read(Path(sys.argv[1]))
    start = time.perf_counter()
    fitted = fit(job)
    middle = time.perf_counter()
    table = fitted.sample(len(job.rows))
    end = time.perf_counter()
    table[list(job.columns)].reset_index(drop=True).to_parquet(given["table"])
    facts = {"package": package, "version": version(package), "fit_s": middle - start, "sample_s": end - middle}
    Path(given["facts"]).write_text(json.dumps(facts | dict(fitted.facts)))
