"""Where rows live: in memory, in files here or behind URLs, or read by the workers of a cluster; always as repeatable
streams of Arrow record batches."""

from nacre.engines.interface import Rows, ShardedRows, stored
from nacre.engines.rows import FileRows, MemoryRows, finished, open_rows
from nacre.engines.tables import TableRows, holds_tables, open_tables

__all__ = [
    "FileRows",
    "MemoryRows",
    "Rows",
    "ShardedRows",
    "TableRows",
    "finished",
    "holds_tables",
    "open_rows",
    "open_tables",
    "stored",
]
