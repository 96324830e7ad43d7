"""The release file: a zip of JSON and safetensors. Reading one runs no code and checks sizes and hashes first."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import ReleaseFileError
from nacre.table import documents

FORMAT = 1
_LIMITS = {  # what a member may unpack to
    "manifest.json": 1 << 20,
    "schema.json": 16 << 20,  # hundreds of thousands of categories; parsed in less than a second
    "certificate.json": 8 << 20,
    "model.json": 8 << 20,
    "arrays.safetensors": 1 << 29,  # 2,000 columns of 20 groups with 1,024 particles take a third of it
}
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # Python unpacks the others without a limit: 2 KB become 4 GB
_FREE, _SHRINKS = 64 << 20, 64  # what unpacks to more than the first is at most so many times smaller when packed
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, ValueError, RuntimeError)


def pack(path: str | os.PathLike, documents: Mapping[str, str], arrays: Mapping[str, np.ndarray], force: bool) -> None:
    """Write documents (name.json -> text) and arrays as one file, whole or not at all. Same content, same bytes."""
    from safetensors.numpy import save

    from nacre.table.writing import whole_file

    members = {name: text.encode() for name, text in documents.items()}
    members["arrays.safetensors"] = save({k: np.ascontiguousarray(arrays[k]) for k in sorted(arrays)})
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    manifest = {"format": FORMAT, "kind": "nacre release", "sha256": hashes}
    members = {"manifest.json": json.dumps(manifest, indent=1, sort_keys=True).encode(), **members}
    with whole_file(path, force) as part, zipfile.ZipFile(part, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # a fixed date: no clock in the file
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, compresslevel=6)


def unpack(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The documents (parsed) and arrays of a release file. Any defect is a ReleaseFileError naming the member."""
    where = Path(path)
    try:
        with zipfile.ZipFile(where) as archive:
            sizes = _check_members(archive, where)
            members = {name: _read(archive, name, sizes[name], where) for name in sizes}
    except FileNotFoundError:
        raise ReleaseFileError(f"{where}: no such file") from None
    except IsADirectoryError:
        raise ReleaseFileError(f"{where}: a folder, not a release file") from None
    except _DAMAGE as error:
        raise ReleaseFileError(f"{where}: not a nacre release, or damaged ({error})") from None
    return opened(members, where)


def opened(members: dict[str, bytes], where: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The documents and arrays of the unpacked members."""
    manifest = _json(members.pop("manifest.json"), "manifest.json", where)
    _check_manifest(manifest, members, where)
    arrays = _arrays(members.pop("arrays.safetensors"), where)
    return {name: _json(data, name, where) for name, data in members.items()}, arrays


def _check_members(archive: zipfile.ZipFile, where: Path) -> dict[str, int]:
    names = archive.namelist()
    if sorted(names) != sorted(_LIMITS):
        raise ReleaseFileError(f"{where}: expected the members {sorted(_LIMITS)}, found {sorted(names)[:8]}")
    packed = os.path.getsize(where)
    sizes = {}
    for info in archive.infolist():
        if info.compress_type not in _METHODS:
            raise ReleaseFileError(f"{where}: member {info.filename} is packed by another method than deflate")
        # Deflate cannot shrink below about 1/1032; a member that says otherwise lies.
        most = min(_LIMITS[info.filename], 1100 * packed + 1024, max(_FREE, _SHRINKS * packed))
        if info.file_size > most or info.flag_bits & 1:
            raise ReleaseFileError(f"{where}: member {info.filename} is too large ({info.file_size:,} bytes)")
        sizes[info.filename] = info.file_size
    return sizes


def _read(archive: zipfile.ZipFile, name: str, size: int, where: Path) -> bytes:
    with archive.open(name) as member:
        data = member.read(size + 1)
    if len(data) != size:
        raise ReleaseFileError(f"{where}: member {name} does not have the size it declares")
    return data


def _json(data: bytes, name: str, where: Path) -> Any:
    try:
        found = documents.parse(data, _LIMITS[name])
    except ValueError as error:
        raise ReleaseFileError(f"{where}: member {name} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ReleaseFileError(f"{where}: member {name} holds {type(found).__name__}, expected an object")
    return found


def _check_manifest(manifest: Mapping[str, Any], members: Mapping[str, bytes], where: Path) -> None:
    if manifest.get("kind") != "nacre release":
        raise ReleaseFileError(f"{where}: the manifest does not say that this is a nacre release")
    if manifest.get("format") != FORMAT:
        raise ReleaseFileError(
            f"{where}: written in format {manifest.get('format')!r}; this nacre reads format {FORMAT}. "
            "Use the version of nacre that its certificate names"
        )
    for name, data in members.items():
        stated = manifest.get("sha256", {}).get(name) if isinstance(manifest.get("sha256"), dict) else None
        if stated != hashlib.sha256(data).hexdigest():
            raise ReleaseFileError(f"{where}: member {name} was altered after it was written (hash differs)")


def _arrays(data: bytes, where: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ReleaseFileError(f"{where}: member arrays.safetensors is damaged ({error})") from None
