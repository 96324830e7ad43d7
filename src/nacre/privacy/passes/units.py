"""Whose rows count as one: at most `cap` rows of each person reach the doors.

The rows kept of a person are the first `cap` in file order: a choice that depends on that person's rows alone, so
removing a person changes at most `cap` rows of what the doors see (docs/proofs/sensitivity.md). Rows without an
identifier reach no door: nobody knows whether they belong to one person or to many, and either guess could let one
person change more than `cap` rows.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import pyarrow as pa

from nacre.engines import Rows, stored
from nacre.errors import DataError
from nacre.privacy.passes.tally import KEY_BYTES, Tally, names_of
from nacre.table import Schema
from nacre.table.values.labels import names as _names
from nacre.table.values.labels import run_together, text_bytes


class UnitCap:
    """Filters record batches in order, keeping the first `cap` rows of each person; without a column, all rows.

    Persons are told apart by the text of their identifier (a keyed hash of it, see `tally`), so that a dictionary that
    lists a name twice, or parts of a table that store numbers in different types, do not make two persons of one. Give
    the same key to all passes over a table.
    """

    def __init__(self, column: str | None, cap: int = 1, key: bytes = b""):
        self.column, self.cap = column, cap
        self._key = key or secrets.token_bytes(KEY_BYTES)
        self._seen = Tally()

    def seen(self, people: np.ndarray, rows: np.ndarray) -> None:
        """Take these persons (`tally.names_of` under the same key) to have had so many rows already."""
        self._seen.add(people, rows)

    def keep(self, batch: Any) -> Any:
        if self.column is None:
            return batch
        import pyarrow as pa

        names = _names(batch.column(self.column))
        return batch.filter(pa.array((self._ranks(names) < self.cap) & names.is_valid().to_numpy(zero_copy_only=False)))

    def repeats(self, identifiers: Any) -> bool:
        """Whether a person in this batch stood in an earlier row, of this batch or of an earlier one."""
        return bool((self._ranks(_names(identifiers).drop_null()) > 0).any())

    def _ranks(self, names: Any) -> np.ndarray:
        """How many rows of the same person came before each row; any number for rows without a name."""
        encoded = names.dictionary_encode()
        people = names_of(text_bytes(encoded.dictionary), self._key)
        ranks = np.zeros(len(names), dtype=np.int64)
        known = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
        before = self._seen.add(people, np.bincount(known, minlength=len(people)))
        ranks[names.is_valid().to_numpy(zero_copy_only=False)] = before[known] + _occurrence(known)
        return ranks


def refuse_blurred_persons(rows: Rows, schema: Schema) -> None:
    """Raise DataError, before anything is spent, when persons are named by floats that stand for several of them.

    One missing value turns whole numbers into floats in pandas, and beyond 2**53 neighbours become equal: two people
    capped as one could change twice as many rows as the promise allows. The doors leave such rows out.
    """
    persons = [n for n, c in schema.columns.items() if c.person]
    for name in {*persons, *([schema.unit.column] if schema.unit else [])} & {*rows.column_names}:
        if not any(_is_float(part, name) for part in stored(rows).stored_as):
            continue
        if any(run_together(batch.column(name)).any() for batch in rows.batches([name])):
            raise DataError(
                f"column {name!r} identifies persons by numbers too large for the floats that store them (2**53 with "
                "64 bits), where different people read as one; store them as whole numbers (in pandas, where one "
                f"missing value makes int64 a float: frame[{name!r}].astype('Int64')) or as text"
            )


def _is_float(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type
    return pa.types.is_floating(kind.value_type if pa.types.is_dictionary(kind) else kind)


def refuse_repeated_persons(rows: Rows, schema: Schema) -> None:
    """Raise DataError, before anything is spent, when a column that identifies persons repeats without a unit."""
    if schema.unit is not None:
        return
    for name, column in schema.columns.items():
        if not column.person or name not in rows.column_names:
            continue
        unit = UnitCap(name)
        for batch in rows.batches([name]):
            if unit.repeats(batch.column(name)):
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
