"""The values of one column as plain arrays, as all arithmetic has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.values import casting, labels


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """One column of n rows. What `values` holds where `null` is set means nothing.

    `outside` marks values that were not in the declared domain: clamped, sent to `other`, or, when they could
    not be read at all, null as well.
    """

    values: np.ndarray
    null: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, null: np.ndarray | None = None) -> Values:
        """Values inside the domain, null where `null` says so."""
        none = np.zeros(len(values), bool)
        return cls(values, none if null is None else null, none)

    @classmethod
    def joined(cls, parts: Sequence[Values]) -> Values:
        """The rows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("values", "null", "outside")))

    @classmethod
    def clamped(cls, values: np.ndarray, null: np.ndarray, bad: np.ndarray, ends: tuple | None) -> Values:
        """Values moved to the nearest of the `ends` where they lie beyond."""
        anchor = 0 if ends is None else ends[0]
        if null.any():
            values = np.where(null, values.dtype.type(anchor), values)
        if ends is None:
            return cls(values, null, bad)
        low, high = values.dtype.type(ends[0]), values.dtype.type(ends[1])
        beyond = (values < low) | (values > high)
        if beyond.any():
            values = np.clip(values, low, high)
        return cls(values, null, bad | beyond)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def unreadable(self) -> np.ndarray:
        """Where a value was there but could not be read."""
        return self.null & self.outside

    def take(self, rows: np.ndarray) -> Values:
        """The rows at these positions."""
        return Values(self.values[rows], self.null[rows], self.outside[rows])


def each_once(read: Callable[[pa.Array], casting.Parts], array: pa.Array) -> casting.Parts:
    """`read` on the array, or on its distinct values when it comes as a dictionary."""
    if not isinstance(array, pa.DictionaryArray):
        return read(array)
    words = labels.unpack(array.dictionary)
    values, null, bad = each_once(read, pa.concat_arrays([words, pa.nulls(1, words.type)]))
    last = len(words)  # the null added at the end stands for a null index
    index = pc.fill_null(array.indices.cast(pa.int64()), last).to_numpy(zero_copy_only=False)
    return values[index], null[index], bad[index]
