"""A stream kept in a private temporary file: a table is read several times, a stream only once.

On Linux the file never has a name and is gone with the process, even one that is killed; elsewhere it lies in a folder
of its own that only its owner can enter, and is removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nacre.errors import DataError
from nacre.table.sources import FORMATS
from nacre.table.sources.places import Spooled

_PACKED = ((b"\x1f\x8b", ".gz"), (b"\x28\xb5\x2f\xfd", ".zst"), (b"BZh", ".bz2"))
_STARTS = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\xff\xff\xff\xff", ".arrow"))
_BLOCK = 2**20


@contextlib.contextmanager
def spooled(stream: Any, format: str | None = None) -> Iterator[Spooled]:
    """The place of all that the stream holds. Without a `format`, the first bytes say it; text is taken for CSV."""
    with _private() as (file, path):
        try:
            shutil.copyfileobj(stream, file, _BLOCK)
            file.flush()
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or type(error).__name__
            raise DataError(
                f"standard input: cannot be kept in {tempfile.gettempdir()} ({told}); set TMPDIR, or name a file"
            ) from None
        yield Spooled(path, f"stdin{_ending(file, format)}")


@contextlib.contextmanager
def _private() -> Iterator[tuple[Any, str]]:
    if os.path.isdir("/proc/self/fd"):
        with tempfile.TemporaryFile() as file:
            yield file, f"/proc/{os.getpid()}/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder, (Path(folder) / "stdin").open("w+b") as file:
        os.chmod(file.name, 0o600)
        yield file, file.name


def _ending(file: Any, format: str | None) -> str:
    """What the name of a file with this content would end in."""
    file.seek(0)
    start = file.read(8)
    packing = next((ending for mark, ending in _PACKED if start.startswith(mark)), "")
    if format is not None:
        return packing or (".zip" if start.startswith(b"PK") and format != "excel" else "")
    if start.startswith(b"PK"):
        return ".xlsx" if _is_workbook(file) else ".zip"
    plain = next((ending for mark, ending in _STARTS if start.startswith(mark)), ".csv")
    assert plain in FORMATS
    return plain + packing


def _is_workbook(file: Any) -> bool:
    import zipfile

    from nacre.table.sources.compression import check_directory

    try:
        check_directory(file, "standard input")
        with zipfile.ZipFile(file) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return False
