"""Whose rows count as one: at most `cap` rows of each person reach the doors.

The rows kept of a person are the first `cap` in file order: a choice that depends on that person's rows alone, so
removing a person changes at most `cap` rows of what the doors see (docs/proofs/sensitivity.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.errors import DataError


class UnitCap:
    """Filters record batches in order, keeping the first `cap` rows of each person; without a column, all rows."""

    def __init__(self, column: str | None, cap: int = 1):
        self.column, self.cap = column, cap
        self._seen: dict[Any, int] = {}

    def keep(self, batch: Any) -> Any:
        if self.column is None:
            return batch
        import pyarrow as pa

        return batch.filter(pa.array(self.ranks(batch.column(self.column)) < self.cap))

    def ranks(self, identifiers: Any) -> np.ndarray:
        """How many rows of the same person came before each row, in this batch and earlier ones."""
        encoded = identifiers.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        people = [*encoded.dictionary.to_pylist(), None]  # rows without an identifier count as one person
        before = np.array([self._seen.get(p, 0) for p in people], dtype=np.int64)
        for p, n in zip(people, np.bincount(codes, minlength=len(people)).tolist()):
            if n:
                self._seen[p] = self._seen.get(p, 0) + n
        return before[codes] + _occurrence(codes)


def refuse_repeated_persons(rows: Any, schema: Any) -> None:
    """Raise DataError, before anything is spent, when a column that identifies persons repeats without a unit."""
    if schema.unit is not None:
        return
    for name, column in schema.columns.items():
        if not getattr(column, "person", False) or name not in rows.column_names:
            continue
        unit = UnitCap(name)
        for batch in rows.batches([name]):
            if (unit.ranks(batch.column(name)) > 0).any():
                raise DataError(
                    f"column {name!r} identifies persons and repeats, but the promise would be per row. Declare "
                    f'"unit": {{"column": "{name}", "cap": K}} in the schema, so that at most K rows of each person '
                    "are used and protected together, or person=false if it does not identify people"
                )


def _occurrence(codes: np.ndarray) -> np.ndarray:
    """How many times each code stood earlier in the array."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.searchsorted(ordered, ordered, side="left")
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - first
    return rank
