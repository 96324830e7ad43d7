"""The door `total`: a sum of clipped per-record vectors, with rounded Gaussian noise on a grid."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nacre.privacy.accounting.events import Event, Gaussian
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import down, up
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial, one_column
from nacre.privacy.passes import feature_sums
from nacre.privacy.transcript import digest

if TYPE_CHECKING:
    from nacre.privacy.room import Room

_AT_ONCE = 2_000  # parts of one sum in a trial, which looks for every part in turn


@dataclass(frozen=True)
class Total(Entry):
    """A sum of per-record vectors, each clipped to L2 norm `bound`, with rounded Gaussian noise of scale `sigma`.

    With several `parts` there is one sum per part and a record enters one of them, or none: since the parts are
    disjoint, their vectors side by side have the norm of the one that is not zero, and the price is that of one sum.
    """

    door: ClassVar[str] = "total"
    size: int = 0
    bound: float = 1.0
    sigma: float = 1.0
    exact: bool = True  # the record map is a bit-exact function of the record alone
    parts: int = 1

    def __post_init__(self) -> None:
        self._check_flags(self.exact)
        self._check_scales(sigma=self.sigma, bound=self.bound)
        self._check_whole(size=self.size, parts=self.parts)

    def events(self, scope: Scope) -> list[Event]:
        return [Gaussian(scope.sum * self.bound / self.sigma)]

    @property
    def level(self) -> Level:
        return Level.PROVEN if self.exact else Level.REAL_ARITHMETIC

    @property
    def words(self) -> str:
        several = f" for each of {self.parts:,} groups" if self.parts > 1 else ""
        return f"a sum of {self.size:,} numbers{several}, norm {up(self.bound, 4)}, noise {down(self.sigma, 4)}"

    @property
    def sheet(self) -> tuple[str, str]:
        return "", f"{down(self.sigma)} (norm {up(self.bound)})"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen, most=_AT_ONCE)


def total(room: Room, entry: Total, features: feature_sums.Features, public: Any = None) -> np.ndarray:
    """The noisy sum over records of features(record, public), each clipped to L2 norm `entry.bound`.

    With several parts the map's first column says which part a record belongs to (any other number: none) and the
    answer is [parts, size].
    """
    feature_sums.check_record_map(features, public, room.schema, entry)
    room._open(entry, Total)
    step = feature_sums.grid_step(entry)
    of_batch = functools.partial(feature_sums.integer_sum, features, public, entry=entry)
    exact = room._sum(of_batch, feature_sums.shape(entry))
    (noisy,) = room._noisy([exact], [entry.sigma / step])
    return room._answer(entry, {"public": digest(public)}, noisy * step)


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """Every record brings the bound to a part of its own; absent ones bring 0 to a part that does not exist."""
    entry = Total("audit", size=1, bound=1.0, sigma=sigma, parts=draws)
    room = opened(entry, *one_column(np.arange(draws) if here else [draws], draws))
    return room.total(entry, _own_part).ravel()


def _own_part(columns: Mapping[str, Any], public: Any) -> np.ndarray:
    values = np.asarray(columns["x"].values, np.float64)
    return np.stack([values, np.ones(len(values))], axis=1)
