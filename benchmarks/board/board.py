"""Tables of many shapes × budgets × ours and other packages, every method in a process of its own with a limit.

80 % of a table are private, models are tested on the rest. Gaps are those of boosted trees to the same models trained
on the private rows. A cell that is empty was not made within the limit, or its package is not installed; the file says
which. `--only adult,sketch,1` runs one cell.
"""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from benchmarks import data
from benchmarks.board.cells import Cell, Grid, Judged, run_grid, splits, words
from benchmarks.board.judge import Board
from benchmarks.board.tables import TABLES
from benchmarks.catalogue import Options
from benchmarks.peers import study as peers
from benchmarks.peers.registry import PEERS
from benchmarks.places import WORK
from benchmarks.results import Results

EPSILONS = (0.1, 1.0, 10.0)
FREE = ("real", "bootstrap")
OURS = ("sketch", "sketch-no-target", "independent")
THEIRS = ("mst-dpmm", "aim-dpmm", "privbayes-dpmm", "aim-opendp", "dp-ctgan")
LIMIT_S = 600.0  # for a method, imports and compilation included
QUICK_ROWS = 1_000
CELLS = tuple(
    cell
    for table in TABLES
    for cell in (
        *(Cell(table, method) for method in FREE),
        *(Cell(table, method, epsilon) for epsilon in EPSILONS for method in (*OURS, *THEIRS)),
    )
)
ONLY = words(CELLS)


def run(options: Options, results: Results) -> None:
    wanted = {name: PEERS[name] for name in (*OURS, *THEIRS)}
    methods = peers.methods(options, results, wanted, LIMIT_S)

    @lru_cache(maxsize=1)
    def loaded(table: str) -> data.Dataset:
        return TABLES[table]().head(QUICK_ROWS if options.quick else None)

    def judge(dataset: data.Dataset, private: pd.DataFrame, holdout: pd.DataFrame, seed: int) -> Judged:
        board = Board(dataset, private, holdout, seed, WORK / f"{results.name}-report")

        def figures(method: str, made: pd.DataFrame) -> dict[str, float]:
            return board.ceiling() if method == "real" else board.figures(made, resampled=method in FREE)

        return figures

    run_grid(Grid(CELLS, methods, splits(loaded, judge)), options, results)
