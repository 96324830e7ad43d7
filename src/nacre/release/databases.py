"""A release of a database: units with all their rows, in tables that hang together as those of the data do."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa

from nacre import notebook
from nacre.engines import MemoryRows
from nacre.errors import CertificateError, NacreError, ReleaseFileError
from nacre.privacy.certificate.owned import Owned
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.certificate.verification import verify
from nacre.release import public as public_tables
from nacre.release.conditions import on_determinants
from nacre.release.drawing import CHUNK
from nacre.release.keyed import Keyed
from nacre.release.rebalance import Draw, TellWeights, balanced
from nacre.release.units import UnitModel, Units, UnitSource
from nacre.synthesizers.registry import DATABASES
from nacre.table import Schema
from nacre.table.conditions import parsed
from nacre.table.database import Database
from nacre.table.database.forms import Form, forms
from nacre.table.database.long import joined, whole
from nacre.table.database.publics import public_ids
from nacre.table.database.writing import write_tables
from nacre.table.documents import UNFIT
from nacre.table.sources.frames import from_arrow
from nacre.table.writing import TableWriter
from nacre.targets import Target

Shares = Mapping[str, Mapping]
_FIRST = 1_000  # units of the first part, from which the number of rows of a unit is seen


class Asked(TypedDict, total=False):
    """How units are drawn: what `sample` takes."""

    where: Mapping[str, object] | None
    rebalance: Shares | Target | None
    seed: int | None
    tell_weights: TellWeights | None


@dataclass(frozen=True, repr=False)
class DatabaseRelease:
    """`sample` draws units with all that is theirs, `write` puts them into a folder or database, `save` keeps the
    release, `certificate` its promise. `long`: the columns of the one table in which the rows of persons came, and go.

    Drawing never touches data. It is post-processing as long as its arguments were chosen without the tables.
    """

    method: str
    schema: Database
    forms: Mapping[str, Form]
    model: UnitModel
    certificate: Certificate
    public: Mapping[str, pa.Table]
    long: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<DatabaseRelease by {self.method} of {len(self.schema.tables):,} tables: {self.certificate.headline}>"

    def _repr_html_(self) -> str:
        facts = {
            "Guarantee": self.certificate.headline,
            "Size of a sample": f"{self.units:,} rows of {self.schema.unit}",
        }
        lines = [
            (n, "public" if n in self.public else f"{len(s.columns):,} columns") for n, s in self.schema.tables.items()
        ]
        return notebook.panel(f"Release by {self.method}", facts, ("table", "what"), lines)

    @property
    def described(self) -> Database | Schema:
        """What the next run on the same data takes as its schema: of a long table its own."""
        return self.schema if self.long is None else whole(self.schema, self.long)

    @property
    def units(self) -> int:
        """The number of units of the database, as declared or as bought: the default size of a sample."""
        return self.model.units

    def sample(
        self,
        units: int | None = None,
        *,
        where: Mapping[str, object] | None = None,
        rebalance: Shares | Target | None = None,
        as_: str = "pandas",
        seed: int | None = None,
        tell_weights: TellWeights | None = None,
    ) -> Any:
        """So many synthetic units with all rows that they own: {table: a pandas, polars or pyarrow table}, or, where
        the data were one long table, that one.

        `where` conditions exactly on columns of the unit table, `rebalance` draws them in other shares and the rest of
        a unit given them, as those of `Release.sample` do. Ids are new, every key names a row that is there, and the
        rows of public tables are given as they are. `seed` makes the drawing repeatable.
        """
        parts = [*self.chunks(units, where=where, rebalance=rebalance, seed=seed, tell_weights=tell_weights)]
        whole = {name: pa.concat_tables(part[name] for part in parts) for name in parts[0]}
        if self.long is not None:
            return from_arrow(whole[self._rows], as_)
        every = {**whole, **self.public}
        return {name: from_arrow(every[name], as_) for name in self.schema.tables}

    def write(
        self,
        path: str | os.PathLike,
        units: int | None = None,
        *,
        force: bool = False,
        format: str | None = None,
        progress: Callable[[int], None] = lambda done: None,
        **asked: Unpack[Asked],
    ) -> int:
        """Write so many units, drawn as `sample` does, to a SQLite or a DuckDB file, a folder (a file for each table:
        Parquet, or of the `format` named), or, where the data were one long table, to one file ("spreadsheet": a CSV
        file for one, with an apostrophe before texts that it would run). Whole or not at all, foreign keys enforced
        where the file has them. Returns how many units were written."""
        parts = self.chunks(units, **asked)
        wanted = self.units if units is None else units
        if self.long is not None:
            if format not in (None, "spreadsheet"):
                raise NacreError(f"format={format!r}: the ending of the name says it; leave it out")
            first = next(parts)[self._rows]
            with TableWriter(path, first.schema, force=force, spreadsheet=format is not None) as out:
                for table in itertools.chain([first], (part[self._rows] for part in parts)):
                    out.write(table)
        else:
            drawn = [*parts]
            made = {name: pa.concat_tables(part[name] for part in drawn) for name in drawn[0]} | {**self.public}
            write_tables(path, {name: made[name] for name in self.schema.tables}, self.schema, format, force)
        progress(int(wanted))
        return int(wanted)

    def chunks(
        self,
        units: int | None = None,
        *,
        where: Mapping[str, object] | None = None,
        rebalance: Shares | Target | None = None,
        seed: int | None = None,
        tell_weights: TellWeights | None = None,
    ) -> Iterator[dict[str, pa.Table]]:
        """The owned tables in parts of at most about 250,000 rows, each with whole units; ids count on. Of a long
        table, that one."""
        wanted = self.units if units is None else units
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or wanted < 0:
            raise NacreError(f"units={units!r}: expected a whole number of units, zero or more")
        source = self._source
        asked = on_determinants(source.schema, parsed(where or {}, source.schema.columns, "where"))
        draw = balanced(source, rebalance, asked, tell_weights)  # refuses what cannot be drawn before anything is
        seeds = np.random.SeedSequence(seed)
        return self._parts(int(wanted), draw, seeds)

    def _parts(self, wanted: int, draw: Draw[Units], seeds: np.random.SeedSequence) -> Iterator[dict[str, pa.Table]]:
        starts, done, size = dict.fromkeys(self.schema.owned, 1), 0, min(wanted, _FIRST)
        if not wanted:
            yield self._shaped(self._keyed.empty())
        while done < wanted:
            rng = np.random.default_rng(seeds.spawn(1)[0])
            units = draw(size, rng)
            tables = self._keyed.tables(units, starts, rng)
            starts = {name: start + tables[name].num_rows for name, start in starts.items()}
            done += size
            each = max(1.0, sum(start - 1 for start in starts.values()) / done)  # rows of a unit in all tables
            size = min(wanted - done, max(1, int(CHUNK / each)))
            yield self._shaped(tables)

    def _shaped(self, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
        return tables if self.long is None else {self._rows: joined(self.schema, self.long, tables)}

    @property
    def _rows(self) -> str:
        """The table that persons have many rows of, where they came in a long one."""
        return self.schema.owned[1]

    @functools.cached_property
    def _source(self) -> UnitSource:
        return UnitSource(self.schema, self.model, None if self.long is None else self._rows)

    @functools.cached_property
    def _keyed(self) -> Keyed:
        return Keyed(self.schema, self.forms, self.public)

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """Write the release file (zip of JSON and safetensors); an existing file is kept unless `force`."""
        from nacre.release.file import pack

        facts, arrays = self.model.parts()
        told, beside = public_tables.to_parts(self.public)
        model: dict[str, object] = {"method": self.method, "facts": facts, "public": told}
        if self.long is not None:
            model["long"] = list(self.long)
        documents = {
            "schema.json": self.schema.to_json(),
            "certificate.json": json.dumps(self.certificate.to_json(), indent=1, sort_keys=True),
            "model.json": json.dumps(model, indent=1, sort_keys=True),
        }
        pack(path, documents, {**arrays, **beside}, force)


def made_of(path: str | os.PathLike, documents: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> DatabaseRelease:
    """The release in the parts of a file."""
    from nacre.synthesizers.nested.model import NestedModel

    try:
        database = Database.from_json(documents["schema.json"])
        certificate = Certificate.from_json(documents["certificate.json"])
        told = documents["model.json"]
        method = told["method"]
        if certificate.method != method:
            raise CertificateError(f"its certificate is that of method {certificate.method!r}, its model of {method!r}")
        certificate = verify(certificate, DATABASES[method], Owned(database))
        own = {name: array for name, array in arrays.items() if not name.startswith("public.")}
        tables = _given(database, told["public"], arrays)
        shapes = forms(
            database, public_ids(database, {name: MemoryRows(table, empty=True) for name, table in tables.items()})
        )
        model = NestedModel.from_parts(database, shapes, told["facts"], own)
        long = None if told.get("long") is None else _long(database, told["long"])
    except CertificateError as error:
        raise CertificateError(f"{path}: do not rely on this release: {error}") from None
    except (*UNFIT, NacreError) as error:
        raise ReleaseFileError(f"{path}: the release does not hold what it should ({error})") from None
    return DatabaseRelease(method, database, shapes, model, certificate, tables, long)


def _given(database: Database, told: object, arrays: Mapping[str, np.ndarray]) -> dict[str, pa.Table]:
    """The public tables, with the columns that the schema says they have."""
    tables = public_tables.from_parts(told, arrays)
    if {*tables} != {*database.public}:
        raise ReleaseFileError(f"it holds the public tables {sorted(tables)[:8]}, not {sorted(database.public)[:8]}")
    for name, table in tables.items():
        if {*table.column_names} != {*database.tables[name].names}:
            raise ReleaseFileError(f"its public table {name!r} has other columns than its schema")
    return {name: tables[name] for name in database.public}


def _long(database: Database, columns: object) -> tuple[str, ...]:
    """The columns of a long table that stands for the two of the database."""
    names = {name for table in database.owned for name in database.tables[table].names}
    listed = tuple(map(str, columns)) if isinstance(columns, list) else ()
    if len(database.owned) != 2 or len(listed) != len(names) or {*listed} != names or database.public:
        raise ReleaseFileError("its long table has other columns than those of its persons and their rows")
    return listed
