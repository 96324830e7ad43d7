"""The three regression tables of the support-points study, scaled by public bounds, and their folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from nacre.table import Numeric, Schema

# target, random rows (None: all). Bounds are written down here: they come from descriptions of the variables.
TABLES = {
    "boston": ("MEDV", None),
    "diabetes": ("target", None),
    "california": ("median_house_value", 500),
}
BOUNDS = {
    "boston": {
        "CRIM": (0, 100), "ZN": (0, 100), "INDUS": (0, 30), "CHAS": (0, 1), "NOX": (0.3, 0.9), "RM": (3, 9),
        "AGE": (0, 100), "DIS": (1, 13), "RAD": (1, 24), "TAX": (180, 720), "PTRATIO": (12, 23), "B": (0, 400),
        "LSTAT": (0, 40), "MEDV": (0, 50),
    },
    "diabetes": {
        "age": (18, 80), "sex": (1, 2), "bmi": (15, 45), "bp": (60, 140), "s1": (90, 310), "s2": (40, 250),
        "s3": (20, 100), "s4": (2, 10), "s5": (3, 6.5), "s6": (50, 130), "target": (0, 350),
    },
    "california": {
        "longitude": (-125, -114), "latitude": (32, 42), "housing_median_age": (0, 52), "total_rooms": (0, 20000),
        "total_bedrooms": (0, 4000), "population": (0, 10000), "households": (0, 4000), "median_income": (0, 15),
        "median_house_value": (0, 500001),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows scaled to [0, 1] by the bounds of the schema, the target last."""

    name: str
    schema: Schema
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def unscaled(self, rows: np.ndarray) -> np.ndarray:
        return rows * (self.high - self.low) + self.low


def load(name: str, seed: int = 0) -> Table:
    """The table with its public schema; `seed` chooses the random rows of California."""
    target, some = TABLES[name]
    frame = data.read(name).astype(np.float64)
    if some is not None:
        frame = frame.sample(some, random_state=seed)
    lower = {c.lower(): c for c in frame.columns}
    bounds = {lower[c.lower()]: b for c, b in BOUNDS[name].items()}
    columns = [*(c for c in frame.columns if c != target), target]
    low, high = (np.array([float(bounds[c][i]) for c in columns]) for i in (0, 1))
    schema = Schema({c: Numeric(bounds=(float(bounds[c][0]), float(bounds[c][1]))) for c in columns})
    return Table(name, schema, np.clip((frame[columns].to_numpy() - low) / (high - low), 0.0, 1.0), low, high)


def folds(table: Table, seed: int, count: int = 5) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of each of five parts (the first `count` of them)."""
    order = np.random.default_rng(seed).permutation(len(table.rows))
    parts = np.array_split(order, 5)
    for i in range(count):
        yield table.rows[np.concatenate(parts[:i] + parts[i + 1 :])], table.rows[parts[i]]
