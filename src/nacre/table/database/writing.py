"""Databases written whole or not at all: a folder with a file for each table, a SQLite or a DuckDB file.

In SQLite and DuckDB, ids are primary keys and keys of owned tables are foreign keys, which are checked before the file
appears under its name. Public tables are given as they are.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.database.database import Database
from nacre.table.sources.banks import ENDINGS
from nacre.table.sources.frames import to_arrow
from nacre.table.writing import TableWriter, check_target, whole_file

FOLDER_FORMATS = ("parquet", "csv", "csv.gz", "csv.zst", "tsv", "arrow")


def write_tables(
    path: str | os.PathLike,
    tables: Mapping[str, object],
    database: Database,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write every table of a database: into a SQLite (.sqlite, .sqlite3, .db) or DuckDB file (.duckdb, .ddb), or into a
    folder of files of one format, Parquet unless another is named.

    What is there is kept unless `force`; of a folder, files of other names are kept in any case. DataError, and nothing
    written, where a table is missing or rows break a key.
    """
    kind = ENDINGS.get(Path(path).suffix.lower()) if format is None else format
    if kind not in (None, "sqlite", "duckdb", *FOLDER_FORMATS):
        raise DataError(
            f"format {kind!r} is not one of databases; choose one of sqlite, duckdb, {', '.join(FOLDER_FORMATS)}"
        )
    check_goal(path, kind, force)
    found = {name: to_arrow(table) for name, table in _all(tables, database).items()}
    if kind == "sqlite":
        from nacre.table.database.into_sqlite import fill

        with whole_file(path, force) as part:
            fill(part, found, database)
    elif kind == "duckdb":
        from nacre.table.database.into_duckdb import fill

        with whole_file(path, force) as part:
            fill(part, found, database)
    else:
        _write_folder(Path(path), found, kind or "parquet", force)


def check_goal(path: str | os.PathLike, kind: str | None, force: bool = False) -> None:
    """Raise DataError where nothing could be written, before anything is made."""
    target = Path(path)
    if kind in ("sqlite", "duckdb"):
        check_target(target, force)
        return
    if target.exists() and not target.is_dir():
        raise DataError(f"{target} is a file; name a folder, or a file ending in {', '.join(ENDINGS)}")
    if target.is_dir() and not force and any(target.iterdir()):
        raise DataError(f"{target} exists already and is not empty; choose another folder, or force overwriting")
    check_target(target.parent / f"{target.name}.part", True)


def _all(tables: Mapping[str, object], database: Database) -> dict[str, object]:
    """The tables with public ones first, then owned ones from the unit table down."""
    lacking = [name for name in database.tables if name not in tables]
    strange = [name for name in tables if name not in database.tables]
    if lacking or strange:
        what = f"there is no table {lacking[0]!r}" if lacking else f"the table {strange[0]!r} is not in the schema"
        raise DataError(f"{what}; expected {', '.join(database.tables)}")
    owned = database.owned
    return {name: tables[name] for name in (*(n for n in database.tables if n not in owned), *owned)}


def _write_folder(target: Path, tables: Mapping[str, pa.Table], format: str, force: bool) -> None:
    with _whole_folder(target) as part:
        for name, table in tables.items():
            with TableWriter(part / f"{name}.{format}", table.schema) as out:
                out.write(table)


@contextlib.contextmanager
def _whole_folder(target: Path) -> Iterator[Path]:
    """A folder beside the target that takes its place, or fills it, if the block ends well."""
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror}); check the folder") from None
    try:
        yield part
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o777 & ~mask)
        if target.exists() and any(target.iterdir()):
            for file in sorted(part.iterdir()):
                os.replace(file, target / file.name)
        else:
            os.rename(part, target)  # in the place of an empty folder, if it is there
    except OSError as error:
        raise DataError(f"{target}: writing failed ({error.strerror or error})") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
