"""Files that hold several tables: SQLite and DuckDB. One interface, told apart by their first bytes.

Only what the file declares is looked at when it is opened: names, types, keys. Nothing in it is run: no views, no
virtual tables, no extensions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nacre.errors import DataError
from nacre.table.imports.base import Relation
from nacre.table.naming import choices
from nacre.table.sources import Options, Source
from nacre.table.sources.checks import check_readable
from nacre.table.sources.places import is_remote

ENDINGS = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb", ".ddb": "duckdb"}
_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"


@dataclass(frozen=True)
class Keys:
    """What a file declares: columns that are the primary key or unique by themselves, and foreign keys."""

    primary: Mapping[str, str]
    unique: Mapping[str, frozenset[str]]
    relations: tuple[Relation, ...]


class Bank(Protocol):
    """An open file of several tables."""

    path: Path

    @property
    def names(self) -> list[str]:
        """Its tables, in the order in which the file lists them."""
        ...

    def table(self, name: str) -> Source: ...

    def keys(self) -> Keys: ...


def kind_of_bank(path: str | os.PathLike) -> str | None:
    """ "sqlite" or "duckdb" by the first bytes of a file that is there, by its ending else; None for anything else."""
    if is_remote(path) or os.path.isdir(path):
        return None
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except (OSError, ValueError):
        return ENDINGS.get(Path(path).suffix.lower())
    if start == _SQLITE:
        return "sqlite"
    return "duckdb" if start[8:12] == _DUCKDB else None


def open_bank(path: str | os.PathLike, options: Options | None = None) -> Bank:
    """Open a file of several tables. DataError for what is none."""
    place = Path(path)
    check_readable(place)
    kind = kind_of_bank(place)
    if kind is None:
        raise DataError(f"{place}: no SQLite or DuckDB file, whatever its name ends in; check that it is complete")
    if kind == "sqlite":
        from nacre.table.sources.sqlite import SqliteBank

        return SqliteBank(place, options or Options())
    from nacre.table.sources.duckdb import DuckBank

    return DuckBank(place, options or Options())


def declared_keys(source: object) -> Keys | None:
    """The keys that a SQLite or DuckDB file declares; None for any other source of tables."""
    if isinstance(source, str | os.PathLike) and kind_of_bank(source) is not None:
        return open_bank(source).keys()
    return None


def known_table(bank: Bank, name: str) -> str:
    """The name of a table that is there."""
    if name not in bank.names:
        raise DataError(f"{bank.path}: there is no table {name!r}; choose among {choices(name, bank.names)}")
    return name


def quoted(name: str) -> str:
    """A name in SQL, whatever characters it holds."""
    return '"' + name.replace('"', '""') + '"'
