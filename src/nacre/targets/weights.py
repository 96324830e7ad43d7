"""Weights of rows: what they are worth, when they are refused, and drawing rows by them. NumPy only."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacre.errors import DataError, NacreError, OwnerWarning

LEAST = 50  # rows that the weighted ones must be worth
FEW = 0.1  # share of the rows below which a warning is due


@dataclass(frozen=True, eq=False)
class Weights:
    """One weight per row, up to a factor unless `normalised`: then their mean under the law of the table is 1."""

    values: np.ndarray
    normalised: bool = False

    def __post_init__(self) -> None:
        w = np.asarray(self.values, np.float64)
        if w.ndim != 1 or not len(w) or not np.isfinite(w).all() or (w < 0).any() or not w.sum() > 0:
            raise DataError("weights: expected one finite number of at least 0 per row, and one above 0")
        object.__setattr__(self, "values", w)

    @property
    def largest(self) -> float:
        """The largest weight when the mean is 1: how many times a row counts."""
        return float(self.values.max() / self.values.mean())

    @property
    def effective(self) -> float:
        """(Σw)²/Σw²: how many equally weighted rows these are worth."""
        return float(self.values.sum() ** 2 / np.sum(self.values**2))

    @property
    def scaled(self) -> np.ndarray:
        """The weights with mean 1; as they are where they are normalised."""
        return self.values if self.normalised else self.values / self.values.mean()

    def facts(self) -> dict[str, float]:
        """What is reported about weights. Of private rows: for their owner alone."""
        share = self.effective / len(self.values)
        return {"largest_weight": self.largest, "effective_rows": self.effective, "effective_share": share}

    def checked(self, what: str, advice: str = "ask for a target nearer to the table", private: bool = True) -> Weights:
        """The same weights. DataError, with this advice, when they are worth fewer than 50 rows; a warning below a
        tenth of the rows, for the owner alone where the weights are those of `private` rows."""
        n, worth = len(self.values), self.effective
        told = f"{what}: {n:,} weighted rows are worth {worth:,.0f} equal ones (largest weight {self.largest:,.1f})"
        if worth < min(LEAST, n):
            raise DataError(f"{told}, fewer than {LEAST}; {advice}")
        if worth < FEW * n:
            kind = OwnerWarning if private else UserWarning
            warnings.warn(f"{told}: few rows stand for many", kind, stacklevel=3)
        return self

    def truncated(self, most: float) -> tuple[Weights, float]:
        """(weights of at most `most` times their mean, the bias this costs).

        The bias of the mean of any function with values in [0, 1] is at most mean (w − most)₊, of weights of mean 1.
        """
        check_truncate(most)
        w = self.scaled
        return replace(self, values=np.minimum(w, most)), float(np.maximum(w - most, 0).mean())


def check_truncate(most: object) -> None:
    """Raise NacreError unless this is a number of mean weights, at least 1."""
    if isinstance(most, bool) or not isinstance(most, int | float) or not 1 <= most < np.inf:
        raise NacreError(f"truncate={most!r}: expected a number of at least 1, in units of the mean weight")


def resample(weights: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Places of `rows` rows drawn in proportion to the weights, in random order.

    Systematic: every row comes within one of rows·w/Σw times, so that none comes twice where no weight asks for it.
    So do all rows of one weight together, which keeps the shares that weights were made for.
    """
    order = np.lexsort((rng.random(len(weights)), weights))
    upto = np.cumsum(weights[order])
    spots = (np.arange(rows) + rng.random()) * (upto[-1] / max(rows, 1))
    places = np.searchsorted(upto, spots, side="right")
    return rng.permutation(order[np.minimum(places, len(order) - 1)])


def duplicated(weights: np.ndarray, rng: np.random.Generator, copies: float = 10.0, ceiling: bool = False) -> Any:
    """Places of rows repeated by their weights: importance duplication (specs/importance_weighted.md E5).

    c·w copies of each row, the fraction by chance, so that the expected number is exact; `ceiling` is the paper's
    ⌈w⌉ of weights as given, which cannot lower any weight below 1.
    """
    times = np.ceil(weights) if ceiling else np.floor(copies * weights + rng.random(len(weights)))
    return np.repeat(np.arange(len(weights)), times.astype(np.int64))
