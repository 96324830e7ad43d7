"""Columns of arrays: images, series."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.checking import check_ends, finite, need, sequence
from nacre.table.columns.base import Column
from nacre.table.values import casting, labels
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.draft import Look


@dataclasses.dataclass(frozen=True)
class Tensor(Column):
    """An array of numbers of a fixed `shape` per row (an image, a series), each between `bounds`."""

    shape: tuple[int, ...] = ()
    bounds: tuple[float, float] | None = None

    kind: ClassVar[str] = "tensor"
    counted = False
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "shape", "bounds", "nullable", "null_words")

    def _check(self) -> None:
        shape = tuple(sequence("shape", self.shape))
        need(
            bool(shape) and all(isinstance(s, int) and not isinstance(s, bool) and s > 0 for s in shape),
            f"shape is {list(shape)}; write one or more positive whole numbers, such as [28, 28]",
        )
        need(math.prod(shape) <= 10_000_000, f"shape {list(shape)} has more than 10,000,000 numbers per row")
        self._set(shape=shape)
        if self.bounds is not None:
            self._set(bounds=check_ends(tuple(float(finite("bounds", b)) for b in sequence("bounds", self.bounds))))

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.bounds is not None else ("bounds",)

    @property
    def ends(self) -> tuple[float, float] | None:
        return self.bounds

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return math.prod(self.shape)

    def domain_words(self, most: int | None = 8) -> str:
        return super().domain_words(most) if self.bounds is None else " .. ".join(f"{b:,.10g}" for b in self.bounds)

    @classmethod
    def drafted(cls, look: Look) -> Column | None:
        seen = look.arrays
        if seen is None or not seen.good or not seen.size or not np.isfinite([seen.low, seen.high]).all():
            return None
        return cls((seen.size,), (seen.low, seen.high), nullable=seen.nullable)

    def _encode(self, array: pa.Array) -> Values:
        values = np.zeros((len(array), self.size), np.float32)
        missing = labels.nulls(array)
        kind = array.type
        if pa.types.is_fixed_size_list(kind):
            array = array.cast(pa.large_list(kind.value_type))
        elif not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            return Values(values.reshape(-1, *self.shape), np.ones(len(array), bool), ~casting.absent(array))
        offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        cells, null, _ = casting.floats(labels.unpack(array.values))
        fits = ~missing & (np.diff(offsets) == self.size)
        index = offsets[:-1][fits][:, None] + np.arange(self.size)
        fits[fits] = ~null[index].any(axis=1)
        index = offsets[:-1][fits][:, None] + np.arange(self.size)
        values[fits] = cells[index]
        outside = ~missing & ~fits
        if self.bounds is not None:
            low, high = np.float32(self.bounds[0]), np.float32(self.bounds[1])
            outside |= fits & ((values < low) | (values > high)).any(axis=1)
            values = np.clip(values, low, high)
        return Values(values.reshape(-1, *self.shape), ~fits, outside)

    @property
    def typed(self) -> pa.DataType:
        return pa.list_(pa.float32(), self.size)

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        flat = pa.array(np.ascontiguousarray(values, dtype=np.float32).reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(flat, self.size)
        return lists if null is None else pc.if_else(pa.array(null), pa.scalar(None, lists.type), lists)
