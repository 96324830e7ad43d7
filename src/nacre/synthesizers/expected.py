"""From the noise of raw tables to the error of a fit: how much the reconstruction gains, and how sure that is.

The raw distance is a bound that follows from the plan. The fit shares strength between tables, and gains most where the
noise is largest: found ≈ a·raw^b, with a and b fitted on other tables than those the figures are reported for (see
docs/engines.md). Eight of ten columns or pairs are expected between `low` and `high`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

# log a, b, and the standard deviation of log(found) around the line
_LAWS = {"column": (-1.04, 0.90, 0.95), "pair": (-2.42, 0.65, 0.85)}
_EIGHT_OF_TEN = 1.2816  # standard deviations on both sides of the middle


@dataclass(frozen=True)
class Expected:
    """A distance that is expected, and the range that holds it in eight of ten cases."""

    value: float
    low: float
    high: float

    def plus(self, more: float) -> Expected:
        """The same with a distance that comes on top."""
        return Expected(*(min(1.0, v + more) for v in (self.value, self.low, self.high)))


def expected(raw: float, of: Literal["column", "pair"]) -> Expected:
    """The distance of a fit whose raw noisy table is at a distance `raw`."""
    intercept, power, spread = _LAWS[of]
    middle = math.exp(intercept) * raw**power
    factor = math.exp(_EIGHT_OF_TEN * spread)
    return Expected(min(1.0, middle), min(1.0, middle / factor), min(1.0, middle * factor))
