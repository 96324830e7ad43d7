"""Packed files as streams of bytes. Nothing is unpacked further than it is read, and a bomb is refused on the way."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources.options import Options

if TYPE_CHECKING:
    import os

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)
_MOST_DIRECTORY = 2**20  # bytes of a zip's list of members
_BLOCK = 2**20
_BLOCKWISE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # Python unpacks the others without a limit: 2 KB become 4 GB


class Unpacked:
    """The bytes of a file, unpacked as they are read. `read(n)` gives n bytes unless the end has come."""

    def __init__(self, path: str | os.PathLike, packing: str | None, options: Options):
        self.path, self._packing, self._options = path, packing, options
        self._done, self._most = 0, 0
        self._file = path.open("rb")
        if packing is None:
            self._stream: Any = self._file
            return
        self._most = max(options.small_text, options.text_ratio * path.stat().st_size)
        try:
            self._stream = self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> Any:
        if self._packing == "zip":
            try:
                return _archive(self._file, self.path).open(zip_member(self.path))
            except (*_ZIP_ERRORS, OSError) as error:
                raise self._damaged(error) from None
        return pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), self._packing)

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()
        self._file.close()

    def read(self, size: int) -> bytes:
        try:
            block = self._stream.read(size)
            if 0 < len(block) < size:
                block = self._fill(block, size)
        except (pa.ArrowException, OSError, *_ZIP_ERRORS) as error:
            raise self._damaged(error) from None
        self._done += len(block)
        if self._packing and self._done > self._most:
            raise DataError(
                f"{self.path}: it unpacks to more than {self._options.text_ratio:,} times its size and looks made to "
                "exhaust whoever reads it; if it is yours, unpack it, or raise the option text_ratio"
            )
        return block

    def _fill(self, block: bytes, size: int) -> bytes:
        parts, found = [block], len(block)
        while found < size and (more := self._stream.read(size - found)):
            parts.append(more)
            found += len(more)
        return b"".join(parts)

    def _damaged(self, error: Exception) -> DataError:
        if self._packing is None:
            return DataError(f"{self.path}: cannot be read any further ({type(error).__name__}); copy it again")
        if "encrypted" in str(error) or "password" in str(error):
            return DataError(f"{self.path}: the archive is encrypted; unpack it, and name what was in it")
        return DataError(
            f"{self.path}: the packed file is damaged or cut off; copy it again, or unpack it to see what is left"
        )


def verify(path: str | os.PathLike, packing: str, options: Options) -> None:
    """Unpack a packed file once and throw it away: damage far in is found before anything is spent."""
    with Unpacked(path, packing, options) as stream:
        while stream.read(_BLOCK):
            pass


def zip_member(path: str | os.PathLike) -> str:
    """The name of the one file in a zip archive."""
    try:
        with path.open("rb") as file:
            names = [i.filename for i in _archive(file, path).infolist() if not _beside(i)]
    except (*_ZIP_ERRORS, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise DataError(f"{path}: no such file; check the path") from None
        raise DataError(f"{path}: not a readable zip archive; copy it again") from None
    if len(names) != 1:
        raise DataError(f"{path}: the archive holds {len(names):,} files; expected one: unpack it and name the parts")
    return names[0]


def _beside(member: zipfile.ZipInfo) -> bool:
    """Folders, and what macOS puts beside each file."""
    return member.filename.endswith("/") or member.filename.startswith("__MACOSX/")


def _archive(file: Any, path: str | os.PathLike) -> zipfile.ZipFile:
    check_directory(file, path)
    archive = zipfile.ZipFile(file)
    check_methods(archive, path)
    return archive


def check_methods(archive: zipfile.ZipFile, path: str | os.PathLike) -> None:
    """Raise DataError for members packed in a way that cannot be unpacked block by block."""
    if any(member.compress_type not in _BLOCKWISE for member in archive.infolist()):
        raise DataError(f"{path}: packed by another method than deflate; unpack it, or pack it again by deflate")


def check_directory(file: Any, path: str | os.PathLike) -> None:
    """Raise DataError for a list of members so long that reading it alone would take seconds."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 2**16 - 64))
    tail = file.read()
    end = tail.rfind(b"PK\5\6")
    long = tail.rfind(b"PK\6\6")  # of archives beyond 4 GB
    at, width, start = (12, 4, end) if long < 0 else (40, 8, long)
    if start >= 0 and int.from_bytes(tail[start + at : start + at + width], "little") > _MOST_DIRECTORY:
        raise DataError(f"{path}: the archive lists too many files; expected one: unpack it and name the parts")
    file.seek(0)
