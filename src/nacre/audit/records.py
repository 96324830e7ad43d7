"""Tables as an attacker sees them: numbers in standard units of the synthetic table, labels as codes.

Means and spreads come from the synthetic rows, which the attacker has: neither members nor others shape the space in
which they are compared. A missing number stands at the mean, with its absence as a label of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.table import Schema
from nacre.table.encoding import encode
from nacre.table.grid import Grid

CELLS = 1 << 22  # of a block of distances: bounds memory
LABEL = np.sqrt(0.5)  # two different labels are 1 apart


@dataclass(frozen=True)
class Records:
    """`numbers` [n, d] as declared (NaN where missing), `labels` [n, b] as codes (−1: none)."""

    numbers: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: np.ndarray) -> Records:
        return Records(self.numbers[rows], self.labels[rows])

    @property
    def columns(self) -> int:
        return self.numbers.shape[1] + self.labels.shape[1]


@dataclass(frozen=True)
class Space:
    """How rows of a schema become points: public widths of the numbers, numbers of labels."""

    schema: Schema
    numbers: tuple[str, ...]
    labels: tuple[str, ...]
    ranges: np.ndarray
    sizes: tuple[int, ...]

    @staticmethod
    def of(schema: Schema) -> Space:
        numbers = tuple(n for n in schema.modelled if schema.columns[n].measured)
        labels = tuple(n for n in schema.modelled if n not in numbers)
        ends = [_ends(schema, n) for n in numbers]
        sizes = tuple(Grid.of(schema.columns[n]).cells for n in labels)
        return Space(schema, numbers, labels, np.array([float(b) - float(a) for a, b in ends]), sizes)

    def records(self, table: object, what: str) -> Records:
        """The rows of a table; DataError when there are none."""
        numbers, labels = [], []
        for batch in open_rows(table).batches(None):
            found = encode(batch, self.schema)
            parts = [np.where(found[n].null, np.nan, found[n].values.astype(np.float64)) for n in self.numbers]
            numbers.append(np.stack(parts, axis=1) if parts else np.zeros((batch.num_rows, 0)))
            codes = [Grid.of(self.schema.columns[n]).codes(found[n]).astype(np.int64) for n in self.labels]
            labels.append(np.stack(codes, axis=1) if codes else np.zeros((batch.num_rows, 0), np.int64))
        if not numbers or not sum(map(len, numbers)):
            raise DataError(f"{what}: no rows; expected at least one")
        return Records(np.concatenate(numbers), np.concatenate(labels))


@dataclass(frozen=True)
class Scale:
    """Standard units taken from the synthetic rows."""

    mean: np.ndarray
    spread: np.ndarray
    sizes: tuple[int, ...]

    @staticmethod
    def of(synthetic: Records, space: Space) -> Scale:
        sizes, ranges = space.sizes, space.ranges
        seen = np.isfinite(synthetic.numbers)
        count = np.maximum(seen.sum(axis=0), 1)
        filled = np.where(seen, synthetic.numbers, 0.0)
        mean = filled.sum(axis=0) / count
        spread = np.sqrt((np.where(seen, synthetic.numbers - mean, 0.0) ** 2).sum(axis=0) / count)
        return Scale(mean, np.maximum(spread, 1e-6 * np.maximum(ranges, 1e-300)), sizes)

    def points(self, records: Records, columns: np.ndarray | None = None) -> np.ndarray:
        """Vectors in standard units, labels one-hot; only of the given columns (numbers first) where named."""
        width = records.columns
        use = np.ones(width, bool) if columns is None else np.isin(np.arange(width), columns)
        d = records.numbers.shape[1]
        units = (records.numbers - self.mean) / self.spread
        missing = np.isnan(units)
        parts = [np.where(missing, 0.0, units)[:, use[:d]], missing[:, use[:d]].astype(np.float64)]
        for b in np.flatnonzero(use[d:]):
            parts.append((records.labels[:, b, None] == np.arange(-1, self.sizes[b])) * LABEL)
        return np.concatenate(parts, axis=1)


def _ends(schema: Schema, name: str) -> tuple[float, float]:
    ends = schema.columns[name].ends
    if ends is None:
        raise DataError(f"column {name!r}: bounds are not declared; an audit needs the complete schema of the release")
    return ends


def blocks(rows: np.ndarray, pool: np.ndarray) -> Iterator[np.ndarray]:
    """Distances of some rows at a time to all of the pool, in pieces that fit into memory."""
    from scipy.spatial.distance import cdist

    step = max(1, CELLS // max(1, len(pool)))
    for start in range(0, len(rows), step):
        yield cdist(rows[start : start + step], pool)


def nearest(rows: np.ndarray, pool: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Distance of every row to the closest row of the pool, but for its `own` place there."""
    found: list[np.ndarray] = []
    done = 0
    for distances in blocks(rows, pool):
        if own is not None:
            distances[np.arange(len(distances)), own[done : done + len(distances)]] = np.inf
        found.append(distances.min(axis=1))
        done += len(distances)
    return np.concatenate(found) if found else np.empty(0)
