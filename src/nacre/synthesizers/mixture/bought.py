"""The counts that were bought of columns and pairs of columns: what intervals of counts rest on.

A fitted model pools all tables and shrinks their noise, and no law tells how far it is off. The bought counts are
unbiased and their noise is known: Gaussian, independent between tables. Each table that holds a column, or a pair, is
summed over its other columns, and the sums are pooled by inverse variance. Groups of cells were chosen by the tables of
single columns, so those count only where no other table holds the column.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Key = tuple[int, ...]


class Counted(Protocol):
    """A noisy table (`loss.Table`)."""

    @property
    def columns(self) -> tuple[int, ...]: ...
    @property
    def counts(self) -> Floats: ...
    @property
    def sigma(self) -> float | np.ndarray: ...


@dataclass(frozen=True)
class Bought:
    """Counts of groups and their variances, by column or pair of columns, in increasing order."""

    tables: Mapping[Key, tuple[Floats, Floats]]

    @staticmethod
    def of(tables: Sequence[Counted], sizes: Sequence[int]) -> Bought:
        """`sizes`: the groups of every column; tables on wider ones are left out."""
        whole = [t for t in tables if t.counts.shape == tuple(sizes[j] for j in t.columns)]
        held = {j for t in whole if len(t.columns) > 1 for j in t.columns}
        sums: dict[Key, tuple[Floats, Floats]] = {}
        for table in whole:
            if len(table.columns) == 1 and table.columns[0] in held:
                continue
            for size in range(1, min(len(table.columns), 2) + 1):
                for key in itertools.combinations(sorted(table.columns), size):
                    counts, variance = _margin(table, key)
                    weight = 1 / np.maximum(variance, 1e-12)
                    before = sums.get(key, (0.0, 0.0))
                    sums[key] = (before[0] + weight * counts, before[1] + weight)
        return Bought({
            key: (np.divide(value, weight, out=np.zeros_like(value), where=weight > 0), 1 / np.maximum(weight, 1e-300))
            for key, (value, weight) in sums.items()
        })  # fmt: skip

    def count(self, columns: Sequence[int], member: Sequence[Floats]) -> tuple[Floats, Floats] | None:
        """Counts and standard errors of cells that are sets of groups: `member` [cells, groups] of each column, ones
        and zeros. None where the columns were not counted together."""
        order = np.argsort(columns, kind="stable")
        held = self.tables.get(tuple(columns[i] for i in order))
        if held is None:
            return None
        found = []
        for part in held:
            for axis, i in enumerate(order):
                part = np.moveaxis(np.tensordot(member[i], part, (1, axis)), 0, axis)
            found.append(part.transpose(np.argsort(order)))
        return found[0], np.sqrt(found[1])

    def to_arrays(self) -> dict[str, NDArray]:
        """All tables one after the other; the columns of each, -1 for none."""
        if not self.tables:
            return {}
        columns = np.array([(*key, -1)[:2] for key in self.tables], np.int32)
        counts, variances = (np.concatenate([t[i].ravel() for t in self.tables.values()]) for i in (0, 1))
        return {
            "bought.columns": columns,
            "bought.counts": counts.astype(np.float32),
            "bought.variances": variances.astype(np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], sizes: Sequence[int]) -> Bought | None:
        """None where the file has none; ValueError where they do not fit the rest of it."""
        if not any(name.startswith("bought.") for name in arrays):
            return None
        columns, counts, variances = (arrays[f"bought.{name}"] for name in ("columns", "counts", "variances"))
        if columns.dtype.kind not in "iu" or columns.ndim != 2 or columns.shape[1] != 2:
            raise ValueError("bought.columns")
        keys = [tuple(j for j in row if j >= 0) for row in columns.tolist()]
        if len(set(keys)) < len(keys) or not all(_sound(key, len(sizes)) for key in keys):
            raise ValueError("bought.columns")
        shapes = [tuple(sizes[j] for j in key) for key in keys]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        if not len(keys) or counts.shape != (ends[-1],) or variances.shape != counts.shape:
            raise ValueError("bought: shapes")
        if counts.dtype.kind != "f" or variances.dtype.kind != "f":
            raise ValueError("bought: types")
        if not (np.isfinite(counts).all() and (variances >= 0).all()):
            raise ValueError("bought: numbers")
        parts = [np.split(x.astype(np.float64), ends[:-1]) for x in (counts, variances)]
        return cls({k: (c.reshape(s), v.reshape(s)) for k, s, c, v in zip(keys, shapes, *parts, strict=True)})


def _sound(key: Key, columns: int) -> bool:
    """One column, or two in increasing order."""
    return len(key) > 0 and key[-1] < columns and (len(key) == 1 or key[0] < key[1])


def _margin(table: Counted, key: Key) -> tuple[Floats, Floats]:
    """Counts of these columns, axes in their order, and the variances of their noise."""
    axes = tuple(i for i, j in enumerate(table.columns) if j not in key)
    left = [j for j in table.columns if j in key]
    variance = np.broadcast_to(np.square(np.asarray(table.sigma, np.float64)), table.counts.shape)
    order = np.argsort(left)
    return table.counts.sum(axis=axes).transpose(order), variance.sum(axis=axes).transpose(order)
