"""What is said of private rows, in whichever form it is given: of one table, of a database, of a long table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias

from nacre.engines import holds_tables
from nacre.errors import SchemaError
from nacre.table import Schema
from nacre.table.database import Database
from nacre.table.database.documents import describes
from nacre.table.database.long import LongTable

Described: TypeAlias = Schema | Database | LongTable
Given: TypeAlias = Described | str | os.PathLike


def described(given: Given | None, source: object = None) -> Described | None:
    """A schema, a database or a long table as it is, or what the file of this name describes."""
    if isinstance(given, Database | LongTable):
        return given
    if isinstance(given, str | os.PathLike) and describes(given):
        return Database.load(given)
    found = None if given is None else Schema.given(given)
    if holds_tables(source):
        raise SchemaError(
            f"{'the tables' if isinstance(source, Mapping) else source}: several tables need a nacre.Database as their "
            "schema, which says by which keys rows are owned; `nacre schema draft` proposes one (Database.draft)"
        )
    return found
