"""Where rows live: in memory, in files here or behind URLs, or read by the workers of a cluster; always as repeatable
streams of Arrow record batches."""

from nacre.engines.rows import FileRows, MemoryRows, Rows, ShardedRows, finished, open_rows, storage_assumptions

__all__ = ["FileRows", "MemoryRows", "Rows", "ShardedRows", "finished", "open_rows", "storage_assumptions"]
