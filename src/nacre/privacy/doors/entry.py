"""What an entry of a plan is: one use of one door, and whose presence it hides.

A door is a file beside this one. Its entry answers for it: the law (`events`), what it guarantees at best (`level`,
`caveat`, `unprotected`), what is printed of it (`words`, `sheet`), and how it is audited (`trial`). The function of the
same name opens it, in the room of a curator. A new door is a file and its line in `nacre.privacy.doors`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, overload

import numpy as np

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting.events import Event
from nacre.privacy.budget import Level
from nacre.privacy.noise import MAX_SIGMA
from nacre.table import Numeric, Schema

if TYPE_CHECKING:
    from nacre.privacy.curator import Curator
    from nacre.privacy.nested.curator import NestedCurator
    from nacre.table.database import Database

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


MadeUp = Mapping[str, Any]  # rows: the values of each column, or the columns of each table


class Opened(Protocol):
    """An entry, made-up rows -> their curator."""

    @overload
    def __call__(self, entry: Entry, rows: MadeUp, schema: Schema) -> Curator: ...

    @overload
    def __call__(self, entry: Entry, rows: MadeUp, schema: Database) -> NestedCurator: ...


@dataclass(frozen=True)
class Trial:
    """A white-box audit of a door: a worst-case record present or absent, seen through the door itself.

    `seen(opened, scale, draws, here)` gives independent outcomes of it, with noise `scale` per unit of sensitivity
    (metric "mu": numbers that tend to 1 for present and to 0 for absent) or with privacy-loss range `scale` (metric
    "epsilon": 1 where the record's candidate was picked). At most `most` of them come from one opening.
    """

    seen: Callable[[Opened, float, int, bool], np.ndarray]
    metric: str = "mu"
    most: int = 100_000


@dataclass(frozen=True)
class Entry:
    """One use of one door.

    Numbers that the accountant or the noise could not use (NaN, zero, infinity...) are refused when it is made.
    """

    door: ClassVar[str]
    name: str

    def __post_init__(self) -> None:
        self._check_flags()

    def events(self, scope: Scope) -> list[Event]:
        """What it may leak, to units in that scope."""
        raise NotImplementedError

    @property
    def level(self) -> Level:
        """The guarantee the door can give at best."""
        return Level.PROVEN

    @property
    def caveat(self) -> str:
        """What the certificate must say besides the level."""
        return ""

    @property
    def unprotected(self) -> str:
        """Why nothing is promised, where the door promises nothing."""
        return ""

    @property
    def words(self) -> str:
        """What was asked, and with how much noise: for certificates and sheets, with figures on the safe side."""
        raise NotImplementedError

    @property
    def sheet(self) -> tuple[str, str]:
        """How many tables or choices, and the noise of each: its line in the table of a plan."""
        return "", ""

    @property
    def blank(self) -> bool:
        """Whether it does not say what is asked, so that its price would be that of nothing."""
        return False

    @classmethod
    def trial(cls) -> Trial | None:
        """How the door is audited; None for one that promises nothing."""
        return None

    def to_json(self) -> dict[str, Any]:
        return {"door": self.door, **asdict(self)}

    def _check_flags(self, *flags: object) -> None:
        if not isinstance(self.name, str) or not all(isinstance(flag, bool) for flag in flags):
            raise PlanError(f"entry {self.name!r}: expected a name, and true or false for exact")

    def _check_scales(self, **scales: float | Sequence[float]) -> None:
        """BudgetError for noise, bounds or ranges that nothing could be computed with."""
        for scale, found in scales.items():
            for value in found if isinstance(found, tuple | list) else (found,):
                if isinstance(value, bool) or not 0 < value <= MAX_SIGMA:  # type: ignore[operator]  # NaN fails it too
                    raise BudgetError(
                        f"entry {self.name!r}: {scale} {value!r}; expected numbers above 0, up to 2**34. "
                        "A budget that asks for more noise than that buys nothing"
                    )

    def _check_whole(self, least: int = 1, **numbers: object) -> None:
        for number, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise PlanError(f"entry {self.name!r}: {number} {value!r}; expected a whole number, {least} or more")
            if value > LARGEST:
                raise PlanError(f"entry {self.name!r}: {number} {value:.3g}; expected at most 2^62")


def one_column(values: Any, cells: int) -> tuple[dict[str, Any], Schema]:
    """Made-up rows of one column `x` of whole numbers from 0 to `cells`, for trials."""
    return {"x": np.asarray(values, np.int64)}, Schema({"x": Numeric(bounds=(0, cells), integer=True)})
