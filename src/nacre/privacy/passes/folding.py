"""One pass over the rows as a fold: added up batch by batch here, or shard by shard by the workers of a cluster.

A `Work` is a function of public facts; its totals are unprotected. Sums are integers, so that totals are the same bits
whatever the shards and their order. At most `cap` rows of each unit count (`UnitCap`): the first ones in the order of
the table, also where a person has rows in several shards, because every shard is told how many of them came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nacre.engines import Rows, ShardedRows
from nacre.errors import DataError
from nacre.privacy.passes.tally import Tally, names_of
from nacre.privacy.passes.units import UnitCap
from nacre.table.values.labels import names as texts_of
from nacre.table.values.labels import text_bytes

Progress = Callable[[int], None]  # rows read so far


class Work(Protocol):
    """What is added up over the rows."""

    @property
    def columns(self) -> list[str] | None:
        """The columns it reads; None for all."""
        ...

    @property
    def any_order(self) -> bool:
        """Whether shards may be merged as they are ready, and not only in the order of the table."""
        ...

    def start(self) -> Any:
        """The total of no rows."""
        ...

    def add(self, total: Any, batch: Any) -> Any:
        """The total with the rows of a batch; may change `total`."""
        ...

    def merge(self, total: Any, part: Any) -> Any:
        """The total of both, those of `total` before those of `part`; may change `total`."""
        ...


@dataclass(frozen=True)
class Cap:
    """At most `cap` rows of each person of `column`; without a column, all rows. `key` names persons (`tally`).

    `before`: names and counts of those who have rows in earlier shards.
    """

    column: str | None = None
    cap: int = 1
    key: bytes = b""
    before: tuple[np.ndarray, np.ndarray] | None = None

    def batches(self, rows: Rows, columns: list[str] | None) -> Iterator[Any]:
        """One pass over the rows that count."""
        unit = UnitCap(self.column, self.cap, self.key)
        if self.before is not None:
            unit.seen(*self.before)
        extra = [self.column] if self.column and columns is not None and self.column not in columns else []
        for batch in rows.batches(None if columns is None else [*columns, *extra]):
            yield unit.keep(batch)


def one_piece(rows: Rows, work: Work, cap: Cap, progress: Progress | None = None) -> tuple[Any, int]:
    """(the total, the rows that counted) of one table or shard."""
    total, done = work.start(), 0
    for batch in cap.batches(rows, work.columns):
        done += batch.num_rows
        if progress is not None:
            progress(done)
        total = work.add(total, batch)
    return total, done


def fold(rows: Rows, work: Work, cap: Cap, progress: Progress) -> Any:
    """The total over all rows."""
    if not isinstance(rows, ShardedRows):
        return one_piece(rows, work, cap, progress)[0]
    total, done, place = work.start(), 0, 0
    waiting: dict[int, Any] = {}  # shards that were ready before an earlier one
    given = [(shard, work, own) for shard, own in zip(rows.shards, _caps_of_shards(rows, cap))]
    for i, (part, counted) in once_each(rows, given):
        done += counted
        progress(done)
        if work.any_order:
            total = work.merge(total, part)
            continue
        waiting[i] = part
        while place in waiting:
            total, place = work.merge(total, waiting.pop(place)), place + 1
    return total


def once_each(rows: ShardedRows, given: list[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """The totals of all shards. One that comes twice counts once; one that does not come is an error: sums that lack a
    shard would look like any others."""
    seen: set[int] = set()
    for i, found in rows.each(one_piece, given):
        if i not in seen:
            seen.add(i)
            yield i, found
    if len(seen) < len(given):
        raise DataError(
            f"{len(given) - len(seen)} of {len(given)} shards gave no answer; nothing of the others was used"
        )


@dataclass(frozen=True)
class _Persons:
    """The persons of the rows and how many rows each has."""

    column: str
    key: bytes
    any_order = True

    @property
    def columns(self) -> list[str]:
        return [self.column]

    def start(self) -> Tally:
        return Tally()

    def add(self, total: Tally, batch: Any) -> Tally:
        encoded = texts_of(batch.column(self.column)).dictionary_encode()
        known = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
        counts = np.bincount(known, minlength=len(encoded.dictionary))
        found = counts > 0
        total.add(names_of(text_bytes(encoded.dictionary), self.key)[found], counts[found])
        return total

    def merge(self, total: Tally, part: Tally) -> Tally:
        total.add(*part.pop_all())
        return total


def _caps_of_shards(rows: ShardedRows, cap: Cap) -> list[Cap]:
    """The cap of every shard, with what came before it of persons who have rows in several shards."""
    if cap.column is None:
        return [cap] * len(rows.shards)
    work, found = _Persons(cap.column, cap.key), {}
    for i, (tally, _) in once_each(rows, [(shard, work, Cap()) for shard in rows.shards]):
        found[i] = tally.pop_all()
    seen, caps = Tally(), []
    for i in range(len(rows.shards)):
        names, counts = found.pop(i)
        before = seen.add(names, counts)
        again = before > 0
        caps.append(Cap(cap.column, cap.cap, cap.key, (names[again], before[again])))
    return caps
