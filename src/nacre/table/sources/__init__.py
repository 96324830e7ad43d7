"""Where tables come from: one reader for each format, all with the same few methods.

The law they keep (docs/sources.md): what a value is read as depends on that value and on public facts, never on another
row. Names and types are fixed when a file is opened, from its header or footer and from what was declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from nacre.errors import DataError
from nacre.table.sources.options import BATCH_ROWS, NO_QUOTE, Options

if TYPE_CHECKING:
    import os

    import pyarrow as pa

__all__ = ["BATCH_ROWS", "FORMATS", "NO_QUOTE", "Kind", "Options", "Source", "format_of", "is_table", "kind_of",
           "open_file"]  # fmt: skip

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
}
PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".zip": "zip"}
TEXTS = ("csv", "jsonl")  # what may be packed
HINTS = {
    ".xls": "save it as .xlsx or .csv",
    ".xlsm": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".json": "write one object per line and call it .jsonl",
    ".xz": "unpack it, or pack it as .gz or .zst",
    ".lzma": "unpack it, or pack it as .gz or .zst",
    ".7z": "unpack it",
    ".tar": "unpack it",
    ".tgz": "unpack it",
    ".rar": "unpack it",
}


class Source(Protocol):
    """One open file."""

    path: Any
    arrow_schema: pa.Schema

    def look(self) -> None:
        """Raise DataError, before anything is spent, for a file that is visibly not what was declared. It may read
        rows: what it refuses is told to the owner, and nothing else follows from it."""
        ...

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class Kind:
    """What a name says: the format, how it is packed, and the ending of what is inside."""

    format: str
    packing: str | None = None
    ending: str = ""


def kind_of(path: str | os.PathLike, format: str | None = None) -> Kind:
    """What the file is, by what was asked, the ending of its name, and the name of what a .zip holds."""
    endings = [e.lower() for e in PurePath(getattr(path, "called", str(path))).suffixes] or [""]
    packing = PACKED.get(endings[-1]) if format != "excel" else None
    if packing == "zip":
        from nacre.table.sources.compression import zip_member

        inside = zip_member(path)
        endings = [*(e.lower() for e in PurePath(inside).suffixes), ".zip"]
    ending = (endings[-2] if len(endings) > 1 else "") if packing else endings[-1]
    found = Kind(_format(path, ending, format), packing, ending)
    if packing and found.format not in TEXTS:
        raise DataError(f"{path}: a {found.format} file that was packed once more; unpack it")
    return found


def _format(path: str | os.PathLike, ending: str, format: str | None) -> str:
    known = sorted(set(FORMATS.values()))
    if format is not None:
        if format not in known:
            raise DataError(f"format {format!r} is not known; choose one of {', '.join(known)}")
        return format
    if ending not in FORMATS:
        hint = HINTS.get(ending, "rename the file or say its format")
        raise DataError(
            f"{path}: the ending {ending!r} is not one that nacre knows ({', '.join(FORMATS)}; texts may be packed as "
            f"{', '.join(PACKED)}); {hint}"
        )
    return FORMATS[ending]


def format_of(path: str | os.PathLike, format: str | None = None) -> str:
    """The format of a file, by what was asked or by the ending of its name."""
    return kind_of(path, format).format


def is_table(name: str) -> bool:
    """Whether a file of this name in a folder is part of a table."""
    endings = [e.lower() for e in PurePath(name).suffixes] or [""]
    if endings[-1] in PACKED:
        return endings[-1] == ".zip" or FORMATS.get(endings[-2] if len(endings) > 1 else "") in TEXTS
    return endings[-1] in FORMATS


def open_file(path: Any, options: Options | None = None, groups: range | None = None) -> Source:
    """Open one file for streaming: check that it can be read and is not empty, read names and types. `groups` names
    row groups of a Parquet file that alone are read."""
    from nacre.table.sources.checks import check_readable

    options = options or Options()
    if not str(path).lower().endswith(".zip"):
        kind_of(path, options.format)  # a name that says nothing is refused before the file is touched
    check_readable(path)
    kind = kind_of(path, options.format)
    if kind.format == "parquet":
        from nacre.table.sources.parquet import ParquetSource

        return ParquetSource(path, options, groups)
    if kind.format == "arrow":
        from nacre.table.sources.arrow import ArrowSource

        return ArrowSource(path, options)
    if kind.format == "jsonl":
        from nacre.table.sources.jsonl import JsonLinesSource

        return JsonLinesSource(path, options, kind)
    if kind.format == "excel":
        from nacre.table.sources.excel import ExcelSource

        return ExcelSource(path, options)
    from nacre.table.sources.csv import CsvSource

    return CsvSource(path, options, kind)
