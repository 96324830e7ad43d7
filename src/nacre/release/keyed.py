"""Drawn units as tables that hang together: new ids, keys that name them, references to rows of public tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from nacre.release.units import Units
from nacre.table.database import Database, Key
from nacre.table.database.forms import Form
from nacre.table.encoding import Encoded
from nacre.table.schema import Schema
from nacre.table.values.decoding import decode
from nacre.table.values.labels import as_text
from nacre.table.values.stored import Values


@dataclass(frozen=True)
class Keyed:
    """Writes drawn units as Arrow tables. `public` holds the rows of public tables, which are given as they are."""

    database: Database
    forms: Mapping[str, Form]
    public: Mapping[str, pa.Table]

    def empty(self) -> dict[str, pa.Table]:
        """The owned tables without a row."""
        owners = {name: self.database.owner(name) for name in self.database.owned}
        above = {name: key.parent for name, key in owners.items() if key is not None}
        none = Values.of(np.zeros(0, np.int64))
        columns = {n: (*self.database.tables[n].modelled, *self.forms[n].references) for n in self.database.owned}
        tables = {name: Encoded(dict.fromkeys(own, none), 0) for name, own in columns.items()}
        units = Units(tables, dict.fromkeys(above, np.zeros(0, np.int64)), above)
        return self.tables(units, dict.fromkeys(self.database.owned, 1), np.random.default_rng(0))

    def tables(self, units: Units, starts: Mapping[str, int], rng: np.random.Generator) -> dict[str, pa.Table]:
        """The owned tables, ids counting from `starts` on."""
        ids: dict[str, pa.Array] = {}
        found = {}
        for name, encoded in units.tables.items():
            owner = self.database.owner(name)
            keys = () if owner is None else (owner, *self.database.implied(name))
            named = {key.column: ids[key.parent].take(pa.array(units.ancestors(name, key.parent))) for key in keys}
            found[name] = self._table(name, encoded, starts[name], rng, named)
            if (own := self.database.id(name)) is not None:
                ids[name] = found[name].column(own).combine_chunks()
        return found

    def _table(
        self, name: str, encoded: Encoded, start: int, rng: np.random.Generator, named: Mapping[str, pa.Array]
    ) -> pa.Table:
        references = self.forms[name].references
        made = decode(encoded, self._written(name), start, rng)
        for column, key in references.items():
            place = made.schema.get_field_index(column)
            values = self._referred(key, self.forms[name].columns[column].labels, encoded[column])
            made = made.set_column(place, pa.field(column, values.type), values)
        for column, values in named.items():
            made = made.set_column(made.schema.get_field_index(column), pa.field(column, values.type, False), values)
        return made

    def _written(self, name: str) -> Schema:
        """The schema of the table, where a reference that lacks its labels has them from the public table."""
        schema, form = self.database.tables[name], self.forms[name]
        lacking = {c: form.columns[c] for c in form.references if schema.columns[c].missing}
        return dataclasses.replace(schema, columns={**schema.columns, **lacking}) if lacking else schema

    def _referred(self, key: Key, labels: tuple[str, ...], values: Values) -> pa.Array:
        """The ids of the public table, as it stores them, that these labels name."""
        ids = self.public[key.parent].column(key.parent_column).combine_chunks()
        places = {label: place for place, label in enumerate(as_text(ids).to_pylist())}
        spots = np.array([places[label] for label in labels] or [0], np.int64)
        missing = values.null | (values.values < 0)
        return ids.take(pa.array(spots[np.where(missing, 0, values.values).astype(np.int64)], mask=missing))
