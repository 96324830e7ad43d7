"""What a population may spend, in all and at once, and who may ask. Fixed when the population is made."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nacre.errors import BudgetError, LedgerTampered
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import exact
from nacre.typed import Json

UNIT = 1e-12  # of μ², the square of the Gaussian parameter
FAILURE_UNIT = 1e-18  # of δ
FAILURE_SHARE = 0.5  # of the population's δ, set aside for failures; the rest is for the Gaussian curve


@dataclass(frozen=True)
class Policy:
    """(ε, δ) for all releases together, for the neighbours and the unit named.

    `per_release` bounds the ε of one release at the same δ. `who` lists the users who may reserve (empty: anybody);
    `owner` may also refund. `unit` is the column that names persons, None where rows are protected.
    """

    epsilon: float
    delta: float = 1e-6
    neighbours: str = "add_or_remove_one"
    unit: str | None = None
    per_release: float | None = None
    who: tuple[str, ...] = ()
    owner: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "who", tuple(self.who))
        if self.epsilon is None:
            raise BudgetError("the cap of a population is a number; epsilon=None promises nothing")
        Budget(self.epsilon, self.delta, self.neighbours)
        if self.per_release is not None:
            Budget(self.per_release, self.delta, self.neighbours)
            if self.per_release > self.epsilon:
                raise BudgetError(
                    f"per_release={exact(self.per_release)} is above the cap {exact(self.epsilon)} of all releases; "
                    "lower it"
                )
        if self.failure_cap < 1 or self.unit_cap < 1:
            raise BudgetError(
                f"epsilon={exact(self.epsilon)}, delta={exact(self.delta)}: too small to be counted in whole units"
            )

    @functools.cached_property
    def failure_cap(self) -> int:
        """Whole units of δ that all releases together may spend on failures."""
        return math.floor(FAILURE_SHARE * self.delta / FAILURE_UNIT)

    @functools.cached_property
    def unit_cap(self) -> int:
        """Whole units of μ²: the largest B with D + (1 − D)·δ_√B(ε) ≤ δ, D being the share of failures."""
        set_aside = self.failure_cap * FAILURE_UNIT
        left = (self.delta - set_aside) / (1 - set_aside)
        mu = accounting.largest(lambda m: accounting.gaussian_delta(self.epsilon, m) <= left, 1.0)
        return math.floor(mu**2 / UNIT * (1 - 1e-9))

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "who": list(self.who)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Policy:
        try:
            return Policy(**{**data, "who": tuple(data["who"])})
        except (KeyError, TypeError, ValueError, ArithmeticError, BudgetError) as error:
            raise LedgerTampered(f"the policy in the ledger cannot be read ({error}); restore the ledger") from None
