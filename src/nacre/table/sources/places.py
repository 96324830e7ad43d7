"""Where a file lies: on this machine, or behind a URL such as s3://bucket/part.parquet that fsspec opens.

A `RemotePath` has the few methods of `Path` that the readers use, so that a file is checked in the same way wherever
it lies. fsspec and the driver of the store (s3fs, gcsfs, adlfs, ...) are installed by whoever needs them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import DataError


def is_remote(path: str | os.PathLike) -> bool:
    """Whether the path is a URL."""
    return "://" in os.fspath(path)


def place(path: str | os.PathLike) -> Any:
    """The path of a local file, a `RemotePath` for a URL, or a place as it is."""
    if isinstance(path, RemotePath | Spooled):
        return path
    return RemotePath(os.fspath(path)) if is_remote(path) else Path(path)


def readable(path: str | os.PathLike) -> Any:
    """What Arrow's readers take: a local path as it is, so that they map the file; a remote one opened."""
    return path.open() if isinstance(path, RemotePath) else os.fspath(path)


class Spooled:
    """What came in by a stream and was kept in a file without a name that would tell anything. `called` is the name
    that a file with this content would have."""

    def __init__(self, path: str, called: str):
        self._path, self.called = Path(path), called

    def __fspath__(self) -> str:
        return str(self._path)

    def __str__(self) -> str:
        return "standard input"

    def open(self, mode: str = "rb") -> Any:
        return self._path.open(mode)

    def stat(self) -> os.stat_result:
        return self._path.stat()

    def exists(self) -> bool:
        return True

    def is_dir(self) -> bool:
        return False

    def is_file(self) -> bool:
        return True


@dataclass(frozen=True)
class _Stat:
    st_size: int


class RemotePath:
    """A file behind fsspec."""

    def __init__(self, url: str):
        self.url = url
        self._system, self._inner = _resolve(url)

    def __fspath__(self) -> str:
        return self.url

    def __str__(self) -> str:
        return self.url

    def __reduce__(self) -> Any:
        return RemotePath, (self.url,)

    @property
    def suffix(self) -> str:
        return Path(self._inner).suffix

    def open(self, mode: str = "rb") -> Any:
        return self._system.open(self._inner, mode)

    def stat(self) -> _Stat:
        return _Stat(int(self._system.size(self._inner)))

    def exists(self) -> bool:
        return self._system.exists(self._inner)

    def is_dir(self) -> bool:
        return self._system.isdir(self._inner)

    def is_file(self) -> bool:
        return self._system.isfile(self._inner)

    def glob(self) -> list[str]:
        """The URLs of the files that match this path as a pattern, by name."""
        return sorted(self._system.unstrip_protocol(p) for p in self._system.glob(self._inner))

    def files(self) -> list[str]:
        """The URLs of the files in this folder, by name."""
        found = self._system.ls(self._inner, detail=True)
        return sorted(self._system.unstrip_protocol(f["name"]) for f in found if f["type"] == "file")


def _resolve(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DataError(
            f"{url}: reading from a URL needs fsspec; install nacre[distributed] and the driver of the store, such as "
            "s3fs, or copy the files here"
        ) from None
    try:
        system, inner = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise DataError(f"{url}: fsspec cannot open it ({str(error).splitlines()[0]}); install its driver") from None
    return system, inner
