"""What may be spent, and against which neighbours: the terms of the promise."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from enum import IntEnum

from nacre.errors import BudgetError
from nacre.privacy.certificate.rounding import exact

NEIGHBOURS = {  # what it means for the number of rows depends on the schema too: `wording.neighbours_words`
    "add_or_remove_one": "one unit's rows are present or absent",
    "zero_out": "one unit's rows are counted or left out of every count",
    "replace_one": "one unit's rows are exchanged for another's",
}
EPSILON_CAP = 20.0
LEAST_DELTA = 1e-16  # the noise sampler's own error is 1e-19 and more; 1/rows of any table is far above


class Level(IntEnum):
    """How much stands behind a guarantee; a release has the weakest level of its parts."""

    NONE = 0
    CONDITIONAL = 1
    REAL_ARITHMETIC = 2
    PROVEN = 3

    @property
    def label(self) -> str:
        return ("none", "conditional", "proven (real arithmetic)", "proven")[self]


@dataclass(frozen=True)
class Budget:
    """(ε, δ) for one release, for the neighbours named; ε = None asks for a non-private run.

    ε must be finite and positive (above 20 only with `large=True`: such an ε protects nobody in the worst case);
    δ must lie below 1 and not below 1e-16.
    """

    epsilon: float | None
    delta: float = 1e-6
    neighbours: str = "add_or_remove_one"
    large: bool = False

    def __post_init__(self):
        if self.neighbours not in NEIGHBOURS:
            raise BudgetError(f"neighbours={self.neighbours!r}: expected one of {', '.join(NEIGHBOURS)}")
        if self.epsilon is None:
            return
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not -1e300 < value < 1e300:
                raise BudgetError(f"{name}={value!r}: expected a finite number")
        if self.epsilon <= 0:
            raise BudgetError(
                f"epsilon={self.epsilon!r}: expected a number above 0; epsilon=None asks for a non-private run"
            )
        check_delta(self.delta)
        if self.epsilon > EPSILON_CAP and not self.large:
            raise BudgetError(
                f"epsilon={self.epsilon!r} is above {EPSILON_CAP:g}, where the worst-case promise is empty; "
                "lower it. fit and plans go on all the same with large=True (command line: --i-understand); learners "
                "have no such option"
            )


def check_delta(delta: float) -> None:
    """Raise BudgetError for a δ that is none, or is below what noise and accounting are proved for."""
    if not LEAST_DELTA <= delta < 1:
        raise BudgetError(
            f"delta={delta!r}: expected a number from {LEAST_DELTA:g} to below 1, well below 1/rows; nothing smaller "
            "can be promised, because the noise sampler itself may err with a chance near 1e-19. 1e-6 is usual"
        )


def default_delta(rows: int | None) -> float:
    """10^−max(6, ⌈1.5·log10 n0⌉) of the declared public row count, not below 1e-16; 1e-6 when none is declared."""
    return max(LEAST_DELTA, 10.0 ** -(max(6, math.ceil(1.5 * math.log10(rows))) if rows and rows > 1 else 6))


def warn_weak_delta(budget: Budget, rows: int | None) -> None:
    if budget.epsilon is not None and rows and budget.delta >= 1 / rows:
        warnings.warn(
            f"delta={exact(budget.delta)} is at least 1/rows: a mechanism that publishes one random row would satisfy "
            f"it; {exact(default_delta(rows))} is usual for {rows:,} rows",
            stacklevel=3,
        )
