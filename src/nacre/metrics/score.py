"""What a computation finds: tidy scores, matrices of pairs, and what a reader must know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Score:
    """One figure under its registered name (`nacre.metrics`).

    `of` says whose figure it is: "synthetic"; "real" (the private table in the place of the synthetic one: the
    ceiling, or the holdout beside it); "bootstrap" (the private table resampled with replacement); "majority" (the
    constant guess). `columns` is empty for a figure of the whole table and names one or two columns otherwise.
    `low` and `high` hold the middle 95 % of the figure over resampled rows, where computed: of a model's score an
    interval for other test rows; of a distance only its spread, for finite tables of one population have a distance
    above 0. `rows` is how many rows the figure rests on.
    """

    metric: str
    value: float
    of: str = "synthetic"
    columns: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Matrix:
    """How strongly columns depend on one another, in both tables; NaN where a pair has no value.

    `kind` is "kendall" (numbers, -1 to 1), "pearson" (numbers, -1 to 1) or "cramers_v" (all columns binned, 0 to 1).
    """

    kind: str
    names: tuple[str, ...]
    real: np.ndarray
    synthetic: np.ndarray


@dataclass(frozen=True)
class Figure:
    """A figure with its standard error over the rows (delta method)."""

    value: float
    error: float

    def score(self, metric: str, rows: int, columns: tuple[str, ...] = ()) -> Score:
        """With the interval value ± 1.96 errors, which the range of the metric will cut."""
        reach = 1.96 * self.error
        return Score(metric, self.value, "synthetic", columns, self.value - reach, self.value + reach, rows)


@dataclass(frozen=True)
class Measured:
    """All that one computation finds of one pair of tables."""

    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    resampled: Mapping[tuple[str, tuple[str, ...]], np.ndarray] = field(default_factory=dict)  # by metric and columns

    @classmethod
    def of(cls, rows: int, **figures: float) -> Measured:
        """Figures of whole tables by the names of their metrics, which rest on so many rows."""
        return cls(tuple(Score(name, value, rows=rows) for name, value in figures.items()))
