"""Where rows live: in memory or in files, always as repeatable streams of Arrow record batches."""

from nacre.engines.rows import FileRows, MemoryRows, Rows, open_rows

__all__ = ["FileRows", "MemoryRows", "Rows", "open_rows"]
