"""The rows of one table of a database with whose they are: what its schema is bought from.

A row belongs to the unit that its keys lead to; rows that hang on none, or whose keys disagree, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from nacre.engines.interface import Rows, View
from nacre.table.database import Database
from nacre.table.values.labels import names

UNIT = "\N{MIDDLE DOT} unit"  # the column that says whose a row is; it stands in no document


class OwnedRows(View):
    """The rows of a table below the unit's, each with the name of its unit."""

    def __init__(self, sources: Mapping[str, Rows], database: Database, table: str):
        self.rows, self._database, self._table = sources[table], database, table
        self._owners = {key: _Owners.of(sources, database, key.parent) for key in _keys(database, table)}

    @property
    def column_names(self) -> list[str]:
        return [*self.rows.column_names, UNIT]

    @property
    def arrow_schema(self) -> pa.Schema:
        return self.rows.arrow_schema.append(pa.field(UNIT, pa.string()))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self.column_names if columns is None else list(columns)
        stored = [name for name in wanted if name != UNIT]
        needed = [*stored, *(key.column for key in self._owners if key.column not in stored)]
        for batch in self.rows.batches(needed):
            found = [owners.of_keys(batch.column(key.column)) for key, owners in self._owners.items()]
            same = pc.is_valid(found[0])
            for other in found[1:]:
                same = pc.and_(same, pc.equal(other, found[0]).fill_null(False))
            arrays = [found[0] if name == UNIT else batch.column(name) for name in wanted]
            yield pa.RecordBatch.from_arrays(arrays, names=wanted).filter(same)


class _Owners:
    """From the ids of a table's rows to the units that own them."""

    def __init__(self, ids: pa.Array, units: pa.Array):
        self._ids, self._units = ids, units

    @classmethod
    def of(cls, sources: Mapping[str, Rows], database: Database, table: str) -> _Owners:
        column = database.id(table)
        assert column is not None  # a key leads to it
        if table == database.unit:
            ids = _joined([names(batch.column(column)) for batch in sources[table].batches([column])])
            return cls(ids, ids)
        batches = [*OwnedRows(sources, database, table).batches([column, UNIT])]
        return cls(_joined([names(b.column(column)) for b in batches]), _joined([b.column(UNIT) for b in batches]))

    def of_keys(self, keys: pa.Array) -> pa.Array:
        # A row without a key is nobody's, were there a hundred rows without an id.
        return self._units.take(pc.index_in(names(keys), value_set=self._ids, skip_nulls=True))


def _keys(database: Database, table: str) -> list:
    owner = database.owner(table)
    assert owner is not None  # it lies below the unit table
    return [owner, *database.implied(table)]


def _joined(parts: list) -> pa.Array:
    return pa.concat_arrays([part.cast(pa.string()) for part in parts]) if parts else pa.array([], pa.string())
