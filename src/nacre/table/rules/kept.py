"""How many rows of a table break each rule of its schema: exact counts, for the owner of the table alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.table.encoding import Encoded
from nacre.table.rules import Dependency, Unique
from nacre.table.schema import Schema
from nacre.table.values.labels import names as texts_of
from nacre.table.values.misfits import Misfits

if TYPE_CHECKING:
    pass

Counted = "RowRule | Impossible | Dependency"


class Kept:
    """Added to batch by batch. A rule whose columns have no declared domain yet is left out."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        known = {name for name, column in schema.columns.items() if not column.missing}
        self._rules = [r for r in schema.rules if {*r.names} <= known and not isinstance(r, Unique)]
        self._never = [r for r in schema.never if {*r.columns} <= known & {*schema.modelled}]
        self._following = [d for d in schema.dependencies if {*d.clique} <= known and not d.bought]
        self._counts: dict[str, int] = {}
        self._rows = 0
        self._texts: dict[Unique, list[pa.Array]] = {r: [] for r in schema.rules if isinstance(r, Unique)}

    def add(self, encoded: Encoded, batch: pa.RecordBatch) -> None:
        """Some more rows, as they were read."""
        self._rows += encoded.rows
        for rule in self._rules:
            self._count(f"rule {rule}", rule.misses(encoded.columns, self.schema.columns))
        for never in self._never:
            self._count(f"rule that never {never}", never.broken(encoded))
        for follows in self._following:
            self._count(f"{follows}", self._astray(follows, encoded, batch))
        for rule, parts in self._texts.items():
            parts.append(texts_of(batch.column(rule.column)))

    def _count(self, name: str, broken: np.ndarray) -> None:
        self._counts[name] = self._counts.get(name, 0) + int(broken.sum())

    def _astray(self, rule: Dependency, encoded: Encoded, batch: pa.RecordBatch) -> np.ndarray:
        column = self.schema.columns[rule.dependent]
        wanted = column.encode(rule.follow(encoded[rule.determinant], self.schema.columns))
        found = column.encode(batch.column(rule.dependent))
        return (wanted.null != found.null) | (~wanted.null & (wanted.values != found.values))

    def broken(self) -> dict[str, Misfits]:
        """By rule, how many rows break it."""
        for rule, parts in self._texts.items():
            texts = pa.chunked_array(parts)
            repeats = len(texts) - texts.null_count - len(pc.unique(texts.drop_null()))
            self._counts[f"rule {rule}"] = repeats
        return {name: Misfits(n, 0, self._rows) for name, n in self._counts.items()}
