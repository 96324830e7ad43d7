"""Small good files of every format, to be damaged: {ending: contents}."""

from __future__ import annotations

import datetime
import decimal
import io
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CSVS = (
    b'id,age,name\n1,30,Ann\n2,,"O\'Neil, Bob"\n3,41,\n',
    'id;Größe;"a;b"\r\n1;1,5;"zwei\r\nZeilen"\r\n2;;"""x"""\r\n'.encode(),
    "\ufeffa\tb\n1\t2\n\n3\tnørd\n".encode(),
    "a,b\n1,é\n2,😀\n".encode("utf-16"),
    b"only\n1\n\n\n2\n",
    b"a|b|c|d\r1|2|3|4\r5|6|7|8\r",
)
JSONLS = (
    b'{"id": 1, "age": 1.50, "name": "Ann"}\n{"id": 2, "age": null, "name": "\\u00e9\\ud83d\\ude00"}\n\n',
    b'{"a": true, "b": [1, [2]], "c": {"d": 1}}\r\n{"c": -1e300, "b": NaN, "a": "\\u0000"}\r\n',
    '{"ключ": "значение"}\n{"ключ": ""}'.encode(),
)


def typed_table() -> pa.Table:
    moments = [datetime.datetime(2020, 1, 2, 3), None, datetime.datetime(1999, 5, 6)]
    return pa.table({
        "i": pa.array([1, None, -3], pa.int16()),
        "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "f": pa.array([0.5, float("nan"), None], pa.float32()),
        "s": ["x", None, "long " * 20],
        "d": pa.array([decimal.Decimal("1.20"), None, decimal.Decimal("-3.45")]),
        "t": pa.array(moments, pa.timestamp("us", "UTC")),
        "b": [True, False, None],
        "y": pa.array([b"\xff", b"", None], pa.binary()),
        "k": pa.array(["a", "b", "a"]).dictionary_encode(),
        "l": [[1, 2], [], None],
        "n": pa.nulls(3),
    })  # fmt: skip


def _parquet(table: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return sink.getvalue().to_pybytes()


def _arrow(table: pa.Table, stream: bool = False, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=2)
    return sink.getvalue().to_pybytes()


def packed(content: bytes, how: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, how) as out:
        out.write(content)
    return sink.getvalue().to_pybytes()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def workbook() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in (["a", "b", "c"], [1, "x", True], [2.5, None, datetime.date(2020, 1, 2)], [None, "#N/A", "é"]):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def seeds() -> dict[str, list[bytes]]:
    """Good files by the ending of their names."""
    table = typed_table()
    plain = table.select(["i", "f", "s"])
    return {
        ".csv": list(CSVS),
        ".jsonl": list(JSONLS),
        ".parquet": [
            _parquet(table), _parquet(plain, compression="zstd", use_dictionary=False),
            _parquet(plain, row_group_size=1, compression="none", data_page_version="2.0"),
        ],
        ".arrow": [
            _arrow(table), _arrow(table, stream=True), _arrow(plain, compression="zstd"), _arrow(plain, True, "lz4"),
        ],
        ".csv.gz": [packed(c, "gzip") for c in CSVS[:3]],
        ".csv.zst": [packed(c, "zstd") for c in CSVS[:3]],
        ".csv.bz2": [packed(c, "bz2") for c in CSVS[:2]],
        ".jsonl.gz": [packed(c, "gzip") for c in JSONLS],
        ".zip": [
            zipped({"a.csv": CSVS[0]}), zipped({"a.jsonl": JSONLS[0]}), zipped({"a.csv": CSVS[1], "b.csv": CSVS[0]}),
        ],
        ".xlsx": [workbook()],
    }  # fmt: skip
