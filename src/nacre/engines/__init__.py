"""Where rows live: in memory, in files here or behind URLs, or read by the workers of a cluster; always as repeatable
streams of Arrow record batches."""

from nacre.engines.interface import Rows, ShardedRows, stored
from nacre.engines.rows import FileRows, MemoryRows, finished, open_rows

__all__ = ["FileRows", "MemoryRows", "Rows", "ShardedRows", "finished", "open_rows", "stored"]
