"""Moments as the clocks of a time zone show them, and back: exactly, through the hours that a change of the clocks
repeats and past those that it skips.

All that a zone does between two moments is a public fact of the zone, found once.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.values.casting import local_instants
from nacre.table.values.instants import UNITS

DAY = UNITS["day"]
_KNOWN = (-(2**55), 2**57)  # microseconds between which zones are known; beyond, clocks show UTC


@dataclasses.dataclass(frozen=True)
class Civil:
    """The clocks of a zone (UTC without one) from `first` to `last`, in microseconds since the epoch."""

    zone: str | None
    first: int
    last: int

    def shown(self, moments: np.ndarray) -> np.ndarray:
        """What clocks show at these moments: microseconds since the midnight of 1970-01-01 that they showed."""
        if self.zone is None:
            return moments
        known = (moments > _KNOWN[0]) & (moments < _KNOWN[1])
        stamps = pa.array(np.where(known, moments, 0)).cast(pa.timestamp("us", self.zone))
        local = pc.local_timestamp(stamps).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.where(known, local, moments)

    def moments(self, shown: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
        """The moments at which clocks show this: of two, the earlier, or the later where `second` says so; where the
        clocks skip it, the moment of the change."""
        if self.zone is None:
            return shown
        stamps = pa.array(shown).cast(pa.timestamp("us"))
        found = local_instants(stamps, self.zone, "earliest", "latest").cast(pa.int64()).to_numpy(zero_copy_only=False)
        if second is None or not second.any():
            return found
        later = local_instants(stamps, self.zone, "latest", "latest").cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.where(second, later, found)

    def second(self, moments: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """bool: where the clocks had shown the same an hour (or so) before."""
        return self.moments(shown) != moments

    @cached_property
    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """(moments from which on, how far) clocks are ahead of UTC."""
        days = np.arange(self.first // DAY, self.last // DAY + 2, dtype=np.int64) * DAY
        ahead = self.shown(days) - days
        at = np.flatnonzero(np.diff(ahead))
        low, high, before = days[at], days[at + 1], ahead[at]
        while len(low) and (high - low).max() > 1:  # the change lies in (low, high]
            middle = (low + high) // 2
            same = self.shown(middle) - middle == before
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.concatenate([days[:1], high]), np.concatenate([ahead[:1], ahead[at + 1]])

    @property
    def offsets(self) -> tuple[int, ...]:
        """All differences from UTC."""
        return tuple(sorted({int(v) for v in self.changes[1]}))

    @cached_property
    def repeated(self) -> tuple[int, int] | None:
        """The times of the day, from the one to below the other, among which clocks showed some twice; None where they
        never did."""
        since, ahead = self.changes
        back = np.diff(ahead) < 0
        if not back.any():
            return None
        low, high = (since[1:] + ahead[1:])[back], (since[1:] + ahead[:-1])[back]
        over = low // DAY != (high - 1) // DAY  # past midnight: any time of the day
        return (0, DAY) if over.any() else (int((low % DAY).min()), int(((high - 1) % DAY).max()) + 1)
