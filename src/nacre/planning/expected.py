"""From the noise of raw tables to the error of a fit: how much the reconstruction gains, and how sure that is.

The raw distance is a bound that follows from the plan. The fit shares strength between tables and drops what it cannot
tell from noise, so that it gains most where the noise is largest: found ≈ a·raw^b. What it drops is also what it loses:
dependence below the noise. A pair of fine columns has more of that to lose, since their groups are cut to about equal
mass, while most cells of a table of categories are nearly empty and come out as such: c for each fine column.

How dependent the columns of a table are is no public fact, and is most of the spread: eight of ten columns or pairs
are expected between `low` and `high`. Fitted on other tables than those the figures are reported for, without columns
of practically one value, which come out better (docs/engines.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

# log a, b, log c, and the standard deviation of log(found) around that
_LAWS = {"column": (-1.65, 0.74, 0.0, 0.65), "pair": (-2.56, 0.54, 0.20, 0.65)}
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


def expected(raw: float, of: Literal["column", "pair"], fine: int = 0) -> Expected:
    """The distance of a fit whose raw noisy table is at a distance `raw`; `fine` columns of it have ordered cells, more
    of them than groups."""
    intercept, power, more, spread = _LAWS[of]
    middle = math.exp(intercept + more * fine) * raw**power
    factor = math.exp(_EIGHT_OF_TEN * spread)
    return Expected(min(1.0, middle), min(1.0, middle / factor), min(1.0, middle * factor))
