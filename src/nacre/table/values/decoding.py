"""From arrays back to Arrow. Types come from the schema alone, never from the file that was read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nacre.table.encoding import Encoded
from nacre.table.schema import Schema
from nacre.table.surrogates import Fresh


def arrow_schema(schema: Schema) -> pa.Schema:
    """Names, types and nullability of the tables that `decode` makes."""
    return pa.schema([
        pa.field(n, c.arrow_type, nullable=c.nullable, metadata=c.writing) for n, c in schema.columns.items()
    ])  # fmt: skip


def decode(encoded: Encoded, schema: Schema, start: int = 1, rng: np.random.Generator | None = None) -> pa.Table:
    """A table of all columns of the schema, in its order: the modelled ones from `encoded`, dependents
    through their mapping, those that are not learnt made anew by `rng`, identifiers from `start` on (give the next
    number when rows come in chunks).

    Raises DataError when a column that is not nullable has rows without a value.
    """
    if schema.row_map is not None:
        encoded, schema = schema.row_map.decode(encoded), schema.row_map.source
    rules = {rule.dependent: rule for rule in schema.dependencies}
    fresh = Fresh(start, encoded.rows, rng)
    arrays = []
    for name, column in schema.columns.items():
        if not column.learnt:
            arrays.append(column.anew(fresh))
        elif name in rules:
            arrays.append(rules[name].follow(encoded[rules[name].determinant], schema.columns))
        else:
            arrays.append(column.decode(encoded[name], name))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))
