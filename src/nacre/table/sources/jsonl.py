"""JSON Lines: one object per line, every column read as text, numbers with the digits that they are written with.

The names of the columns are public: those of the schema or of `--columns`, else the keys of the first line. Which keys
a line has may be a fact about a person, hence lines of different keys are refused when the names come from a line. A
line that is no object is read as a row without values; a list or an object within a line as a missing value.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DataError, OwnerWarning
from nacre.table.sources import Kind
from nacre.table.sources.checks import check_names
from nacre.table.sources.compression import Unpacked, verify
from nacre.table.sources.dialect import check_decoded
from nacre.table.sources.encodings import MARK, Utf8, codec_of
from nacre.table.sources.options import Options
from nacre.table.sources.storage import KEYS, as_written

_BLOCK = 2 * 2**20
_LINE = 8 * 2**20  # the longest line that is read
_LOOK = 2**18
_DEEP = 100  # brackets within brackets

# Digits stay as they are: 1.10, a whole number of a thousand digits and NaN are texts until the schema says otherwise.
_decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
_scan = _decoder.scan_once  # type: ignore[attr-defined]


class JsonLinesSource:
    """One file of JSON Lines, opened: the names of its columns are known."""

    def __init__(self, path: Any, options: Options, kind: Kind):
        self.path, self.options, self.kind = path, options, kind
        with Unpacked(path, kind.packing, options) as raw:
            self._codec = codec_of(options.encoding, raw.read(4))
        names = list(options.columns) if options.columns is not None else self._first_keys()
        if any(not _is_text(name) for name in names):
            raise DataError(f"{path}: a key of the first line is no text; say which columns there are with --columns")
        check_names(path, names, options)
        self.assumptions = () if options.columns is not None else (KEYS,)
        self.arrow_schema = pa.schema([as_written(name, options.decimal) for name in names])
        self._told = False

    def _lines(self, block: int = _BLOCK) -> Iterator[list[str]]:
        """The lines of one block after another, without those that hold nothing; MARK for one that is too long."""
        with Unpacked(self.path, self.kind.packing, self.options) as raw:
            text, rest, lost = Utf8(raw, self._codec), b"", False
            while data := text.read(block):
                *lines, last = (rest + data).split(b"\n")
                if lost and lines:
                    lines[0], lost = MARK.encode(), False
                rest = b"" if lost else last
                if len(rest) > _LINE:
                    rest, lost = b"", True
                yield _texts(lines)
            yield _texts([MARK.encode() if lost else rest])

    def _first_keys(self) -> list[str]:
        first = next((lines[0] for lines in self._lines(2**16) if lines), "")
        found = _object(first)
        if found is None:
            raise DataError(
                f'{self.path}: the first line is no object; expected one per line, such as {{"age": 30}}, with the '
                "names of the columns as its keys"
            )
        return list(found)

    def look(self) -> None:
        """Whether the first lines are objects, with the same keys where the names come from the first."""
        lines = next((some for some in self._lines(_LOOK) if some), [])
        found = [_object(line) for line in lines]
        fine = [f for f in found if f is not None]
        check_decoded(self.path, lines, self._codec)
        if 2 * len(fine) < len(found):
            raise DataError(
                f"{self.path}: most of the first {len(found):,} lines are no objects; expected one per line"
            )
        self._check_keys(fine)
        if self.kind.packing is not None:
            verify(self.path, self.kind.packing, self.options)

    def _check_keys(self, found: Sequence[dict[str, Any]]) -> None:
        seen = list(dict.fromkeys(key for f in found for key in f))
        names = self.arrow_schema.names
        if self.assumptions and any(len(f) != len(names) or f.keys() != {*names} for f in found):
            listed = ",".join(seen[:30]) + (",..." if len(seen) > 30 else "")
            raise DataError(
                f"{self.path}: the lines have different keys; say which columns there are, in a schema or with "
                f"--columns (the first lines have {listed})"
            )
        if lacking := [name for name in names if name not in seen]:
            warnings.warn(
                f"{self.path}: none of the first {len(found):,} lines has {', '.join(lacking[:8])}",
                OwnerWarning,
                stacklevel=2,
            )

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.arrow_schema.names if columns is None else list(columns)
        told = _Unread()
        for lines in self._lines():
            for start in range(0, len(lines), self.options.batch_rows):
                yield self._batch(lines[start : start + self.options.batch_rows], names, told)
        if (told.lines or told.values) and not self._told:
            self._told = True
            warnings.warn(
                f"{self.path}: {told.lines:,} lines are no objects and are read as rows without "
                f"values; {told.values:,} values are lists or objects and are read as missing",
                OwnerWarning,
                stacklevel=1,
            )

    def _batch(self, lines: list[str], names: list[str], told: _Unread) -> pa.RecordBatch:
        rows = [_object(line) for line in lines]
        told.lines += sum(row is None for row in rows)
        strange = any("\\u0000" in line for line in lines)
        arrays = [self._column([None if row is None else row.get(n) for row in rows], strange, told) for n in names]
        if not names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        return pa.record_batch(arrays, names=names)

    def _column(self, values: list[Any], strange: bool, told: _Unread) -> pa.Array:
        try:
            if strange:
                raise ValueError
            array = pa.array(values, pa.string())
        except (pa.ArrowException, TypeError, ValueError):  # truth values, lists, characters that are none
            array = pa.array([_text(v, told) for v in values], pa.string())
        words = self.options.null_words
        return pc.if_else(pc.is_in(array, pa.array(words, pa.string())), None, array) if words else array


class _Unread:
    """What could not be read in one pass."""

    def __init__(self) -> None:
        self.lines = self.values = 0


def _texts(lines: list[bytes]) -> list[str]:
    stripped = (line.strip(b" \t\r") if len(line) <= _LINE else MARK.encode() for line in lines)
    return [line.decode() for line in stripped if line]


def _object(line: str) -> dict[str, Any] | None:
    """The object in a line; None for anything else. Of keys that occur twice the last counts."""
    if not line.startswith("{") or MARK in line:
        return None
    if line.count("[") + line.count("{") > _DEEP and _depth(line) > _DEEP:
        return None
    try:
        found, end = _scan(line, 0)
    except (ValueError, StopIteration, RecursionError):
        return None
    return found if end == len(line) else None


def _depth(line: str) -> int:
    """How deep brackets are nested, those in texts included."""
    deepest = depth = 0
    for character in line:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _text(value: Any, told: _Unread) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        told.values += 1
        return None
    if value is None:
        return None
    return value if _is_text(value) else MARK + value.encode("utf-8", "surrogatepass").hex()


def _is_text(value: str) -> bool:
    """Whether there are only characters that a UTF-8 file can hold, and no NUL."""
    return MARK not in value and not any("\ud800" <= c <= "\udfff" for c in value)
