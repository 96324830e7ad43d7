"""Rows that are kept from a fit, so that its result can be tested on rows it never saw.

A coin is thrown for every row, or for every person where a unit is declared, with fresh randomness of the operating
system that is never kept. Why that leaves the promise as it is, and why a seed would break it: docs/proofs/holdout.md.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from nacre.engines.interface import Rows, ShardedRows, Stored, View, stored
from nacre.errors import DataError, NacreError
from nacre.table.values.labels import names

SHARE = 0.2
_BLOCK = 1 << 14  # coins made at a time


@dataclass(frozen=True)
class _Coins:
    """True for rows that are held out. The same answer in every pass: a function of the key and of the row's place, or
    of the key and of the person's name. The key is drawn anew for every split and stays in this process."""

    share: float
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def _limit(self) -> int:
        return round(self.share * 2**32)

    def places(self, start: int, count: int) -> np.ndarray:
        """Coins of the rows start, start + 1, ... of the table: independent and fair to the share, up to 2^-32."""
        first, last = start // _BLOCK, (start + count - 1) // _BLOCK
        drawn = b"".join(self._block(i) for i in range(first, last + 1))
        found = np.frombuffer(drawn, dtype="<u4")[start - first * _BLOCK :][:count]
        return found < self._limit

    def of_shard(self, number: int) -> _Coins:
        """The coins of the places of one shard; those of persons are the same in all shards."""
        return _Coins(self.share, hashlib.blake2b(number.to_bytes(8, "little"), key=self.key, digest_size=32).digest())

    def _block(self, number: int) -> bytes:
        return hashlib.shake_256(self.key + number.to_bytes(8, "little")).digest(4 * _BLOCK)

    def persons(self, texts: Any) -> np.ndarray:
        """Coins by name; rows without a name are fitted by nobody (the cap leaves them out) and never held out."""
        encoded = texts.dictionary_encode()
        coins = np.array([self._person(name) for name in encoded.dictionary.to_pylist()] + [False], dtype=bool)
        return coins[encoded.indices.fill_null(len(coins) - 1).to_numpy(zero_copy_only=False)]

    def _person(self, name: str) -> bool:
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self.key, digest_size=4).digest()
        return int.from_bytes(digest, "little") < self._limit


@dataclass(frozen=True)
class Part(View):
    """One side of a split: rows that can be read again and again, the same ones every time.

    Where the table is read in shards, places count from the start of each shard and every shard has coins of its own,
    so that a worker needs to know nothing of the shards before its own.
    """

    rows: Rows
    coins: _Coins
    held: bool
    unit: str | None

    @property
    def whole(self) -> Stored:
        """The rows of both sides."""
        return stored(self.rows)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        kept = 0
        for piece in self._pieces():
            for batch in piece.batches(columns):
                kept += batch.num_rows
                yield batch
        if not kept:
            raise DataError(
                f"no row was left {'to hold out' if self.held else 'to fit'}: the table is too small to split"
            )

    def _pieces(self) -> list[_Piece]:
        return [self._piece(self.rows, self.coins)]

    def _piece(self, rows: Rows, coins: _Coins) -> _Piece:
        return _Piece(rows, coins, self.held, self.unit)


@dataclass(frozen=True)
class ShardedPart(Part):
    """The same of a table whose shards are read by the workers of a cluster."""

    rows: ShardedRows

    def _pieces(self) -> list[_Piece]:
        return self.shards

    @property
    def shards(self) -> list[_Piece]:
        coins = [self.coins if self.unit else self.coins.of_shard(i) for i in range(len(self.rows.shards))]
        return [self._piece(shard, own) for shard, own in zip(self.rows.shards, coins)]

    def each(self, task: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        return self.rows.each(task, given)

    def close(self) -> None:
        self.rows.close()


@dataclass(frozen=True)
class _Piece(View):
    """The rows of one side in a table, or in one shard of it; perhaps none."""

    rows: Rows
    coins: _Coins
    held: bool
    unit: str | None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = list(self.column_names if columns is None else columns)
        extra = [self.unit] if self.unit is not None and self.unit not in wanted else []
        place = 0
        for batch in self.rows.batches([*wanted, *extra]):
            if self.unit is None:
                coins = self.coins.places(place, batch.num_rows)
            else:
                coins = self.coins.persons(names(batch.column(self.unit)))
            place += batch.num_rows
            part = batch.filter(pa.array(coins == self.held)).select(wanted)
            if part.num_rows:
                yield part


def split(rows: Rows, share: float = SHARE, unit: str | None = None) -> tuple[Part, Part]:
    """(rows to fit, rows held out). Each row, or each person of the column `unit`, is held out with chance `share`,
    independently of all others."""
    if not 0 < share < 1:
        raise NacreError(f"the share of rows to hold out is {share:g}; expected a number between 0 and 1, such as 0.2")
    if unit is not None and unit not in rows.column_names:
        raise DataError(f"the table has no column {unit!r}, which names persons; check the unit")
    coins = _Coins(share)
    if isinstance(rows, ShardedRows):
        return ShardedPart(rows, coins, False, unit), ShardedPart(rows, coins, True, unit)
    return Part(rows, coins, False, unit), Part(rows, coins, True, unit)
