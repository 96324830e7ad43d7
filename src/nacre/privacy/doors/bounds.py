"""The door `bounds`: noisy histograms over public grids, before there is a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from nacre.privacy.doors.categories import Categories
from nacre.privacy.doors.counts import Counts
from nacre.privacy.doors.entry import Opened, Trial
from nacre.privacy.passes.work import Histograms
from nacre.table import Identifier, Schema
from nacre.table.votes import probe

if TYPE_CHECKING:
    from nacre.privacy.room import Room

COLUMNS = 250  # of one opening in a trial


@dataclass(frozen=True)
class Bounds(Counts):
    """One noisy histogram per column over a public grid of kinds or magnitudes."""

    door: ClassVar[str] = "bounds"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen)


def bounds(room: Room, entry: Bounds | Categories, probes: Mapping[str, str]) -> dict[str, np.ndarray]:
    """One noisy histogram per column over a public grid (`nacre.table.votes.probe`), before any schema exists.

    An entry for categories may be spent column by column on either door: a histogram costs no more than texts.
    """
    sigmas = room._open(entry, (Bounds, Categories), list(probes))
    if not probes:
        return {}
    noisy = room._noisy(room._fold(Histograms(dict(probes))).tables(), sigmas)
    return dict(zip(probes, room._answer(entry, {"probes": dict(probes)}, noisy)))


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """Histograms before there is a schema: the cell of one value, in many columns."""
    names = [f"c{i}" for i in range(COLUMNS)]
    cell = int(probe.codes(pa.array([7.0]), "magnitude")[0])
    rows = {n: pa.array([7.0] if here else [None], pa.float64()) for n in names}
    entry, seen = Bounds("audit", sigmas=(sigma,) * COLUMNS), []
    while sum(map(len, seen)) < draws:
        room = opened(entry, rows, Schema(dict.fromkeys(names, Identifier())))
        found = room.bounds(entry, dict.fromkeys(names, "magnitude"))
        seen.append(np.array([found[n][cell] for n in names], np.float64))
    return np.concatenate(seen)[:draws]
