"""Text of any encoding as UTF-8, value by value: bytes that are no text mark the value they stand in and nothing else.

A byte that cannot be decoded becomes NUL and its two hexadecimal digits, a NUL that stands in the file becomes NUL and
00. No schema can list a text with a NUL, so that such values count as unreadable; different values stay different, so
that no two persons become one.
"""

from __future__ import annotations

import codecs
import struct
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError

MARK = "\0"
STAND_IN, _ITSELF = b"\x01", b"01"
_HANDLER = "nacre.unreadable"
_STATES = ("utf-7", "hz", "iso2022")  # a byte of one row would change how the next rows are read
_NOT_TEXTS = ("idna", "punycode", "escape", "charmap", "undefined", "mbcs", "oem")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the next
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    """Each undecodable byte as a lone surrogate, and each of those as its mark."""
    if isinstance(error, UnicodeDecodeError):
        return "".join(chr(0xDC00 + b) for b in error.object[error.start : error.end]), error.end
    if isinstance(error, UnicodeEncodeError):
        return "".join(f"{MARK}{ord(c) & 0xFF:02x}" for c in error.object[error.start : error.end]), error.end
    raise error


codecs.register_error(_HANDLER, _unreadable)


def codec_of(declared: str | None, start: bytes) -> str:
    """The codec of a text that begins with these bytes: what was declared, else what its byte order mark says."""
    marked = next((codec for mark, codec in _MARKS if start.startswith(mark)), None)
    if declared is None:
        return marked or "utf-8"
    try:
        info = codecs.lookup(declared)
    except (LookupError, ValueError):
        raise DataError(f"encoding {declared!r} is not known; try 'utf-8' or 'latin-1'") from None
    name = info.name
    if not getattr(info, "_is_text_encoding", True) or any(part in name for part in _NOT_TEXTS):
        raise DataError(f"encoding {declared!r} is none of texts; try 'utf-8' or 'latin-1'")
    if name.startswith(_STATES):
        raise DataError(
            f"encoding {declared!r} switches within the text, so that one row could change how others are read; save "
            "the file as UTF-8"
        )
    if name in ("utf-16", "utf-32"):
        return marked if marked and marked.startswith(name) else f"{name}-le"
    return {"utf-8-sig": "utf-8", "euc_kr": "cp949"}.get(
        name, name
    )  # one that swallows line ends, by one that does not


class Utf8:
    """A stream of UTF-8 without NUL but in marks, from a stream of bytes in `codec`."""

    def __init__(self, raw: Bytes, codec: str):
        self._raw, self._plain = raw, codec == "utf-8"
        self._decoder: Any = None if self._plain else codecs.getincrementaldecoder(codec)(_HANDLER)
        self._tail = self._ready = b""
        self._begun = self._ended = self._parsed = False
        self.marked = False  # whether there was anything to stand in for

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer at the end only: readers count on blocks of one size."""
        while len(self._ready) < size and not self._ended:
            block = self._raw.read(max(1, size - len(self._ready) - len(self._tail)))
            self._ended = not block
            text = self._plain_text(block) if self._plain else self._decoded(block)
            if text and not self._begun:
                text, self._begun = text.removeprefix(codecs.BOM_UTF8), True
            text = self._stood_in(text)
            self._ready = self._ready + text if self._ready else text
        found, self._ready = self._ready[:size], self._ready[size:]
        return found

    def for_parser(self) -> None:
        """From here on with STAND_IN in the place of NUL: Arrow looks for quotes and line ends in words of bytes that
        end at a NUL for it, and would end a block within a value. `restored` takes it back."""
        self._parsed = True
        self._ready = self._stood_in(self._ready)

    def _stood_in(self, text: bytes) -> bytes:
        if not self._parsed or (b"\0" not in text and STAND_IN not in text):
            return text
        self.marked = True
        return text.replace(STAND_IN, b"\0" + _ITSELF).replace(b"\0", STAND_IN)

    def put_back(self, block: bytes) -> None:
        """Have this read once more."""
        self._ready = block + self._ready

    def skip(self, size: int) -> None:
        while size > 0 and (block := self.read(size)):
            size -= len(block)

    def _plain_text(self, block: bytes) -> bytes:
        if self._tail:
            block, self._tail = self._tail + block, b""
        if not self._ended and (kept := _unfinished(block)):
            block, self._tail = block[:-kept], block[-kept:]
        if (block.isascii() or _is_utf8(block)) and b"\0" not in block:
            return block
        return block.replace(b"\0", b"\x0000").decode("utf-8", _HANDLER).encode("utf-8", _HANDLER)

    def _decoded(self, block: bytes) -> bytes:
        text = self._decoder.decode(block, self._ended)
        return text.replace("\0", "\x0000").encode("utf-8", _HANDLER)


def restored(texts: pa.Array) -> pa.Array:
    """Texts that a parser found, with their marks and the character that stood in for them."""
    marks = pc.replace_substring(texts, STAND_IN.decode(), MARK)
    return pc.replace_substring(marks, MARK + _ITSELF.decode(), STAND_IN.decode())


def _unfinished(block: bytes) -> int:
    """How many bytes at the end begin a character that may go on in the next block."""
    for i in range(1, min(4, len(block) + 1)):
        byte = block[-i]
        if byte >= 0xC0:
            return i if (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) > i else 0
        if byte < 0x80:
            return 0
    return 0


def _is_utf8(block: bytes) -> bool:
    offsets = pa.py_buffer(struct.pack("<ii", 0, len(block)))
    try:
        pa.StringArray.from_buffers(1, offsets, pa.py_buffer(block)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
