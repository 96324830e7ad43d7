"""Tables of three, four and five columns: the protocol of PrivMRF's comparison.

All rows are private, row count and domains are public. For each k, 300 sets of k columns are drawn once, by a seed that
is fixed; the figure is the total variation between the tables of synthetic and private rows, mean over the sets. The
spread is over seeds, each with noise of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import pandas as pd

from benchmarks import data, published
from benchmarks.board.cells import Cell, Grid, Judged, run_grid, words
from benchmarks.catalogue import Options
from benchmarks.methods import Maker, Task, bootstrap, nacre_method
from benchmarks.results import Results
from nacre.metrics.counts import sampled
from nacre.table import Categorical, Schema

TABLES = ("nltcs", "br2000", "adult")
EPSILONS = (0.1, 0.8, 3.2)
SIZES = (3, 4, 5)
SETS = 300
SEED = 7  # of the sets of columns
QUICK_ROWS = 2_000
METHODS: dict[str, Maker] = {
    "bootstrap": bootstrap,
    "independent": nacre_method("independent", target=False),
    "sketch": nacre_method("sketch", target=False),
}
CELLS = tuple(
    cell
    for table in TABLES
    for cell in (
        Cell(table, "bootstrap"),
        *(Cell(table, method, epsilon) for epsilon in EPSILONS for method in METHODS if method != "bootstrap"),
    )
)
ONLY = words(CELLS)


def load(name: str) -> data.Dataset:
    """A table of codes 0..size-1, every column categorical with its public codes. Nobody predicts the last column."""
    frame = data.read(f"privmrf-{name}")
    sizes = json.loads(data.path(f"privmrf-{name}").with_suffix(".domain.json").read_text())
    columns = {c: Categorical(tuple(map(str, range(size)))) for c, size in zip(frame, sizes, strict=True)}
    return data.Dataset(name, frame.astype(str), Schema(columns, rows=len(frame)), str(frame.columns[-1]))


@dataclass(frozen=True)
class Codes:
    """The columns of a table of codes, and how many codes each may have."""

    columns: np.ndarray  # [columns, rows]
    sizes: Sequence[int]

    @classmethod
    def of(cls, table: pd.DataFrame, sizes: Sequence[int]) -> Codes:
        return cls(np.ascontiguousarray(table.to_numpy(dtype=np.int64).T), sizes)

    def shares(self, columns: Sequence[int]) -> np.ndarray:
        """The share of rows in every cell of the table of these columns."""
        place, rows = np.zeros(self.columns.shape[1], np.int64), self.columns.shape[1]
        for c in columns:
            place = place * self.sizes[c] + self.columns[c]
        return np.bincount(place, minlength=prod(self.sizes[c] for c in columns)) / rows


def distances(real: Codes, other: Codes) -> Iterator[tuple[str, float]]:
    """`tvd3`, `tvd4`, `tvd5`: means over the same sets of columns for every table of one shape."""
    names = tuple(map(str, range(len(real.sizes))))
    for size in SIZES:
        sets = [[int(n) for n in chosen] for chosen in sampled(names, size, SETS, SEED)]
        yield f"tvd{size}", float(np.mean([np.abs(real.shares(s) - other.shares(s)).sum() / 2 for s in sets]))


def run(options: Options, results: Results) -> None:
    results.published = [row for table in TABLES for row in published.rows(f"{table}-kway")]

    @lru_cache(maxsize=1)
    def loaded(table: str) -> tuple[data.Dataset, Codes]:
        found = load(table)
        frame = found.frame[:QUICK_ROWS] if options.quick else found.frame
        schema = Schema(found.schema.columns, rows=len(frame))
        sizes = [len(c.labels) for c in schema.columns.values()]
        return data.Dataset(table, frame, schema, found.target), Codes.of(frame, sizes)

    def prepare(table: str, seed: int) -> tuple[Task, Judged]:
        dataset, real = loaded(table)
        return Task(dataset, dataset.frame, seed), lambda _, made: dict(distances(real, Codes.of(made, real.sizes)))

    run_grid(Grid(CELLS, METHODS, prepare), options, results)
