"""From Arrow to plain arrays by the schema, and back with types from the schema alone.

Encoding is a row-local map: a row encoded alone equals the same row encoded in any batch, and no value
raises. Numbers and instants outside their bounds are clamped, labels outside their list become `other` or
land nowhere; the flags that say so are for the owner of the data only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pyarrow as pa

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.schema import Schema
from nacre.table.values.misfits import Misfits
from nacre.table.values.stored import Values


@dataclasses.dataclass(frozen=True, slots=True)
class Encoded:
    """The modelled columns of some rows, by name. `misfits`, for their owner only, where they are not those of these
    columns: rows that came through a map."""

    columns: Mapping[str, Values]
    rows: int
    misfits: Mapping[str, Misfits] | None = None

    def __getitem__(self, name: str) -> Values:
        return self.columns[name]

    def outside(self) -> dict[str, Misfits]:
        """How many values of each column were outside the declared domain. For the owner only."""
        if self.misfits is not None:
            return dict(self.misfits)
        return {name: Misfits.of(v) for name, v in self.columns.items()}


def check_names(schema: Schema, found: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The columns found that the schema does not name (they are left alone).

    Raises SchemaError when a column that is needed, one to learn or the unit's, is not there.
    """
    needed = [*schema.read, *([schema.unit.column] if schema.unit else [])]
    lacking = [name for name in needed if name not in found]
    if lacking:
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        shown = ", ".join(repr(n) for n in list(found)[:8]) + (", ..." if len(found) > 8 else "")
        raise SchemaError(
            f"column {lacking[0]!r}{more} is in the schema but not in the table, which has {shown}; "
            "correct the name or remove the column from the schema"
        )
    return tuple(name for name in found if name not in schema.columns)


def encode(batch: pa.RecordBatch | pa.Table, schema: Schema) -> Encoded:
    """The modelled columns of a batch as arrays. Columns that the schema does not name are ignored."""
    check_names(schema, batch.schema.names)
    stored = schema.columns if schema.row_map is None else schema.row_map.source.columns
    columns = {}
    for name in schema.read:
        try:
            columns[name] = stored[name].encode(batch.column(name))
        except DomainNotDeclared as error:
            raise DomainNotDeclared(f"column {name!r}: {error}") from None
    read = Encoded(columns, batch.num_rows)
    return read if schema.row_map is None else schema.row_map.encode(read)
