"""What a test of a hypothesis returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.errors import DataError


@dataclass(frozen=True)
class Outcome:
    """`sizes` holds the rows of each sample. A p-value above the level is no evidence that the hypothesis is true."""

    method: str
    statistic: float
    p_value: float
    level: float
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise DataError(f"level={self.level}: expected a number between 0 and 1, such as 0.05")

    @property
    def rejects(self) -> bool:
        return self.p_value <= self.level


def resampled_p(observed: float, drawn: np.ndarray) -> float:
    """(1 + #{drawn >= observed})/(1 + B): valid for any B, never 0. Differences of rounding count as ties."""
    slack = 1e-9 * max(abs(observed), float(np.abs(drawn).max(initial=0.0)))
    return float((1 + np.count_nonzero(drawn >= observed - slack)) / (1 + len(drawn)))


def positive(name: str, count: int) -> None:
    if count < 1:
        raise DataError(f"{name}={count}: expected at least 1")
