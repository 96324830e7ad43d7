"""Arrow files (IPC files and streams, Feather version 2), checked message by message before they are
unpacked."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from nacre.errors import DataError
from nacre.table.sources.checks import READ_ERRORS, check_cells, check_names, first_line, slices, texts_of
from nacre.table.sources.options import Options
from nacre.table.sources.places import RemotePath

_MAGIC = b"ARROW1"


class ArrowSource:
    """One Arrow file, opened: every message header has been read and its declared sizes checked."""

    def __init__(self, path: Path, options: Options):
        self.path, self.options = path, options
        with path.open("rb") as file:
            self._is_file = file.read(len(_MAGIC)) == _MAGIC
        try:
            with _mapped(path) as source:
                self.arrow_schema = self._open(source).schema
            names = texts_of(self.arrow_schema)
        except READ_ERRORS as error:
            raise DataError(
                f"{path}: not a readable Arrow file ({first_line(error)}); check that it is complete"
            ) from None
        check_names(path, names, options)
        self._check_messages()

    def _open(self, source: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
        return pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)

    def _check_messages(self) -> None:
        """Rows and unpacked bytes of every batch, from the headers alone."""
        rows = 0
        try:
            with _mapped(self.path) as source:
                if self._is_file:
                    source.seek(8)
                for message in pa.ipc.MessageReader.open_stream(source):
                    if message.type == "schema":
                        continue
                    length, unpacked, packed = _sizes(message)
                    rows += length if message.type == "record batch" else 0
                    self._check_unpacked(unpacked, packed)
        except (*READ_ERRORS, struct.error, IndexError) as error:
            raise DataError(f"{self.path}: the Arrow file is damaged ({first_line(error)})") from None
        check_cells(self.path, rows, len(self.arrow_schema), self.options)

    def _check_unpacked(self, unpacked: int, packed: int) -> None:
        if unpacked > self.options.max_batch_bytes or (unpacked > 2**26 and unpacked > 1_000 * packed):
            raise DataError(
                f"{self.path}: a batch unpacks {packed:,} bytes to {unpacked:,}; at most "
                f"{self.options.max_batch_bytes:,} and 1,000 times its size: write the file with smaller "
                "batches"
            )

    def look(self) -> None:
        """Names, types and sizes were checked when it was opened; values have types of their own."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = list(columns) if columns is not None else self.arrow_schema.names
        try:
            with _mapped(self.path) as source:
                reader = self._open(source)
                count = reader.num_record_batches if self._is_file else None
                every = (reader.get_batch(i) for i in range(count)) if count is not None else iter(reader)
                for batch in every:
                    batch.validate(full=True)
                    yield from slices(batch.select(wanted), self.options.batch_rows)
        except READ_ERRORS as error:
            raise DataError(
                f"{self.path}: the Arrow file is damaged ({first_line(error)}); copy or write it again"
            ) from None


def _mapped(path: Path) -> pa.NativeFile:
    return pa.PythonFile(path.open("rb"), mode="r") if isinstance(path, RemotePath) else pa.memory_map(os.fspath(path))


def _sizes(message: pa.Message) -> tuple[int, int, int]:
    """(rows, bytes once unpacked, bytes as they are) of a batch message.

    The header is a FlatBuffer: Message{version, header_type, header, body_length}, whose header is a
    RecordBatch {length, nodes, buffers, compression} or a DictionaryBatch{id, data: RecordBatch}. A
    compressed buffer begins with its unpacked size in 8 bytes, or -1 when it was stored as it is.
    """
    meta, body = message.metadata.to_pybytes(), message.body
    table = _reference(meta, struct.unpack_from("<I", meta, 0)[0], 2)
    if message.type == "dictionary batch":
        table = _reference(meta, table, 1)
    at = _field(meta, table, 0)
    length = struct.unpack_from("<q", meta, at)[0] if at else 0
    if not _field(meta, table, 3):  # no compression
        return length, 0, 0 if body is None else body.size
    vector = _reference(meta, table, 2)
    total = 0
    for i in range(struct.unpack_from("<I", meta, vector)[0]):
        offset, size = struct.unpack_from("<qq", meta, vector + 4 + 16 * i)
        if size >= 8:
            total += max(struct.unpack("<q", body[offset : offset + 8].to_pybytes())[0], 0)
    return length, total, body.size


def _field(meta: bytes, table: int, index: int) -> int:
    """Where a field of a FlatBuffer table lies, or 0 when it is absent."""
    vtable = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * index >= struct.unpack_from("<H", meta, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", meta, vtable + 4 + 2 * index)[0]
    return table + offset if offset else 0


def _reference(meta: bytes, table: int, index: int) -> int:
    """Where the table or vector that a field refers to lies."""
    at = _field(meta, table, index)
    if not at:
        raise IndexError("a message without a body")
    return at + struct.unpack_from("<I", meta, at)[0]
