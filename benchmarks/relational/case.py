"""One case in a process of its own: tables from a folder, made anew into another."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.relational.memory import peak_mb
from benchmarks.relational.methods import METHODS, Task
from benchmarks.relational.tables import DATABASES, Frames
from nacre.table.database import Database


def save(frames: Frames, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet")


def load(folder: Path, database: Database) -> Frames:
    """Public tables that nobody wrote are those beside."""
    found = {}
    for name in database.tables:
        file = folder / f"{name}.parquet"
        found[name] = pd.read_parquet(file if file.exists() else folder.parent / "private" / file.name)
    return found


def make(
    private: str, folder: str, seed: int, dataset: str, method: str, epsilon: float | None, delta: float
) -> dict[str, Any]:
    data = DATABASES[dataset]()
    task = Task(data, load(Path(private), data.database), epsilon, delta, seed)
    start = time.perf_counter()
    made = METHODS[method](task)
    figures = {"run_s": time.perf_counter() - start, **made.figures}
    if made.figures:
        figures["peak_mb"] = peak_mb()
    save({name: made.frames[name] for name in data.database.tables}, Path(folder))
    return {"guarantee": made.guarantee, "figures": figures}
