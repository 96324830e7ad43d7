"""NIST's Diverse Communities Data Excerpts, national 2019: the k-marginal score of the 21 simple features.

All rows are private, their number is public. The domain is that of the published codebook: lists of codes with "N" for
"not applicable", and numbers on their published ranges, missing where not applicable. The density of an area is a fact
about the area, so it is declared to follow from it. `sketch` is told of no target, `sketch-target` of the 20 areas.
`real-40` is a random sample of 40 % of the real rows, by whose score NIST places others.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks import data, published
from benchmarks.board.cells import Cell, Grid, Judged, run_grid, words
from benchmarks.board.kmarginal import AREA, NUMBERS, kmarginal
from benchmarks.catalogue import Options
from benchmarks.methods import Case, Made, Maker, Task, bootstrap, nacre_method
from benchmarks.results import Results
from nacre.metrics.cells import cells
from nacre.metrics.counts import distances
from nacre.table import Categorical, Numeric, Schema
from nacre.table.columns import Column
from nacre.table.rules import Dependency

TABLE = "national2019"
EPSILONS = (1.0, 10.0)
SHARE = 0.4
QUICK_ROWS = 2_000


def _codes(first: int, last: int, absent: bool = False) -> Categorical:
    return Categorical(("N",) * absent + tuple(map(str, range(first, last + 1))))


DENSITY = {  # people per square mile of each area, as published beside the data
    "01-01301": "2731.2", "06-07502": "33632.6", "06-08507": "3305.1", "08-00803": "3393.2", "13-04600": "3670.4",
    "17-03529": "15097.5", "17-03531": "11171.6", "19-01700": "3572.3", "24-01004": "4187.9", "26-02702": "4817.2",
    "28-01100": "2674.3", "29-01901": "5434.8", "30-00600": "16.3", "32-00405": "7990.5", "36-03710": "52864.7",
    "36-04010": "50441.6", "38-00100": "73.0", "40-00200": "90.7", "51-01301": "11162.8", "51-51255": "11224.3",
}  # fmt: skip
COLUMNS: dict[str, Column] = {
    AREA: Categorical(tuple(DENSITY)),
    "AGEP": Numeric((0, 99), integer=True),
    "SEX": _codes(1, 2),
    "MSP": _codes(1, 6, absent=True),
    "HISP": _codes(0, 4),
    "RAC1P": _codes(1, 9),
    "NOC": _codes(0, 19, absent=True),
    "NPF": _codes(2, 20, absent=True),
    "HOUSING_TYPE": _codes(1, 3),
    "OWN_RENT": _codes(0, 2),
    "DENSITY": Categorical(tuple(sorted(DENSITY.values(), key=float)), ordered=True),
    "INDP_CAT": _codes(0, 18, absent=True),
    "EDU": _codes(1, 12, absent=True),
    "PINCP": Numeric((-20_000, 4_210_000), integer=True, nullable=True),
    "PINCP_DECILE": _codes(0, 9, absent=True),
    "POVPIP": Numeric((0, 501), integer=True, atoms=(501,), nullable=True),
    "DVET": _codes(1, 6, absent=True),
    "DREM": _codes(1, 2, absent=True),
    "DPHY": _codes(1, 2, absent=True),
    "DEYE": _codes(1, 2),
    "DEAR": _codes(1, 2),
}


def load(rows: int | None = None) -> data.Dataset:
    """The table, or its first rows for a smoke run; the area is the target of those that are told one."""
    texts = data.read(TABLE)[list(COLUMNS)][:rows]
    numbers = {name: pd.to_numeric(texts[name], errors="coerce") for name in NUMBERS}  # "N" is missing
    rule = Dependency(AREA, "DENSITY", DENSITY)
    return data.Dataset(TABLE, texts.assign(**numbers), Schema(COLUMNS, rows=len(texts), dependencies=(rule,)), AREA)


def part(task: Task, case: Case) -> Made:
    """Some of the real rows, each at most once."""
    keep = np.random.default_rng([task.seed, 40]).choice(len(task.private), round(SHARE * len(task.private)), False)
    return Made(task.private.iloc[np.sort(keep)].reset_index(drop=True))


METHODS: dict[str, Maker] = {
    "bootstrap": bootstrap,
    "real-40": part,
    "independent": nacre_method("independent", target=False),
    "sketch": nacre_method("sketch", target=False),
    "sketch-target": nacre_method("sketch"),
}
FREE = ("bootstrap", "real-40")  # of any budget
CELLS = (
    *(Cell(TABLE, method) for method in FREE),
    *(Cell(TABLE, method, epsilon) for epsilon in EPSILONS for method in METHODS if method not in FREE),
)
ONLY = words(CELLS)


def judge(dataset: data.Dataset) -> Judged:
    """The score of a table, and its two-way tables beside those of the real rows."""
    real, domain = cells(dataset.frame, dataset.schema), dataset.schema
    pairs = list(combinations(domain.modelled, 2))

    def figures(method: str, made: pd.DataFrame) -> dict[str, float]:
        tvd2 = distances(cells(made, domain), real, pairs).mean
        return {"kmarginal": kmarginal(dataset.frame, made[list(dataset.frame)]), "tvd2": tvd2}

    return figures


def run(options: Options, results: Results) -> None:
    results.published = published.rows(f"{TABLE}-nist")
    dataset = load(QUICK_ROWS if options.quick else None)
    judged = judge(dataset)
    run_grid(Grid(CELLS, METHODS, lambda _, seed: (Task(dataset, dataset.frame, seed), judged)), options, results)
