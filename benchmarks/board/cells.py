"""A benchmark as a grid of cells, table × method × budget, any of which can be run alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.catalogue import Options
from benchmarks.data import Dataset
from benchmarks.methods import Case, Maker, NotMade, Task
from benchmarks.results import Results, Setting

DELTA = 1e-5
Judged = Callable[[str, pd.DataFrame], Mapping[str, float]]  # the figures of a table, and the method that made it


@dataclass(frozen=True)
class Cell:
    table: str
    method: str
    epsilon: float | None = None

    @property
    def budget(self) -> str:
        return "" if self.epsilon is None else f"{self.epsilon:g}"

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.table, self.method, self.budget)))


@dataclass(frozen=True)
class Grid:
    """`prepare` gives the private rows of a table by seed, and what judges a table made from them."""

    cells: Sequence[Cell]
    methods: Mapping[str, Maker]
    prepare: Callable[[str, int], tuple[Task, Judged]]


def splits(
    loaded: Callable[[str], Dataset], judge: Callable[[Dataset, pd.DataFrame, pd.DataFrame, int], Judged]
) -> Callable[[str, int], tuple[Task, Judged]]:
    """What prepares a grid whose tables are split by seed: the private rows, and what judges by them and the rest."""

    def prepare(table: str, seed: int) -> tuple[Task, Judged]:
        dataset = loaded(table)
        private, holdout = dataset.split(seed)
        return Task(dataset, private, seed), judge(dataset, private, holdout, seed)

    return prepare


def words(cells: Sequence[Cell]) -> tuple[str, ...]:
    """What `--only` may hold: tables, methods, budgets. A word of each kind, `nltcs,sketch,0.8`, is one cell."""
    kinds = ([c.table for c in cells], [c.method for c in cells], [c.budget for c in cells if c.budget])
    return tuple(dict.fromkeys(word for kind in kinds for word in kind))


def chosen(cells: Sequence[Cell], options: Options) -> list[Cell]:
    """The cells that every word of `--only` fits; rows without a budget stand beside any."""
    tables, methods = options.of({c.table for c in cells}), options.of({c.method for c in cells})
    budgets = options.of({c.budget for c in cells if c.budget})
    fit = [c for c in cells if c.table in tables and c.method in methods]
    return [c for c in fit if c.epsilon is None or c.budget in budgets]


def run_grid(grid: Grid, options: Options, results: Results) -> None:
    """Every cell that is wanted and not yet measured, a table and a seed at a time. A method of another package that
    makes no table leaves its cell empty, and the file says why."""
    cells = chosen(grid.cells, options)
    for table in dict.fromkeys(c.table for c in cells):
        for seed in range(options.seeds):
            todo = [c for c in cells if c.table == table and not results.has(c.name, seed)]
            if not todo:
                continue
            task, judge = grid.prepare(table, seed)
            for cell in todo:
                _measure(cell, grid.methods[cell.method], task, judge, results)


def _measure(cell: Cell, make: Maker, task: Task, judge: Judged, results: Results) -> None:
    start, delta = time.perf_counter(), None if cell.epsilon is None else DELTA
    try:
        made = make(task, Case(cell.method, cell.epsilon, delta))
    except NotMade as nothing:
        results.tell(cell.name, nothing.about)
        print(f"seed {task.seed}  {cell.name}  no table: {nothing}", flush=True)
        return
    results.tell(cell.name, made.about)
    figures = {**judge(cell.method, made.table), **made.figures}
    setting = Setting(cell.method, cell.table, cell.epsilon, delta, made.guarantee)
    results.add(setting, task.seed, figures, cell.name)
    results.write()
    shown = "  ".join(f"{name} {value:.4f}" for name, value in figures.items())
    print(f"seed {task.seed}  {cell.name}  {shown}  ({time.perf_counter() - start:.0f} s)", flush=True)
