"""How many values the column pieces of a Parquet file declare, read from the footer's bytes.

pyarrow has these numbers, but asking it for a column piece of a damaged footer ends the whole process (the
C++ exception is not caught), so that a hostile file could stop whoever opens it. The footer is Thrift's
compact protocol; what is read here is bounds-checked, and any damage is a ValueError.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_MAX_FOOTER = 64 * 2**20
_MAX_DEPTH = 20
# Field numbers of the Parquet format: FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data
# and ColumnMetaData.num_values.
_ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES = 4, 1, 3, 5


def most_values(path: Path) -> int:
    """The largest number of values that one column piece of the file declares."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        if length > _MAX_FOOTER:
            raise ValueError("the footer is too long")
        file.seek(-8 - length, 2)
        footer = _Reader(file.read(length)).struct(0)
    found = 0
    for group in footer.get(_ROW_GROUPS, []):
        for column in group.get(_COLUMNS, []):
            found = max(found, column.get(_META_DATA, {}).get(_NUM_VALUES, 0))
    return found


class _Reader:
    """Thrift's compact protocol: structs as {field number: value}, unknown fields included."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("the footer ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number in the footer is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise ValueError("the footer ends too early")
        self.at += size

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 0x0F
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("the footer is nested too deep")
        if kind in (4, 5, 6):  # integers of 16, 32 and 64 bits
            return self._zigzag()
        if kind in (1, 2, 3, 7):  # truth values in lists, bytes, doubles
            return self._skip(8 if kind == 7 else 1)
        if kind == 8:  # text
            return self._skip(self._varint())
        if kind in (9, 10):  # lists and sets
            head = self._byte()
            size = self._varint() if head >> 4 == 15 else head >> 4
            if size > len(self.data) - self.at:  # every element takes at least one byte
                raise ValueError("a list in the footer is too long")
            return [self._value(head & 0x0F, depth + 1) for _ in range(size)]
        if kind == 12:
            return self.struct(depth)
        raise ValueError("the footer has an unknown type")
