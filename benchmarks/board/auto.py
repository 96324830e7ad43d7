"""`method="auto"` beside the methods it can take and those it could have taken, on tables of many shapes.

80 % of a table are private; a linear model and boosted trees learn the target from synthetic rows and are tested on the
rest. `model_error` is the mean of both errors: 1 − AUC, or the squared error over the variance where a number is
predicted. `auto` is no run of its own: it is the method that the rule takes for the schema and the budget, and
`over_best` is its median error over seeds divided by the smallest of any method of ours. The rule was set on other
tables (docs/methods/auto.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.board import tables
from benchmarks.board.cells import DELTA, Cell, Grid, Judged, run_grid, splits, words
from benchmarks.catalogue import Options
from benchmarks.methods import Maker, nacre_method
from benchmarks.results import Results, Setting
from nacre.evaluation.comparison import Sides, gathered, jobs
from nacre.evaluation.parallel import run_jobs
from nacre.evaluation.score import Judge, Protocol
from nacre.metrics.domain import Domain
from nacre.metrics.pair import Side
from nacre.run.job import plan
from nacre.table import Schema

EPSILONS = (0.1, 1.0, 10.0)
SOME = 20_000  # rows of the large tables
QUICK_ROWS = 400
CLASSES, NUMBERS = ("lr", "hgb"), ("linear", "hgb")
METHODS: Mapping[str, Maker] = {
    "sketch": nacre_method("sketch"),
    "sketch-no-target": nacre_method("sketch", target=False),
    "support-points": nacre_method("support-points"),
    "independent": nacre_method("independent"),
    "pearl": nacre_method("pearl"),
}
FEW_ROWS = ("pearl",)  # which takes minutes on many rows and is even with the sketch there (`sketch-adult`)
AUTO = "auto"


def few(dataset: data.Dataset, columns: tuple[str, ...]) -> data.Dataset:
    """Some columns of a table, the last of which is predicted."""
    kept = {name: dataset.schema.columns[name] for name in columns}
    frame = pd.DataFrame(dataset.frame[list(columns)])
    return data.Dataset(dataset.name, frame, Schema(kept, rows=dataset.schema.rows), columns[-1])


def _some(load: Callable[[], data.Dataset], rows: int) -> data.Dataset:
    return tables.sampled(load(), rows)


_LOADED = {**tables.TABLES, "census": data.census, "intrusion": data.intrusion}  # not cut to the board's rows
_PARTS = {"california": (500, 2_500), "diabetes130": (600, 3_000, SOME), "national2019": (600, SOME),
          "br2000": (600, SOME), "census": (600,), "intrusion": (3_000,)}  # fmt: skip
TABLES: Mapping[str, Callable[[], data.Dataset]] = {
    **{name: tables.TABLES[name] for name in ("mimic", "diabetes", "boston", "california")},
    **{f"{name}-{rows}": partial(_some, _LOADED[name], rows) for name, some in _PARTS.items() for rows in some},
    "incomes-4": lambda: few(_some(tables.national2019, SOME), ("AGEP", "SEX", "EDU", "PINCP_DECILE")),
    "houses-4": lambda: few(tables.california(), ("longitude", "latitude", "median_income", "median_house_value")),
}
SMALL = ("mimic", "diabetes", "boston", "california-500", "california-2500",
         *(name for name in TABLES if name.endswith(("-600", "-3000"))))  # fmt: skip
CELLS = tuple(
    Cell(table, method, epsilon)
    for table in TABLES
    for epsilon in EPSILONS
    for method in METHODS
    if table in SMALL or method not in FEW_ROWS
)
ONLY = words(CELLS)


def judge(dataset: data.Dataset, private: pd.DataFrame, holdout: pd.DataFrame, seed: int) -> Judged:
    """What both models make of a table, and how far its pairs are from those of the private rows."""
    domain = Domain.of(dataset.schema)
    number = domain[dataset.target].numeric
    models = NUMBERS if number else CLASSES
    learnt = Judge(private, holdout, domain, dataset.target, Protocol(suites=models, seed=seed))
    scores = [f"{'r2' if number else 'auc'}_{model}" for model in models]
    real = Side.of(private, domain)

    def figures(method: str, made: pd.DataFrame) -> dict[str, float]:
        sides = Sides(Side.of(made, domain), real, None, None, domain, seed)
        found = gathered(run_jobs(jobs(sides, names=("tvd2",)), n_jobs=1)).scores
        told = {name: learnt.downstream(made)[name] for name in scores}
        error = float(np.mean([1 - value for value in told.values()]))
        return {"model_error": error, **told, **{s.metric: s.value for s in found if not s.columns}}

    return figures


def summarise(results: Results, cells: list[Cell], loaded: Callable[[str], data.Dataset]) -> None:
    """A row for what `auto` takes of each table and budget, and how far that is behind the best of ours."""
    together: dict[tuple[str, float | None], list[Cell]] = {}
    for cell in cells:
        together.setdefault((cell.table, cell.epsilon), []).append(cell)
    for (table, epsilon), own in together.items():
        errors = {cell.method: _errors(results, cell) for cell in own}
        if not all(errors.values()):
            continue  # not all measured yet
        dataset = loaded(table)
        takes = plan(dataset.schema, epsilon=epsilon, delta=DELTA, method=AUTO, target=dataset.target).method
        medians = {m: float(np.median(v)) for m, v in errors.items()}
        where = Setting(f"{AUTO}: {takes}", table, epsilon, DELTA, "proven")
        results.add(where, 0, {"over_best": medians[takes] / min(medians.values())})
        for seed, error in enumerate(errors[takes]):
            results.add(where, seed, {"model_error": error})
    results.write()


def _errors(results: Results, cell: Cell) -> list[float]:
    found = results.find(cell.method, cell.table, cell.epsilon)
    kept = [results.of(found, seed) for seed in range(100)] if found else []
    return [figures["model_error"] for figures in kept if "model_error" in figures]


def run(options: Options, results: Results) -> None:
    @lru_cache(maxsize=1)
    def loaded(table: str) -> data.Dataset:
        return TABLES[table]().head(QUICK_ROWS if options.quick else None)

    run_grid(Grid(CELLS, METHODS, splits(loaded, judge)), options, results)
    summarise(results, list(CELLS), loaded)
