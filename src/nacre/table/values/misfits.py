"""How many values of a column did not fit its declared domain. Exact counts of private rows: for their owner alone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.table.encoding import Values


@dataclasses.dataclass(frozen=True, slots=True)
class Misfits:
    """`outside` the declared domain, `unreadable` among these (taken as missing), out of all values `given`."""

    outside: int = 0
    unreadable: int = 0
    given: int = 0

    @classmethod
    def of(cls, values: Values) -> Misfits:
        unreadable = int((values.outside & values.null).sum())
        return cls(int(values.outside.sum()), unreadable, int((~values.null).sum()) + unreadable)

    def __add__(self, other: Misfits) -> Misfits:
        mine, theirs = (self.outside, self.unreadable, self.given), (other.outside, other.unreadable, other.given)
        return Misfits(*(a + b for a, b in zip(mine, theirs)))

    def __bool__(self) -> bool:
        return self.outside > 0

    @property
    def rest(self) -> int:
        """Values that were read, and lie outside."""
        return self.outside - self.unreadable
