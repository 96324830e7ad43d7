"""The dialect of a CSV file: what was declared, and the rest from the header line alone. No row is read for it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.errors import DataError
from nacre.table.naming import INDEX
from nacre.table.sources import Kind
from nacre.table.sources.compression import Unpacked
from nacre.table.sources.encodings import MARK, Utf8, codec_of
from nacre.table.sources.options import Options

if TYPE_CHECKING:
    import os

_HEADS = (2**16, 4 * 2**20)  # bytes read in search of the end of the header line; most are short
_DELIMITERS = (",", ";", "\t", "|")
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class Dialect:
    """How the text is split, the names, and where in the text, as UTF-8, the rows begin."""

    codec: str
    quote: str
    delimiter: str
    names: tuple[str, ...]
    begin: int


def read_dialect(path: str | os.PathLike, options: Options, kind: Kind) -> Dialect:
    with Unpacked(path, kind.packing, options) as raw:
        codec = codec_of(options.encoding, raw.read(4))
    for size in _HEADS:
        with Unpacked(path, kind.packing, options) as raw:
            head = Utf8(raw, codec).read(size)
        if options.skip_lines is None and head.startswith(b"# "):
            raise DataError(
                f"{path}: the first line looks like a comment; say how many lines stand before the header "
                "(--skip-lines 1), or 0 if it is the header"
            )
        found, ended = _header(path, head.decode("utf-8", "ignore"), codec, options, kind)
        if ended or len(head) < size:
            return found
    raise DataError(f"{path}: the first line is longer than {_HEADS[-1]:,} bytes; is this a CSV file?")


def _header(path: str | os.PathLike, text: str, codec: str, options: Options, kind: Kind) -> tuple[Dialect, bool]:
    """The dialect, and whether the header line ended within the text."""
    start = _after_lines(text, options.skip_lines or 0)
    quote = '"' if options.quote is None else options.quote
    delimiter = options.delimiter or ("\t" if kind.ending == ".tsv" else _guess(text[start:], quote))
    lines = io.StringIO(text[start:], newline="")
    how: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    try:
        names = next(csv.reader(lines, delimiter=delimiter, **how), [])
    except csv.Error as error:
        if not _LINE_END.search(text, start):
            return Dialect(codec, quote, delimiter, (), 0), False
        raise DataError(f"{path}: the header line cannot be read ({error}); is this a CSV file?") from None
    if len(names) > 1 and names[0] == "" and INDEX not in names:  # row names, as pandas and R save them
        names[0] = INDEX
    if any(MARK in name for name in names):
        raise DataError(f"{path}: {not_encoded('the header line', codec)}")
    if options.delimiter and len(names) == 1 and names[0].count(other := _guess(names[0], "")) > 1:
        raise DataError(
            f"{path}: the header line has no {delimiter!r} but {names[0].count(other)} of {other!r}; name the "
            "delimiter that the file has"
        )
    end = start + lines.tell()
    return Dialect(codec, quote, delimiter, tuple(names), len(text[:end].encode())), end < len(text)


def _after_lines(text: str, lines: int) -> int:
    """Where the text begins after so many lines."""
    at = 0
    for _ in range(lines):
        found = _LINE_END.search(text, at)
        at = len(text) if found is None else found.end()
    return at


def _guess(text: str, quote: str) -> str:
    """The delimiter that occurs most in the header line, outside of quotes."""
    if quote:
        text = re.sub(f"{re.escape(quote)}[^{re.escape(quote)}]*{re.escape(quote)}", "", text)
    line = _LINE_END.split(text, maxsplit=1)[0]
    return max(_DELIMITERS, key=line.count)


def check_decoded(path: str | os.PathLike, lines: Sequence[str], codec: str) -> None:
    """Raise DataError if most of the lines that are not ASCII could not be decoded. One line alone is not enough."""
    bad = sum(MARK in line for line in lines)
    if bad > 1 and 2 * bad > sum(MARK in line or not line.isascii() for line in lines):
        raise DataError(f"{path}: {not_encoded('the text', codec)}")


def not_encoded(what: str, codec: str) -> str:
    return (
        f"{what} is not valid {codec}; save the file as UTF-8 or name its encoding (--encoding), such as 'latin-1', "
        "'cp1252' or 'utf-16'"
    )
