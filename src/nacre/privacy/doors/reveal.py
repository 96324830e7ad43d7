"""The door `reveal`: the raw rows, with no promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from nacre.privacy.accounting.events import Event, Unbounded
from nacre.privacy.budget import Level
from nacre.privacy.doors.entry import Entry, Scope

if TYPE_CHECKING:
    import pyarrow as pa

    from nacre.privacy.room import Room


@dataclass(frozen=True)
class Reveal(Entry):
    """Hands out the raw rows. No guarantee of any kind."""

    door: ClassVar[str] = "reveal"
    reason: str = ""

    def events(self, scope: Scope) -> list[Event]:
        return [Unbounded(self.reason)]

    @property
    def level(self) -> Level:
        return Level.NONE

    @property
    def unprotected(self) -> str:
        return self.reason

    @property
    def words(self) -> str:
        return "the raw rows"


def reveal(room: Room, entry: Reveal) -> Iterator[pa.RecordBatch]:
    """The raw record batches. The plan says `none`, and so will the certificate."""
    room._open(entry, Reveal)
    room._answer(entry, {"reason": entry.reason}, None)
    return room._batches(None)
