"""What an entry of a plan is: one use of one door, and whose presence it hides."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting.accountant import Event
from nacre.privacy.budget import Level
from nacre.privacy.noise import MAX_SIGMA

LARGEST = 2**62


@dataclass(frozen=True)
class Scope:
    """Whose presence is hidden: the neighbour relation, and how many rows one unit may hold."""

    neighbours: str
    cap: int = 1

    @property
    def table(self) -> float:
        """L2 sensitivity of one contingency table: `cap` rows in one cell, or moved from one cell to another."""
        return self.cap * (math.sqrt(2) if self.neighbours == "replace_one" else 1.0)

    @property
    def sum(self) -> float:
        """Sensitivity of a sum of per-record vectors of norm at most 1."""
        return self.cap * (2.0 if self.neighbours == "replace_one" else 1.0)


@dataclass(frozen=True)
class Entry:
    """One use of one door. `level` is the guarantee the door can give at best.

    Numbers that the accountant or the noise could not use (NaN, zero, infinity...) are refused when it is made.
    """

    door: ClassVar[str]
    level: ClassVar[Level] = Level.PROVEN
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(getattr(self, "exact", True), bool):
            raise PlanError(f"entry {self.name!r}: expected a name, and true or false for exact")
        if not isinstance(getattr(self, "sigmas", ()), tuple | list):
            raise PlanError(f"entry {self.name!r}: sigmas {getattr(self, 'sigmas', ())!r}; expected a list of numbers")
        for scale in ("sigmas", "sigma", "bound", "epsilon"):
            found = getattr(self, scale, ())
            for value in found if isinstance(found, tuple | list) else (found,):
                if isinstance(value, bool) or not 0 < value <= MAX_SIGMA:  # NaN fails every comparison
                    raise BudgetError(
                        f"entry {self.name!r}: {scale} {value!r}; expected numbers above 0, up to 2**34. "
                        "A budget that asks for more noise than that buys nothing"
                    )
        for number, least in (("picks", 1), ("size", 1), ("threshold", 1), ("parts", 1), ("draws", 1), ("moves", 0)):
            value = getattr(self, number, least)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise PlanError(f"entry {self.name!r}: {number} {value!r}; expected a whole number, {least} or more")
            if value > LARGEST:
                raise PlanError(f"entry {self.name!r}: {number} {value:.3g}; expected at most 2^62")

    def events(self, scope: Scope) -> list[Event]:
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What was asked, and with how much noise: for certificates and sheets, with figures on the safe side."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"door": self.door, **asdict(self)}
