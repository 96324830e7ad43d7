"""Grey pictures as PNG files, without a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np


def png(grey: np.ndarray) -> bytes:
    """A grey picture [height, width] of bytes as a PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = grey.shape
    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines, 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def strips(rows: Sequence[np.ndarray]) -> bytes:
    """Small pictures of equal size [count, height, width], a line of the PNG file for each of `rows`."""
    return png(np.concatenate([np.concatenate(list(np.pad(r, ((0, 0), (1, 1), (1, 1)))), axis=1) for r in rows]))
