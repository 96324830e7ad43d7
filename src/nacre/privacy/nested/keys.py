"""Ids and keys as 128-bit names: which row of the parent table a row hangs on, and in which order rows stand."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.engines import Rows
from nacre.errors import DataError
from nacre.privacy.nested.mixing import mixed, seed
from nacre.privacy.passes.tally import KEY_BYTES, names_of
from nacre.table.values.labels import names as texts_of
from nacre.table.values.labels import nulls, text_bytes, unpack

if TYPE_CHECKING:
    from nacre.table.database import Database

NOWHERE, LEFT_OUT = -1, -2  # no such row; a row that reaches no door
_AT_ONCE = 1 << 24  # names looked at together for repeats
_WHOLE = r"^-?[0-9]{1,18}$"
_DIGITS = r"^(0|-?[1-9][0-9]{0,17})$"
_MOST_WHOLE = 10**18
_NUMBER = 0  # in place of the second half of a hash
_NO_NUMBER = np.iinfo(np.int64).max


def named(array: pa.Array, key: bytes) -> tuple[np.ndarray, np.ndarray]:
    """([n, 2] names of ids, where there is one). An id is told by its text, whatever stored it.

    Of a whole number of up to 18 digits the name is a permutation of all 64-bit numbers, which is fast and lets no two
    of them meet; of other texts it is a keyed hash.
    """
    plain = unpack(array)
    if pa.types.is_signed_integer(plain.type):
        numbers = plain.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        if ((numbers > -_MOST_WHOLE) & (numbers < _MOST_WHOLE)).all():
            return _of_numbers(numbers, key), ~nulls(plain)
    encoded = texts_of(array).dictionary_encode()
    there = encoded.is_valid().to_numpy(zero_copy_only=False)
    found = np.zeros((len(array), 2), np.uint64)
    found[there] = _of_texts(encoded.dictionary, key)[encoded.indices.drop_null().to_numpy(zero_copy_only=False)]
    return found, there


def _of_numbers(numbers: np.ndarray, key: bytes) -> np.ndarray:
    found = np.empty((len(numbers), 2), np.uint64)
    found[:, 0] = mixed(numbers.astype(np.uint64) ^ seed(key, "numbers"))
    found[:, 1] = _NUMBER
    return found


def _of_texts(texts: pa.Array, key: bytes) -> np.ndarray:
    whole = pc.match_substring_regex(texts, _DIGITS)
    number = whole.to_numpy(zero_copy_only=False)
    found = np.empty((len(texts), 2), np.uint64)
    found[number] = _of_numbers(texts.filter(whole).cast(pa.int64()).to_numpy(zero_copy_only=False), key)
    found[~number] = names_of(text_bytes(texts.filter(pc.invert(whole))), key)
    return found


class Index:
    """From the names of rows to their positions. DataError where a name stands twice: rows of one unit would hang on
    another."""

    def __init__(self, names: np.ndarray, positions: np.ndarray, where: str):
        order = np.lexsort((names[:, 1], names[:, 0]))
        self._first, self._second = names[order, 0], names[order, 1]
        self._positions = positions[order]
        if _repeats(self._first, self._second):
            raise _twice(where)

    def find(self, names: np.ndarray, there: np.ndarray) -> np.ndarray:
        """The position of each name, NOWHERE for rows without one or with one that no row has."""
        found = np.full(len(names), NOWHERE, self._positions.dtype)
        if not len(self._first):
            return found
        todo = np.flatnonzero(there)
        todo = todo[np.argsort(names[todo, 0])]  # sorted questions are found without jumping through memory
        slots = np.searchsorted(self._first, names[todo, 0])
        while len(todo):  # a second time only where two names share their first half
            here = np.minimum(slots, len(self._first) - 1)
            alike = (self._first[here] == names[todo, 0]) & (slots < len(self._first))
            hit = alike & (self._second[here] == names[todo, 1])
            found[todo[hit]] = self._positions[here[hit]]
            on = alike & ~hit
            todo, slots = todo[on], slots[on] + 1
        return found


def _repeats(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(((first[1:] == first[:-1]) & (second[1:] == second[:-1])).any())


def _twice(where: str) -> DataError:
    return DataError(
        f"{where} names rows that other rows hang on, and some of its values stand twice: whose rows those are cannot "
        "be told. Keep one row of each, or take another column for the key"
    )


def refuse_repeated_ids(database: Database, sources: Mapping[str, Rows]) -> None:
    """Raise DataError, before anything is spent, when an id to which a key of owned rows leads stands twice.

    It reads one column of each such table, in so many passes that what is in memory stays small.
    """
    secret = secrets.token_bytes(KEY_BYTES)
    for table in database.owned:
        column = database.id(table)
        if column is None or not database.children(table):
            continue
        parts, part = 1, 0
        while part < parts:
            names, whole = _names_of_part(sources[table], column, secret, (part, parts))
            order = np.lexsort((names[:, 1], names[:, 0]))
            if _repeats(names[order, 0], names[order, 1]):
                raise _twice(f"column {column!r} of {table!r}")
            if not whole:
                parts, part = 2 * parts, 2 * part  # the parts done so far are those below it, halved
            else:
                part += 1


def _names_of_part(rows: Rows, column: str, key: bytes, part: tuple[int, int]) -> tuple[np.ndarray, bool]:
    """(names whose high bits say so, whether these are all: not where they are too many)."""
    found, size = [np.empty((0, 2), np.uint64)], 0
    for batch in rows.batches([column]):
        names, there = named(batch.column(0), key)
        names = names[there]
        names = names[of_part(names, *part)]
        size += len(names)
        found.append(names)
        if size > _AT_ONCE:
            return np.concatenate(found), False
    return np.concatenate(found), True


def of_part(names: np.ndarray, part: int, parts: int) -> np.ndarray:
    """Whether names belong to this of so many parts, a power of two: by their high bits, so that halves of a part are
    its successors."""
    return (names[:, 0] >> np.uint64(40)).astype(np.int64) * parts >> 24 == part


class OrderKeys:
    """The order of rows by an Identifier: whole numbers by value, before other texts by code point; nulls last."""

    def __init__(self) -> None:
        self._numbers: list[np.ndarray] = []
        self._texts: list[pa.Array] = []
        self.nbytes = 0

    def add(self, array: pa.Array, rows: np.ndarray) -> None:
        """Of these values, those of some rows."""
        texts = texts_of(array.take(pa.array(rows))).cast(pa.large_string())
        whole = pc.fill_null(pc.match_substring_regex(texts, _WHOLE), False)
        numbers = pc.if_else(whole, texts, None).cast(pa.int64())
        self._numbers.append(numbers.fill_null(_NO_NUMBER).to_numpy(zero_copy_only=False))
        self._texts.append(pc.if_else(whole, None, texts))
        self.nbytes += self._numbers[-1].nbytes + self._texts[-1].nbytes

    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """(whole numbers in the order of the rows, where there is none)."""
        numbers = np.concatenate([np.empty(0, np.int64), *self._numbers])
        texts = pa.concat_arrays([pa.nulls(0, pa.large_string()), *self._texts])
        whole = numbers != _NO_NUMBER
        if texts.null_count == len(texts):
            return numbers, ~whole
        values, places = np.unique(numbers[whole], return_inverse=True)
        found = pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64) + len(values)
        found[whole] = places
        return found, ~whole & texts.is_null().to_numpy(zero_copy_only=False)
